import type { Permission, PermissionRequest, Permissions } from "compact-context/agents";
import { firstWords, plural, safeLines } from "../render/text.ts";
import { recordOf, stringOf } from "../transcripts/json.ts";
import type { ChatInput } from "./input.ts";
import type { ChatScreen } from "./screen.ts";
import type { Workplace } from "./tools.ts";
import { lineCount } from "./tools.ts";

const text = (value: unknown): string => stringOf(value) ?? "";

/** A call in a few words: `read src/a.ts`. */
export function callWords(name: string, args: unknown): string {
  const { path, command } = recordOf(args);
  if (name === "run" && typeof command === "string") return `run  ${command}`;
  if (typeof path === "string") return `${name}  ${path}`;
  const given = typeof args === "string" ? args : JSON.stringify(args ?? {});
  return given === "{}" ? name : `${name}  ${firstWords(given, 200)}`;
}

/** Lines of a change that whoever is asked sees at first. */
export const FIRST_LINES = 8;

/** What would change, for whoever is asked: lines with - and + in front, of each side at most so many. */
export function changeLines(name: string, args: unknown, most: number): string[] {
  const { content, old, new: next } = recordOf(args);
  if (name === "write") {
    const count = plural(lineCount(text(content)), "line");
    return [`writes ${count}:`, ...marked("+", text(content), most)];
  }
  return name === "edit" ? [...marked("-", text(old), most), ...marked("+", text(next), most)] : [];
}

function marked(mark: string, passage: string, most: number): string[] {
  const lines = safeLines(passage.replace(/\n$/, ""));
  const left = lines.length - most;
  const more = left > 0 ? [`${mark} (${plural(left, "more line")})`] : [];
  return [...lines.slice(0, most).map((line) => `${mark} ${line}`), ...more];
}

const TAIL = 6;

/** What came of a call: for a command the end of its output, else its size. */
export function resultWords(name: string, output: string): string {
  const lines = lineCount(output);
  if (name !== "run") return lines <= 1 ? firstWords(output, 300) : plural(lines, "line");
  const all = output.trimEnd().split("\n");
  const left = all.length - TAIL - 1;
  const last = left > 0 ? [`(${plural(left, "line")} before)`, ...all.slice(-TAIL - 1)] : all;
  return last.map((line) => line.slice(0, 400)).join("\n");
}

/** Whether the path of a call is one that the tool will take. */
async function isInside(workplace: Workplace, args: unknown): Promise<boolean> {
  const { path } = recordOf(args);
  if (typeof path !== "string") return true;
  return workplace.toRead(path).then(
    () => true,
    () => false,
  );
}

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

/** `/context`, and no path. */
const COMMAND = /^\/[a-z]+(?:\s|$)/;

/** Shows what would change, first its beginning, and what can be answered; whoever asks for it sees all. */
async function answerTo(
  { tool, arguments: args }: PermissionRequest,
  words: string,
  { input, screen }: Pick<PermissionPorts, "input" | "screen">,
): Promise<string> {
  const ask = async (lines: readonly string[], most: number, more: string): Promise<string> => {
    for (const line of lines) screen.tell("", line, most);
    screen.tell("", `y once · a ${words} · n no · ${more}or say why not`);
    for (;;) {
      const answer = ((await input.ask("           › ")) ?? "").trim();
      if (!COMMAND.test(answer)) return answer;
      screen.tell("note", `${answer} waits for the prompt: first answer y, a or n, or say why not`);
    }
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
