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
import {
  abortable,
  CompactError,
  errorMessage,
  isObject,
  MAX_TIMER_MS,
  platform,
  refuseAborted,
} from "../../errors.ts";
import { redact } from "../../redaction/redactor.ts";
import { normalizeUsage } from "../../tokens/usage.ts";
import { oneLine, parsedJson } from "../extractive/text.ts";
import { proseOf } from "./complete.ts";
import type { ModelSummarizerOptions } from "./options.ts";
import {
  type PromptInput,
  type PromptPart,
  promptMessages,
  SHAPES,
  withoutLoneSurrogates,
} from "./prompts.ts";

// One part of the input, asked of one model: the requests, and whether an answer is a summary at all.

type Asked =
  | { readonly kind: "answer"; readonly answer: TextModelAnswer }
  | { readonly kind: "error"; readonly error: unknown }
  | { readonly kind: "timeout" };

/**
 * Calls a model and gives up after `milliseconds`, even if the model ignores its signal. Throws only
 * `Aborted`, when the caller's signal is aborted.
 */
export async function ask(
  model: TextModel,
  request: TextModelRequest,
  { milliseconds, signal }: { readonly milliseconds: number; readonly signal: AbortSignal | undefined },
): Promise<Asked> {
  refuseAborted(signal);
  const controller = new AbortController();
  const generate = async (): Promise<Asked> => {
    try {
      return { kind: "answer", answer: await model.generate({ ...request, signal: controller.signal }) };
    } catch (error) {
      return { kind: "error", error };
    }
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timedOut = new Promise<Asked>((resolve) => {
    timer = setTimeout(() => resolve({ kind: "timeout" }), Math.min(milliseconds, MAX_TIMER_MS));
  });
  let isAnswered = false;
  try {
    const ended = await abortable(Promise.race([generate(), timedOut]), signal);
    isAnswered = ended.kind === "answer";
    return ended;
  } finally {
    clearTimeout(timer);
    if (!isAnswered) controller.abort(signal?.reason);
  }
}

/** Consecutive failures that open a breaker, and milliseconds until it is tried again. */
const FAILURES = 3;
const PAUSE_MS = 60_000;

/** Circuit breaker: stops requests to a model that fails repeatedly, and retries once after a pause. */
export class Breaker {
  #inRow = 0;
  #openedAt = Number.NEGATIVE_INFINITY;
  #trying = false;

  /** False while open; after the pause true once, and again when that trial has ended. */
  allows(): boolean {
    if (this.#inRow < FAILURES) return true;
    if (this.#trying || platform.clock() - this.#openedAt < PAUSE_MS) return false;
    this.#trying = true;
    return true;
  }

  succeeded(): void {
    this.#inRow = 0;
    this.#trying = false;
  }

  failed(): void {
    this.#inRow += 1;
    this.#trying = false;
    this.#openedAt = platform.clock();
  }

  /** The trial ended without showing whether the model works. */
  undecided(): void {
    this.#trying = false;
  }
}

/** A model's state that a summarizer keeps across calls. */
export interface KnownModel {
  readonly model: TextModel;
  readonly breaker: Breaker;
  /** Output tokens reserved for thinking, learned from answers that were nothing else. */
  thinkingTokens: number;
}

/** The limits of one summarizer call, and what its answers are checked against. */
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
export interface PartToAsk extends PromptPart {
  /** Set if the model continues the live conversation instead of reading records. */
  readonly live?: LiveConversation;
  /** Tokens of the input without `previous`. */
  readonly tokens: number;
}

/** The outcome of requesting one part from one model: its text, or undefined, and the last attempt. */
interface Tried {
  readonly text: string | undefined;
  readonly last: SummaryAttempt;
}

/** Maximum retries for a shorter text, each with half the previous limit. */
const SHORTER = 2;
/** Minimum tokens worth requesting. */
export const LEAST_PROSE = 48;
/** Thinking budget for a model whose answer was nothing else. */
const THINKING_TOKENS = 8192;

/**
 * Requests one part from one model, with the retries that may help: shorter (at most twice), with room to
 * think (once), `brief` after a refusal (once). Every attempt but the last failed one is reported; the caller
 * sets its fallback.
 */
export async function climb(known: KnownModel, part: PartToAsk, run: Run): Promise<Tried> {
  const { onAttempt } = run.request;
  let { strategy, room: maxTokens } = run;
  let shorter = 0;
  let thinking = false;
  for (;;) {
    const tried = await attempt(known, part, { strategy, maxTokens }, run);
    const { text, last } = tried;
    const half = Math.floor(maxTokens / 2);
    let fallback: string;
    if (text !== undefined) {
      onAttempt?.(last);
      return tried;
    }
    if (/^(?:too-long|truncated)$/.test(last.outcome) && shorter < SHORTER && half >= LEAST_PROSE) {
      fallback = "shorter";
      shorter += 1;
      maxTokens = half;
    } else if (last.outcome === "refusal" && strategy !== "brief") {
      fallback = "brief";
      strategy = "brief";
    } else if (last.outcome === "reasoning-only" && !thinking && known.thinkingTokens < THINKING_TOKENS) {
      fallback = "thinking";
      thinking = true;
      known.thinkingTokens = THINKING_TOKENS;
    } else return tried;
    onAttempt?.({ ...last, fallback });
  }
}

/** Sends one request to one model within the remaining time. Throws only `Aborted`. */
async function attempt(
  known: KnownModel,
  part: PartToAsk,
  wanted: Pick<PromptInput, "strategy" | "maxTokens">,
  run: Run,
): Promise<Tried> {
  const { options, request, countText } = run;
  refuseAborted(request.signal);
  const started = platform.clock();
  const base: SummaryAttempt = {
    model: known.model.name,
    prompt: SHAPES[wanted.strategy].prompt,
    strategy: wanted.strategy,
    input: part.live === undefined ? "text" : "prefix",
    part: part.part,
    parts: part.parts,
    maxTokens: wanted.maxTokens,
    outcome: "accepted",
    durationMs: 0,
    inputTokens: part.tokens + (part.previous === undefined ? 0 : countText(part.previous)),
    outputTokens: 0,
  };
  const milliseconds = Math.min(run.attemptMs(base.inputTokens), run.endsAt - started);
  if (milliseconds <= 0) return failed(base, { outcome: "timeout", detail: "no time is left" });
  if (!known.breaker.allows())
    return failed(base, { outcome: "skipped", detail: "failed too often of late" });
  const clean = (text: string | undefined): string | undefined => text && (options.redact ?? redact)(text);
  // Sections of an earlier summary quote messages verbatim.
  const said = { previous: clean(part.previous), instruction: clean(request.instruction) };
  const asking = {
    messages: promptMessages({ ...part, ...said, ...wanted, templates: options.templates }),
    prefix: part.live?.prefix,
    maxOutputTokens: wanted.maxTokens + known.thinkingTokens,
    temperature: options.temperature ?? 0,
    seed: options.seed,
  };
  const limits = { milliseconds, signal: request.signal };
  const asked = await ask(known.model, asking, limits).finally(() => known.breaker.undecided());
  const told = { ...base, durationMs: platform.clock() - started };
  if (asked.kind === "answer") return weigh(asked.answer, told, { known, part, run });
  known.breaker.failed();
  if (asked.kind === "timeout")
    return failed(told, { outcome: "timeout", detail: `no answer within ${Math.round(milliseconds)} ms` });
  const { error } = asked;
  const code = CompactError.isInstance(error) ? `${error.code}: ` : "";
  return failed(told, { outcome: "error", detail: `${code}${errorMessage(error)}`, error });
}

function failed(base: SummaryAttempt, end: Pick<SummaryAttempt, "outcome" | "detail" | "error">): Tried {
  return { text: undefined, last: { ...base, ...end } };
}

/** Failures that indicate a problem with the model, not with this text. */
const FAULTS: readonly AttemptFailure[] = ["empty", "reasoning-only", "error-text", "malformed"];

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
  const judged = judge({ ...answer, text: said }, run, stale);
  if (typeof judged !== "string") {
    const [outcome, detail] = judged;
    if (FAULTS.includes(outcome)) known.breaker.failed();
    return failed(base, { outcome, detail });
  }
  known.breaker.succeeded();
  const text = run.verified(judged);
  return text === undefined
    ? failed(base, { outcome: "unfounded", detail: "the source holds nothing of it" })
    : { text, last: base };
}

// ---- whether an answer is a summary

const SHORT = 600;
const REFUSAL =
  /^(?:i['’]?m (?:really |very )?sorry|sorry,|i (?:can(?:no|['’])t|am (?:unable|not able)|won['’]t|must decline|will not)|unfortunately,? i can|as an ai\b|es tut mir leid|je (?:suis désolé|ne peux pas)|lo siento|申し訳|抱歉|对不起)/i;
const ERROR_OPENING =
  /^(?:<!doctype html|<html|<\?xml|error(?: generating| creating| while| occurred|:|\s+\d{3})|an (?:internal |unexpected )?error (?:has )?occurred|internal server error|bad gateway|gateway time-?out|service (?:temporarily )?unavailable|too many requests|rate limit|request timed? ?out|upstream (?:connect|request)|overloaded|the (?:server|model|engine|service) (?:had an error|is (?:currently )?(?:overloaded|unavailable|at capacity))|we(?:['’]re| are) (?:sorry|experiencing)|something went wrong|traceback \(most recent|\d{3} (?:bad gateway|internal server error|service unavailable|too many requests|forbidden|unauthorized)|\[?(?:no|empty) (?:summary|response|content)\b|previous conversation was too long|i (?:encountered|ran into) an (?:internal )?error)/i;
const NOISE = /(?![\t\n\r])\p{Cc}|\ufffd/gu;
const MOST_NOISE = 0.02;
/** Repairs a character that was cut in two. */
const MENDABLE = 3;
const FEWEST_LETTERS = 3;
const FEWEST_REPEATED = 40;
const FENCE = /^```(?:\w{0,20})\n([\s\S]*?)\n?```$/;
const BARE_LINE = /^\s*(?:#{1,6}\s.*|[-*>]?\s*)$/;
const REASONED = /"(?:reasoning_tokens|thinking_tokens|reasoningTokens|thoughtsTokenCount)":[1-9]/;

type Rejection = readonly [failure: AttemptFailure, detail: string];

/** The text of an answer that may be a summary, or why it is none; its claims are checked elsewhere. */
function judge(
  { text: said, stop, usage }: TextModelAnswer,
  { room, countText }: Run,
  stale: readonly string[],
): string | Rejection {
  const whole = withoutLoneSurrogates(said).trim();
  const text = (FENCE.exec(whole)?.[1] ?? whole).trim();
  if (stop === "refusal") return ["refusal", "the provider says that the model refused"];
  if (text === "") {
    const thought = stop === "length" || REASONED.test(JSON.stringify(usage) ?? "");
    return thought ? ["reasoning-only", "no text, only reasoning"] : ["empty", "no text"];
  }
  const lacking = judgeText(text, stop);
  if (lacking !== undefined) return lacking;
  if (stale.some((old) => sameWords(old, text))) return ["stale", "repeats what was said before"];
  const tokens = countText(text);
  return tokens > room ? ["too-long", `${tokens} tokens, ${room} allowed`] : text.replace(NOISE, "");
}

function judgeText(text: string, stop: TextModelAnswer["stop"]): Rejection | undefined {
  const opening = oneLine(text).slice(0, 120);
  if (text.length < SHORT && REFUSAL.test(text) && !text.includes("\n#")) return ["refusal", opening];
  if (stop === "length") return ["truncated", "cut off at the token limit"];
  if (isErrorText(text)) return ["error-text", opening];
  const noise = text.match(NOISE)?.length ?? 0;
  if (noise > Math.max(MENDABLE, text.length * MOST_NOISE))
    return ["malformed", `${noise} unreadable characters`];
  const letters = text.match(/[\p{L}\p{N}]/gu)?.length ?? 0;
  if (letters < FEWEST_LETTERS) return ["empty", "hardly a word"];
  const isBare = text.split("\n").every((line) => BARE_LINE.test(line));
  return isBare ? ["empty", "headings with nothing below them"] : undefined;
}

function isErrorText(text: string): boolean {
  if (ERROR_OPENING.test(text)) return text.length < SHORT || text.startsWith("<");
  const body = text.startsWith("{") && text.endsWith("}") ? parsedJson(text) : undefined;
  if (!isObject(body)) return false;
  const few = Object.keys(body).length <= 3;
  return "error" in body || "errors" in body || (few && ("detail" in body || "message" in body));
}

function sameWords(left: string, right: string): boolean {
  const [a, b] = [oneLine(left).toLowerCase(), oneLine(right).toLowerCase()];
  return a === b || (a.length >= FEWEST_REPEATED && a.startsWith(b) && b.length >= a.length * 0.9);
}
