import type { CompactConfig } from "compact-context";
import { configuredExporters } from "compact-context/internal/create-manager";
import { ArchivingRecorder, createTracer } from "compact-context/internal/tracing/tracer";
import { createRedactor } from "compact-context/redaction";
import type { Job, Outcome } from "./job.ts";

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
