import { setImmediate } from "node:timers/promises";
import type { Message, StorageDriver } from "compact-context";
import { spentOn } from "compact-context/internal/agent/event";
import { archiveId } from "compact-context/internal/core/message";
import type { PlannedMessage } from "compact-context/internal/core/plan";
import type { KeepCounts, Policy } from "compact-context/internal/core/policy";
import { layersOf } from "compact-context/internal/core/report";
import { errorMessage } from "compact-context/internal/errors";
import { createArchive } from "compact-context/internal/search/archive";
import { createRedactor } from "compact-context/redaction";
import { createMemoryDriver } from "compact-context/storage/memory";
import { titleOf } from "../render/headline.ts";
import { sessionNameOf } from "../sessions/job.ts";
import type { Settings } from "../settings.ts";
import type { Transcript } from "../transcripts/transcript.ts";
import { createSpanTree } from "../view/event-reader.ts";
import {
  formatTrigger,
  layerKeyOf,
  MESSAGE_LAYERS,
  namedValues,
  outcomeOf,
  tokensByLayer,
} from "../view/message-view.ts";
import {
  type CompactedList,
  type CompactedMessage,
  groupPositions,
  newestPositions,
  Originals,
  searchArchive,
} from "../view/originals.ts";
import { SessionRecord } from "../view/session-record.ts";
import type { CompactionHead, CostView, StepView } from "../view/session-view.ts";
import type { ViewStore } from "../view/view-store.ts";
import {
  type Economy,
  REPLAY_ID,
  type ReplayObserver,
  type ReplayPorts,
  replaySession,
  wholeHistory,
} from "./replay.ts";

/** Plays a session as `replaySession` does and records it in `store` for the page. */
export async function replayWatched(
  transcript: Transcript,
  settings: Settings,
  { store, ...ports }: ReplayPorts & { readonly store: ViewStore },
): Promise<void> {
  const history = wholeHistory(transcript);
  const { record, observer } = recordReplay(transcript, settings, { history, storage: createMemoryDriver() });
  store.add(record);
  const { economy } = await replaySession(transcript, settings, { ...ports, observer });
  record.amend({ live: false, cost: costOf(economy) });
}

/** The record of a replay of `history`, which archives in `storage`. */
export function recordReplay(
  transcript: Transcript,
  settings: Settings,
  { history, storage }: Played,
): { readonly record: SessionRecord; readonly observer: ReplayObserver } {
  const { counter, window, budget, model } = settings;
  const { policy, models } = settings.config;
  const id = sessionNameOf(transcript);
  const compactions: PlayedCompaction[] = [];
  const originals = originalsOf(id, settings, { history, storage, compactions });
  const record = new SessionRecord(
    { id, source: "transcript", originals },
    {
      layers: MESSAGE_LAYERS,
      title: createRedactor(settings.config.redaction).redactText(titleOf(transcript)).slice(0, 200),
      live: true,
      format: transcript.format,
      model,
      window,
      budget,
      trigger: Math.min(budget, Math.ceil(window * policy.triggerPct), policy.maxTokens ?? window),
    },
  );
  const fixed = {
    system: counter.countSystem(transcript.system) + counter.perRequest,
    tools: counter.countTools(transcript.tools),
  };
  const spans = createSpanTree(record);
  const reported = reportedUsage(transcript, history, { model, models });
  // The whole history up to each call, counted as it grows.
  let counted = 0;
  let without = fixed.system + fixed.tools;
  const onCall: ReplayObserver["onCall"] = async (raw, { messages: sent, report, summary }, elapsedMs) => {
    const at = raw.at(-1)?.meta?.timestamp;
    const planned = report.plan?.entries ?? [];
    const layers = layersOf(sent, policy);
    for (; counted < raw.length; counted += 1) without += counter.countMessage(raw[counted] as Message);
    const step: Omit<StepView, "index" | "total"> = {
      at,
      messages: raw.length,
      tokens: tokensByLayer(
        sent.map((message, index) => ({
          layer: layerKeyOf(layers[index] ?? "remainder", message.role),
          tokens: counter.countMessage(message),
        })),
        fixed,
      ),
      without,
      ...reported.get(raw.length),
    };
    // The page's server runs in the same thread.
    await setImmediate();
    if (!report.compacted) return record.addStep(step);
    const { index } = record.addCompaction({
      step: record.steps.length,
      at,
      durationMs: elapsedMs,
      reason: report.reason,
      tokensBefore: report.tokensBefore,
      tokensAfter: report.tokensAfter,
      messagesBefore: report.messagesBefore,
      messagesAfter: report.messagesAfter,
      policy: policyLines(policy, report.plan?.keep),
      summarizer: report.summarizer,
      summaryTokens: report.summaryTokens,
      archiveStep: report.archive?.step,
      failures: report.failures.map(({ error, fallback }) => `${errorMessage(error)}; ${fallback} instead`),
    });
    const byId = groupPositions(history.slice(0, raw.length), (message) => message.id);
    const positions = newestPositions(planned, (entry) => byId.get(entry.id));
    const entries = planned.map((entry, place) => compacted(entry, positions[place], compactions));
    compactions.push({ entries, summary: summary ?? "", version: report.summaryVersion });
    const before = planned.map(({ id, layer, role, tokens }) => ({
      layer: SUMMARY_ID.test(id) ? ("summary" as const) : layerKeyOf(layer, role),
      tokens,
    }));
    record.addStep({ ...step, compaction: index, before: tokensByLayer(before, fixed) });
  };
  return { record, observer: { history, storage, exporter: { export: spans }, onCall } };
}

interface Played {
  readonly history: readonly Message[];
  readonly storage: StorageDriver;
}

function originalsOf(
  session: string,
  { config, counter }: Settings,
  { history, storage, compactions }: Played & { readonly compactions: readonly CompactedList[] },
): Originals {
  const redactor = createRedactor(config.redaction);
  const messages = history.map((message) => ({
    message,
    get archiveId() {
      return archiveId(message);
    },
  }));
  return new Originals({
    messages: () => messages,
    compactions: () => compactions,
    indexOf: ({ index }) => index,
    countMessage: (message) => counter.countMessage(message),
    redact: (text) => redactor.redactText(text),
    search: searchOf(createArchive(yielding(storage), { redact: redactor }), history, session),
  });
}

interface PlayedCompaction extends CompactedList {
  readonly version: number | undefined;
}

const SUMMARY_ID = /^compact-summary-v(\d+)$/;

function compacted(
  { id, role, tokens, tokensAfter, reason, action }: PlannedMessage,
  position: number | undefined,
  earlier: readonly PlayedCompaction[],
): CompactedMessage {
  const version = Number(SUMMARY_ID.exec(id)?.[1]);
  const summaryOf = position === undefined ? earlier.findLastIndex((one) => one.version === version) : -1;
  return {
    position,
    summaryOf: summaryOf < 0 ? undefined : summaryOf,
    role,
    outcome: outcomeOf(action),
    tokens,
    tokensAfter,
    reason,
  };
}

/** The relevant settings, with the keep counts that were used. */
function policyLines(policy: Policy, keep: KeepCounts = policy): CompactionHead["policy"] {
  const { keepRecentMessages: recent } = keep;
  const target = policy.targetContextTokens;
  const lowered = (wanted: number, used: number): string =>
    wanted === used ? String(wanted) : `${used}, lowered from ${wanted}`;
  return namedValues({
    trigger: formatTrigger(policy.triggerPct),
    "kept free": `${policy.hardCapBuffer} tokens`,
    strategy: policy.strategy,
    "recent turns": recent === undefined ? lowered(policy.keepRecentTurns, keep.keepRecentTurns) : undefined,
    "recent messages": recent,
    "tool pairs": lowered(policy.keepToolIoPairs, keep.keepToolIoPairs),
    "never pruned": policy.rolesNeverPrune.join(", "),
    target: target === undefined ? undefined : `${target} tokens`,
  });
}

/** The usage that the provider reported, by the number of messages before the call. */
function reportedUsage(
  { usage, segments }: Transcript,
  history: readonly Message[],
  { model = "", models }: Pick<Settings, "model"> & Pick<Settings["config"], "models">,
): ReadonlyMap<number, Pick<StepView, "reported" | "cached" | "dollars">> {
  const places = new Map(history.map((message, place) => [message, place]));
  return new Map(
    usage.flatMap(({ segment, index, usage: record, dollars: recorded }) => {
      const answer = segments[segment]?.messages[index];
      const place = answer === undefined ? undefined : places.get(answer);
      const { inputTokens, cachedTokens, dollars } = spentOn(record, model, models);
      return place === undefined || inputTokens === 0
        ? []
        : [[place, { reported: inputTokens, cached: cachedTokens, dollars: recorded ?? dollars }] as const];
    }),
  );
}

/** Searches all messages; the first search archives those that never left the prompt. */
function searchOf(
  archive: ReturnType<typeof createArchive>,
  history: Parameters<typeof archive.saveTranscript>[2],
  session: string,
): Originals["search"] {
  let whole: Promise<unknown> | undefined;
  return async (text, limit) => {
    whole ??= archive
      .steps(REPLAY_ID)
      .then((steps) => archive.saveTranscript(REPLAY_ID, (steps.at(-1) ?? 0) + 1, history));
    await whole;
    return searchArchive(archive, { sessionId: REPLAY_ID, session, text, limit });
  };
}

function costOf({ policies }: Economy): CostView | undefined {
  const none = policies.find(({ policy }) => policy === "none");
  const compact = policies[0]?.dollars ?? undefined;
  return compact === undefined ? undefined : { compact, none: none?.dollars ?? undefined };
}

/** Characters written before yielding to the event loop. */
const SLICE = 65_536;

/** A storage that yields to the event loop between reads and writes. */
function yielding(driver: StorageDriver): StorageDriver {
  return {
    ...driver,
    async get(key) {
      await setImmediate();
      return driver.get(key);
    },
    async *stream(key) {
      for await (const piece of driver.stream(key)) {
        yield piece;
        await setImmediate();
      }
    },
    async put(key, value, options) {
      await setImmediate();
      if (typeof value === "string") return driver.put(key, value, options);
      const written: string[] = [];
      let characters = 0;
      for (const piece of value) {
        written.push(piece);
        characters += piece.length;
        if (characters < SLICE) continue;
        characters = 0;
        await setImmediate();
      }
      return driver.put(key, written, options);
    },
  };
}
