import { abortable, abortError, CompactError } from "../errors.ts";
import { applyEdit, losesText } from "./edit.ts";
import { editContext } from "./fit.ts";
import {
  endsWithCompaction,
  type Format,
  type LiveSummary,
  type Message,
  nextSummaryVersion,
  openingMessage,
  type Role,
  readSummary,
  summaryMessage,
  summaryOf,
  wrapSummary,
} from "./message.ts";
import type { CompactionPlan, PlannedMessage } from "./plan.ts";
import { isPinned, type KeepCounts } from "./policy.ts";
import {
  FALLBACK,
  type SummarizeOptions,
  type Summarizer,
  type Summary,
  type SummaryAttempt,
  type SummaryContext,
} from "./ports.ts";
import { isProjectInstructions } from "./units.ts";
import type { CompactionRequest } from "./usage.ts";

// Applies a plan: edits the kept messages, has the rest summarized, and assembles the new list.

/** A summarizer that failed, and what was done instead. */
export interface SummarizerFailure {
  readonly summarizer: string;
  readonly error: unknown;
  /** The next summarizer's name, or `pruning-only`. */
  readonly fallback: string;
  /** Its last request to a model, where there was one. */
  readonly attempt?: SummaryAttempt;
}

export interface Outcome {
  /** The plan as it was carried out: behind a provider's own compaction, reasoning stays that would have left. */
  readonly plan: CompactionPlan;
  readonly messages: readonly Message[];
  readonly summary: LiveSummary | undefined;
  /** Tokens of the whole summary message. */
  readonly summaryTokens: number;
  /** Tokens of the whole request afterwards, by the same counter as the plan. */
  readonly tokensAfter: number;
  /** See `CompactionReport.rungs`. */
  readonly rungs: readonly string[];
  readonly summarizer: string | undefined;
  readonly failures: readonly SummarizerFailure[];
  /** Every request to a model, in order. */
  readonly attempts: readonly SummaryAttempt[];
  /** What the summarizer returned besides the text. */
  readonly made: Omit<Summary, "text" | "tokens"> | undefined;
}

export interface ApplyOptions {
  /** Tried in order. With none, or when all fail, no new summary is written. */
  readonly summarizers: readonly Summarizer[];
  /** The archive step that holds the originals; named at the end of a summary. */
  readonly step?: number;
  /** Called with each failed model request that the same summarizer follows by another. */
  onAttempt?(attempt: SummaryAttempt): void;
  onFailure?(failure: SummarizerFailure): void;
}

/** Applies a plan to the list that it was made for; the result is within the plan's budget. */
export async function applyPlan(
  request: CompactionRequest,
  plan: CompactionPlan,
  options: ApplyOptions,
): Promise<Outcome> {
  const writing = startWriting(request, plan, options);
  const written =
    plan.summaryTokens > 0
      ? ((await writeSummary(writing)) ?? previousSummary(writing) ?? bareOpening(writing))
      : undefined;
  const summaryTokens = written?.tokens ?? 0;
  const whole = withReasoning(writing, written);
  const { kept, keptTokens } = whole ?? writing;
  // Kept reasoning is bound to the messages before it: nothing comes between them and the provider's compaction.
  const after = written && (whole === undefined ? placeOf(written.summary, kept) : kept.length);
  const summary = written && { ...written.summary, after, behind: whole?.behind };
  return {
    plan: whole?.plan ?? plan,
    messages: assemble(kept, summary, request),
    summary,
    summaryTokens,
    tokensAfter: keptTokens + summaryTokens,
    rungs: rungsOf(plan, written?.summarizer),
    summarizer: written?.summarizer,
    failures: writing.failures,
    attempts: writing.attempts,
    made: written?.made,
  };
}

/** A summary in progress: its input, the messages around it, and what was tried. */
interface Writing {
  readonly request: CompactionRequest;
  readonly plan: CompactionPlan;
  readonly options: ApplyOptions;
  /** The messages that the summary covers, the earlier summary among them. */
  readonly covered: readonly Message[];
  readonly kept: readonly { readonly message: Message; readonly pinned: boolean }[];
  readonly keptTokens: number;
  /** Without pinned messages: summarizers never read them. */
  readonly context: SummaryContext;
  readonly version: number;
  readonly failures: SummarizerFailure[];
  readonly attempts: SummaryAttempt[];
}

interface Written {
  readonly summary: LiveSummary;
  readonly tokens: number;
  /** Undefined for an earlier summary. */
  readonly summarizer: string | undefined;
  readonly made?: Omit<Summary, "text" | "tokens">;
}

function startWriting(request: CompactionRequest, plan: CompactionPlan, options: ApplyOptions): Writing {
  const { messages, counter, policy } = request;
  const kept: { message: Message; pinned: boolean }[] = [];
  const covered: Message[] = [];
  const context: { list: Message[]; kept: Message[] } = { list: [], kept: [] };
  for (const [index, message] of messages.entries()) {
    const { action, edit, layer } = plan.entries[index] ?? {};
    if (layer !== "pinned") context.list.push(message);
    if (action === "summarize" || losesText(edit)) covered.push(message);
    if (action === "summarize") continue;
    const edited = applyEdit(message, edit, editContext(request));
    kept.push({ message: edited, pinned: isPinned(message, policy) });
    if (layer !== "pinned") context.kept.push(edited);
  }
  return {
    request,
    plan,
    options,
    covered,
    kept,
    keptTokens: kept.reduce((total, { message }) => total + counter.countMessage(message), plan.fixedTokens),
    context,
    version: Math.max(nextSummaryVersion(messages), (request.lastSummaryVersion ?? 0) + 1),
    failures: [],
    attempts: [],
  };
}

/** What is kept behind a provider's own compaction with all its reasoning. */
interface KeptWhole extends Pick<Writing, "kept" | "keptTokens"> {
  readonly plan: CompactionPlan;
  /** How many of them the compaction covers: they stand behind the others, so that nothing comes between. */
  readonly behind: number;
}

/**
 * What is kept with its bound reasoning, where a provider takes that back behind its own compaction: all that was not
 * compacted stays as it is, right behind it, and begins with another role.
 */
function withReasoning(
  { request, plan, kept, keptTokens }: Writing,
  written: Written | undefined,
): KeptWhole | undefined {
  const covers = written?.made?.opening?.covers;
  if (covers === undefined || written === undefined) return undefined;
  const { messages, counter, policy } = request;
  const [last, first] = [messages[covers - 1], messages[covers]];
  const speaker = (message: Message | undefined) => (message?.role === "tool" ? "user" : message?.role);
  const parted = speaker(last) !== speaker(first) && first?.role !== "system" && first?.role !== "developer";
  const entries = plan.entries.map((entry): PlannedMessage => {
    const { stripReasoning: _, ...others } = entry.edit ?? {};
    if (entry.edit?.stripReasoning !== true || Object.keys(others).length > 0) return entry;
    const reason = "kept whole behind the provider's own compaction";
    return { ...entry, action: "keep", edit: undefined, tokensAfter: entry.tokens, reason };
  });
  const stays = entries.map(({ action, edit }) => action === "keep" && edit === undefined);
  const told = messages.filter((_, index) => index < covers && entries[index]?.action !== "summarize");
  const isPlain = told.every(
    ({ parts }) => !parts.some(({ type }) => type === "reasoning" || type.startsWith("tool")),
  );
  const unchanged = stays.every(
    (same, index) => same || (index < covers && !told.includes(messages[index] as Message)),
  );
  if (!parted || !isPlain || !unchanged) return undefined;
  const whole = [...told, ...messages.slice(covers)].map((message) => ({
    message,
    pinned: isPinned(message, policy),
  }));
  const tokens = whole.reduce(
    (total, { message }) => total + counter.countMessage(message),
    keptTokens - kept.reduce((total, { message }) => total + counter.countMessage(message), 0),
  );
  if (tokens + written.tokens > plan.budget) return undefined;
  return { kept: whole, keptTokens: tokens, plan: { ...plan, entries }, behind: told.length };
}

async function writeSummary(writing: Writing): Promise<Written | undefined> {
  const { options, attempts, failures } = writing;
  for (const [rung, summarizer] of options.summarizers.entries()) {
    const before = attempts.length;
    const outcome = await tryWriting(writing, summarizer);
    if (outcome.written !== undefined) return outcome.written;
    if (outcome.error === undefined) continue;
    const failure: SummarizerFailure = {
      summarizer: summarizer.name,
      error: outcome.error,
      fallback: options.summarizers[rung + 1]?.name ?? FALLBACK.pruningOnly,
      attempt: attempts.slice(before).at(-1),
    };
    failures.push(failure);
    options.onFailure?.(failure);
  }
  return undefined;
}

/** Neither field where a deterministic summarizer has too little room: that is not a failure. */
async function tryWriting(
  writing: Writing,
  summarizer: Summarizer,
): Promise<{ readonly written?: Written; readonly error?: unknown }> {
  try {
    const written = await summarizeWithin(writing, summarizer);
    if (written !== undefined) return { written };
    if (summarizer.deterministic === true) return {};
    const error = new CompactError("SummarizerFailed", `${summarizer.name}: its text is empty or too long`, {
      hint: "A summarizer keeps to maxTokens, counted with countText.",
    });
    return { error };
  } catch (error) {
    if (writing.request.signal?.aborted === true) throw abortError(error);
    return { error: error ?? new CompactError("SummarizerFailed", `${summarizer.name} failed`) };
  }
}

/** FIT-4: how often a model is asked for a shorter text; a deterministic summarizer is called up to `MAX_TRIES` times. */
const MAX_SHORTER = 2;
const MAX_TRIES = 4;

/** Asks again with less room while the summary is too long: a deterministic summarizer by the excess, a model by half. */
async function summarizeWithin(writing: Writing, summarizer: Summarizer): Promise<Written | undefined> {
  const { plan, covered, version, request, options } = writing;
  const input = inputOf(covered);
  const summarizeOptions = optionsFor(writing, summarizer);
  const aimed = Math.max(plan.tokensAfter, plan.target);
  const ceiling = request.summaryReserve === undefined ? Math.min(plan.budget, aimed) : plan.budget;
  const deterministic = summarizer.deterministic === true;
  let room = plan.summaryTokens;
  for (let attempt = 0; attempt < (deterministic ? MAX_TRIES : 1 + MAX_SHORTER) && room > 0; attempt += 1) {
    // A summarizer that hangs must not block a caller who aborts, nor the calls that wait for this one.
    const asked = withPointer(summarizer, input, { ...summarizeOptions, maxTokens: room }, options.step);
    const made = await abortable(asked, request.signal);
    // The text as it reads back from its message: a summary is recognised by its text.
    const text = readSummary(wrapSummary(made.text, version))?.text ?? made.text;
    const summary: LiveSummary = { version, text, opening: made.opening?.entry };
    const tokens = summaryCost(summary, writing);
    // A provider's text is as long as it is, and what is paid for is used where it fits.
    const excess = writing.keptTokens + tokens - (made.opening === undefined ? ceiling : plan.budget);
    if (excess <= 0 && made.text.trim() !== "") {
      const { text: _, tokens: __, ...rest } = made;
      return { summary, tokens, summarizer: made.summarizer || summarizer.name, made: rest };
    }
    room = deterministic ? Math.min(room, made.tokens) - Math.max(excess, 1) : lessRoom(made, room);
  }
  return undefined;
}

/** A model is asked for half; a provider's own compaction would be as long again. */
function lessRoom({ opening }: Summary, room: number): number {
  return opening === undefined ? Math.floor(room / 2) : 0;
}

function optionsFor(writing: Writing, summarizer: Summarizer): Omit<SummarizeOptions, "maxTokens"> {
  const { request, covered, context, attempts, options } = writing;
  return {
    strategy: request.policy.strategy,
    countText: (text) => request.counter.countText(text),
    previous: earlierSummary(covered)?.text,
    // A deterministic summarizer cannot follow an instruction.
    instruction: summarizer.deterministic === true ? undefined : request.note,
    signal: request.signal,
    live: summarizer.usesLivePrefix === true ? request.live?.() : undefined,
    context,
    onAttempt: (attempt) => {
      attempts.push(attempt);
      if (attempt.fallback !== undefined) options.onAttempt?.(attempt);
    },
  };
}

/** Tokens below which a summary does not name the archive: the room is worth more to its own text. */
const MIN_POINTER_ROOM = 240;
const POINTER = /\n?^Originals: archive steps? [0-9-]{1,20}\.$/m;

/** The summary with a last line that names the archive steps of its sources. */
async function withPointer(
  summarizer: Summarizer,
  messages: readonly Message[],
  options: SummarizeOptions,
  step: number | undefined,
): Promise<Summary> {
  const { maxTokens, countText = () => 0 } = options;
  const inner = { ...options, previous: options.previous?.replace(POINTER, "") };
  if (step === undefined || maxTokens < MIN_POINTER_ROOM) return summarizer.summarize(messages, inner);
  const pointer = step === 1 ? "Originals: archive step 1." : `Originals: archive steps 1-${step}.`;
  // One token for joining the texts.
  const room = maxTokens - countText(`\n${pointer}`) - 1;
  const made = await summarizer.summarize(messages, { ...inner, maxTokens: room });
  if (made.text === "") return made;
  const text = `${made.text}\n${pointer}`;
  return { ...made, text, tokens: countText(text) };
}

function previousSummary(writing: Writing): Written | undefined {
  const summary = earlierSummary(writing.covered);
  return fitting(writing, summary && { ...summary, opening: openingOf(writing.covered)?.native });
}

function earlierSummary(covered: readonly Message[]): LiveSummary | undefined {
  return covered.map(summaryOf).findLast((summary) => summary !== undefined);
}

/** What a summarizer reads: the covered messages, and what a provider's earlier compaction says in words. */
function inputOf(covered: readonly Message[]): Message[] {
  const messages = covered.filter((message) => message.meta?.summaryVersion === undefined);
  return [...openingText(openingOf(covered)), ...messages];
}

/** The provider's own compaction beside an earlier summary. */
function openingOf(covered: readonly Message[]): Message | undefined {
  return covered.find(
    ({ meta, parts }) => meta?.summaryVersion !== undefined && parts[0]?.type === "reasoning",
  );
}

/** What it says, as a message that summarizers read. */
function openingText(opening: Message | undefined): Message[] {
  const [part] = opening?.parts ?? [];
  if (opening === undefined || part?.type !== "reasoning" || part.text === "") return [];
  const { id, role } = opening;
  return [{ id, role, parts: [{ type: "text", text: part.text }], meta: { synthetic: true } }];
}

const BARE_OPENING = "Earlier messages were removed without a summary.";

/** A first user message for providers that require one, where there is no summary. */
function bareOpening(writing: Writing): Written | undefined {
  if (!needsOpening(writing.kept, writing.request)) return undefined;
  return fitting(writing, { version: writing.version, text: BARE_OPENING });
}

function fitting(writing: Writing, summary: LiveSummary | undefined): Written | undefined {
  if (summary === undefined) return undefined;
  const tokens = summaryCost(summary, writing);
  const fits = writing.keptTokens + tokens <= writing.plan.budget;
  return fits ? { summary, tokens, summarizer: undefined } : undefined;
}

function summaryCost(summary: LiveSummary, { kept, request }: Writing): number {
  const placed = assemble(kept, summary, request);
  const own = placed.filter((candidate) => candidate.meta?.summaryVersion === summary.version);
  return own.reduce((total, message) => total + request.counter.countMessage(message), 0);
}

function rungsOf(plan: CompactionPlan, summarizer: string | undefined): string[] {
  const rungs: string[] = [];
  if (plan.relaxed > 0) rungs.push(keepRung(plan.keep));
  if (plan.entries.some((entry) => entry.action === "clear")) rungs.push("clear");
  if (plan.entries.some((entry) => entry.action === "elide")) rungs.push("elide");
  if (plan.summaryTokens > 0)
    rungs.push(summarizer === undefined ? FALLBACK.pruningOnly : `summary:${summarizer}`);
  return rungs;
}

function keepRung({ keepRecentTurns, keepRecentMessages, keepToolIoPairs }: KeepCounts): string {
  const recent = keepRecentMessages === undefined ? `${keepRecentTurns}` : `${keepRecentMessages}m`;
  return `keep:${recent}/${keepToolIoPairs}`;
}

// ---- from the view to a list

/** Formats whose providers may refuse a conversation that begins with the assistant. */
const USER_FIRST: ReadonlySet<Format | undefined> = new Set<Format>([
  "anthropic",
  "gemini",
  "ai-sdk",
  "langchain",
  "pi",
]);

/** How a summary becomes a message of the list. */
export interface SummaryShape {
  readonly summaryRole: "assistant" | "user" | "system";
  readonly format: Format | undefined;
  /** Replaces our own message shape. */
  readonly summaryAs?: (summary: LiveSummary) => Message;
}

type Kept = readonly { readonly message: Message; readonly pinned: boolean }[];

/**
 * Leading pinned messages and project instructions, the summary, the rest. A provider reads nothing before its own
 * compaction, so the summary follows the first one that is kept, and one that was made for the summary opens the list.
 */
export function assemble(kept: Kept, summary: LiveSummary | undefined, shape: SummaryShape): Message[] {
  const messages = kept.map((entry) => entry.message);
  if (summary === undefined) return messages;
  const split = placeOf(summary, kept);
  const { behind = 0 } = summary;
  const before = [...messages.slice(behind, split), ...messages.slice(0, behind)];
  const role = summary.opening === undefined ? roleFor(before, shape) : "user";
  const message = shape.summaryAs?.(summary) ?? summaryMessage(summary, role);
  const opening = summary.opening === undefined ? [] : [openingMessage(summary, shape.format)];
  return [...opening, ...before, message, ...messages.slice(split)];
}

/** How many of the kept messages come before the summary. */
export function placeOf(summary: LiveSummary, kept: Kept): number {
  const firstRecent = kept.findIndex(({ pinned, message }) => !pinned && !isProjectInstructions(message));
  const pinned = firstRecent === -1 ? kept.length : firstRecent;
  const compaction = kept.findIndex((entry) => endsWithCompaction(entry.message));
  const before = summary.after ?? 0;
  const last = kept[before - 1];
  const stands =
    summary.opening !== undefined ||
    before <= pinned ||
    (last !== undefined && endsWithCompaction(last.message));
  return summary.after !== undefined && stands ? before : Math.max(pinned, compaction + 1);
}

/** True where the provider requires a user message first and the kept messages begin with another role. */
export function needsOpening(
  kept: readonly { readonly message: Message }[],
  { format }: SummaryShape,
): boolean {
  const first = kept.find(({ message }) => message.role !== "system" && message.role !== "developer");
  return USER_FIRST.has(format) && first !== undefined && first.message.role !== "user";
}

function roleFor(before: readonly Message[], { summaryRole, format }: SummaryShape): Role {
  const userSpoke = before.some((message) => message.role === "user");
  return summaryRole === "assistant" && USER_FIRST.has(format) && !userSpoke ? "user" : summaryRole;
}
