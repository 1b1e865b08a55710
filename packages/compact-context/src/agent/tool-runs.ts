import { setMaxListeners } from "node:events";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import picomatch from "picomatch";
import { errorMessage } from "../errors.ts";
import { type Deadline, orAborted, startDeadline } from "../host.ts";
import { isInside, leadsTo } from "../memory/files/folders.ts";
import type { AgentMessage, AgentToolCallPart, AgentToolResultPart } from "./agent-message.ts";
import { type AgentEvent, wordsOf } from "./event.ts";
import type { AgentLimits, AgentTool, Permission } from "./tool.ts";

/** A call to check for permission. */
export interface CallToCheck {
  readonly tool: AgentTool;
  readonly arguments: unknown;
  readonly signal: AbortSignal;
}

export interface ToolRunOptions {
  readonly tools: ReadonlyMap<string, AgentTool>;
  /** Why a call is refused; undefined if it is allowed. */
  refuse(call: CallToCheck): Promise<string | undefined>;
  readonly limits: Pick<AgentLimits, "toolMs" | "outputCharacters">;
  readonly emit: (event: AgentEvent) => void;
  /** Monotonic clock, milliseconds. */
  readonly clock: () => number;
  readonly signal: AbortSignal;
}

const INTERRUPTED =
  "Interrupted by the user: this call was not finished. What it had done by then is not known.";
const NOT_RUN = "Interrupted by the user: this call was not run.";

/** Runs the calls of one answer; the resulting message always answers every call. */
export async function runCalls(
  calls: readonly AgentToolCallPart[],
  options: ToolRunOptions,
): Promise<AgentMessage> {
  const content: AgentToolResultPart[] = [];
  for (const batch of batchesOf(calls, options.tools)) {
    content.push(...(await Promise.all(batch.map((call) => runCall(call, options)))));
  }
  return { role: "tool", content };
}

/** Adjacent concurrent calls run together; every other call runs alone, in order. */
function batchesOf(
  calls: readonly AgentToolCallPart[],
  tools: ReadonlyMap<string, AgentTool>,
): AgentToolCallPart[][] {
  const batches: { readonly together: boolean; readonly calls: AgentToolCallPart[] }[] = [];
  for (const call of calls) {
    const together = tools.get(call.toolName)?.concurrent === true;
    const last = batches.at(-1);
    if (together && last?.together === true) last.calls.push(call);
    else batches.push({ together, calls: [call] });
  }
  return batches.map((batch) => batch.calls);
}

interface Outcome {
  readonly text: string;
  readonly isError: boolean;
}

async function runCall(call: AgentToolCallPart, options: ToolRunOptions): Promise<AgentToolResultPart> {
  const { toolCallId, toolName } = call;
  const { emit, clock, limits } = options;
  const started = clock();
  const input = argumentsOf(call);
  emit({ type: "toolStarted", callId: toolCallId, name: toolName, arguments: input.value });
  const outcome = await outcomeOf(call, input, options);
  const text = boundedOutput(outcome.text, limits.outputCharacters);
  const { isError } = outcome;
  const elapsedMs = clock() - started;
  emit({ type: "toolFinished", callId: toolCallId, name: toolName, output: text, isError, elapsedMs });
  const output = { type: isError ? ("error-text" as const) : ("text" as const), value: text };
  return { type: "tool-result", toolCallId, toolName, output };
}

async function outcomeOf(
  call: AgentToolCallPart,
  input: ReadInput,
  options: ToolRunOptions,
): Promise<Outcome> {
  const { tools, signal } = options;
  if (signal.aborted) return failed(NOT_RUN);
  const tool = tools.get(call.toolName);
  if (tool === undefined)
    return failed(`There is no tool "${call.toolName}". The tools are: ${[...tools.keys()].join(", ")}.`);
  if (input.problem !== undefined) return failed(input.problem);
  try {
    const refused = await orAborted(options.refuse({ tool, arguments: input.value, signal }), signal);
    if (refused !== undefined) return failed(refused);
  } catch (error) {
    return failed(
      signal.aborted ? NOT_RUN : `Not run: the permission could not be asked for (${wordsOf(error)}).`,
    );
  }
  return execute(tool, { call, arguments: input.value }, options);
}

async function execute(
  tool: AgentTool,
  { call, arguments: args }: { readonly call: AgentToolCallPart; readonly arguments: unknown },
  { limits, signal }: ToolRunOptions,
): Promise<Outcome> {
  const most = tool.deadlineMs ?? limits.toolMs;
  const deadline = startShared(most, signal);
  try {
    const work = Promise.resolve().then(() =>
      tool.execute(args, { signal: deadline.signal, callId: call.toolCallId }),
    );
    return { text: textOfValue(await orAborted(work, deadline.signal)), isError: false };
  } catch (error) {
    if (signal.aborted) return failed(INTERRUPTED);
    if (deadline.passed())
      return failed(
        `The tool did not answer within ${most / 1000} s and was given up. It may still be at work.`,
      );
    return failed(`The tool failed: ${errorMessage(error)}`);
  } finally {
    deadline.stop();
  }
}

function failed(text: string): Outcome {
  return { text, isError: true };
}

function textOfValue(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  return JSON.stringify(value) ?? String(value);
}

function boundedOutput(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = Math.floor(most / 2);
  const left = text.length - 2 * half;
  return `${text.slice(0, half)}\n[${left} characters of output were not kept: a tool may give ${most}]\n${text.slice(-half)}`;
}

/** A deadline whose signal supports any number of listeners: concurrent calls share it. */
export function startShared(ms: number, outer?: AbortSignal): Deadline {
  const deadline = startDeadline(ms, outer);
  setMaxListeners(0, deadline.signal);
  return deadline;
}

/** A denied permission as text for the model; undefined if allowed. */
export function refusalOf(permission: Permission): string | undefined {
  if (permission === "allow") return undefined;
  const why = permission === "deny" ? "" : ` ${permission.deny}`;
  return `The user did not allow this call.${why}`;
}

/** A restriction to certain paths. */
export interface PathBound {
  /** What sets it, for display, such as `skill release`. */
  readonly by: string;
  /** Globs relative to the workspace. */
  readonly paths: readonly string[];
}

/** Why a call would leave the bound; undefined if it stays inside. Symbolic links are resolved first. */
export async function outsideOf(
  { by, paths }: PathBound,
  { tool, arguments: args }: { readonly tool: AgentTool; readonly arguments: unknown },
  workspaceDir: string,
): Promise<string | undefined> {
  if (tool.paths === "none") return undefined;
  if (tool.paths === undefined)
    return `Not run: ${by} may touch ${paths.join(", ")} only, and ${tool.name} does not say which files it touches.`;
  const patterns = paths.map(globPattern);
  const root = await leadsTo(resolve(workspaceDir));
  for (const path of tool.paths(args)) {
    const real = await leadsTo(isAbsolute(path) ? path : join(root, path));
    const way = relative(root, real).split(sep).join("/");
    if (!isInside(root, real) || !patterns.some((one) => one.test(way)))
      return `Not run: ${by} may touch ${paths.join(", ")} only, and ${path} is outside.`;
  }
  return undefined;
}

/**
 * A glob over `/`-separated relative paths, with the semantics of Bash and Git. A pattern that names a folder
 * includes everything in it; `folder/**` means its contents without the folder itself.
 */
export function globPattern(glob: string): RegExp {
  const clean = glob
    .trim()
    .replace(/^\.\//, "")
    .replace(/\/+$/, "")
    .replace(/\/\*\*(?=$|[,})])/g, "/**/*");
  const below = /(?:^|\/)\*\*(?:\/\*)?$/.test(clean) ? [clean] : [clean, `${clean}/**/*`];
  const sources = below.map((one) => picomatch.makeRe(one, { dot: true, nonegate: true }).source);
  return new RegExp(sources.map((source) => `(?:${source})`).join("|"), "s");
}

/** The arguments of a call, or why they are unreadable. */
interface ReadInput {
  readonly value: unknown;
  readonly problem?: string;
}

/** Models pass arguments as a value or as JSON text. */
export function argumentsOf({ input }: AgentToolCallPart): ReadInput {
  if (input === undefined || input === "") return { value: {} };
  if (typeof input !== "string") return { value: input };
  try {
    return { value: JSON.parse(input) as unknown };
  } catch (error) {
    return {
      value: input,
      problem: `The arguments are no JSON (${wordsOf(error)}). Nothing was run; call again.`,
    };
  }
}
