import type { CompactByProvider } from "../core/ports.ts";
import type { CompactionReport } from "../core/report.ts";
import type { ManualRequest } from "../core/request.ts";
import { CompactError, createLruMap, hasCode, type LruMap, requireKnown } from "../errors.ts";
import {
  createHostCompaction,
  fitHarder,
  HOST_HINT,
  HOST_OPTIONS,
  type HostCompaction,
  type HostManager,
  type HostOptions,
  type HostPreflight,
} from "../host.ts";
import { type Json, objectOf, objectsIn, parsedObject, textOf } from "../providers/request.ts";
import { tooLong } from "../providers/too-long.ts";
import {
  below,
  type CallKind,
  callKind,
  hasConversation,
  listIn,
  modelOf,
  pathOf,
  sessionName,
} from "./calls.ts";
import { refusedOr, textOfCopy, withRetry } from "./streamed.ts";
import { refusesReasoning, watchUsage, withoutReasoning, withoutThinking } from "./usage-tee.ts";

// One model call to a provider, as URL, headers and body, from any client in any language.

export interface WireOptions extends HostOptions {
  /** Keeps the sessions; a function if each model has its own manager. */
  readonly manager: HostManager | ((model: string | undefined) => HostManager);
  /** The session of a request; if omitted or undefined, derived from headers and body. */
  readonly sessionId?: string | ((headers: Headers, body: Json) => string | undefined);
  /** Called with the usage that the provider reports for a call. */
  readonly onUsage?: (session: string, usage: Json) => void;
  /**
   * Sends our own requests with the client's headers: a provider's compaction, for `summarizer.kind:
   * "provider"`. If omitted, no provider is asked to compact.
   */
  readonly fetch?: typeof globalThis.fetch;
  /** Called with warnings about calls that pass through, once each. Default: the console. */
  readonly onWarning?: (message: string) => void;
}

/** Why a body passes unchanged. */
export type PassedBy =
  /** Not a known call with a conversation. */
  | "no_model_call"
  /** The provider keeps or compacts the conversation. */
  | "server_managed"
  /** Compacting failed, and the list fits. */
  | "failed";

/** One request that was read. */
export interface WireCall {
  /** The body to send: the same object if nothing changes. */
  readonly body: Json;
  readonly session: string | undefined;
  readonly report: CompactionReport | undefined;
  readonly passedBy: PassedBy | undefined;
  /** The headers to send with the body: the given ones, and a beta header that the body requires. */
  readonly headers: Headers;
  /**
   * Sends the body and returns the provider's answer, byte for byte, reading its usage as it passes. A
   * request that the provider rejects as too long is compacted harder and retried once; one whose reasoning
   * it rejects is retried once without it. A list over its budget is not sent: the answer is then the
   * provider's own error for that.
   */
  send(send: Send): Promise<Response>;
}

/** Sends a body; `report` tells of the compaction that was made for it. */
type Send = (body: Json, report?: CompactionReport) => Promise<Response>;

/**
 * Processes a request before it is sent. `body` is the parsed JSON. Rejects if the caller aborts, or
 * according to `onFailure`.
 */
export type Wire = (
  url: string | URL,
  headers: Headers | Readonly<Record<string, string>>,
  body: unknown,
  signal?: AbortSignal,
) => Promise<WireCall>;

/** State kept for a session between its calls. */
interface Remembered {
  /** What the provider reported for the newest call of each manager. */
  readonly usage: WeakMap<HostManager, Json>;
  /** Entries of the client's list before this index are sent without reasoning: the provider refused it. */
  withoutReasoning?: number;
  /** Reasoning blocks that the provider dropped since the previous call, by its own report. */
  dropped?: number;
}

/** The latest list of a compacted session, as received and as sent. */
interface Sent {
  readonly given: readonly unknown[];
  readonly sent: readonly unknown[];
}

const MAX_SESSIONS = 256;
/** Lists are large: only those of the newest sessions are kept, to answer token counts. */
const MAX_LISTS = 16;
/** Maximum number of cache breakpoints in a request to Anthropic. */
const MAX_BREAKPOINTS = 4;
/** Statuses with which providers reject a list, */
const REFUSALS: ReadonlySet<number> = new Set([400, 413, 422]);
/** and those with which some say that it is too long: a limit per minute, llama.cpp, LiteLLM. */
const UNCLEAR: ReadonlySet<number> = new Set([429, 500, 503]);

export function createWire(options: WireOptions): Wire {
  requireKnown(
    options,
    { ...HOST_OPTIONS, sessionId: true, onUsage: true, fetch: true, onWarning: true },
    HOST_HINT,
  );
  const compactions = new WeakMap<HostManager, HostCompaction>();
  const shared: Shared = {
    options,
    sessions: createLruMap(MAX_SESSIONS),
    lists: createLruMap(MAX_LISTS),
    warnOnce: createWarner(options.onWarning),
    compactionOf(manager) {
      const known = compactions.get(manager) ?? createHostCompaction(manager, options);
      compactions.set(manager, known);
      return known;
    },
  };
  if (typeof options.manager !== "function") shared.compactionOf(options.manager);
  return async (url, headers, body, signal) =>
    look(shared, { url, headers: new Headers(headers), body: objectOf(body), signal });
}

interface Shared {
  readonly options: WireOptions;
  readonly sessions: LruMap<Remembered>;
  readonly lists: LruMap<Sent>;
  warnOnce(message: string): void;
  compactionOf(manager: HostManager): HostCompaction;
}

interface Request {
  readonly url: string | URL;
  readonly headers: Headers;
  readonly body: Json;
  readonly signal: AbortSignal | undefined;
}

/** A call with a conversation that is kept here. */
interface ModelCall extends Request {
  readonly shared: Shared;
  readonly manager: HostManager;
  readonly kind: CallKind;
  readonly session: string;
  readonly list: readonly unknown[];
  readonly memory: Remembered;
}

async function look(shared: Shared, request: Request): Promise<WireCall> {
  const { url, headers, body } = request;
  const kind = callKind(url);
  const list = kind === undefined ? undefined : listIn(kind, body);
  if (kind === undefined || list === undefined) {
    if (hasConversation(body)) {
      const message = `calls of ${pathOf(url)} carry a conversation that is not compacted: the interface is not known`;
      shared.warnOnce(message);
    }
    return pass(request, undefined, "no_model_call");
  }
  const { manager: given, sessionId } = shared.options;
  const manager = typeof given === "function" ? given(modelOf(url, body)) : given;
  const named = typeof sessionId === "function" ? sessionId(headers, body) : sessionId;
  const session = named ?? sessionName(headers, body, list);
  const managed = kind.serverManaged(body);
  if (managed.length > 0) {
    const message = `the provider keeps or compacts this conversation (${managed.join(", ")}): nothing is compacted here. Lists that are sent whole, without it, are`;
    const passed = pass(request, session, "server_managed");
    // What the provider refuses it does not keep: the client then sends the list itself.
    const told = async (send: Send): Promise<Response> => {
      const response = await passed.send(send);
      if (response.ok) manager.warn(session, "server_managed_history", message);
      return response;
    };
    return { ...passed, send: told };
  }
  if (kind.counts) return countAsSent(shared, request, { session, kind, list });
  const memory = shared.sessions.get(session) ?? { usage: new WeakMap() };
  shared.sessions.set(session, memory);
  const kept = kind.keptHere?.(body) ?? body;
  return prepare({ ...request, body: kept, shared, manager, kind, session, list, memory });
}

function pass({ body, headers }: Sendable, session: string | undefined, passedBy?: PassedBy): WireCall {
  return { body, headers, session, report: undefined, passedBy, send: (send) => send(body) };
}

type Sendable = Pick<Request, "body" | "headers">;

/** The headers for a list, with the beta that the provider's own compaction requires. */
function headersFor(headers: Headers, { compaction }: CallKind, list: readonly unknown[]): Headers {
  const beta = compaction?.beta;
  return beta?.opens(list) === true ? withHeader(headers, beta.header) : headers;
}

function withHeader(headers: Headers, [name, value]: readonly [string, string]): Headers {
  const own = new Headers(headers);
  const values = (own.get(name) ?? "").split(",").map((word) => word.trim());
  if (!values.includes(value)) own.append(name, value);
  return own;
}

/** Counts the list that would be sent: with the count of its own list, the client would compact by itself. */
function countAsSent(
  { lists }: Shared,
  request: Request,
  { session, kind, list }: Pick<ModelCall, "session" | "kind" | "list">,
): WireCall {
  const { given = [], sent: before = [] } = lists.get(session) ?? {};
  const continues = given.every((entry, index) => entryText(entry) === entryText(list[index]));
  if (before.length === 0 || !continues) return pass(request, session);
  const sent = [...before, ...list.slice(given.length)];
  const headers = headersFor(request.headers, kind, sent);
  return pass({ body: { ...request.body, [kind.field]: sent }, headers }, session);
}

function entryText(entry: unknown): string {
  return JSON.stringify(entry, (key, value: unknown) => (key === "cache_control" ? undefined : value));
}

// ---- one call

async function prepare(call: ModelCall): Promise<WireCall> {
  const { shared, session, manager, kind, list, body, headers, memory } = call;
  const { dropped } = memory;
  const usage = memory.usage.get(manager);
  delete memory.dropped;
  memory.usage.delete(manager);
  try {
    const compact = shared.compactionOf(manager);
    const request = { ...beside(call), usage };
    const { messages, report } = await compact({ sessionId: session, messages: list, request });
    remember(call, messages);
    const told =
      report && (dropped === undefined ? report : { ...report, reasoningDroppedByProvider: dropped });
    const isBare = (memory.withoutReasoning ?? 0) >= list.length;
    const first = { messages, body: bodyWith(call, messages), report: told, isBare };
    return {
      body: first.body,
      headers: headersFor(headers, kind, messages),
      session,
      report: told,
      passedBy: report === undefined ? "failed" : undefined,
      send: (send) => sendFitting(call, first, send),
    };
  } catch (error) {
    if (!hasCode(error, "InsufficientBudget")) throw error;
    const { totalTokens, maxContextTokens: limit } = manager.getState(session);
    const tokens = Math.max(totalTokens, limit + 1, list.length);
    const said = kind.tooLong({ tokens, limit, message: `${error.message}. ${error.hint}` });
    const refusal = Response.json(said, {
      status: 400,
      headers: { "x-should-retry": "false", "x-compact": "over-budget" },
    });
    return { ...pass({ body, headers }, session), send: async () => refusal.clone() };
  }
}

function beside(call: ModelCall): ManualRequest {
  const { kind, url, body, signal, shared } = call;
  const compact: CompactByProvider | undefined =
    shared.options.fetch && ((entries, stop) => compactedByProvider(call, entries, stop));
  return { ...kind.beside(body), format: kind.format, answeredBy: modelOf(url, body), signal, compact };
}

/** Asks the provider, with the client's own headers, to compact the first entries of the list. */
async function compactedByProvider(
  { url, body, headers: given, kind: { compaction }, shared: { options } }: ModelCall,
  entries: readonly unknown[],
  signal: AbortSignal | undefined,
): ReturnType<CompactByProvider> {
  const { fetch } = options;
  if (compaction === undefined || fetch === undefined)
    throw noCompaction("it offers no compaction on demand");
  const { beta, path = "" } = compaction;
  const headers = beta === undefined ? new Headers(given) : withHeader(given, beta.header);
  for (const name of ["content-length", "accept", "accept-encoding", "idempotency-key"]) headers.delete(name);
  const request = JSON.stringify(compaction.bodyOf(body, entries));
  const response = await fetch(below(url, path), {
    method: "POST",
    headers,
    body: request,
    signal: signal ?? null,
  });
  const text = await response.text();
  if (!response.ok) throw noCompaction(`it answered ${response.status}: ${text.slice(0, 400)}`);
  const answer = parsedObject(text);
  const made = compaction.read(answer);
  if (made === undefined)
    throw noCompaction(`it stopped with ${textOf(answer.stop_reason) || "no compaction"}`);
  return { ...made, model: modelOf(url, body) ?? "" };
}

/** Keeps a compacted list, to answer token counts. */
function remember({ shared: { lists }, session, list }: ModelCall, sent: readonly unknown[]): void {
  if (sent === list) lists.delete(session);
  else lists.set(session, { given: list, sent });
}

function bodyWith({ body, kind, list, memory }: ModelCall, messages: readonly unknown[]): Json {
  const bare = memory.withoutReasoning ?? 0;
  if (messages === list && bare === 0 && !list.some(isMarked)) return body;
  const given = new Set(list);
  const refused = new Set(list.slice(0, bare));
  const kept = messages
    .map((entry) => (refused.has(entry) || (bare > 0 && !given.has(entry)) ? withoutReasoning(entry) : entry))
    .filter((entry) => entry !== undefined);
  const marked = kind.provider === "anthropic" ? withBreakpoint(body, kept, given) : kept;
  const sent = { ...body, [kind.field]: marked.map(withoutMark) };
  return bare > 0 ? withoutThinking(sent, marked) : sent;
}

/** A request as it goes out. */
interface Sending {
  readonly messages: readonly unknown[];
  readonly body: Json;
  readonly report: CompactionReport | undefined;
  /** It was refused as too long and compacted harder. */
  readonly isHarder?: boolean;
  /** It leaves out all reasoning of the client's list. */
  readonly isBare: boolean;
}

async function sendFitting(call: ModelCall, sending: Sending, send: Send): Promise<Response> {
  const response = await send(sending.body, sending.report);
  const { status } = response;
  const retry = async (text: string, gone?: AbortSignal): Promise<Response | undefined> => {
    const again = await mended(call, sending, { status, text });
    return again === undefined || gone?.aborted === true ? undefined : sendFitting(call, again, send);
  };
  if (REFUSALS.has(status) || UNCLEAR.has(status)) return refusedOr(response, retry);
  return withRetry(watched(call, response), retry);
}

/** True if the provider does not take the list; the response itself stays unread. */
export async function isRefused(response: Response): Promise<boolean> {
  const { status } = response;
  if (!UNCLEAR.has(status)) return REFUSALS.has(status);
  return tooLong({ status, message: await textOfCopy(response) }) !== undefined;
}

/** What to retry with after a refusal; undefined if no other list helps. */
async function mended(
  call: ModelCall,
  sending: Sending,
  { status, text }: { readonly status: number; readonly text: string },
): Promise<Sending | undefined> {
  const { manager, session, list, memory } = call;
  const { messages: sent, isBare } = sending;
  const error = { status, message: text.slice(0, 4_000), error: text };
  if (!isBare && !UNCLEAR.has(status) && refusesReasoning(error.message)) {
    memory.withoutReasoning = list.length;
    const message =
      "the provider refused the reasoning in the list: it is left out from now on, and until the next message of the user " +
      "calls are made without thinking where the newest answer has lost its own";
    manager.warn(session, "reasoning_refused", message);
    return { ...sending, body: bodyWith(call, sent), report: undefined, isBare: true };
  }
  if (sending.isHarder) return undefined;
  let report: CompactionReport | undefined;
  const preflight: HostPreflight = async (one) => {
    const answer = await call.shared.compactionOf(manager)(one);
    report = answer.report;
    return answer.messages;
  };
  const failed = { sessionId: session, messages: list, request: beside(call), sent, error };
  try {
    const shorter = await fitHarder(manager, preflight, failed);
    remember(call, shorter);
    return { messages: shorter, body: bodyWith(call, shorter), report, isHarder: true, isBare };
  } catch {
    return undefined;
  }
}

/** The answer, with its usage noted as it passes. */
function watched({ kind, session, manager, memory, shared }: ModelCall, response: Response): Response {
  let usage: Json = {};
  let isDropTold = false;
  const usageOf = (piece: Json): unknown => {
    const dropped = objectsIn(kind.changesOf?.(piece)).filter(isDrop);
    if (dropped.length > 0 && !isDropTold) {
      isDropTold = true;
      memory.dropped = dropped.length;
      const message = `the provider dropped ${dropped.length} blocks of reasoning: ${textOf(dropped[0]?.reason)}`;
      manager.warn(session, "reasoning_dropped", message);
    }
    return kind.usageOf(piece);
  };
  const body = watchUsage(response, usageOf, (record) => {
    // A stream reports the input first and the output last.
    const told = Object.entries(record).filter(([, value]) => value != null);
    usage = { ...usage, ...Object.fromEntries(told) };
    memory.usage.set(manager, usage);
    shared.options.onUsage?.(session, usage);
  });
  return body === response.body ? response : new Response(body, response);
}

/** True for an entry with our own mark, `meta: { protected: true }`: providers refuse unknown fields. */
function isMarked(entry: unknown): boolean {
  return typeof objectOf(objectOf(entry).meta).protected === "boolean";
}

function withoutMark(entry: unknown): unknown {
  if (!isMarked(entry)) return entry;
  const { meta: _, ...rest } = objectOf(entry);
  return rest;
}

/** Entries for blocks that were shown are not counted as dropped. */
function isDrop({ type, reason }: Json): boolean {
  return textOf(type).includes("dropped") || textOf(reason) === "prefix_mismatch";
}

function noCompaction(why: string): CompactError {
  return new CompactError("SummarizerFailed", `the provider did not compact: ${why}`, {
    hint: "See whether the model and the account may use compaction on demand; the built-in summarizer stands in.",
  });
}

/**
 * The list with a cache breakpoint on the first entry that is ours, the summary or a cleared result: what stands
 * before it stays the same until the next compaction. Marks on entries that are ours come from an earlier call and
 * go. Only where the client itself marks the cache, at most four in the request, and as long-lived as the client's
 * next one: a mark may not outlive those before it.
 */
function withBreakpoint(body: Json, list: readonly unknown[], given: ReadonlySet<unknown>): unknown[] {
  const clean = list.map((entry) => (given.has(entry) ? entry : unmarked(entry)));
  const own = clean.findIndex((entry) => !given.has(entry));
  if (own < 0) return clean;
  const marksOf = (entries: readonly unknown[]): unknown[] =>
    entries.flatMap((entry) => marksIn(objectOf(entry).content));
  const before = [...marksIn(body.tools), ...marksIn(body.system), ...marksOf(clean.slice(0, own))];
  const behind = [...marksOf(clean.slice(own + 1)), ...marksIn([body])];
  const used = before.length + behind.length;
  if (used === 0 || used >= MAX_BREAKPOINTS) return clean;
  const entry = objectOf(clean[own]);
  const blocks =
    typeof entry.content === "string" ? [{ type: "text", text: entry.content }] : objectsIn(entry.content);
  const last = blocks.at(-1);
  if (last === undefined || last.type === "thinking" || last.type === "redacted_thinking") return clean;
  const content = [...blocks.slice(0, -1), { ...last, cache_control: behind[0] ?? before.at(-1) }];
  return clean.with(own, { ...entry, content });
}

function marksIn(blocks: unknown): unknown[] {
  return objectsIn(blocks)
    .map(({ cache_control: mark }) => mark)
    .filter((mark) => mark != null);
}

function unmarked(entry: unknown): unknown {
  const { content } = objectOf(entry);
  if (marksIn(content).length === 0) return entry;
  return { ...objectOf(entry), content: objectsIn(content).map(({ cache_control: _, ...block }) => block) };
}

/** Tells each message once. */
export function createWarner(onWarning: WireOptions["onWarning"]): (message: string) => void {
  const say = onWarning ?? ((message: string) => console.warn(`[compact] ${message}`));
  const said = createLruMap<true>(MAX_SESSIONS);
  return (message) => {
    if (said.get(message)) return;
    said.set(message, true);
    say(message);
  };
}
