import type { Message } from "compact-context/internal/core/message";
import type { PlannedMessage } from "compact-context/internal/core/plan";
import type { KeepCounts, Policy } from "compact-context/internal/core/policy";
import type { CompactEvent, TokenCounter } from "compact-context/internal/core/ports";
import { type CompactionReport, type CompactionResult, layersOf } from "compact-context/internal/core/report";
import { archiveId } from "compact-context/internal/core/transcript";
import { errorMessage } from "compact-context/internal/errors";
import { readableMessage } from "compact-context/internal/recall/recall";
import { createEventReader } from "./event-reader.ts";
import {
  createToolFacts,
  type FixedTokens,
  fateOf,
  kindOf,
  type LayerShare,
  layerKeyOf,
  MESSAGE_LAYERS,
  previewOf,
  shortPreview,
  stacked,
  type ToolFacts,
} from "./message-view.ts";
import { createRecord, type Originals, rememberOpened, type SessionRecord } from "./session-record.ts";
import type { CompactionHead, CostView, Fate, FateView, MessageView, StepView } from "./session-view.ts";
import { indexSources, type SourceIndex, type SourceText, summaryPieces } from "./source-index.ts";
import { expandedPiece } from "./untrusted.ts";

/** A session whose messages are at hand while a manager plays it. */
export interface PlayedSession extends PlayedTexts {
  readonly id: string;
  readonly title: string;
  readonly format: string | undefined;
  readonly model: string | undefined;
  readonly window: number;
  readonly budget: number;
  readonly policy: Policy;
  readonly system: string | undefined;
  readonly tools: readonly unknown[] | undefined;
  /** What the provider reported of the call that so many messages stood before. */
  reported?(messages: number): Pick<StepView, "reported" | "cached" | "dollars"> | undefined;
}

/** Hears what a manager makes of the session, and keeps the record of it. */
export interface PlayedRecord {
  readonly record: SessionRecord;
  /** After each preflight: the raw list and what came of it. */
  hear(raw: readonly Message[], result: CompactionResult<Message>, elapsedMs: number): void;
  /** Every event of the manager. */
  hearEvent(event: CompactEvent): void;
  end(cost: CostView | undefined): void;
}

/** The record of a session that is about to be played; `changed` is told after every change. */
export function createPlayedRecord(session: PlayedSession, changed: () => void): PlayedRecord {
  const { counter, policy, window, budget } = session;
  const known: KnownCompaction[] = [];
  const record = createRecord({
    id: session.id,
    source: "transcript",
    facts: {
      layers: MESSAGE_LAYERS,
      title: session.title,
      live: true,
      format: session.format,
      model: session.model,
      window,
      budget,
      trigger: Math.min(budget, Math.ceil(window * policy.triggerPct), policy.maxTokens ?? window),
      searchable: true,
    },
    originals: createPlayedOriginals(session, known),
    changed,
  });
  const fixed: FixedTokens = {
    system: counter.countSystem(session.system) + counter.perRequest,
    tools: counter.countTools(session.tools),
  };
  const events = createEventReader({ record, spansOnly: true });
  const placesOf = createPlaces(session.history);
  const running = createRunningTotal(counter, fixed);

  return {
    record,
    hearEvent: (event) => events.add(event),
    hear(raw, { messages, report, summary }, elapsedMs) {
      const at = raw.at(-1)?.meta?.timestamp;
      const compaction = report.compacted
        ? record.addCompaction(headOf(report, { step: record.steps.length, at, elapsedMs, policy }))
        : undefined;
      const entries = report.plan?.entries ?? [];
      if (compaction !== undefined) {
        known.push({ entries, places: placesOf(entries, raw.length), summary, report });
      }
      record.addStep({
        at,
        messages: raw.length,
        tokens: stacked(sharesOf(messages, session), fixed),
        without: running(raw),
        ...session.reported?.(raw.length),
        compaction: compaction?.index,
        before: compaction === undefined ? undefined : stacked(entries.map(shareOf), fixed),
      });
    },
    end: (cost) => record.amend({ live: false, cost }),
  };
}

/** Tokens of the whole history up to each call; lists only grow. */
function createRunningTotal(counter: TokenCounter, fixed: FixedTokens): (raw: readonly Message[]) => number {
  let counted = 0;
  let total = fixed.system + fixed.tools;
  return (raw) => {
    for (const message of raw.slice(counted)) total += counter.countMessage(message);
    counted = Math.max(counted, raw.length);
    return total;
  };
}

function sharesOf(messages: readonly Message[], { policy, counter }: PlayedSession): LayerShare[] {
  const layers = layersOf(messages, policy);
  return messages.map((message, index) => ({
    layer: layerKeyOf(layers[index] ?? "remainder", message.role),
    tokens: counter.countMessage(message),
  }));
}

function shareOf({ id, layer, role, tokens }: PlannedMessage): LayerShare {
  return { layer: isSummaryId(id) ? "summary" : layerKeyOf(layer, role), tokens };
}

function headOf(
  report: CompactionReport,
  more: {
    readonly step: number;
    readonly at: string | undefined;
    readonly elapsedMs: number;
    readonly policy: Policy;
  },
): Omit<CompactionHead, "index"> {
  const { archive, summarizer } = report;
  const fates: Partial<Record<Fate, number>> = {};
  for (const entry of report.plan?.entries ?? []) fates[fateOf(entry)] = (fates[fateOf(entry)] ?? 0) + 1;
  return {
    step: more.step,
    at: more.at,
    durationMs: more.elapsedMs,
    reason: report.reason,
    tokensBefore: report.tokensBefore,
    tokensAfter: report.tokensAfter,
    messagesBefore: report.messagesBefore,
    messagesAfter: report.messagesAfter,
    fates,
    policy: policyLines(more.policy, report.plan?.keep),
    summarizer,
    summaryTokens: report.summaryTokens,
    archive: archive === undefined ? undefined : { step: archive.step, location: archive.location },
    failures: report.failures.map(({ error, fallback }) => `${errorMessage(error)}; ${fallback} instead`),
  };
}

/** What a compaction did, as the manager told it. */
interface KnownCompaction {
  readonly entries: readonly PlannedMessage[];
  /** For each entry its place in the session; undefined for a summary. */
  readonly places: readonly (number | undefined)[];
  readonly summary: string | undefined;
  readonly report: CompactionReport;
}

/** What is at hand of the session. */
interface PlayedTexts {
  /** Every message of the session, in order. */
  readonly history: readonly Message[];
  readonly counter: TokenCounter;
  /** Finds among the messages that were archived while it was played. */
  readonly search: Originals["search"];
  redactText(text: string): string;
}

const SUMMARY_ID = /^compact-summary-v(\d+)$/;

/** Finds the messages of a view in the session: where an id occurs more than once, the newest of it is still there. */
function createPlaces(
  history: readonly Message[],
): (entries: readonly PlannedMessage[], before: number) => (number | undefined)[] {
  const placesOf = new Map<string, number[]>();
  history.forEach(({ id }, index) => {
    const known = placesOf.get(id);
    if (known === undefined) placesOf.set(id, [index]);
    else known.push(index);
  });
  return (entries, before) => {
    const used = new Map<string, number>();
    const newestFirst = entries.toReversed().map(({ id }) => {
      const standing = placesOf.get(id)?.filter((place) => place < before);
      const count = (used.get(id) ?? 0) + 1;
      used.set(id, count);
      return standing?.at(-count);
    });
    return newestFirst.reverse();
  };
}

/** True for a summary that an earlier compaction put into the list. */
function isSummaryId(id: string): boolean {
  return SUMMARY_ID.test(id);
}

/** The texts of a session whose messages are at hand. */
function createPlayedOriginals(session: PlayedTexts, known: readonly KnownCompaction[]): Originals {
  const { history, redactText } = session;
  const byArchiveId = new Map<string, number>();
  let hashed = 0;
  let indexing: Promise<SourceIndex> | undefined;
  const toolOf = createToolFacts(() => history);
  const placeOf = (id: string): number | undefined => {
    for (; hashed < history.length && !byArchiveId.has(id); hashed += 1) {
      const message = history[hashed];
      if (message !== undefined && !byArchiveId.has(archiveId(message)))
        byArchiveId.set(archiveId(message), hashed);
    }
    return byArchiveId.get(id);
  };
  return {
    count: () => history.length,
    message: (index) => messageView(history[index], index, { ...session, toolOf }),
    open: rememberOpened(async (head) => {
      const compaction = known[head.index];
      if (compaction === undefined) return { messages: [], summary: [] };
      const shown = { history, known, redactText, toolOf };
      indexing ??= indexSources(sourceTexts(history));
      const index = await indexing;
      const replaced = replacedBy(known.slice(0, head.index + 1));
      return {
        messages: compaction.entries.map((entry, place) =>
          fateView(entry, compaction.places[place], { ...shown, head }),
        ),
        summary: summaryPieces(redactText(compaction.summary ?? ""), {
          index,
          has: (place) => replaced.has(place),
        }),
      };
    }),
    async expand({ archiveId: id, message, offset }) {
      const index = message ?? (id === undefined ? undefined : placeOf(id));
      const original = index === undefined ? undefined : history[index];
      if (original === undefined || index === undefined) return undefined;
      const text = readableMessage(original);
      const safe = redactText(text);
      return {
        archiveId: archiveId(original),
        message: index,
        role: original.role,
        redacted: safe !== text,
        ...expandedPiece(safe, offset),
      };
    },
    async search(text, limit) {
      const found = await session.search(text, limit);
      const hits = found.hits.map((hit) => {
        const message = placeOf(hit.archiveId);
        return message === undefined ? hit : { ...hit, message };
      });
      return { ...found, hits };
    },
  };
}

function messageView(
  message: Message | undefined,
  index: number,
  { counter, redactText, toolOf }: PlayedTexts & Pick<Shown, "toolOf">,
): MessageView | undefined {
  if (message === undefined) return undefined;
  const at = message.meta?.timestamp;
  return {
    index,
    role: message.role,
    kind: kindOf(message),
    ...safeFacts(toolOf(message), redactText),
    tokens: counter.countMessage(message),
    at,
    archiveId: archiveId(message),
    preview: previewOf(message, redactText),
  };
}

/** A path may hold a secret as any text may. */
function safeFacts({ tool, path }: ToolFacts, redactText: (text: string) => string): ToolFacts {
  return { tool, path: path === undefined ? undefined : redactText(path) };
}

interface Shown {
  readonly history: readonly Message[];
  readonly known: readonly KnownCompaction[];
  redactText(text: string): string;
  toolOf(message: Message): ToolFacts;
}

function fateView(
  entry: PlannedMessage,
  place: number | undefined,
  { head, ...shown }: Shown & { readonly head: CompactionHead },
): FateView {
  const { role, tokens, tokensAfter, reason } = entry;
  const message = place === undefined ? undefined : shown.history[place];
  const common = { role, fate: fateOf(entry), tokens, tokensAfter, reason };
  if (message === undefined || place === undefined) {
    const summaryOf = earlierSummary(entry.id, head, shown.known);
    const text = summaryOf === undefined ? "" : (shown.known[summaryOf]?.summary ?? "");
    return {
      ...common,
      summaryOf,
      kind: "summary",
      layer: "summary",
      preview: shortPreview(shown.redactText(text.slice(0, 2000))),
    };
  }
  return {
    ...common,
    message: place,
    kind: kindOf(message),
    ...safeFacts(shown.toolOf(message), shown.redactText),
    layer: layerKeyOf(entry.layer, role),
    archiveId: archiveId(message),
    preview: previewOf(message, shown.redactText),
  };
}

function earlierSummary(
  id: string,
  head: CompactionHead,
  known: readonly KnownCompaction[],
): number | undefined {
  const version = Number(SUMMARY_ID.exec(id)?.[1]);
  const made = known.findLastIndex(
    ({ report }, index) => index < head.index && report.summaryVersion === version,
  );
  return made < 0 ? undefined : made;
}

/** What this summary or those folded into it replaced, wholly or in part. */
function replacedBy(known: readonly KnownCompaction[]): ReadonlySet<number> {
  const replaced = new Set<number>();
  for (const { entries, places } of known) {
    entries.forEach(({ action }, index) => {
      const place = places[index];
      if (place !== undefined && action !== "keep") replaced.add(place);
    });
  }
  return replaced;
}

function* sourceTexts(history: readonly Message[]): Generator<SourceText> {
  for (const [place, message] of history.entries()) {
    yield {
      message: place,
      archiveId: archiveId(message),
      role: message.role,
      text: readableMessage(message),
    };
  }
}

type Lines = readonly { readonly name: string; readonly value: string }[];

/** The settings that a reader looks for, with the keep counts that were really used. */
function policyLines(policy: Policy, used: KeepCounts | undefined): Lines {
  const keep = used ?? policy;
  const lines: [string, string | number | undefined][] = [
    ["trigger", `${Math.round(policy.triggerPct * 1000) / 10} % of the window`],
    ["kept free", `${policy.hardCapBuffer} tokens`],
    ["strategy", policy.strategy],
    keep.keepRecentMessages === undefined
      ? ["recent turns", relaxed(policy.keepRecentTurns, keep.keepRecentTurns)]
      : ["recent messages", keep.keepRecentMessages],
    ["tool pairs", relaxed(policy.keepToolIoPairs, keep.keepToolIoPairs)],
    ["never pruned", policy.rolesNeverPrune.join(", ")],
    ["target", policy.targetContextTokens === undefined ? undefined : `${policy.targetContextTokens} tokens`],
  ];
  return lines.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value: String(value) }]));
}

function relaxed(wanted: number, used: number): string {
  return wanted === used ? String(wanted) : `${used}, lowered from ${wanted}`;
}
