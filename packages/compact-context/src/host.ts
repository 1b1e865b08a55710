import type { CompactionReport } from "./core/report.ts";
import type { ManualRequest } from "./core/request.ts";
import type { CompactManager } from "./create-manager.ts";
import {
  CompactError,
  errorMessage,
  hasCode,
  MAX_TIMER_MS,
  requireFunction,
  requireKnown,
  requireOptions,
} from "./errors.ts";
import { positiveOf } from "./providers/request.ts";
import { tooLong } from "./providers/too-long.ts";

/** The methods of a manager that adapters use. */
export type HostManager = Pick<
  CompactManager,
  "preflight" | "manualCompact" | "isOverBudget" | "warn" | "getState"
>;

export interface HostOptions {
  /**
   * Effect of a list that cannot be processed (unreadable, over its deadline, or over the budget while the
   * archive fails). `continue` (default): the host's list is used unchanged, with a `compact.warning`, unless it
   * is over the budget. A failing archive or state never stops a list that fits, and a failing summarizer has a
   * fallback: the manager's `onWarning` and events tell of these, with `throw` too.
   */
  readonly onFailure?: "continue" | "throw";
  /** Milliseconds for processing one list, summary included. Default: 120,000. */
  readonly deadlineMs?: number;
  /** Whether lists are repaired first. Default: the manager's setting. */
  readonly repair?: boolean;
}

/** The names of the options that every adapter with a manager has. */
export const HOST_OPTIONS = { manager: true, onFailure: true, deadlineMs: true, repair: true } as const;

/** The options of an adapter whose caller brings the manager. */
export interface ManagedOptions extends HostOptions {
  readonly manager: HostManager;
}

/** What to pass where an adapter's options are no object. */
export const HOST_HINT = "Pass { manager: new CompactManager(), sessionId }.";

/** One list to be sent to the model. */
export interface HostCall<T> {
  readonly sessionId: string;
  readonly messages: readonly T[];
  readonly request?: ManualRequest;
  /** Compacts regardless of usage. */
  readonly force?: boolean;
}

/** Rejects if the list is over the budget, the caller aborted, or `onFailure` is `throw`. */
export type HostPreflight = <T>(call: HostCall<T>) => Promise<readonly T[]>;

const DEADLINE_MS = 120_000;

/** Result for one list. */
interface HostAnswer<T> {
  readonly messages: readonly T[];
  /** Undefined if a failure passed the list through unchanged. */
  readonly report: CompactionReport | undefined;
}

/** Rejects as `HostPreflight` does. */
export type HostCompaction = <T>(call: HostCall<T>) => Promise<HostAnswer<T>>;

/** `preflight` for adapters: only budget failures reach the host's run. */
export function createHostPreflight(manager: HostManager, options: HostOptions = {}): HostPreflight {
  const compact = createHostCompaction(manager, options);
  return async (call) => (await compact(call)).messages;
}

/** `createHostPreflight` for an adapter's options, which are checked first; `own` are the names of its own ones. */
export function hostPreflight<Options extends ManagedOptions>(
  options: Options,
  own: Readonly<Record<Exclude<keyof NoInfer<Options>, keyof ManagedOptions>, true>>,
): HostPreflight {
  requireKnown<ManagedOptions>(options, { ...HOST_OPTIONS, ...own }, HOST_HINT);
  return createHostPreflight(options.manager, options);
}

/** Like `createHostPreflight`, with the report. */
export function createHostCompaction(manager: HostManager, options: HostOptions = {}): HostCompaction {
  const hint = "Pass new CompactManager() as the manager.";
  requireOptions(manager, "options.manager", hint);
  requireFunction(manager.preflight, "options.manager.preflight", hint);
  const { onFailure = "continue", deadlineMs = DEADLINE_MS, repair } = options;
  if (!(deadlineMs > 0)) throw noSuchValue("deadlineMs", deadlineMs, "Pass milliseconds, such as 120_000.");
  if (onFailure !== "continue" && onFailure !== "throw")
    throw noSuchValue("onFailure", onFailure, 'Pass "continue" or "throw".');
  const stuck = new Map<string, Promise<unknown>>();

  const attempt = async <T>(call: HostCall<T>): Promise<HostAnswer<T>> => {
    if (stuck.has(call.sessionId)) throw tooSlow(deadlineMs);
    const deadline = startDeadline(deadlineMs, call.request?.signal, () => tooSlow(deadlineMs));
    const { sessionId, messages, request, force } = call;
    const asked = { ...request, signal: deadline.signal, repair: request?.repair ?? repair };
    const work = force
      ? manager.manualCompact(sessionId, messages, asked)
      : manager.preflight(sessionId, messages, asked);
    try {
      return await orAborted(work, deadline.signal);
    } catch (error) {
      const byCaller = call.request?.signal?.aborted === true;
      if (deadline.signal.aborted && !byCaller) {
        // Later calls of the session do not wait for work that hangs.
        stuck.set(sessionId, work);
        const forget = (): void => {
          if (stuck.get(sessionId) === work) stuck.delete(sessionId);
        };
        work.then(forget, forget);
      }
      throw error;
    } finally {
      deadline.stop();
    }
  };

  return async (given) => {
    // Hosts pass on what their programs wrote: -1 and Infinity mean that there is no limit.
    const maxOutputTokens = positiveOf(given.request?.maxOutputTokens);
    const call = { ...given, request: { ...given.request, maxOutputTokens } };
    try {
      return await attempt(call);
    } catch (error) {
      if (
        onFailure === "throw" ||
        call.request?.signal?.aborted === true ||
        hasCode(error, "InsufficientBudget")
      )
        throw error;
      if (isOverBudget(manager, call)) throw overBudget(error);
      if (hasCode(error, "InvalidArgument") && !isSessionId(call.sessionId)) {
        const message = `nothing is compacted: ${error.message}. ${error.hint}`;
        manager.warn(call.sessionId, "no_session_id", message);
      }
      manager.warn(
        call.sessionId,
        "passed_as_given",
        `the list was passed on as it is: ${errorMessage(error)}`,
      );
      return { messages: call.messages, report: undefined };
    }
  };
}

function noSuchValue(name: keyof HostOptions, value: unknown, hint: string): CompactError {
  const place = `options.${name}`;
  return new CompactError("InvalidArgument", `${place} cannot be ${String(value)}`, { place, hint });
}

/** Programs without types pass anything. */
function isSessionId(given: unknown): boolean {
  return typeof given === "string" && given !== "";
}

/**
 * The result of `work`, or the signal's own reason as soon as it is aborted, for work that ignores the signal. An abort
 * wins over work that settled in the same tick: rejecting in the listener comes before any reaction of the work.
 */
export function orAborted<T>(work: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const refuse = (): void => reject(signal.reason);
    if (signal.aborted) refuse();
    signal.addEventListener("abort", refuse, { once: true });
    const settle = (): void => signal.removeEventListener("abort", refuse);
    work.then(resolve, reject).then(settle);
  });
}

/** A signal that is aborted by an outer one or on timeout; `stop` releases it. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** True after the timeout. */
  passed(): boolean;
  stop(): void;
}

/** `late` creates the abort reason on timeout. */
export function startDeadline(
  ms: number,
  outer?: AbortSignal,
  late: () => Error = () => new Error(`took longer than ${ms} ms`),
): Deadline {
  const controller = new AbortController();
  let isOver = false;
  const end = (): void => {
    isOver = true;
    controller.abort(late());
  };
  const abort = (): void => controller.abort(outer?.reason);
  const timer = setTimeout(end, Math.min(ms, MAX_TIMER_MS));
  if (outer?.aborted === true) abort();
  outer?.addEventListener("abort", abort, { once: true });
  return {
    signal: controller.signal,
    passed: () => isOver,
    stop() {
      clearTimeout(timer);
      outer?.removeEventListener("abort", abort);
    },
  };
}

/** A failed call and the list that was sent for it. */
export interface FailedCall<T> extends HostCall<T> {
  readonly sent: readonly T[];
  readonly error: unknown;
}

/**
 * The list, compacted harder, for a request that the provider rejected as too long. Throws the provider's own
 * error if it is a different one, or if nothing more can be removed.
 */
export async function fitHarder<T>(
  manager: HostManager,
  preflight: HostPreflight,
  { sessionId, messages, request: { usage: _, ...request } = {}, sent, error }: FailedCall<T>,
): Promise<readonly T[]> {
  const refused = tooLong(error, request.maxOutputTokens);
  if (refused === undefined) throw error;
  const note = "the provider found the request too long";
  manager.warn(sessionId, "too_long", `${note}; it is compacted harder and sent once more`);
  const asked = { ...request, refused, note };
  const shorter = await preflight({ sessionId, messages, request: asked, force: true }).catch(() => sent);
  const same = shorter.length === sent.length && shorter.every((entry, index) => entry === sent[index]);
  if (same) throw error;
  return shorter;
}

function tooSlow(milliseconds: number): CompactError {
  return new CompactError("Aborted", `compacting took longer than ${milliseconds} ms`, {
    hint: "Raise deadlineMs, or use a faster summarizer or storage.",
  });
}

function isOverBudget<T>(manager: HostManager, { sessionId, messages, request }: HostCall<T>): boolean {
  try {
    return manager.isOverBudget(sessionId, messages, request);
  } catch {
    return false;
  }
}

function overBudget(error: unknown): CompactError {
  if (CompactError.isInstance(error) && error.code !== "Aborted" && error.hint !== "") return error;
  const message = `the list is over the budget and could not be compacted: ${errorMessage(error)}`;
  return new CompactError("InsufficientBudget", message, {
    hint: "Fix what failed (see cause) and send the list again: nothing of it was dropped.",
    cause: error,
  });
}
