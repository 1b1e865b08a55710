import type { Outcome } from "../job.ts";
import { snakeLayers } from "../layers.ts";
import type { Settings } from "../settings.ts";
import type { Transcript } from "../transcripts/transcript.ts";

/** The public shape of `compact <file> --json`: the first fifteen names are a contract, the rest may grow. */
export function compactionJson(
  transcript: Transcript,
  outcome: Outcome,
  { settings, output }: { readonly settings: Settings; readonly output: string | undefined },
): Record<string, unknown> {
  const { report, summary } = outcome.result;
  return {
    format: transcript.format,
    model: settings.model ?? null,
    window: settings.window,
    tokens_before: report.tokensBefore,
    tokens_after: report.tokensAfter,
    messages_before: report.messagesBefore,
    messages_after: report.messagesAfter,
    layers: snakeLayers(outcome.layersAfter),
    summary: summary ?? null,
    strategy: settings.strategy,
    summarizer: report.summarizer ?? null,
    archive: report.archive?.location ?? null,
    pruned_count: report.prunedCount,
    cleared_count: report.clearedCount,
    elapsed_ms: Math.round(outcome.elapsedMs),
    elided_count: report.elidedCount,
    newest_ask: report.newestAsk ?? null,
    layers_before: snakeLayers(outcome.layersBefore),
    fixed_tokens: settings.fixedTokens,
    budget: settings.budget,
    target: settings.target,
    range: report.range,
    compacted: outcome.changed,
    reason: report.reason,
    session_id: outcome.sessionId,
    archive_step: report.archive?.step ?? null,
    output: output ?? null,
    problems: transcript.problems,
    window_from: settings.windowFrom.replace("--", ""),
    unseen_tokens: settings.unseenTokens,
    reported_tokens: settings.reported?.reported ?? null,
  };
}
