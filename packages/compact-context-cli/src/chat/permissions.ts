import type { Permission, PermissionRequest, Permissions } from "compact-context/agents";
import { firstWords, plural, safeLines } from "../render/text.ts";
import { recordOf, stringOf } from "../transcripts/json.ts";
import type { ChatInput } from "./input.ts";
import type { ChatScreen } from "./screen.ts";
import type { Workplace } from "./tools.ts";
import { lineCount } from "./tools.ts";

const text = (value: unknown): string => stringOf(value) ?? "";

/** A call in a few words: `read src/a.ts`. */
export function callText(name: string, args: unknown): string {
  const { path, command } = recordOf(args);
  if (name === "run" && typeof command === "string") return `run  ${command}`;
  if (typeof path === "string") return `${name}  ${path}`;
  const given = typeof args === "string" ? args : JSON.stringify(args ?? {});
  return given === "{}" ? name : `${name}  ${firstWords(given, 200)}`;
}

/** Lines of a change that the permission prompt shows at first. */
export const FIRST_LINES = 8;

/** The change that a call would make: lines prefixed with - and +, at most `maxLines` of each. */
export function changeLines(name: string, args: unknown, maxLines: number): string[] {
  const { content, old, new: next } = recordOf(args);
  if (name === "write") {
    const count = plural(lineCount(text(content)), "line");
    return [`writes ${count}:`, ...marked("+", text(content), maxLines)];
  }
  return name === "edit" ? [...marked("-", text(old), maxLines), ...marked("+", text(next), maxLines)] : [];
}

function marked(mark: string, passage: string, maxLines: number): string[] {
  const lines = safeLines(passage.replace(/\n$/, ""));
  const left = lines.length - maxLines;
  const more = left > 0 ? [`${mark} (${plural(left, "more line")})`] : [];
  return [...lines.slice(0, maxLines).map((line) => `${mark} ${line}`), ...more];
}

const TAIL = 6;

/** The result of a call: the end of a command's output, else its size. */
export function resultText(name: string, output: string): string {
  const lines = lineCount(output);
  if (name !== "run") return lines <= 1 ? firstWords(output, 300) : plural(lines, "line");
  const all = output.trimEnd().split("\n");
  const left = all.length - TAIL - 1;
  const last = left > 0 ? [`(${plural(left, "line")} before)`, ...all.slice(-TAIL - 1)] : all;
  return last.map((line) => line.slice(0, 400)).join("\n");
}

/** Whether the tool accepts the path of a call. */
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
  readonly screen: Pick<ChatScreen, "notify">;
  readonly workplace: Workplace;
}

/** Tools that need a permission because they touch the computer; all others only read the session. */
export const GUARDED_TOOLS: ReadonlySet<string> = new Set(["read", "write", "edit", "run"]);

/** What `always` allows, and its wording. */
function always({ tool, arguments: args }: PermissionRequest): readonly [key: string, words: string] {
  if (tool === "run") return [`run ${String(recordOf(args).command)}`, "always this command"];
  if (tool === "read") return ["read", "always read here"];
  return ["change", "always change files here"];
}

/** Characters above which a line may be cut in the first view. */
const LONGEST_LINE = 150;

/** Asks before a tool reads, changes or runs anything, one question at a time. `always` lasts until the program ends. */
export function createPermissions(ports: PermissionPorts): Permissions {
  const allowed = new Set<string>();
  let last: Promise<unknown> = Promise.resolve();
  return async (request) => {
    if (!GUARDED_TOOLS.has(request.tool)) return "allow";
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
  const what = `${requesterOf(request)}${callText(tool, args)}`;
  // File tools reject paths outside of the folder themselves. A command is not limited by its path argument.
  const isRejectedByTool = tool !== "run" && !(await isInside(workplace, args));
  if (allowed.has(key) || isRejectedByTool) {
    screen.notify("tool", what, 4);
    return "allow";
  }
  if (!input.isTerminal) {
    screen.notify("refused", `${what}: the input is not a terminal, so nobody can be asked`);
    return { deny: "Nobody can be asked: the input is not a terminal." };
  }
  if (signal.aborted) return "deny";
  // A command is shown in full, so that its end is seen before it is allowed.
  screen.notify("allow?", what, tool === "run" ? Number.POSITIVE_INFINITY : 40);
  const answer = await answerTo(request, words, { input, screen });
  if (signal.aborted || answer === "") return "deny";
  if (/^(?:y|yes)$/i.test(answer)) return "allow";
  if (/^(?:a|always)$/i.test(answer)) {
    allowed.add(key);
    return "allow";
  }
  return /^(?:n|no)$/i.test(answer) ? "deny" : { deny: `They said: ${answer}` };
}

/** A chat command such as `/context`, not a path. */
const COMMAND = /^\/[a-z]+(?:\s|$)/;

/** Shows the beginning of the change and the possible answers; all of it on request. */
async function answerTo(
  { tool, arguments: args }: PermissionRequest,
  words: string,
  { input, screen }: Pick<PermissionPorts, "input" | "screen">,
): Promise<string> {
  const ask = async (lines: readonly string[], maxLines: number, more: string): Promise<string> => {
    for (const line of lines) screen.notify("", line, maxLines);
    screen.notify("", `y once · a ${words} · n no · ${more}or say why not`);
    for (;;) {
      const answer = ((await input.ask("           › ")) ?? "").trim();
      if (!COMMAND.test(answer)) return answer;
      screen.notify("note", `${answer} works at the prompt only: answer y, a or n, or say why not`);
    }
  };
  const whole = changeLines(tool, args, Number.POSITIVE_INFINITY);
  const first = changeLines(tool, args, FIRST_LINES);
  const isCut = whole.length > first.length || first.some((line) => line.length > LONGEST_LINE);
  if (!isCut) return ask(first, Number.POSITIVE_INFINITY, "");
  const answer = await ask(first, 3, "s show all · ");
  return /^(?:s|show all)$/i.test(answer) ? ask(whole, Number.POSITIVE_INFINITY, "") : answer;
}

function requesterOf({ subAgent, skill }: PermissionRequest): string {
  if (subAgent !== undefined) return `${subAgent}: `;
  return skill === undefined ? "" : `skill ${skill}: `;
}
