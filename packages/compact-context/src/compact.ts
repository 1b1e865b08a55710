import { listCodec } from "./codecs/formats.ts";
import { mergePolicy } from "./config/layer.ts";
import type { CompactConfig } from "./config/settings.ts";
import { applyPlan } from "./core/apply.ts";
import { type Format, type Message, markSummaries, wireBytes } from "./core/message.ts";
import { type CompactionPlan, planRequest } from "./core/plan.ts";
import type { Policy } from "./core/policy.ts";
import type { ListCodec, RequestCount, Summarizer, SummaryStrategy, TextModel } from "./core/ports.ts";
import { type ArchiveReceipt, type CompactionResult, reportOf, unchangedReport } from "./core/report.ts";
import { isProjectInstructions } from "./core/units.ts";
import type { CompactionRequest } from "./core/usage.ts";
import { CompactError, refuseUnknown, requireList, requireOptions } from "./errors.ts";
import { createSummarizers } from "./summarizers/create-summarizers.ts";
import { countTokens as countMessages } from "./tokens/count-tokens.ts";
import { lookUpModel, type ModelOverrides } from "./tokens/models.ts";
import { createTokenCounter } from "./tokens/token-counter.ts";

export interface CountListOptions {
  /** The model that will read the list; gives tokenizer, overheads and ranges. */
  readonly model?: string;
  /** Counts with this encoding exactly, where no model is named. */
  readonly encoding?: "cl100k_base" | "o200k_base";
  /** Recognised when left out; neutral messages need none. */
  readonly format?: Format;
  readonly system?: string;
  readonly tools?: readonly unknown[];
  /** What the user is about to send. */
  readonly input?: string;
}

const COUNT_OPTIONS: Readonly<Record<keyof CountListOptions, true>> = {
  model: true,
  encoding: true,
  format: true,
  system: true,
  tools: true,
  input: true,
};

/**
 * Tokens of a request in any known format: messages, system prompt, tool schemas and pending input.
 * Throws `UnknownFormat` and `InvalidMessages` for lists that cannot be read.
 */
export function countTokens(messages: readonly unknown[], options: CountListOptions = {}): RequestCount {
  requireList(messages);
  requireOptions(options);
  refuseUnknown(options, COUNT_OPTIONS);
  return countMessages(listCodec(messages, options.format).decode(messages), options);
}

export interface PlanOptions {
  /** Most tokens the whole request may have: messages, system prompt and tool schemas. */
  readonly maxTokens: number;
  /** Tokens to aim for, at most `maxTokens`; may be missed when what must stay is larger. */
  readonly targetTokens?: number;
  /** Recognised when left out; neutral messages need none. */
  readonly format?: Format;
  /** The model that will read the list: decides how tokens are counted. */
  readonly model?: string;
  readonly encoding?: "cl100k_base" | "o200k_base";
  /** The caller's own facts about models, by name. */
  readonly models?: ModelOverrides;
  /** The system prompt that travels beside the messages. */
  readonly system?: string;
  readonly tools?: readonly unknown[];
  readonly policy?: Partial<Policy>;
  /** `error` (default) or `elide`: oversized messages keep their head and tail. */
  readonly onOverflow?: "error" | "elide";
  /** Most tokens of the summary's text; 8,192 or half of what it replaces when left out. */
  readonly maxSummaryTokens?: number;
  /** The id under which an archive holds a message; cleared and cut texts then name it. */
  archiveId?(message: Message): string;
}

export interface CompactOptions extends PlanOptions {
  /** Writes the summary, or the model that is to be asked for it; the built-in one when left out, and whenever this one fails. */
  readonly summarizer?: Summarizer | TextModel;
  /** What follows a failed summarizer: the built-in one (default), or no summary at all. */
  readonly fallback?: CompactConfig["summarizer"]["fallback"];
  readonly strategy?: SummaryStrategy;
  /** What the summary should look after, in a person's words. */
  readonly instruction?: string;
  readonly signal?: AbortSignal;
  /** Stores the originals before anything is dropped. */
  readonly archive?: OneShotArchive;
  /** Milliseconds of a steady clock, for `elapsedMs`. */
  readonly clock?: () => number;
}

export interface OneShotArchive {
  /** Resolves when the messages are safe; what it rejects with stops the compaction. */
  save(messages: readonly Message[]): Promise<ArchiveReceipt>;
}

/** Most tokens of a summary, whatever room there is: beyond it, verbatim messages serve better. */
const MAX_SUMMARY_TOKENS = 8192;

/**
 * Fits a message list into `maxTokens` in one go, with no session behind it. A list that fits already
 * comes back as the same array. Throws `InsufficientBudget` when what must stay does not fit,
 * `InvalidMessages` and `UnknownFormat` for lists that cannot be read.
 */
export async function compact<T = unknown>(
  messages: readonly T[],
  options: CompactOptions,
): Promise<CompactionResult<T>> {
  requireList(messages);
  requireOptions(options, "options", OPTIONS_HINT);
  const clock = options.clock ?? (() => performance.now());
  const started = clock();
  const { request, codec } = requestFor(messages, options);
  const { counter, fixedTokens, policy } = request;
  const tokens = request.messages.reduce(
    (total, message) => total + counter.countMessage(message),
    fixedTokens,
  );
  const bytes = request.messages.reduce((total, message) => total + wireBytes(message), 0);
  const fits = tokens <= Math.min(options.maxTokens, options.targetTokens ?? options.maxTokens);
  if (fits && bytes <= policy.maxRequestBytes) {
    const size = { messages: messages.length, elapsedMs: clock() - started };
    const report = unchangedReport("below_trigger", codec.format, counter.range(tokens), size);
    return { messages: messages as T[], summary: undefined, report };
  }
  const plan = planRequest(fits ? { ...request, reason: "max_bytes" } : request);
  const archive = await options.archive?.save(request.messages);
  const summarizers = createSummarizers(options.summarizer, { fallback: options.fallback });
  const outcome = await applyPlan(request, plan, { summarizers, step: archive?.step });
  const { tokensAfter, plan: made } = outcome;
  const elapsedMs = clock() - started;
  const report = reportOf(request, outcome, {
    archive,
    elapsedMs,
    tokensBefore: made.tokensBefore,
    tokensAfter,
  });
  return { messages: codec.encode(outcome.messages) as T[], summary: outcome.summary?.text, report };
}

/**
 * What a compaction would do, message by message, without doing it; `compact` leaves a list that fits as it is. Errors
 * as `compact`.
 */
export function planCompaction(messages: readonly unknown[], options: PlanOptions): CompactionPlan {
  return planRequest(requestFor(messages, options).request);
}

/** A plan is often made with the options of the compaction that may follow. */
const OPTIONS: Readonly<Record<keyof CompactOptions, true>> = {
  maxTokens: true,
  targetTokens: true,
  format: true,
  model: true,
  encoding: true,
  models: true,
  system: true,
  tools: true,
  policy: true,
  onOverflow: true,
  maxSummaryTokens: true,
  archiveId: true,
  summarizer: true,
  fallback: true,
  strategy: true,
  instruction: true,
  signal: true,
  archive: true,
  clock: true,
};

const OPTIONS_HINT = "Pass options such as { maxTokens: 100_000 }.";

function requestFor(
  messages: readonly unknown[],
  options: PlanOptions & Pick<CompactOptions, "strategy" | "instruction" | "signal">,
): { readonly request: CompactionRequest; readonly codec: ListCodec } {
  requireList(messages);
  requireOptions(options, "options", OPTIONS_HINT);
  refuseUnknown(options, OPTIONS);
  requireTokens("maxTokens", options.maxTokens);
  if (options.targetTokens !== undefined) requireTokens("targetTokens", options.targetTokens);
  const { model, encoding, models, strategy, onOverflow } = options;
  const given = mergePolicy(options.policy);
  const policy = {
    ...given,
    strategy: strategy ?? given.strategy,
    onOverflow: onOverflow ?? given.onOverflow,
  };
  const codec = listCodec(messages, options.format);
  const counter = createTokenCounter({ model, encoding, models, format: codec.format });
  const decoded = markSummaries(codec.decode(messages));
  const request: CompactionRequest = {
    messages: decoded,
    format: codec.format,
    counter,
    policy,
    reason: "manual",
    fixedTokens: counter.perRequest + counter.countSystem(options.system) + counter.countTools(options.tools),
    budget: options.maxTokens,
    target: options.targetTokens ?? policy.targetContextTokens ?? options.maxTokens,
    maxSummaryTokens: options.maxSummaryTokens ?? MAX_SUMMARY_TOKENS,
    summaryRole: "assistant",
    instructions: new Set(decoded.filter(isProjectInstructions)),
    reasoningBound: model !== undefined && lookUpModel(model, models).thinking === "bound",
    archiveId: options.archiveId?.bind(options),
    note: options.instruction,
    signal: options.signal,
  };
  return { request, codec };
}

function requireTokens(name: string, value: unknown): void {
  if (typeof value === "number" && Number.isFinite(value) && value > 0) return;
  throw new CompactError("InvalidArgument", `${name} must be a positive number of tokens`, {
    place: `options.${name}`,
    hint: "Pass the model's window less what you keep free for the answer.",
  });
}
