import { requireList, requireOptions } from "../argument.ts";
import { CompactError } from "../errors.ts";
import type { Format, Message } from "../messages/message.ts";
import { wireBytes } from "../messages/wire-size.ts";
import type { TextModel } from "../model.ts";
import { isPinned } from "../policy/partition.ts";
import type { Summarizer, SummaryStrategy } from "../summarizers/summarizer.ts";
import { lookUpModel, type ModelOverrides } from "../tokens/models.ts";
import { createTokenCounter, type RequestCounter } from "../tokens/token-counter.ts";
import { applyPlan } from "./apply.ts";
import { markSummaries } from "./assemble.ts";
import { checkPolicy } from "./check-policy.ts";
import { type CompactConfig, type CompactPolicy, mergePolicy } from "./config.ts";
import type { PlanInput } from "./draft.ts";
import { listCodec } from "./list-codec.ts";
import { type CompactionPlan, planBytes, planView } from "./plan.ts";
import { type ArchiveReceipt, type CompactionResult, reportOf, untouched } from "./report.ts";
import { summarizersOf } from "./summarizers.ts";
import { toldWith } from "./told.ts";

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
  readonly policy?: Partial<CompactPolicy>;
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
  /** Keeps the originals before anything is dropped. */
  readonly archive?: OneShotArchive;
  /** Milliseconds of a steady clock, for `elapsedMs`. */
  readonly clock?: () => number;
}

export interface OneShotArchive {
  /** Resolves when the messages are safe; what it rejects with stops the compaction. */
  save(messages: readonly Message[]): Promise<ArchiveReceipt>;
}

const OPTIONS_HINT = "Pass options such as { maxTokens: 100_000 }.";
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
  const prepared = prepare(messages, options);
  const { view, counter, codec, fixedTokens } = prepared;
  const tokens = view.reduce((total, message) => total + counter.countMessage(message), fixedTokens);
  const fits = tokens <= Math.min(options.maxTokens, options.targetTokens ?? options.maxTokens);
  const policy = mergePolicy(options.policy);
  if (fits && view.reduce((total, message) => total + wireBytes(message), 0) <= policy.maxRequestBytes) {
    const report = untouched({
      reason: "below_trigger",
      format: codec.format,
      range: counter.range(tokens),
      messages: messages.length,
      elapsedMs: clock() - started,
    });
    return { messages: messages as T[], summary: undefined, report };
  }
  const plan = fits ? planBytes(planInput(prepared, options)) : planPrepared(prepared, options);
  const archive = await options.archive?.save(view);
  const applied = await applyPlan(view, plan, {
    counter,
    summarizers: toldWith(
      summarizersOf(options.summarizer, options.fallback === undefined ? {} : { fallback: options.fallback }),
      {
        step: archive?.step,
        countText: (text) => counter.countText(text),
      },
    ),
    strategy: options.strategy ?? policy.strategy,
    instruction: options.instruction,
    shape: { role: "assistant", format: codec.format },
    isPinned: (message) => isPinned(message, policy),
    version: nextVersion(view),
    signal: options.signal,
    ...(options.archiveId === undefined ? {} : { archiveId: options.archiveId }),
  });
  const report = reportOf({
    plan,
    applied,
    reason: "manual",
    format: codec.format,
    range: counter.range(applied.tokensAfter),
    archive,
    elapsedMs: clock() - started,
  });
  return { messages: codec.encode(applied.messages) as T[], summary: applied.summary?.text, report };
}

/** What `compact` would do, message by message, without doing it. Errors as `compact`. */
export function planCompaction(messages: readonly unknown[], options: PlanOptions): CompactionPlan {
  return planPrepared(prepare(messages, options), options);
}

/** One more than the newest summary in the list. */
export function nextVersion(view: readonly Message[]): number {
  return view.reduce((newest, message) => Math.max(newest, message.meta?.summaryVersion ?? 0), 0) + 1;
}

interface Prepared {
  readonly view: readonly Message[];
  readonly codec: ReturnType<typeof listCodec>;
  readonly counter: RequestCounter;
  readonly fixedTokens: number;
}

function prepare(messages: readonly unknown[], options: PlanOptions): Prepared {
  requireList(messages);
  requireOptions(options, "options", OPTIONS_HINT);
  for (const name of ["maxTokens", "targetTokens"] as const)
    requirePositive(name, options[name], name === "maxTokens");
  checkPolicy(mergePolicy(options.policy));
  const codec = listCodec(messages, options.format);
  const counter = createTokenCounter({
    ...(options.model === undefined ? {} : { model: options.model }),
    ...(options.encoding === undefined ? {} : { encoding: options.encoding }),
    ...(options.models === undefined ? {} : { models: options.models }),
    ...(codec.format === undefined ? {} : { format: codec.format }),
  });
  return {
    view: markSummaries(codec.decode(messages)),
    codec,
    counter,
    fixedTokens: counter.perRequest + counter.countSystem(options.system) + counter.countTools(options.tools),
  };
}

function requirePositive(name: string, value: number | undefined, required: boolean): void {
  if (value === undefined && !required) return;
  if (typeof value === "number" && Number.isFinite(value) && value > 0) return;
  throw new CompactError("InvalidArgument", `${name} must be a positive number of tokens`, {
    place: `options.${name}`,
    hint: "Pass the model's window less what you keep free for the answer.",
  });
}

function planPrepared(prepared: Prepared, options: PlanOptions): CompactionPlan {
  return planView(planInput(prepared, options));
}

function planInput({ view, counter, fixedTokens }: Prepared, options: PlanOptions): PlanInput {
  const policy = mergePolicy(options.policy);
  return {
    messages: view,
    counter,
    fixedTokens,
    budget: options.maxTokens,
    target: options.targetTokens ?? policy.targetContextTokens ?? options.maxTokens,
    keep: policy,
    clearToolResults: policy.clearToolResults,
    onOverflow: options.onOverflow ?? policy.onOverflow,
    reasoningBound:
      options.model !== undefined && lookUpModel(options.model, options.models).thinking === "bound",
    maxSummaryTokens: options.maxSummaryTokens ?? MAX_SUMMARY_TOKENS,
    maxBytes: policy.maxRequestBytes,
    ...(options.archiveId === undefined ? {} : { archiveId: options.archiveId }),
  };
}
