import type { Message } from "compact-context";
import type { Change, ChangeKind } from "../difference.ts";
import { formatCount } from "../render/numbers.ts";
import type { Style } from "../render/palette.ts";
import { type Cell, table } from "../render/table.ts";
import type { Settings } from "../settings.ts";
import type { Terminal } from "../terminal.ts";
import type { Transcript } from "../transcripts/transcript.ts";
import { headline } from "./headline.ts";
import { type LayerState, layerComparison, totalBars } from "./layer-table.ts";
import { callNames, messageGist } from "./message-line.ts";

export interface Comparison {
  readonly before: LayerState & { readonly transcript: Transcript };
  readonly after: LayerState & { readonly transcript: Transcript };
  readonly changes: readonly Change[];
}

const SIGNS: Readonly<Record<ChangeKind, { readonly sign: string; readonly style: Style }>> = {
  kept: { sign: "=", style: "faint" },
  edited: { sign: "~", style: "warn" },
  gone: { sign: "−", style: "bad" },
  new: { sign: "+", style: "good" },
};

const FOLD_FROM = 6;

interface ViewOptions {
  readonly terminal: Terminal;
  readonly settings: Settings;
  readonly all: boolean;
}

/** Both sides by layer, then what became of the messages; long runs of one kind folded unless `all`. */
export function diffView(comparison: Comparison, { terminal, settings, all }: ViewOptions): string[] {
  const { before, after, changes } = comparison;
  const names = callNames([...before.transcript.messages, ...after.transcript.messages]);
  const rows = runsOf(changes).flatMap((run) => {
    const [first] = run;
    if (all || run.length < FOLD_FROM || first === undefined) {
      return run.map((change) => rowOf(change, comparison, { names, settings }));
    }
    return [
      rowOf(first, comparison, { names, settings }),
      foldedRow(run.slice(1, -1), comparison, settings),
      ...run.slice(-1).map((change) => rowOf(change, comparison, { names, settings })),
    ];
  });
  const counts = (Object.keys(SIGNS) as ChangeKind[]).map(
    (kind) => `${formatCount(changes.filter((change) => change.kind === kind).length)} ${kind}`,
  );
  return [
    ...headline(before.transcript, settings, terminal),
    ...totalBars(before.tokens, after.tokens, terminal),
    ...layerComparison(before, after, terminal),
    "",
    `  ${terminal.paint("strong", counts.join(", "))}`,
    "",
    ...table(rows, {
      columns: [{}, { align: "right" }, {}, { align: "right" }, { flexible: true }],
      width: terminal.width,
      paint: terminal.paint,
    }),
    "",
    ...(rows.length < changes.length ? ["  ⋮ stands for messages that --all shows.", ""] : []),
  ];
}

function runsOf(changes: readonly Change[]): Change[][] {
  const runs: Change[][] = [];
  for (const change of changes) {
    const run = runs.at(-1);
    if (run !== undefined && run[0]?.kind === change.kind) run.push(change);
    else runs.push([change]);
  }
  return runs;
}

function messagesOf(
  change: Change,
  { before, after }: Comparison,
): { readonly old: Message | undefined; readonly now: Message | undefined } {
  return {
    old: change.before === undefined ? undefined : before.transcript.messages[change.before],
    now: change.after === undefined ? undefined : after.transcript.messages[change.after],
  };
}

function rowOf(
  change: Change,
  comparison: Comparison,
  { names, settings }: { readonly names: ReadonlyMap<string, string>; readonly settings: Settings },
): (Cell | string)[] {
  const { sign, style } = SIGNS[change.kind];
  const { old, now } = messagesOf(change, comparison);
  const sizes = [old, now].flatMap((message) =>
    message === undefined ? [] : [formatCount(settings.counter.countMessage(message))],
  );
  const shown = now ?? old;
  return [
    { text: sign, style },
    { text: String((change.before ?? change.after ?? 0) + 1), style: "faint" },
    shown?.role ?? "",
    change.kind === "edited" ? sizes.join(" → ") : (sizes.at(-1) ?? ""),
    {
      text: shown === undefined ? "" : messageGist(shown, names),
      style: change.kind === "kept" ? "faint" : style,
    },
  ];
}

function foldedRow(run: readonly Change[], comparison: Comparison, { counter }: Settings): (Cell | string)[] {
  const { sign, style } = SIGNS[run[0]?.kind ?? "kept"];
  const tokens = run.reduce((total, change) => {
    const { old, now } = messagesOf(change, comparison);
    const message = now ?? old;
    return total + (message === undefined ? 0 : counter.countMessage(message));
  }, 0);
  return [{ text: sign, style }, "⋮", `${run.length} more`, formatCount(tokens)];
}
