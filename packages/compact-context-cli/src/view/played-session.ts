import type { Message } from "compact-context/internal/core/message";
import type { PlannedMessage } from "compact-context/internal/core/plan";
import type { KeepCounts, Policy } from "compact-context/internal/core/policy";
import type { TokenCounter } from "compact-context/internal/core/ports";
import {
  type CompactEvent,
  type CompactionReport,
  type CompactionResult,
  layersOf,
} from "compact-context/internal/core/report";
import { archiveId } from "compact-context/internal/core/transcript";
import { errorMessage } from "compact-context/internal/errors";
import { createEventReader } from "./event-reader.ts";
import {
  countFates,
  type FixedTokens,
  fateOf,
  type LayerShare,
  layerKeyOf,
  MESSAGE_LAYERS,
  namedLines,
  stacked,
  triggerWords,
} from "./message-view.ts";
import { type CompactedList, type CompactedMessage, createOriginals, type Original } from "./originals.ts";
import { createRecord, type Originals, type SessionRecord } from "./session-record.ts";
import type { CompactionHead, CostView, StepView } from "./session-view.ts";

/** A session whose messages are at hand while a manager plays it. */
export interface PlayedSession {
  readonly id: string;
  readonly title: string;
  readonly format: string | undefined;
  readonly model: string | undefined;
  readonly window: number;
  readonly budget: number;
  readonly policy: Policy;
  readonly system: string | undefined;
  readonly tools: readonly unknown[] | undefined;
  /** Every message of the session, in order. */
  readonly history: readonly Message[];
  readonly counter: TokenCounter;
  /** Finds among the messages that were archived while it was played. */
  readonly search: Originals["search"];
  redactText(text: string): string;
  /** What the provider reported of the call that so many messages stood before. */
  reported?(messages: number): Pick<StepView, "reported" | "cached" | "dollars"> | undefined;
}

/** Hears what a manager makes of the session, and keeps the record of it. */
interface PlayedRecord {
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
  const compactions: KnownCompaction[] = [];
  const messages = session.history.map(
    (message): Original => ({
      message,
      get archiveId() {
        return archiveId(message);
      },
    }),
  );
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
    originals: createOriginals({
      messages: () => messages,
      compactions: () => compactions,
      placeOf: ({ index }) => index,
      countMessage: (message) => counter.countMessage(message),
      redact: session.redactText,
      search: session.search,
    }),
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
      const planned = report.plan?.entries ?? [];
      if (compaction !== undefined) {
        const places = placesOf(planned, raw.length);
        const entries = planned.map((entry, index) => compacted(entry, places[index], compactions));
        compactions.push({ entries, summary: summary ?? "", version: report.summaryVersion });
      }
      record.addStep({
        at,
        messages: raw.length,
        tokens: stacked(sharesOf(messages, session), fixed),
        without: running(raw),
        ...session.reported?.(raw.length),
        compaction: compaction?.index,
        before: compaction === undefined ? undefined : stacked(planned.map(shareOf), fixed),
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
  return { layer: SUMMARY_ID.test(id) ? "summary" : layerKeyOf(layer, role), tokens };
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
  const fates = countFates((report.plan?.entries ?? []).map((entry) => ({ fate: fateOf(entry) })));
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

interface KnownCompaction extends CompactedList {
  readonly version: number | undefined;
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

function compacted(
  entry: PlannedMessage,
  place: number | undefined,
  earlier: readonly KnownCompaction[],
): CompactedMessage {
  const { id, role, tokens, tokensAfter, reason } = entry;
  const version = Number(SUMMARY_ID.exec(id)?.[1]);
  const summaryOf = place === undefined ? earlier.findLastIndex((one) => one.version === version) : -1;
  return {
    place,
    summaryOf: summaryOf < 0 ? undefined : summaryOf,
    role,
    layer: layerKeyOf(entry.layer, role),
    fate: fateOf(entry),
    tokens,
    tokensAfter,
    reason,
  };
}

/** The settings that a reader looks for, with the keep counts that were really used. */
function policyLines(policy: Policy, used: KeepCounts | undefined): CompactionHead["policy"] {
  const keep = used ?? policy;
  const { keepRecentMessages: recent } = keep;
  const target = policy.targetContextTokens;
  return namedLines({
    trigger: triggerWords(policy.triggerPct),
    "kept free": `${policy.hardCapBuffer} tokens`,
    strategy: policy.strategy,
    "recent turns": recent === undefined ? relaxed(policy.keepRecentTurns, keep.keepRecentTurns) : undefined,
    "recent messages": recent,
    "tool pairs": relaxed(policy.keepToolIoPairs, keep.keepToolIoPairs),
    "never pruned": policy.rolesNeverPrune.join(", "),
    target: target === undefined ? undefined : `${target} tokens`,
  });
}

function relaxed(wanted: number, used: number): string {
  return wanted === used ? String(wanted) : `${used}, lowered from ${wanted}`;
}
