import type { Invocation } from "../command.ts";
import { readSource } from "../files/read.ts";
import { type Inspection, inspect } from "../inspection.ts";
import { snakeLayers } from "../layers.ts";
import { createProgress } from "../progress.ts";
import { openTranscript } from "../sessions/discover.ts";
import { earlySettings, settingsFor } from "../settings.ts";
import { inspectionView } from "../views/inspection.ts";

export async function inspectSession({ words, flags, ports, terminal }: Invocation): Promise<number> {
  const source = await openTranscript(words[0] ?? "", ports);
  const early = earlySettings({ flags, ports, warn: (text) => terminal.warn(text) });
  const transcript = await readSource(source, flags.format, createProgress(ports));
  const settings = settingsFor(transcript, early, flags);
  const inspection = inspect(transcript, settings);
  if (flags.json === true) terminal.printJson(inspectionJson(inspection));
  else terminal.print(inspectionView(inspection, terminal));
  return 0;
}

function inspectionJson(inspection: Inspection): Record<string, unknown> {
  const { transcript, settings, decision } = inspection;
  const usage = settings.reported;
  return {
    format: transcript.format,
    model: settings.model ?? null,
    window: settings.window,
    budget: settings.budget,
    tokens: settings.tokensBefore,
    range: settings.counter.range(settings.tokensBefore),
    messages: transcript.messages.length,
    fixed_tokens: settings.fixedTokens,
    unseen_tokens: settings.unseenTokens,
    window_from: settings.windowFrom.replace("--", ""),
    usage_pct: decision.usagePct,
    would_trigger: decision.triggered,
    reason: decision.reason,
    layers: snakeLayers(inspection.layers),
    roles: inspection.roles,
    tools: inspection.tools,
    largest: inspection.largest.map(({ index, message, tokens }) => ({ index, role: message.role, tokens })),
    reported_usage:
      usage === undefined
        ? null
        : { index: usage.record.index, reported_tokens: usage.reported, counted_tokens: usage.counted },
    calls_without_result: inspection.callsWithoutResult,
    parallel_batches: inspection.parallelBatches,
    compactions: transcript.compactions,
    left_out: transcript.leftOut,
    faults: inspection.faults,
    problems: transcript.problems,
  };
}
