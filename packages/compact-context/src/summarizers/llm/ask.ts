import type { TextModel, TextModelAnswer, TextModelRequest } from "../../core/ports.ts";
import { CompactError } from "../../errors.ts";
import type { TimePorts } from "./ports.ts";

/** How one call to a model ended. */
export type Asked =
  | { readonly kind: "answer"; readonly answer: TextModelAnswer }
  | { readonly kind: "error"; readonly error: unknown }
  | { readonly kind: "timeout" };

export interface AskLimits {
  /** Milliseconds until the call is given up. */
  readonly milliseconds: number;
  /** The caller's own. */
  readonly signal: AbortSignal | undefined;
  readonly time: TimePorts;
}

/**
 * Calls a model, and gives up on it at the deadline whether or not it listens to its signal. Throws `Aborted`
 * when the caller's signal is; never anything else.
 */
export async function ask(model: TextModel, request: TextModelRequest, limits: AskLimits): Promise<Asked> {
  const { signal, time } = limits;
  throwIfAborted(signal);
  const controller = new AbortController();
  let isAnswered = false;
  let cancelTimer = (): void => {};
  let onAbort = (): void => {};
  const timedOut = new Promise<Asked>((resolve) => {
    cancelTimer = time.after(limits.milliseconds, () => resolve({ kind: "timeout" }));
  });
  const aborted = new Promise<"aborted">((resolve) => {
    onAbort = () => resolve("aborted");
    signal?.addEventListener("abort", onAbort, { once: true });
  });
  try {
    const ended = await Promise.race([
      generate(model, { ...request, signal: controller.signal }),
      timedOut,
      aborted,
    ]);
    if (ended === "aborted") throw abortError(signal);
    isAnswered = ended.kind === "answer";
    return ended;
  } finally {
    cancelTimer();
    signal?.removeEventListener("abort", onAbort);
    if (!isAnswered) controller.abort(signal?.reason);
  }
}

async function generate(model: TextModel, request: TextModelRequest): Promise<Asked> {
  try {
    return { kind: "answer", answer: await model.generate(request) };
  } catch (error) {
    return { kind: "error", error };
  }
}

/** Throws `Aborted` when the signal is. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw abortError(signal);
}

function abortError(signal: AbortSignal | undefined): CompactError {
  return new CompactError("Aborted", "The summary was aborted by its caller.", {
    hint: "The history is as it was; call again to compact it.",
    cause: signal?.reason,
  });
}
