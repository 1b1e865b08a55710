import type { Message } from "compact-context/internal/core/message";
import type { PlannedMessage } from "compact-context/internal/core/plan";
import type { Policy } from "compact-context/internal/core/policy";
import type { CompactEvent, TokenCounter } from "compact-context/internal/core/ports";
import { type CompactionReport, type CompactionResult, layersOf } from "compact-context/internal/core/report";
import { errorMessage } from "compact-context/internal/errors";
import { createEventReader } from "./event-reader.ts";
import { type FixedTokens, type LayerShare, layerKeyOf, MESSAGE_LAYERS, stacked } from "./layer-tokens.ts";
import { fateOf } from "./message-view.ts";
import {
  createPlaces,
  createPlayedOriginals,
  isSummaryId,
  type KnownCompaction,
  type PlayedTexts,
} from "./played-originals.ts";
import { policyLines } from "./policy-lines.ts";
import { createRecord, type SessionRecord } from "./session-record.ts";
import type { CompactionHead, CostView, Fate, StepView } from "./session-view.ts";

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
