import { createHash } from "node:crypto";
import {
  type CompactConfig,
  type CompactionResult,
  compact,
  type Message,
  type planCompaction,
  type Summarizer,
} from "compact-context";
import { configuredExporters } from "compact-context/internal/configured";
import { archiveId, contentHash } from "compact-context/internal/core/message";
import { type LayerSizes, layersOf } from "compact-context/internal/core/report";
import { ArchivingRecorder, createTracer } from "compact-context/internal/tracing/tracer";
import type { Archive } from "compact-context/recall";
import { createRedactor } from "compact-context/redaction";
import { sessionArchive } from "../archive.ts";
import { stemOf } from "../files/source.ts";
import type { CliPorts, Progress } from "../ports.ts";
import { messagesTarget, type Settings } from "../settings.ts";
import { providerOf, type Transcript } from "../transcripts/transcript.ts";
import { sizesOf } from "./inspection.ts";

// The work of `compact FILE` without its output: compacts a transcript and archives the originals.

export interface Job {
  /** As it was read. */
  readonly transcript: Transcript;
  /** The transcript's messages, with a result added to each open call. */
  readonly messages: readonly Message[];
  /** The transcript's file, if it comes from one. */
  readonly path: string | undefined;
  readonly settings: Settings;
  readonly archive: Archive;
  readonly progress: Progress;
  readonly ports: CliPorts;
  /** The built-in summarizer if undefined. */
  readonly summarizer?: Summarizer;
}

/** The result of a job, also of one that left the transcript as it was. */
export interface Outcome {
  readonly result: CompactionResult<Message>;
  readonly sessionId: string;
  /** False if the list is small enough, or nothing may leave it. */
  readonly changed: boolean;
  readonly layersBefore: LayerSizes;
  readonly layersAfter: LayerSizes;
  /** Milliseconds of archiving and compaction. */
  readonly elapsedMs: number;
}

/** Display name of a session: its id, else its file's name. */
export function sessionNameOf(transcript: Transcript): string {
  return transcript.sessionId ?? stemOf(transcript.name ?? "session");
}

/** Id of a session in the archive. A hash of the path, or of the first message, separates files of the same name. */
function sessionIdOf(transcript: Transcript, path: string | undefined): string {
  if (transcript.sessionId !== undefined) return transcript.sessionId;
  const [first] = transcript.messages;
  const identity = path ?? (first === undefined ? "" : contentHash(first));
  return `${sessionNameOf(transcript)}-${createHash("sha256").update(identity).digest("hex").slice(0, 6)}`;
}

/** Archives and compacts; throws the errors of `compact`. */
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
          progress.show(summarizer === undefined ? "writing the summary" : `waiting for ${summarizer.name}`);
          return saved;
        },
      },
    });
    const result = withUnseen(compacted, settings.unseenTokens);
    const { report } = result;
    const before = sizesOf(transcript.messages, layersOf(transcript.messages, config.policy), counter);
    await saveRecord(job, sessionId, result);
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

/** Adds the tokens that only the provider's usage shows. */
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

/** The options that planning and compacting share. */
export function requestOf(transcript: Transcript, settings: Settings): Parameters<typeof planCompaction>[1] {
  const { config, budget, unseenTokens, model, onOverflow } = settings;
  return {
    // Reserves room for system prompt and tools that are not in the file.
    maxTokens: Math.max(1, budget - unseenTokens),
    targetTokens: messagesTarget(settings),
    policy: config.policy,
    onOverflow,
    models: config.models,
    archiveId,
    format: providerOf(transcript),
    model,
    system: transcript.system,
    tools: transcript.tools,
    maxSummaryTokens: config.summarizer.maxSummaryTokens,
  };
}

/** Saves the summary and the action on each message beside the archived list. */
async function saveRecord(
  { archive, ports, settings, transcript: { system, tools } }: Job,
  sessionId: string,
  { report, summary }: CompactionResult<Message>,
): Promise<void> {
  const { counter, model, strategy, unseenTokens } = settings;
  if (report.plan === undefined || report.archive === undefined) return;
  await archive.saveSummary(sessionId, report.archive.step, {
    version: summary === undefined ? undefined : report.summaryVersion,
    text: summary,
    strategy,
    summarizer: report.summarizer ?? "none",
    at: ports.now().toISOString(),
    model,
    tokens: report.summaryTokens,
    tokensBefore: report.tokensBefore,
    tokensAfter: report.tokensAfter,
    fixedTokens: {
      system: counter.countSystem(system) + counter.perRequest + unseenTokens,
      tools: counter.countTools(tools),
    },
    fates: report.plan.entries.map(({ action, tokens, tokensAfter, reason }) => ({
      action,
      tokens,
      tokensAfter,
      reason,
    })),
  });
}

/** Records a written compaction in the archive, and resolves once the exporters of the settings have its events. */
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

/** The configuration without exporters, for a command that only simulates a compaction; warns if any are configured. */
export function withoutTracing(
  config: CompactConfig,
  command: string,
  warn: (text: string) => void,
): CompactConfig {
  const { console, opentelemetry, jsonl, ariadne } = config.tracing;
  if (console || opentelemetry || jsonl !== undefined || ariadne !== undefined) {
    warn(`${command} sends no events: it changes nothing`);
  }
  return { ...config, tracing: { console: false, opentelemetry: false } };
}
