import type {
  AttemptFailure,
  LiveConversation,
  SummarizeOptions,
  SummaryAttempt,
  SummaryStrategy,
  TextModel,
  TextModelAnswer,
  TextModelRequest,
} from "../../core/ports.ts";
import { CompactError, errorMessage, MAX_TIMER_MS, platform } from "../../errors.ts";
import { redact } from "../../redaction/redactor.ts";
import { normalizeUsage } from "../../tokens/usage.ts";
import { abortError, throwIfAborted } from "../extractive/builtin.ts";
import { proseOf } from "./complete.ts";
import type { ModelSummarizerOptions } from "./options.ts";
import { promptId, promptMessages } from "./prompts.ts";
import { judge } from "./verify.ts";

/** A model's state that a summarizer keeps across calls. */
export interface KnownModel {
  readonly model: TextModel;
  readonly breaker: Breaker;
  /** Output tokens reserved for thinking, learned from answers that were nothing else. */
  thinkingTokens: number;
}

/** The input and remaining limits of one summarizer call. */
export interface Run {
  readonly options: ModelSummarizerOptions;
  readonly request: SummarizeOptions;
  readonly countText: (text: string) => number;
  readonly strategy: SummaryStrategy;
  /** Clock time. */
  readonly endsAt: number;
  /** Timeout in milliseconds for a request with this many input tokens. */
  readonly attemptMs: (inputTokens: number) => number;
  /** Maximum tokens of the prose. */
  readonly room: number;
  /** Earlier texts that do not count as an answer. */
  readonly stale: readonly string[];
  /** Removes unsupported claims from an accepted text; undefined if nothing is left. */
  readonly verified: (text: string) => string | undefined;
}

/** One part of the input, ready for a request. */
export interface PartToAsk {
  readonly records: string | undefined;
  readonly live: LiveConversation | undefined;
  readonly staying: number;
  readonly tokens: number;
  readonly previous: string | undefined;
  readonly part: number;
  readonly parts: number;
}

/** The parameters of one attempt. */
export interface Ask {
  readonly strategy: SummaryStrategy;
  readonly maxTokens: number;
}

/** The outcome of requesting one part from one model: its text, or undefined, and the last attempt. */
export interface Tried {
  readonly text: string | undefined;
  readonly last: SummaryAttempt;
}

/** Failures that indicate a problem with the model or the connection, not with this text. */
const FAULTS: ReadonlySet<AttemptFailure> = new Set<AttemptFailure>([
  "error",
  "timeout",
  "empty",
  "reasoning-only",
  "error-text",
  "malformed",
]);

/** Sends one request to one model within the remaining time. Throws only `Aborted`. */
async function attempt(known: KnownModel, part: PartToAsk, wanted: Ask, run: Run): Promise<Tried> {
  throwIfAborted(run.request.signal);
  const started = platform.clock();
  const base = baseOf(known, part, wanted, run);
  const milliseconds = Math.min(run.attemptMs(base.inputTokens), run.endsAt - started);
  if (milliseconds <= 0) return failed(base, { outcome: "timeout", detail: "no time is left" });
  if (!known.breaker.allows())
    return failed(base, { outcome: "skipped", detail: "failed too often of late" });
  const limits = { milliseconds, signal: run.request.signal };
  const asked = await ask(known.model, requestFor(known, part, wanted, run), limits).finally(
    known.breaker.undecided,
  );
  const told = { ...base, durationMs: platform.clock() - started };
  if (asked.kind === "answer") return weigh(asked.answer, told, { known, part, run });
  known.breaker.failed();
  if (asked.kind === "error")
    return failed(told, { outcome: "error", detail: wordsOf(asked.error), error: asked.error });
  return failed(told, { outcome: "timeout", detail: `no answer within ${Math.round(milliseconds)} ms` });
}

/** Whether an answer is accepted, and what that says about the model. */
function weigh(
  answer: TextModelAnswer,
  told: SummaryAttempt,
  { known, part, run }: { readonly known: KnownModel; readonly part: PartToAsk; readonly run: Run },
): Tried {
  const said = typeof answer.text === "string" ? answer.text : "";
  const usage = answer.usage === undefined ? undefined : normalizeUsage(answer.usage);
  const base = { ...told, outputTokens: run.countText(said), usage };
  const { previous } = part;
  // The summary so far and its prose are not new content.
  const stale =
    previous === undefined || part.part > 1 ? run.stale : [...run.stale, previous, proseOf(previous)];
  const judged = judge({ ...answer, text: said }, { maxTokens: run.room, countText: run.countText, stale });
  if ("failure" in judged) {
    if (FAULTS.has(judged.failure)) known.breaker.failed();
    return failed(base, { outcome: judged.failure, detail: judged.detail });
  }
  known.breaker.succeeded();
  const text = run.verified(judged.text);
  if (text === undefined)
    return failed(base, { outcome: "unfounded", detail: "the source holds nothing of it" });
  return { text, last: base };
}

function failed(base: SummaryAttempt, end: Pick<SummaryAttempt, "outcome" | "detail" | "error">): Tried {
  return { text: undefined, last: { ...base, ...end } };
}

function baseOf(known: KnownModel, part: PartToAsk, wanted: Ask, run: Run): SummaryAttempt {
  return {
    model: known.model.name,
    prompt: promptId(wanted.strategy),
    strategy: wanted.strategy,
    input: part.live === undefined ? "text" : "prefix",
    part: part.part,
    parts: part.parts,
    maxTokens: wanted.maxTokens,
    outcome: "accepted",
    durationMs: 0,
    inputTokens: part.tokens + (part.previous === undefined ? 0 : run.countText(part.previous)),
    outputTokens: 0,
  };
}

function requestFor(known: KnownModel, part: PartToAsk, wanted: Ask, run: Run): TextModelRequest {
  const { options, request } = run;
  const clean = (text: string | undefined): string | undefined =>
    text === undefined ? undefined : (options.redact ?? redact)(text);
  return {
    messages: promptMessages({
      strategy: wanted.strategy,
      templates: options.templates,
      records: part.live === undefined ? (part.records ?? "") : undefined,
      // Sections of an earlier summary quote messages verbatim.
      previous: clean(part.previous),
      instruction: clean(request.instruction),
      part: part.part,
      parts: part.parts,
      maxTokens: wanted.maxTokens,
      staying: part.staying,
    }),
    prefix: part.live?.prefix,
    maxOutputTokens: wanted.maxTokens + known.thinkingTokens,
    temperature: options.temperature ?? 0,
    seed: options.seed,
  };
}

function wordsOf(error: unknown): string {
  if (CompactError.isInstance(error)) return `${error.code}: ${error.message}`;
  return errorMessage(error);
}

/** Maximum retries for a shorter text, each with half the previous limit. */
const SHORTER = 2;
/** Minimum tokens worth requesting. */
const LEAST = 48;
/** Thinking budget for a model whose answer was nothing else. */
const THINKING_TOKENS = 8192;

/**
 * Requests one part from one model, with the retries that may help: shorter (at most twice), with room to
 * think (once), `brief` after a refusal (once). Every attempt but the last is reported; the caller sets the
 * last one's fallback.
 */
export async function climb(known: KnownModel, part: PartToAsk, run: Run): Promise<Tried> {
  let wanted: Ask = { strategy: run.strategy, maxTokens: run.room };
  let shorter = 0;
  let thinking = false;
  for (;;) {
    const { text, last } = await attempt(known, part, wanted, run);
    if (text !== undefined) {
      run.request.onAttempt?.(last);
      return { text, last };
    }
    const half = Math.floor(wanted.maxTokens / 2);
    let fallback: string;
    if (/^(?:too-long|truncated)$/.test(last.outcome) && shorter < SHORTER && half >= LEAST) {
      fallback = "shorter";
      shorter += 1;
      wanted = { ...wanted, maxTokens: half };
    } else if (last.outcome === "refusal" && wanted.strategy !== "brief") {
      fallback = "brief";
      wanted = { ...wanted, strategy: "brief" };
    } else if (last.outcome === "reasoning-only" && !thinking && known.thinkingTokens < THINKING_TOKENS) {
      fallback = "thinking";
      thinking = true;
      known.thinkingTokens = THINKING_TOKENS;
    } else return { text, last };
    run.request.onAttempt?.({ ...last, fallback });
  }
}

/** The outcome of one model call. */
export type Asked =
  | { readonly kind: "answer"; readonly answer: TextModelAnswer }
  | { readonly kind: "error"; readonly error: unknown }
  | { readonly kind: "timeout" };

export interface AskLimits {
  /** Timeout of the call in milliseconds. */
  readonly milliseconds: number;
  /** The caller's signal. */
  readonly signal: AbortSignal | undefined;
}

/**
 * Calls a model and gives up at the deadline, even if the model ignores its signal. Throws only `Aborted`,
 * when the caller's signal is aborted.
 */
export async function ask(model: TextModel, request: TextModelRequest, limits: AskLimits): Promise<Asked> {
  const { signal, milliseconds } = limits;
  throwIfAborted(signal);
  const controller = new AbortController();
  let isAnswered = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let onAbort = (): void => {};
  const timedOut = new Promise<Asked>((resolve) => {
    timer = setTimeout(() => resolve({ kind: "timeout" }), Math.min(milliseconds, MAX_TIMER_MS));
  });
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(abortError(signal));
    signal?.addEventListener("abort", onAbort, { once: true });
  });
  try {
    const ended = await Promise.race([
      generate(model, { ...request, signal: controller.signal }),
      timedOut,
      aborted,
    ]);
    isAnswered = ended.kind === "answer";
    return ended;
  } finally {
    clearTimeout(timer);
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

/** Circuit breaker: stops requests to a model that fails repeatedly, and retries once after a pause. */
export interface Breaker {
  /** False while open; after the pause true once, and again when that trial has ended. */
  allows(): boolean;
  succeeded(): void;
  failed(): void;
  /** The trial ended without showing whether the model works. */
  undecided(): void;
}

/** Consecutive failures that open a breaker, and milliseconds until it is tried again. */
const FAILURES = 3;
const PAUSE_MS = 60_000;

export function createBreaker(): Breaker {
  let inRow = 0;
  let openedAt: number | undefined;
  let trying = false;
  return {
    allows() {
      if (openedAt === undefined) return true;
      if (trying || platform.clock() - openedAt < PAUSE_MS) return false;
      trying = true;
      return true;
    },
    succeeded() {
      inRow = 0;
      openedAt = undefined;
      trying = false;
    },
    failed() {
      inRow += 1;
      trying = false;
      if (inRow >= FAILURES) openedAt = platform.clock();
    },
    undecided() {
      trying = false;
    },
  };
}
