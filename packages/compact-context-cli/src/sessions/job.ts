import { createHash } from "node:crypto";
import {
  type CompactConfig,
  type CompactionResult,
  compact,
  type Message,
  type planCompaction,
  type Summarizer,
} from "compact-context";
import { contentHash } from "compact-context/internal/core/message";
import { type LayerSizes, layersOf } from "compact-context/internal/core/report";
import { archiveId } from "compact-context/internal/core/transcript";
import { configuredExporters } from "compact-context/internal/create-manager";
import { ArchivingRecorder, createTracer } from "compact-context/internal/tracing/tracer";
import type { Archive } from "compact-context/recall";
import { createRedactor } from "compact-context/redaction";
import { sessionArchive } from "../archive.ts";
import { stemOf } from "../files/source.ts";
import type { CliPorts, Progress } from "../ports.ts";
import { messagesTarget, type Settings } from "../settings.ts";
import type { CompactedSession, Transcript } from "../transcripts/transcript.ts";
import { outcomesToStore } from "../view/archived-steps.ts";
import { sizesOf } from "./inspection.ts";

// Compacts a transcript and archives what leaves it: what `compact FILE` does, without its screen.

export interface Job {
  /** As it was read. */
  readonly transcript: Transcript;
  /** What is compacted: the transcript's messages, calls without a result closed. */
  readonly messages: readonly Message[];
  /** The file that it was read from, where it is one. */
  readonly path: string | undefined;
  readonly settings: Settings;
  readonly archive: Archive;
  readonly progress: Progress;
  readonly ports: CliPorts;
  /** Asked first for the summary; the built-in one when left out. */
  readonly summarizer?: Summarizer;
}

/** A transcript that was compacted, or one that was small enough already. */
export interface Outcome {
  readonly result: CompactionResult<Message>;
  readonly sessionId: string;
  /** False where the list is small enough already, or all of it must stay. */
  readonly changed: boolean;
  readonly layersBefore: LayerSizes;
  readonly layersAfter: LayerSizes;
  /** Milliseconds from the read transcript to the archived, compacted list. */
  readonly elapsedMs: number;
}

/** What people call the session: its own id, or its file's name. */
export function sessionNameOf(transcript: Transcript): string {
  return transcript.sessionId ?? stemOf(transcript.name ?? "session");
}

/** What the archive calls it. Files of one name are two sessions: where they lie, or how they begin, tells them apart. */
function sessionIdOf(transcript: Transcript, path: string | undefined): string {
  if (transcript.sessionId !== undefined) return transcript.sessionId;
  const [first] = transcript.messages;
  const mark = path ?? (first === undefined ? "" : contentHash(first));
  return `${sessionNameOf(transcript)}-${createHash("sha256").update(mark).digest("hex").slice(0, 6)}`;
}

/** Archives and compacts; throws as `compact` does. */
export async function runJob(job: Job): Promise<Outcome> {
  const { transcript, messages, path, settings, archive, progress, ports, summarizer } = job;
  const started = ports.clock();
  const sessionId = sessionIdOf(transcript, path);
  const { config, counter, strategy } = settings;
  const saver = sessionArchive(archive, sessionId);
  progress.show("planning");
  try {
    const compacted = await compact<Message>(messages, {
      ...requestOf(transcript, settings),
      strategy,
      fallback: config.summarizer.fallback,
      clock: ports.clock,
      summarizer,
      archive: {
        save: async (originals) => {
          progress.show("archiving the originals", 0);
          const saved = await saver.save(originals);
          progress.show(summarizer === undefined ? "writing the summary" : `asking ${summarizer.name}`);
          return saved;
        },
      },
    });
    const result = withUnseen(compacted, settings.unseenTokens);
    const { report } = result;
    const before = sizesOf(transcript.messages, layersOf(transcript.messages, config.policy), counter);
    await saveRecord(archive, { transcript, sessionId, settings, result, at: ports.now().toISOString() });
    return {
      result,
      sessionId,
      changed: report.plan?.entries.some((entry) => entry.action !== "keep") === true,
      layersBefore: before,
      layersAfter: report.compacted ? report.layers.after : before,
      elapsedMs: ports.clock() - started,
    };
  } finally {
    progress.end();
  }
}

/** The result with the tokens counted in that only the provider's report tells of. */
function withUnseen(result: CompactionResult<Message>, unseen: number): CompactionResult<Message> {
  if (unseen === 0) return result;
  const { report } = result;
  const { range } = report;
  return {
    ...result,
    report: {
      ...report,
      tokensBefore: report.tokensBefore + unseen,
      tokensAfter: report.tokensAfter + unseen,
      range: { ...range, tokens: range.tokens + unseen, low: range.low + unseen, high: range.high + unseen },
    },
  };
}

/** What planning and compacting are told alike. */
export function requestOf(transcript: Transcript, settings: Settings): Parameters<typeof planCompaction>[1] {
  const { config, budget, unseenTokens, model, onOverflow } = settings;
  const { maxSummaryTokens } = config.summarizer;
  return {
    // What stands beside the messages and is not in the file cannot be handed over: it has its room.
    maxTokens: Math.max(1, budget - unseenTokens),
    targetTokens: messagesTarget(settings),
    policy: config.policy,
    onOverflow,
    models: config.models,
    archiveId,
    format: transcript.list,
    model,
    system: transcript.system,
    tools: transcript.tools,
    maxSummaryTokens,
  };
}

/** What a writer needs; undefined where nothing was done. */
export function compactedSession(
  { result, changed }: Outcome,
  { tokensBefore }: Pick<Settings, "tokensBefore">,
): CompactedSession | undefined {
  const { report, summary } = result;
  if (!changed) return undefined;
  return {
    messages: result.messages,
    tokensBefore,
    tokensAfter: report.tokensAfter,
    summary:
      summary === undefined || report.summaryVersion === undefined
        ? undefined
        : { text: summary, version: report.summaryVersion },
  };
}

/** What became of the archived list, beside it: the summary, and the outcome of each message. */
async function saveRecord(
  archive: Archive,
  more: {
    readonly transcript: Transcript;
    readonly sessionId: string;
    readonly settings: Settings;
    readonly result: CompactionResult<Message>;
    readonly at: string;
  },
): Promise<void> {
  const { report, summary } = more.result;
  const { system, tools } = more.transcript;
  const { counter, model, strategy } = more.settings;
  if (report.plan === undefined || report.archive === undefined) return;
  await archive.saveSummary(more.sessionId, report.archive.step, {
    version: summary === undefined ? undefined : report.summaryVersion,
    text: summary,
    strategy,
    summarizer: report.summarizer ?? "none",
    at: more.at,
    model,
    tokens: report.summaryTokens,
    tokensBefore: report.tokensBefore,
    tokensAfter: report.tokensAfter,
    fixedTokens: {
      system: counter.countSystem(system) + counter.perRequest + more.settings.unseenTokens,
      tools: counter.countTools(tools),
    },
    fates: outcomesToStore(report.plan.entries),
  });
}

/**
 * Tells the archive, and the exporters that the settings name, what became of a session whose result was written;
 * resolves when all have it.
 */
export async function traceCompaction(
  { settings, archive, ports }: Job,
  { sessionId, result: { report, summary } }: Outcome,
  warn: (text: string) => void,
): Promise<void> {
  const { config, model, strategy } = settings;
  const receipt = report.archive;
  if (receipt === undefined) return;
  const recorder = new ArchivingRecorder({
    sink: createTracer({
      exporters: configuredExporters(config, warn),
      redact: createRedactor(config.redaction),
      now: () => ports.now().getTime(),
      onError: warn,
    }),
    first: undefined,
    archive: async () => archive,
    storageKind: config.storage.kind,
    now: ports.now,
    warn,
  });
  const announce = recorder.announcer(sessionId);
  const { step, location } = receipt;
  const decision = { triggered: true, reason: "manual" } as const;
  announce({ kind: "archived", step, location, messages: report.messagesBefore });
  announce({ kind: "decision", decision, policy: { ...config.policy, strategy }, model, report, step });
  if (summary !== undefined) announce({ kind: "summary", report, strategy, text: summary, step });
  announce({ kind: "pruned", report, model, step });
  await recorder.write(sessionId);
  await recorder.flush();
}

/** What only plays or shows a compaction tells nobody: nothing of it happened. Says so where the settings name exporters. */
export function withoutTracing(
  config: CompactConfig,
  command: string,
  warn: (text: string) => void,
): CompactConfig {
  const { console, opentelemetry, jsonl, ariadne } = config.tracing;
  if (console || opentelemetry || jsonl !== undefined || ariadne !== undefined) {
    warn(`${command} sends no events: nothing of it happened`);
  }
  return { ...config, tracing: { console: false, opentelemetry: false } };
}
