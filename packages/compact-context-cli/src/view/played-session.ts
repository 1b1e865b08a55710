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
import { createSpanTree } from "./event-reader.ts";
import {
  countOutcomes,
  type FixedTokens,
  formatTrigger,
  type LayerShare,
  layerKeyOf,
  MESSAGE_LAYERS,
  namedValues,
  outcomeOf,
  tokensByLayer,
} from "./message-view.ts";
import {
  type CompactedList,
  type CompactedMessage,
  createOriginals,
  groupPositions,
  newestPositions,
  type Original,
} from "./originals.ts";
import { createRecord, type Originals, type SessionRecord } from "./session-record.ts";
import type { CompactionHead, CostView, StepView } from "./session-view.ts";

/** A session that a manager replays. */
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
  /** The messages of the session. */
  readonly history: readonly Message[];
  readonly counter: TokenCounter;
  /** Searches the messages archived during the replay. */
  readonly search: Originals["search"];
  redactText(text: string): string;
  /** The provider's usage report for the call after this number of messages. */
  reported?(messages: number): Pick<StepView, "reported" | "cached" | "dollars"> | undefined;
}

/** Records a replay. */
interface PlayedRecord {
  readonly record: SessionRecord;
  /** Call after each preflight. */
  onCall(raw: readonly Message[], result: CompactionResult<Message>, elapsedMs: number): void;
  onEvent(event: CompactEvent): void;
  end(cost: CostView | undefined): void;
}

/** Creates the record of a replay; `changed` is called after every change. */
export function createPlayedRecord(session: PlayedSession, changed: () => void): PlayedRecord {
  const { counter, policy, window, budget } = session;
  const compactions: PlayedCompaction[] = [];
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
      indexOf: ({ index }) => index,
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
  const spans = createSpanTree(record);
  const running = createRunningTotal(counter, fixed);

  return {
    record,
    onEvent: (event) => spans.add(event),
    onCall(raw, { messages, report, summary }, elapsedMs) {
      const at = raw.at(-1)?.meta?.timestamp;
      const compaction = report.compacted
        ? record.addCompaction({
            step: record.steps.length,
            at,
            durationMs: elapsedMs,
            ...headOf(report, policy),
          })
        : undefined;
      const planned = report.plan?.entries ?? [];
      if (compaction !== undefined) {
        const byId = groupPositions(session.history.slice(0, raw.length), ({ id }) => id);
        const positions = newestPositions(planned, ({ id }) => byId.get(id));
        const entries = planned.map((entry, index) => compacted(entry, positions[index], compactions));
        compactions.push({ entries, summary: summary ?? "", version: report.summaryVersion });
      }
      record.addStep({
        at,
        messages: raw.length,
        tokens: tokensByLayer(sharesOf(messages, session), fixed),
        without: running(raw),
        ...session.reported?.(raw.length),
        compaction: compaction?.index,
        before: compaction === undefined ? undefined : tokensByLayer(planned.map(shareOf), fixed),
      });
    },
    end: (cost) => record.amend({ live: false, cost }),
  };
}

/** Counts the whole history up to each call incrementally; lists only grow. */
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
  policy: Policy,
): Omit<CompactionHead, "index" | "step" | "at" | "durationMs"> {
  const { plan, failures } = report;
  return {
    reason: report.reason,
    tokensBefore: report.tokensBefore,
    tokensAfter: report.tokensAfter,
    messagesBefore: report.messagesBefore,
    messagesAfter: report.messagesAfter,
    outcomes: countOutcomes((plan?.entries ?? []).map(({ action }) => ({ outcome: outcomeOf(action) }))),
    policy: policyLines(policy, plan?.keep),
    summarizer: report.summarizer,
    summaryTokens: report.summaryTokens,
    archiveStep: report.archive?.step,
    failures: failures.map(({ error, fallback }) => `${errorMessage(error)}; ${fallback} instead`),
  };
}

interface PlayedCompaction extends CompactedList {
  readonly version: number | undefined;
}

const SUMMARY_ID = /^compact-summary-v(\d+)$/;

function compacted(
  entry: PlannedMessage,
  position: number | undefined,
  earlier: readonly PlayedCompaction[],
): CompactedMessage {
  const { id, role, tokens, tokensAfter, reason } = entry;
  const version = Number(SUMMARY_ID.exec(id)?.[1]);
  const summaryOf = position === undefined ? earlier.findLastIndex((one) => one.version === version) : -1;
  return {
    position,
    summaryOf: summaryOf < 0 ? undefined : summaryOf,
    role,
    layer: layerKeyOf(entry.layer, role),
    outcome: outcomeOf(entry.action),
    tokens,
    tokensAfter,
    reason,
  };
}

/** The relevant settings, with the keep counts that were used. */
function policyLines(policy: Policy, used: KeepCounts | undefined): CompactionHead["policy"] {
  const keep = used ?? policy;
  const { keepRecentMessages: recent } = keep;
  const target = policy.targetContextTokens;
  return namedValues({
    trigger: formatTrigger(policy.triggerPct),
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
