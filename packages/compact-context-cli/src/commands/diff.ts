import { layersOf } from "compact-context/internal/core/report";
import type { Invocation } from "../command.ts";
import { differenceOf } from "../difference.ts";
import { readSource } from "../files/read.ts";
import { sizesOf, snakeLayers } from "../layers.ts";
import { createProgress } from "../progress.ts";
import { openTranscript } from "../sessions/discover.ts";
import { earlySettings, type Settings, settingsFor } from "../settings.ts";
import type { Transcript } from "../transcripts/transcript.ts";
import { type Comparison, diffView } from "../views/diff.ts";

export async function diffSessions({ words, flags, ports, terminal }: Invocation): Promise<number> {
  const [first = "", second = ""] = words;
  const early = earlySettings({ flags, ports, warn: (text) => terminal.warn(text) });
  const progress = createProgress(ports);
  const before = await readSource(await openTranscript(first, ports), flags.format, progress);
  const after = await readSource(await openTranscript(second, ports), flags.format, progress);
  const settings = settingsFor(before, early, flags);
  const comparison: Comparison = {
    before: sideOf(before, settings),
    after: sideOf(after, settings),
    changes: differenceOf(before.messages, after.messages),
  };
  if (flags.json === true) terminal.printJson(diffJson(comparison));
  else terminal.print(diffView(comparison, { terminal, settings, all: flags.all === true }));
  return 0;
}

function sideOf(transcript: Transcript, { counter, config }: Settings): Comparison["before"] {
  const fixedTokens = counter.countSystem(transcript.system) + counter.countTools(transcript.tools);
  const layers = sizesOf(transcript.messages, layersOf(transcript.messages, config.policy), counter);
  const tokens = Object.values(layers).reduce(
    (total, layer) => total + layer.tokens,
    fixedTokens + counter.perRequest,
  );
  return { transcript, layers, fixedTokens, tokens };
}

function diffJson({ before, after, changes }: Comparison): Record<string, unknown> {
  const count = (kind: string): number => changes.filter((change) => change.kind === kind).length;
  return {
    tokens_before: before.tokens,
    tokens_after: after.tokens,
    messages_before: before.transcript.messages.length,
    messages_after: after.transcript.messages.length,
    kept: count("kept"),
    edited: count("edited"),
    gone: count("gone"),
    new: count("new"),
    layers_before: snakeLayers(before.layers),
    layers_after: snakeLayers(after.layers),
    changes,
  };
}
