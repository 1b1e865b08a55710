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
import { CompactError, errorMessage } from "../../errors.ts";
import { redact } from "../../redaction/redactor.ts";
import { normalizeUsage } from "../../tokens/usage.ts";
import { abortError, throwIfAborted } from "../extractive/builtin.ts";
import { proseOf } from "./complete.ts";
import type { ModelSummarizerOptions, TimePorts } from "./options.ts";
import { promptId, promptMessages } from "./prompts.ts";
import { judge } from "./verify.ts";

/** One model as a summarizer instance knows it across calls. */
export interface KnownModel {
  readonly model: TextModel;
  readonly breaker: Breaker;
  /** Output tokens that it needs for thinking, learnt from answers that were nothing else. */
  thinkingTokens: number;
}

/** What one call of a summarizer is about and what it has left. */
export interface Run {
  readonly options: ModelSummarizerOptions;
  readonly request: SummarizeOptions;
  readonly countText: (text: string) => number;
  readonly strategy: SummaryStrategy;
  readonly time: TimePorts;
  /** By the clock. */
  readonly endsAt: number;
  /** Milliseconds for one request that reads so many tokens. */
  readonly attemptMs: (inputTokens: number) => number;
  /** Most tokens of the prose. */
  readonly room: number;
  /** Texts that were said before and are no answer to this. */
  readonly stale: readonly string[];
  /** Takes out of an accepted text what the source does not hold; undefined where nothing is left. */
  readonly verified: (text: string) => string | undefined;
}

/** One part of the input, ready to be asked about. */
export interface PartToAsk {
  readonly records: string | undefined;
  readonly live: LiveConversation | undefined;
  readonly staying: number;
  readonly tokens: number;
  readonly previous: string | undefined;
  readonly part: number;
  readonly parts: number;
}

/** What is asked for in one attempt. */
export interface Ask {
  readonly strategy: SummaryStrategy;
  readonly maxTokens: number;
}

/** What came of asking one model about one part: its text, or undefined, and the last attempt. */
export interface Tried {
  readonly text: string | undefined;
  readonly last: SummaryAttempt;
}

/** Failures that tell something about the model or the way to it, not about this text. */
const FAULTS: ReadonlySet<AttemptFailure> = new Set<AttemptFailure>([
  "error",
  "timeout",
  "empty",
  "reasoning-only",
  "error-text",
  "malformed",
]);

/** One request to one model, within what is left of the time. Throws `Aborted` alone. */
async function attempt(known: KnownModel, part: PartToAsk, wanted: Ask, run: Run): Promise<Tried> {
  throwIfAborted(run.request.signal);
  const { clock } = run.time;
  const started = clock();
  const base = baseOf(known, part, wanted, run);
  const milliseconds = Math.min(run.attemptMs(base.inputTokens), run.endsAt - started);
  if (milliseconds <= 0) return failed(base, { outcome: "timeout", detail: "no time is left" });
  if (!known.breaker.allows(started))
    return failed(base, { outcome: "skipped", detail: "failed too often of late" });
  const limits = { milliseconds, signal: run.request.signal, time: run.time };
  const asked = await ask(known.model, requestFor(known, part, wanted, run), limits).finally(
    known.breaker.undecided,
  );
  const told = { ...base, durationMs: clock() - started };
  if (asked.kind === "answer") return weigh(asked.answer, told, { known, part, run });
  known.breaker.failed(clock());
  if (asked.kind === "error")
    return failed(told, { outcome: "error", detail: wordsOf(asked.error), error: asked.error });
  return failed(told, { outcome: "timeout", detail: `no answer within ${Math.round(milliseconds)} ms` });
}

/** Whether an answer is taken, and what that says of the model. */
function weigh(
  answer: TextModelAnswer,
  told: SummaryAttempt,
  { known, part, run }: { readonly known: KnownModel; readonly part: PartToAsk; readonly run: Run },
): Tried {
  const said = typeof answer.text === "string" ? answer.text : "";
  const usage = answer.usage === undefined ? undefined : normalizeUsage(answer.usage);
  const base = { ...told, outputTokens: run.countText(said), usage };
  const { previous } = part;
  // The summary so far, and the prose in it, are no news.
  const stale =
    previous === undefined || part.part > 1 ? run.stale : [...run.stale, previous, proseOf(previous)];
  const judged = judge({ ...answer, text: said }, { maxTokens: run.room, countText: run.countText, stale });
  if ("failure" in judged) {
    if (FAULTS.has(judged.failure)) known.breaker.failed(run.time.clock());
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
      // Sections of an earlier summary quote the messages as they were.
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

/** Most times that a shorter text is asked for, each time half of the last. */
const SHORTER = 2;
/** Least tokens worth asking for. */
const LEAST = 48;
/** Room for thinking that is given to a model whose answer was nothing else. */
const THINKING_TOKENS = 8192;

/**
 * Asks one model about one part, down the rungs that may help: shorter (twice at most), with room to think (once),
 * `brief` after a refusal (once). Every attempt but the last is told; the last one's fallback is the caller's to name.
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

/** Keeps a model that fails again and again from being asked, and tries it once after a pause. */
export interface Breaker {
  /** False while it is open; after the pause it answers true once, and again when that try has ended. */
  allows(now: number): boolean;
  succeeded(): void;
  failed(now: number): void;
  /** The try ended without telling whether the model works. */
  undecided(): void;
}

export interface BreakerOptions {
  /** Failures in a row that open it. */
  readonly failures: number;
  readonly pauseMs: number;
}

/** A closed breaker; times are milliseconds of one steady clock. */
export function createBreaker({ failures, pauseMs }: BreakerOptions): Breaker {
  let inRow = 0;
  let openedAt: number | undefined;
  let trying = false;
  return {
    allows(now) {
      if (openedAt === undefined) return true;
      if (trying || now - openedAt < pauseMs) return false;
      trying = true;
      return true;
    },
    succeeded() {
      inRow = 0;
      openedAt = undefined;
      trying = false;
    },
    failed(now) {
      inRow += 1;
      trying = false;
      if (inRow >= failures) openedAt = now;
    },
    undecided() {
      trying = false;
    },
  };
}
