import { listCodec } from "./codecs/formats.ts";
import { mergeConfig } from "./config/layer.ts";
import type { CompactConfig } from "./config/settings.ts";
import { applyPlan } from "./core/apply.ts";
import { MAX_SUMMARY_TOKENS } from "./core/fit.ts";
import { type Format, imageCount, type Message, markSummaries, wireBytes } from "./core/message.ts";
import { type CompactionPlan, planRequest } from "./core/plan.ts";
import { mostImages, type Policy } from "./core/policy.ts";
import type { ListCodec, RequestCount, Summarizer, SummaryStrategy, TextModel } from "./core/ports.ts";
import { type ArchiveReceipt, type CompactionResult, reportOf, unchangedReport } from "./core/report.ts";
import { type CompactionRequest, type Fields, requireFields } from "./core/request.ts";
import { isProjectInstructions } from "./core/units.ts";
import { CompactError, defined, requireFunction, requireList } from "./errors.ts";
import { createSummarizers } from "./summarizers/create-summarizers.ts";
import { countTokens as countMessages } from "./tokens/count-tokens.ts";
import { lookUpModel, type ModelOverrides } from "./tokens/models.ts";
import { createTokenCounter } from "./tokens/token-counter.ts";

export interface CountListOptions {
  /** The model that will read the list; determines tokenizer, overheads and ranges. */
  readonly model?: string;
  /** Counts exactly with this encoding if no model is named. */
  readonly encoding?: "cl100k_base" | "o200k_base";
  /** Default: detected; neutral messages need none. */
  readonly format?: Format;
  readonly system?: string;
  readonly tools?: readonly unknown[];
  /** Pending user input. */
  readonly input?: string;
  /** Expected length of the answer as a share of the request. Default: 0.5. */
  readonly responseRatio?: number;
}

const COUNT_OPTIONS: Fields<CountListOptions> = {
  model: "text",
  encoding: "text",
  format: "unchecked",
  system: "text",
  tools: "list",
  input: "text",
  responseRatio: "number",
};

/**
 * Tokens of a request in any known format: messages, system prompt, tool schemas and pending input; `responseTokens` estimates
 * those of the answer.
 * Throws `UnknownFormat` and `InvalidMessages` for lists that cannot be read.
 */
export function countTokens(
  messages: readonly unknown[],
  options: CountListOptions = {},
): RequestCount & { readonly responseTokens: number } {
  requireList(messages);
  requireFields(options, COUNT_OPTIONS);
  const { responseRatio = 0.5, ...counted } = options;
  const count = countMessages(listCodec(messages, options.format).decode(messages), counted);
  return { ...count, responseTokens: Math.floor(count.tokens * responseRatio) };
}

export interface PlanOptions {
  /** Maximum tokens of the whole request: messages, system prompt and tool schemas. */
  readonly maxTokens: number;
  /** Target in tokens, at most `maxTokens`; missed if what must stay is larger. */
  readonly targetTokens?: number;
  /** Default: detected; neutral messages need none. */
  readonly format?: Format;
  /** The model that will read the list; determines how tokens are counted. */
  readonly model?: string;
  readonly encoding?: "cl100k_base" | "o200k_base";
  /** The caller's overrides of model properties, by name. */
  readonly models?: ModelOverrides;
  /** A system prompt that is not in the messages. */
  readonly system?: string;
  readonly tools?: readonly unknown[];
  readonly policy?: Partial<Policy>;
  /** `error` (default) or `elide`: truncate oversized messages to head and tail. */
  readonly onOverflow?: "error" | "elide";
  /** Maximum tokens of the summary's text. Default: 8,192 or half of what it replaces. */
  readonly maxSummaryTokens?: number;
  /** The archive id of a message; stubs of cleared and truncated texts then name it. */
  archiveId?(message: Message): string;
}

export interface CompactOptions extends PlanOptions {
  /**
   * Writes the summary, or the model to use for it. The built-in summarizer is the default and the fallback.
   */
  readonly summarizer?: Summarizer | TextModel;
  /** Fallback for a failed summarizer: the built-in one (default), or no summary. */
  readonly fallback?: CompactConfig["summarizer"]["fallback"];
  readonly strategy?: SummaryStrategy;
  /** The user's instruction for the summary. */
  readonly instruction?: string;
  readonly signal?: AbortSignal;
  /** Stores the originals before anything is dropped. */
  readonly archive?: OneShotArchive;
  /** Milliseconds of a monotonic clock, for `elapsedMs`. */
  readonly clock?: () => number;
}

export interface OneShotArchive {
  /** Resolves when the messages are stored; a rejection aborts the compaction. */
  save(messages: readonly Message[]): Promise<ArchiveReceipt>;
}

/**
 * Fits a message list into `maxTokens` in one call, without a session. A list that already fits is returned
 * as the same array. Throws `InsufficientBudget` if what must stay does not fit, `InvalidMessages` and
 * `UnknownFormat` for lists that cannot be read.
 */
export async function compact<T = unknown>(
  messages: readonly T[],
  options: CompactOptions,
): Promise<CompactionResult<T>> {
  requireCall(messages, options);
  const clock = options.clock ?? (() => performance.now());
  const started = clock();
  const { request, codec } = requestFor(messages, options);
  const { counter, fixedTokens, policy, mostImages: most = Number.POSITIVE_INFINITY } = request;
  const tokens = request.messages.reduce(
    (total, message) => total + counter.countMessage(message),
    fixedTokens,
  );
  const bytes = request.messages.reduce((total, message) => total + wireBytes(message), 0);
  const images = request.messages.reduce((total, message) => total + imageCount(message), 0);
  const fits = tokens <= Math.min(options.maxTokens, options.targetTokens ?? options.maxTokens);
  if (fits && bytes <= policy.maxRequestBytes && images <= most) {
    const size = { messages: messages.length, elapsedMs: clock() - started };
    const report = unchangedReport("below_trigger", codec.format, counter.range(tokens), size);
    return { messages: messages as T[], summary: undefined, report };
  }
  const reason = bytes > policy.maxRequestBytes ? "max_bytes" : "max_images";
  const plan = planRequest(fits ? { ...request, reason } : request);
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
  return {
    messages: codec.encode(outcome.list.map(({ message }) => message)) as T[],
    summary: outcome.summary?.text,
    report,
  };
}

/**
 * The plan of a compaction, message by message, without executing it; `compact` leaves a list that fits
 * unchanged. Throws like `compact`.
 */
export function planCompaction(messages: readonly unknown[], options: PlanOptions): CompactionPlan {
  requireCall(messages, options);
  return planRequest(requestFor(messages, options).request);
}

/** Accepts all compaction options: a plan is often made with those of the compaction that follows. */
const OPTIONS: Fields<CompactOptions> = {
  maxTokens: "positive",
  targetTokens: "positive",
  format: "unchecked",
  model: "text",
  encoding: "text",
  models: "object",
  system: "text",
  tools: "list",
  policy: "object",
  onOverflow: "text",
  maxSummaryTokens: "number",
  archiveId: "function",
  summarizer: "object",
  fallback: ["builtin", "pruning-only"],
  strategy: "text",
  instruction: "text",
  signal: "signal",
  archive: "object",
  clock: "function",
};

function requireCall(messages: readonly unknown[], options: CompactOptions): void {
  requireList(messages);
  requireFields(options, OPTIONS, "options", "Pass options such as { maxTokens: 100_000 }.");
  const { maxTokens, archive } = options;
  if (archive !== undefined)
    requireFunction(archive.save, "options.archive.save", "Pass { save(messages) }, or leave archive out.");
  if (maxTokens !== undefined) return;
  throw new CompactError("InvalidArgument", "maxTokens is missing", {
    place: "options.maxTokens",
    hint: "Pass the model's window less what you keep free for the answer.",
  });
}

function requestFor(
  messages: readonly unknown[],
  options: PlanOptions & Pick<CompactOptions, "strategy" | "instruction" | "signal">,
): { readonly request: CompactionRequest; readonly codec: ListCodec } {
  const { model, encoding, models, strategy, onOverflow } = options;
  const { policy } = mergeConfig({ policy: { ...options.policy, ...defined({ strategy, onOverflow }) } });
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
    mostImages: mostImages(codec.format, lookUpModel(model ?? "", models).window),
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
