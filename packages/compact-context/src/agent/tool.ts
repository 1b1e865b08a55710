import { setMaxListeners } from "node:events";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import picomatch from "picomatch";
import { errorMessage } from "../errors.ts";
import { type Deadline, orAborted, startDeadline } from "../host.ts";
import { isInside, leadsTo } from "../memory/files/folders.ts";
import type { AgentMessage, AgentToolCallPart, AgentToolResultPart } from "./agent-message.ts";
import { type AgentEvent, wordsOf } from "./event.ts";

/** Second argument of a tool. */
export interface ToolContext {
  /** Aborted when the user interrupts, the deadline passes or the turn's time is over. */
  readonly signal: AbortSignal;
  readonly callId: string;
}

/** A tool of an agent. */
export interface AgentTool {
  readonly name: string;
  readonly description: string;
  /** JSON schema of the arguments. */
  readonly schema: object;
  /** Text goes to the model unchanged, any other value as JSON; a thrown error becomes a tool error. */
  execute(args: unknown, context: ToolContext): unknown;
  /**
   * The files that a call would touch, or `none` for a tool that touches no files. If a sub-agent or skill
   * restricts paths, a tool without this is refused.
   */
  readonly paths?: "none" | ((args: unknown) => readonly string[]);
  /** Can run at the same time as adjacent calls of one answer. Default: false. */
  readonly concurrent?: boolean;
  /** Timeout of a call in milliseconds. Default: the agent's limit. */
  readonly deadlineMs?: number;
}

/** A call that needs permission. */
export interface PermissionRequest {
  readonly tool: string;
  readonly arguments: unknown;
  /** The requesting sub-agent; undefined for the agent itself. */
  readonly subAgent?: string;
  /** The skill whose declared command is requested; `tool` is then `run` and `arguments` `{command}`. */
  readonly skill?: string;
  readonly signal: AbortSignal;
}

/** `deny` with a reason is passed to the model. */
export type Permission = "allow" | "deny" | { readonly deny: string };

export type Permissions = (request: PermissionRequest) => Permission | Promise<Permission>;

/** Limits of one turn of an agent. */
export interface AgentLimits {
  /** Model requests. Default: 50. */
  readonly requests: number;
  /** Tool calls. Default: 200. */
  readonly calls: number;
  /** Wall time in milliseconds. Default: half an hour. */
  readonly wallMs: number;
  /** Timeout of one tool call in milliseconds, if the tool sets none. Default: two minutes. */
  readonly toolMs: number;
  /** Maximum silence of a model during a request, in milliseconds. Default: three minutes. */
  readonly modelSilenceMs: number;
  /** Retries after a transient error. Default: 2. */
  readonly retries: number;
  /**
   * Characters of a tool's output that are kept. Default: 4,000,000. The model sees
   * `policy.maxToolResultTokens` of them.
   */
  readonly outputCharacters: number;
}

export const DEFAULT_LIMITS: AgentLimits = Object.freeze({
  requests: 50,
  calls: 200,
  wallMs: 30 * 60_000,
  toolMs: 2 * 60_000,
  modelSilenceMs: 3 * 60_000,
  retries: 2,
  outputCharacters: 4_000_000,
});

// ---- running the calls of an answer

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

/**
 * Runs the calls of one answer: adjacent concurrent calls together, every other call alone, in order. The
 * resulting message always answers every call.
 */
export async function runCalls(
  calls: readonly AgentToolCallPart[],
  options: ToolRunOptions,
): Promise<AgentMessage> {
  const content: AgentToolResultPart[] = [];
  const isConcurrent = (call: AgentToolCallPart | undefined): boolean =>
    call !== undefined && options.tools.get(call.toolName)?.concurrent === true;
  for (let from = 0, to = 0; from < calls.length; from = to) {
    to = from + 1;
    if (isConcurrent(calls[from])) while (isConcurrent(calls[to])) to += 1;
    const batch = calls.slice(from, to).map((call) => runCall(call, options));
    content.push(...(await Promise.all(batch)));
  }
  return { role: "tool", content };
}

async function runCall(call: AgentToolCallPart, options: ToolRunOptions): Promise<AgentToolResultPart> {
  const { toolCallId, toolName } = call;
  const { emit, clock, limits } = options;
  const started = clock();
  const input = argumentsOf(call);
  emit({ type: "toolStarted", callId: toolCallId, name: toolName, arguments: input.value });
  let text = "";
  let isError = false;
  try {
    text = await outputOf(call, input, options);
  } catch (error) {
    text = errorMessage(error);
    isError = true;
  }
  const value = boundedOutput(text, limits.outputCharacters);
  const elapsedMs = clock() - started;
  emit({ type: "toolFinished", callId: toolCallId, name: toolName, output: value, isError, elapsedMs });
  const output = { type: isError ? ("error-text" as const) : ("text" as const), value };
  return { type: "tool-result", toolCallId, toolName, output };
}

/** The output of a call; throws with words for the model. */
async function outputOf(
  { toolName, toolCallId: callId }: AgentToolCallPart,
  { value: args, problem }: ReadInput,
  options: ToolRunOptions,
): Promise<string> {
  const { tools, signal, limits } = options;
  if (signal.aborted) throw new Error(NOT_RUN);
  const tool = tools.get(toolName);
  if (tool === undefined)
    throw new Error(`There is no tool "${toolName}". The tools are: ${[...tools.keys()].join(", ")}.`);
  if (problem !== undefined) throw new Error(problem);
  const refused = await orAborted(options.refuse({ tool, arguments: args, signal }), signal).catch(
    (error: unknown) =>
      signal.aborted ? NOT_RUN : `Not run: the permission could not be asked for (${wordsOf(error)}).`,
  );
  if (refused !== undefined) throw new Error(refused);
  const most = tool.deadlineMs ?? limits.toolMs;
  const deadline = startShared(most, signal);
  try {
    const work = Promise.resolve().then(() => tool.execute(args, { signal: deadline.signal, callId }));
    const made = (await orAborted(work, deadline.signal)) ?? "";
    return typeof made === "string" ? made : (JSON.stringify(made) ?? String(made));
  } catch (error) {
    if (signal.aborted) throw new Error(INTERRUPTED);
    if (!deadline.passed()) throw new Error(`The tool failed: ${errorMessage(error)}`);
    const late = `The tool did not answer within ${most / 1000} s and was given up. It may still be at work.`;
    throw new Error(late);
  } finally {
    deadline.stop();
  }
}

function boundedOutput(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = Math.floor(most / 2);
  const left = text.length - 2 * half;
  return `${text.slice(0, half)}\n[${left} characters of output were not kept: a tool may give ${most}]\n${text.slice(-half)}`;
}

/** A deadline whose signal supports any number of listeners: concurrent calls share it. */
export function startShared(ms: number, outer: AbortSignal): Deadline {
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

/** A restriction to certain tools and paths; what is left out does not restrict. */
export interface Bound {
  /** What sets it, for display, such as `the skill release`. */
  readonly by: string;
  /** Names. */
  readonly tools?: readonly string[];
  /** Globs relative to the workspace. */
  readonly paths?: readonly string[];
}

/** Why a call would leave the bound; undefined if it stays inside. Symbolic links are resolved first. */
export async function outsideOf(
  { by, tools, paths }: Bound,
  { tool, arguments: args }: CallToCheck,
  workspaceDir: string,
): Promise<string | undefined> {
  if (tools?.includes(tool.name) === false)
    return `Not run: ${by} is in use and allows only ${tools.join(", ") || "no tools"}.`;
  if (paths === undefined || tool.paths === "none") return undefined;
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
