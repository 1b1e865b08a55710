import { bar } from "../render/bar.ts";
import { formatCount, formatDuration, formatPercent, plural } from "../render/numbers.ts";
import type { Style } from "../render/palette.ts";
import { type Cell, table } from "../render/table.ts";
import { padEnd, paragraph, wrap } from "../render/width.ts";
import type { Round } from "../replay/tally.ts";
import type { Replay } from "../replay.ts";
import type { Settings } from "../settings.ts";
import type { Terminal } from "../terminal.ts";
import { economyView } from "./economy.ts";

const ROUNDS_SHOWN = 12;

/** What a person sees of a replay: how far it got without and with, the rounds, time and cache. */
export function replayView(replay: Replay, settings: Settings, terminal: Terminal): string[] {
  const calls = `${plural(replay.calls, "model call")} over ${plural(replay.messages, "message")}`;
  return [
    ...paragraph(`${calls}, budget ${formatCount(settings.budget)} tokens a call`, terminal.width),
    ...(settings.reported === undefined
      ? []
      : paragraph(
          "Counted are the messages of the file: system prompt and tools that it does not hold are left out.",
          terminal.width,
        )),
    "",
    ...comparison(replay, settings, terminal),
    "",
    ...rounds(replay.rounds, settings, terminal),
    ...costs(replay, terminal),
    "",
    ...economyView(replay.economy, terminal),
    "",
  ];
}

function comparison(replay: Replay, settings: Settings, terminal: Terminal): string[] {
  const most = Math.max(replay.mostRaw, settings.budget);
  const cells = Math.max(4, Math.min(40, terminal.width - 58));
  const row = (label: string, tokens: number, over: number, style: Style): (Cell | string)[] => [
    label,
    formatCount(tokens),
    { text: padEnd(bar(tokens, most, cells), cells), style },
    {
      text: over === 0 ? "every call fits" : `${plural(over, "call")} too large`,
      style: over === 0 ? "good" : "bad",
    },
  ];
  const header: Cell[] = ["", "largest request", "", ""].map((text) => ({ text, style: "faint" }));
  return table(
    [
      header,
      row("without", replay.mostRaw, replay.rawOverBudget, "remainder"),
      row("with compact", replay.mostSent, replay.overBudget, "good"),
    ],
    { columns: [{}, { align: "right" }, {}, {}], width: terminal.width, paint: terminal.paint },
  );
}

function rounds(all: readonly Round[], settings: Settings, terminal: Terminal): string[] {
  if (all.length === 0) return ["  No compaction was needed.", ""];
  const cells = Math.max(4, Math.min(30, terminal.width - 66));
  const rows = all
    .slice(0, ROUNDS_SHOWN)
    .map((round, index): (Cell | string)[] => [
      { text: `${index + 1}`, style: "faint" },
      `call ${formatCount(round.call)}`,
      `${formatCount(round.tokensBefore)} → ${formatCount(round.tokensAfter)}`,
      { text: padEnd(bar(round.tokensAfter, settings.window, cells), cells), style: "good" },
      `${formatCount(round.messagesBefore)} → ${formatCount(round.messagesAfter)}`,
      formatDuration(round.elapsedMs),
    ]);
  const header: Cell[] = ["", "round", "tokens", "window", "messages", "took"].map((text) => ({
    text,
    style: "faint",
  }));
  const more = all.length - rows.length;
  return [
    ...table([header, ...rows], {
      columns: [{ align: "right" }, {}, { align: "right" }, {}, { align: "right" }, { align: "right" }],
      width: terminal.width,
      paint: terminal.paint,
    }),
    ...(more > 0
      ? [terminal.paint("faint", `     and ${plural(more, "more round")} (--json has all of them)`)]
      : []),
    "",
  ];
}

function costs(replay: Replay, terminal: Terminal): string[] {
  const quiet = replay.calls - replay.rounds.length;
  const quietMs = quiet === 0 ? 0 : (replay.preflightMs - replay.compactionMs) / quiet;
  const lasted =
    replay.sessionMs === undefined ? "" : `; the session itself lasted ${formatDuration(replay.sessionMs)}`;
  const saved = replay.rawPromptTokens - replay.promptTokens;
  const rows: [string, string][] = [
    [
      "prompt",
      `${formatCount(replay.promptTokens)} tokens in all calls${saved > 0 ? `, ${formatPercent(saved, replay.rawPromptTokens)} less than without` : ""}`,
    ],
    [
      "cache",
      `${formatPercent(replay.cachedTokens, replay.promptTokens)} of them repeat the call before, which a prefix cache serves`,
    ],
    [
      "compacting",
      `${formatDuration(replay.compactionMs)} in ${plural(replay.rounds.length, "round")}${lasted}`,
    ],
    ["checking", `${formatDuration(quietMs)} for each call that needed no compaction`],
  ];
  return rows.flatMap(([label, text]) =>
    wrap(text, terminal.width - 15).map(
      (line, index) => `  ${terminal.paint("strong", padEnd(index === 0 ? label : "", 12))}${line}`,
    ),
  );
}
