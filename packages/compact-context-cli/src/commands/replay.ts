import type { Invocation } from "../command.ts";
import { readSource } from "../files/read.ts";
import { createProgress } from "../progress.ts";
import { type Replay, replaySession } from "../replay.ts";
import { openTranscript } from "../sessions/discover.ts";
import { countedAlone, earlySettings, type Settings, settingsFor } from "../settings.ts";
import { withoutTracing } from "../traced.ts";
import { createViewStore, type ViewStore } from "../view/view-store.ts";
import { serveView } from "../view-page.ts";
import { economyJson } from "../views/economy-json.ts";
import { headline } from "../views/headline.ts";
import { replayView } from "../views/replay.ts";
import { replayWatched } from "../watched-replay.ts";

export async function replayCommand(invocation: Invocation): Promise<number> {
  const { words, flags, ports, terminal } = invocation;
  const source = await openTranscript(words[0] ?? "", ports);
  const early = earlySettings({ flags, ports, warn: (text) => terminal.warn(text) });
  const progress = createProgress(ports);
  const transcript = await readSource(source, flags.format, progress);
  const counted = countedAlone(settingsFor(transcript, early, flags));
  const warn = (text: string): void => terminal.warn(text);
  const settings = { ...counted, config: withoutTracing(counted.config, "compact replay", warn) };
  const replayPorts = {
    clock: ports.clock,
    onWarning: (text: string) => terminal.warn(text),
    onProgress: (share: number) => progress.show("replaying", share),
  };
  const play = async (store?: ViewStore): Promise<number> => {
    const playing =
      store === undefined
        ? replaySession(transcript, settings, replayPorts)
        : replayWatched(transcript, settings, { ...replayPorts, store });
    const replay = await playing.finally(() => progress.end());
    if (flags.json === true) terminal.printJson(replayJson(replay, settings));
    else
      terminal.print([
        ...headline(transcript, settings, terminal),
        ...replayView(replay, settings, terminal),
      ]);
    return replay.overBudget === 0 ? 0 : 1;
  };
  return flags.view === true ? watch(invocation, play) : play();
}

/** Plays as soon as a page looks on, and serves it until the reader has enough. */
async function watch(invocation: Invocation, play: (store: ViewStore) => Promise<number>): Promise<number> {
  const store = createViewStore();
  let code = 0;
  await serveView(invocation, {
    store,
    async fill(stopped, server) {
      await Promise.race([server.watched, aborted(stopped)]);
      if (!stopped.aborted) code = await play(store);
    },
  });
  return code;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function replayJson(replay: Replay, settings: Settings): Record<string, unknown> {
  return {
    model: settings.model ?? null,
    window: settings.window,
    budget: settings.budget,
    calls: replay.calls,
    messages: replay.messages,
    rounds: replay.rounds.map((round) => ({
      call: round.call,
      tokens_before: round.tokensBefore,
      tokens_after: round.tokensAfter,
      messages_before: round.messagesBefore,
      messages_after: round.messagesAfter,
      elapsed_ms: Math.round(round.elapsedMs * 10) / 10,
    })),
    most_tokens_sent: replay.mostSent,
    most_tokens_without: replay.mostRaw,
    calls_over_budget: replay.overBudget,
    calls_over_budget_without: replay.rawOverBudget,
    prompt_tokens: replay.promptTokens,
    prompt_tokens_without: replay.rawPromptTokens,
    cached_tokens: replay.cachedTokens,
    cached_share: replay.promptTokens === 0 ? 0 : replay.cachedTokens / replay.promptTokens,
    compaction_ms: Math.round(replay.compactionMs * 10) / 10,
    preflight_ms: Math.round(replay.preflightMs * 10) / 10,
    elapsed_ms: Math.round(replay.elapsedMs * 10) / 10,
    session_ms: replay.sessionMs ?? null,
    ...economyJson(replay.economy),
  };
}
