import type { Permission, PermissionRequest, Permissions } from "compact-context/agents";
import { recordOf } from "../transcripts/json.ts";
import type { ChatInput } from "./input.ts";
import type { ChatScreen } from "./screen.ts";
import { callWords, changeLines, FIRST_LINES, isInside } from "./tool-words.ts";
import type { Workplace } from "./workplace.ts";

interface PermissionPorts {
  readonly input: Pick<ChatInput, "isTerminal" | "ask">;
  readonly screen: Pick<ChatScreen, "tell" | "print" | "rest">;
  readonly workplace: Workplace;
}

/** The tools that touch the computer; every other one only reads the session. */
export const ASKED_TOOLS: ReadonlySet<string> = new Set(["read", "write", "edit", "run"]);

/** What `always` would allow, and how that is said. */
function always({ tool, arguments: args }: PermissionRequest): readonly [key: string, words: string] {
  if (tool === "run") return [`run ${String(recordOf(args).command)}`, "always this command"];
  if (tool === "read") return ["read", "always read here"];
  return ["change", "always change files here"];
}

/** Longer lines may be cut where they are shown at first. */
const LONGEST_LINE = 150;

/** Asks before anything is read, changed or run; one question at a time. `always` ends with the program. */
export function createPermissions(ports: PermissionPorts): Permissions {
  const allowed = new Set<string>();
  let last: Promise<unknown> = Promise.resolve();
  return async (request) => {
    if (!ASKED_TOOLS.has(request.tool)) return "allow";
    const answer = last.then(() => decide(request, allowed, ports));
    last = answer.catch(() => undefined);
    return answer;
  };
}

async function decide(
  request: PermissionRequest,
  allowed: Set<string>,
  { input, screen, workplace }: PermissionPorts,
): Promise<Permission> {
  const { tool, arguments: args, signal } = request;
  const [key, words] = always(request);
  const what = `${whoAsks(request)}${callWords(tool, args)}`;
  // The tools for files refuse a path outside by themselves: nobody needs to be asked. A command is bound by no path.
  const refusesItself = tool !== "run" && !(await isInside(workplace, args));
  if (allowed.has(key) || refusesItself) {
    screen.tell("tool", what, 4);
    return "allow";
  }
  if (!input.isTerminal) {
    screen.tell("refused", `${what}: nobody can be asked, the input is no terminal`);
    return { deny: "Nobody can be asked: the input is no terminal." };
  }
  if (signal.aborted) return "deny";
  // A command is shown whole: whoever allows it has seen its end.
  screen.tell("allow?", what, tool === "run" ? Number.POSITIVE_INFINITY : 40);
  const answer = await answerTo(request, words, { input, screen });
  if (signal.aborted || answer === "") return "deny";
  if (/^(?:y|yes)$/i.test(answer)) return "allow";
  if (/^(?:a|always)$/i.test(answer)) {
    allowed.add(key);
    return "allow";
  }
  return /^(?:n|no)$/i.test(answer) ? "deny" : { deny: `They said: ${answer}` };
}

/** Shows what would change, first its beginning, and what can be answered; whoever asks for it sees all. */
async function answerTo(
  { tool, arguments: args }: PermissionRequest,
  words: string,
  { input, screen }: Pick<PermissionPorts, "input" | "screen">,
): Promise<string> {
  const ask = async (lines: readonly string[], most: number, more: string): Promise<string> => {
    for (const line of lines) screen.tell("", line, most);
    screen.tell("", `y once · a ${words} · n no · ${more}or say why not`);
    return ((await input.ask("           › ")) ?? "").trim();
  };
  const whole = changeLines(tool, args, Number.POSITIVE_INFINITY);
  const first = changeLines(tool, args, FIRST_LINES);
  const isCut = whole.length > first.length || first.some((line) => line.length > LONGEST_LINE);
  if (!isCut) return ask(first, Number.POSITIVE_INFINITY, "");
  const answer = await ask(first, 3, "s show all · ");
  return /^(?:s|show all)$/i.test(answer) ? ask(whole, Number.POSITIVE_INFINITY, "") : answer;
}

function whoAsks({ subAgent, skill }: PermissionRequest): string {
  if (subAgent !== undefined) return `${subAgent}: `;
  return skill === undefined ? "" : `skill ${skill}: `;
}
