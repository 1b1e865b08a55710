import { startsWith } from "../errors.ts";
import { fitHarder, type HostCall, type HostManager, type HostPreflight, orAborted } from "../host.ts";
import { NO_ANSWER } from "../memory/memory-task.ts";
import { objectOf } from "../providers/request.ts";
import {
  type AgentMessage,
  type AgentModel,
  type AgentModelPart,
  type AgentModelRequest,
  type AgentReasoningPart,
  type AgentTextPart,
  type AgentToolCallPart,
  answerAll,
  type ThinkingLevel,
} from "./agent-message.ts";
import type { AgentSession } from "./agent-state.ts";
import { type AgentEvent, diagnosticOf, type TurnEnd, wordsOf } from "./event.ts";
import { type AgentLimits, argumentsOf, runCalls, startShared, type ToolRunOptions } from "./tool.ts";

/** Everything that a turn needs; the same for an agent and its sub-agents. */
export interface TurnPorts {
  readonly session: AgentSession;
  readonly model: AgentModel;
  readonly thinkingLevel?: ThinkingLevel;
  readonly system: string;
  readonly tools: ToolRunOptions["tools"];
  readonly refuse: ToolRunOptions["refuse"];
  readonly manager: HostManager;
  readonly preflight: HostPreflight;
  /** Called with the provider's usage record of every request. */
  readonly metered: (usage: unknown) => void;
  readonly limits: AgentLimits;
  readonly emit: (event: AgentEvent) => void;
  readonly clock: () => number;
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}

export interface TurnResult {
  readonly end: TurnEnd;
  /** The model's last text. */
  readonly text: string;
  /** Why it failed, for display. */
  readonly cause?: string;
}

/** Asks the model and runs its calls until it answers or a limit is reached; leaves a well-formed list. */
export async function runTurn(
  message: AgentMessage,
  ports: TurnPorts,
  outer: AbortSignal,
): Promise<TurnResult> {
  const deadline = startShared(ports.limits.wallMs, outer);
  const { signal } = deadline;
  const stopped = (): TurnEnd => (deadline.passed() ? "time-limit" : "interrupted");
  try {
    await ports.session.add(message);
    return await steps(ports, signal, stopped);
  } catch (error) {
    if (signal.aborted) return { end: stopped(), text: "" };
    const diagnostic = diagnosticOf(error);
    ports.emit({ type: "error", diagnostic });
    return { end: "failed", text: "", cause: diagnostic.message };
  } finally {
    deadline.stop();
  }
}

async function steps(ports: TurnPorts, signal: AbortSignal, stopped: () => TurnEnd): Promise<TurnResult> {
  const { limits, session } = ports;
  let made = 0;
  for (let requests = 1; ; requests += 1) {
    await fitRequest(ports, signal);
    const answer = await askFitting(ports, signal);
    if ("error" in answer) return broken(answer, ports, signal.aborted ? stopped() : "failed");
    const { calls, text, usage, message } = answer;
    session.usage = usage;
    ports.metered(usage);
    if (message !== undefined) await session.add(message);
    if (calls.length === 0) return endOf(answer, ports);
    made += calls.length;
    const over = limitReached(requests, made, limits);
    if (over !== undefined) {
      await session.add(answerAll(calls, `Not run: a turn may ${over.words}.`));
      return { end: over.end, text };
    }
    await session.add(await runCalls(calls, { ...ports, signal }));
    if (signal.aborted) return { end: stopped(), text };
  }
}

function limitReached(
  requests: number,
  calls: number,
  limits: AgentLimits,
): { readonly end: TurnEnd; readonly words: string } | undefined {
  if (calls > limits.calls) return { end: "call-limit", words: `make ${limits.calls} tool calls` };
  if (requests < limits.requests) return undefined;
  return { end: "request-limit", words: `take ${limits.requests} requests to the model` };
}

/** Runs the preflight; the session continues with its list. */
async function fitRequest(ports: TurnPorts, signal: AbortSignal): Promise<void> {
  const { session, preflight } = ports;
  const call = callOf(ports, signal);
  session.usage = undefined;
  const sent = await preflight(call);
  const isSame = sent.length === call.messages.length && startsWith(sent, call.messages);
  if (!isSame) await session.replace(sent);
}

function callOf({ session, system, tools }: TurnPorts, signal: AbortSignal): HostCall<AgentMessage> {
  const { messages, id: sessionId, usage } = session;
  const request = { format: "ai-sdk" as const, system, tools: shapesOf(tools), signal, usage };
  return { sessionId, messages, request };
}

/** Tools as counted and sent. */
export function shapesOf(tools: TurnPorts["tools"]): AgentModelRequest["tools"] {
  return [...tools.values()].map(({ name, description, schema }) => ({ name, description, schema }));
}

/** Compacts and resends a request that the provider rejects as too long, although it was counted to fit. */
async function askFitting(ports: TurnPorts, signal: AbortSignal): Promise<ModelAnswer | BrokenAnswer> {
  const answer = await ask(ports, signal);
  if (!("error" in answer) || signal.aborted) return answer;
  const call = callOf(ports, signal);
  const failed = { ...call, sent: call.messages, error: answer.error };
  const shorter = await fitHarder(ports.manager, ports.preflight, failed).catch(() => undefined);
  if (shorter === undefined) return answer;
  await ports.session.replace(shorter);
  const reason = "the provider found the request too long; it is compacted";
  ports.emit({ type: "retry", attempt: 1, reason, pauseMs: 0, discarded: answer.text });
  return ask(ports, signal);
}

async function ask(ports: TurnPorts, signal: AbortSignal): Promise<ModelAnswer | BrokenAnswer> {
  const { session, model, system, tools, thinkingLevel, limits, emit } = ports;
  const request: AgentModelRequest = {
    system,
    messages: session.messages,
    tools: shapesOf(tools),
    signal,
    thinkingLevel,
  };
  for (let attempt = 1; ; attempt += 1) {
    const answer = await callModel(model, request, emit, limits.modelSilenceMs);
    if (!("error" in answer) || signal.aborted || attempt > limits.retries || !passes(answer.error))
      return answer;
    const reason = diagnosticOf(answer.error).message;
    const pauseMs = pauseBefore(attempt, answer.error);
    emit({ type: "retry", attempt, reason, pauseMs, discarded: answer.text });
    await ports.sleep(pauseMs, signal);
  }
}

/** Keeps a partial answer in the list, marked as such: the next turn continues from there. */
async function broken(answer: BrokenAnswer, { session, emit }: TurnPorts, end: TurnEnd): Promise<TurnResult> {
  const reason = diagnosticOf(answer.error).message;
  const stopped = end === "time-limit" ? "the time was over" : "the user interrupted";
  const why = end === "failed" ? `the model failed: ${reason}` : stopped;
  const note =
    answer.text === "" ? `${NO_ANSWER}: ${why}]` : `${answer.text}\n[The answer was cut off: ${why}]`;
  await session.add({ role: "assistant", content: [{ type: "text", text: note }] });
  const diagnostic = { ...diagnosticOf(answer.error), code: "model-failed" };
  if (end === "failed") emit({ type: "error", diagnostic });
  return { end, text: answer.text, cause: end === "failed" ? reason : undefined };
}

async function endOf(answer: ModelAnswer, { session, emit }: TurnPorts): Promise<TurnResult> {
  const warn = (code: string, message: string, hint: string): void =>
    emit({ type: "warning", diagnostic: { code, message, hint } });
  if (answer.message === undefined) {
    await session.add({ role: "assistant", content: [{ type: "text", text: "[The model gave no answer]" }] });
    warn("empty-answer", "the model gave no answer", "Ask again, or in other words.");
  }
  if (answer.stop === "length")
    warn("answer-too-long", "the answer ends at the model's output limit", "Say “go on” to hear the rest.");
  return { end: answer.stop === "refusal" ? "refused" : "answered", text: answer.text };
}

/** A completed model request. */
interface ModelAnswer {
  readonly text: string;
  /** The message to add to the list; undefined for an empty answer. */
  readonly message: AgentMessage | undefined;
  readonly calls: readonly AgentToolCallPart[];
  readonly stop: End["stop"];
  readonly usage: unknown;
}

/** A request that failed, possibly mid-answer. */
interface BrokenAnswer {
  readonly error: unknown;
  /** The text streamed before the failure. */
  readonly text: string;
}

type Piece = AgentTextPart | AgentReasoningPart | AgentToolCallPart;
type End = Extract<AgentModelPart, { type: "end" }>;

/** Streams one request; an error is returned as a value, with the text before it. */
async function callModel(
  model: AgentModel,
  request: AgentModelRequest,
  emit: (event: AgentEvent) => void,
  silenceMs: number,
): Promise<ModelAnswer | BrokenAnswer> {
  const pieces: Piece[] = [];
  const stop = new AbortController();
  const signal = AbortSignal.any([request.signal, stop.signal]);
  let parts: AsyncIterator<AgentModelPart> | undefined;
  try {
    parts = model.stream({ ...request, signal })[Symbol.asyncIterator]();
    for (let open = false; ; ) {
      const { done, value: part } = await timely(parts, signal, silenceMs);
      if (done === true) throw new Error("the model's answer broke off before its end");
      if (part.type === "end") return answerOf(pieces, part);
      open = take(part, pieces, open);
      if (part.type !== "toolCall" && part.text !== "") emit({ type: part.type, text: part.text });
    }
  } catch (error) {
    return { error: request.signal.aborted ? request.signal.reason : error, text: textIn(pieces) };
  } finally {
    // Lets the stream release its resources; a hanging stream is not awaited.
    (async () => parts?.return?.())().catch(() => undefined);
    stop.abort();
  }
}

async function timely<T>(
  parts: AsyncIterator<T>,
  signal: AbortSignal,
  silenceMs: number,
): Promise<IteratorResult<T>> {
  const deadline = startShared(silenceMs, signal);
  try {
    return await orAborted(parts.next(), deadline.signal);
  } catch (error) {
    if (deadline.passed()) throw new Error(`the model said nothing for ${silenceMs / 1000} s`);
    throw error;
  } finally {
    deadline.stop();
  }
}

/** Adds a part; returns whether the newest text or reasoning block can be continued. */
function take(part: Exclude<AgentModelPart, End>, pieces: Piece[], open: boolean): boolean {
  const { type, providerOptions } = part;
  const options = providerOptions === undefined ? {} : { providerOptions };
  if (type === "toolCall") {
    const { id: toolCallId, name: toolName, arguments: input } = part;
    pieces.push({ type: "tool-call", toolCallId, toolName, input, ...options });
    return false;
  }
  const { text, ends } = part;
  const last = pieces.at(-1);
  if (open && last?.type === type) {
    pieces[pieces.length - 1] = { ...last, text: last.text + text, ...options };
  } else if (text !== "" || providerOptions !== undefined) {
    pieces.push({ type, text, ...options });
  } else return open;
  return ends !== true;
}

function textIn(pieces: readonly Piece[]): string {
  return pieces.map((piece) => (piece.type === "text" ? piece.text : "")).join("");
}

function answerOf(pieces: readonly Piece[], { stop, usage }: End): ModelAnswer {
  const content = pieces.filter((piece) => piece.type !== "text" || piece.text !== "");
  const calls = content.filter((piece) => piece.type === "tool-call");
  const said = content.some((piece) => piece.type !== "reasoning");
  const message: AgentMessage = { role: "assistant", content: content.map(storable) };
  return { text: textIn(pieces), message: said ? message : undefined, calls, stop, usage };
}

/** Providers accept only parsed arguments; unparsable text was reported to the model as an error. */
function storable(piece: Piece): Piece {
  if (piece.type !== "tool-call") return piece;
  const { value, problem } = argumentsOf(piece);
  return { ...piece, input: problem === undefined ? value : { unreadable: value } };
}

/** Transient statuses: too many requests, timeouts, provider-side errors. */
const PASSING = new Set([408, 409, 425, 429]);
const PASSING_WORDS =
  /overloaded|rate.?limit|timed? ?out|temporar|unavailable|try again|socket|network|fetch failed|terminated|ECONN|ETIMEDOUT|EPIPE|EAI_AGAIN|broke off|said nothing/i;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

/** Whether retrying the same request can succeed. */
function passes(error: unknown): boolean {
  const { status, statusCode, isRetryable } = objectOf(error);
  if (typeof isRetryable === "boolean") return isRetryable;
  const code = typeof status === "number" ? status : statusCode;
  if (typeof code === "number") return PASSING.has(code) || code >= 500;
  return PASSING_WORDS.test(wordsOf(error));
}

/** Milliseconds before the next attempt: the provider's value, otherwise doubling from half a second. */
function pauseBefore(attempt: number, error: unknown): number {
  const { retryAfterMs } = objectOf(error);
  const asked = typeof retryAfterMs === "number" && retryAfterMs >= 0 ? retryAfterMs : headerPause(error);
  return Math.min(asked ?? FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS);
}

function headerPause(error: unknown): number | undefined {
  const seconds = Number(objectOf(objectOf(error).responseHeaders)["retry-after"] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}
