import type { CompactionPlan, PlannedAction, PlannedMessage } from "../../compaction/plan.ts";
import type { Message } from "../../messages/message.ts";
import { formatCount, formatPercent, plural } from "../render/numbers.ts";
import type { Style } from "../render/palette.ts";
import { type Cell, table } from "../render/table.ts";
import type { Terminal } from "../terminal.ts";
import { callNames, messageGist } from "./message-line.ts";

const ACTIONS: Readonly<Record<PlannedAction, { readonly word: string; readonly style: Style }>> = {
  keep: { word: "kept", style: "good" },
  clear: { word: "cleared", style: "toolPairs" },
  elide: { word: "cut", style: "warn" },
  summarize: { word: "summarized", style: "faint" },
};

/** A run of the same action for the same reason longer than this is folded in the middle. */
const FOLD_FROM = 7;
const SHOWN_OF_RUN = 2;

/** The plan as a list, message by message, with long runs folded unless `all`. */
export function planView(
  plan: CompactionPlan,
  messages: readonly Message[],
  { terminal, all }: { readonly terminal: Terminal; readonly all: boolean },
): string[] {
  const names = callNames(messages);
  const rows = runsOf(plan.entries).flatMap((run) => {
    const first = run[0];
    if (all || run.length < FOLD_FROM || first === undefined)
      return run.map((entry) => rowOf(entry, messages, names));
    const middle = run.slice(SHOWN_OF_RUN, run.length - SHOWN_OF_RUN);
    return [
      ...run.slice(0, SHOWN_OF_RUN).map((entry) => rowOf(entry, messages, names)),
      foldedRow(middle),
      ...run.slice(-SHOWN_OF_RUN).map((entry) => rowOf(entry, messages, names)),
    ];
  });
  const header = ["", "role", "tokens", "", "why", ""].map((text): Cell => ({ text, style: "faint" }));
  return [
    ...table([header, ...rows], {
      columns: [
        { align: "right" },
        {},
        { align: "right" },
        {},
        { flexible: terminal.width < 100 },
        { flexible: true },
      ],
      width: terminal.width,
      paint: terminal.paint,
    }),
    "",
    ...totals(plan),
    "",
  ];
}

function runsOf(entries: readonly PlannedMessage[]): PlannedMessage[][] {
  const runs: PlannedMessage[][] = [];
  for (const entry of entries) {
    const run = runs.at(-1);
    const last = run?.at(-1);
    if (run !== undefined && last?.action === entry.action && last.reason === entry.reason) run.push(entry);
    else runs.push([entry]);
  }
  return runs;
}

function rowOf(
  entry: PlannedMessage,
  messages: readonly Message[],
  names: ReadonlyMap<string, string>,
): (Cell | string)[] {
  const message = messages[entry.index];
  const { word, style } = ACTIONS[entry.action];
  return [
    { text: String(entry.index + 1), style: "faint" },
    entry.role,
    tokensOf(entry),
    { text: word, style },
    entry.reason,
    { text: message === undefined ? "" : messageGist(message, names), style: "faint" },
  ];
}

function tokensOf({ action, tokens, tokensAfter }: PlannedMessage): string {
  const changed = action !== "summarize" && tokens !== tokensAfter;
  return changed ? `${formatCount(tokens)} → ${formatCount(tokensAfter)}` : formatCount(tokens);
}

function foldedRow(run: readonly PlannedMessage[]): (Cell | string)[] {
  const tokens = run.reduce((total, entry) => total + entry.tokens, 0);
  const action = run[0]?.action ?? "keep";
  return [
    { text: "⋮", style: "faint" },
    { text: `${formatCount(run.length)} more`, style: "faint" },
    formatCount(tokens),
    { text: ACTIONS[action].word, style: ACTIONS[action].style },
    { text: "(--all shows them)", style: "faint" },
    "",
  ];
}

function totals(plan: CompactionPlan): string[] {
  const count = (action: PlannedAction): number =>
    plan.entries.filter((entry) => entry.action === action).length;
  const parts = (Object.keys(ACTIONS) as PlannedAction[])
    .filter((action) => count(action) > 0)
    .map((action) => `${formatCount(count(action))} ${ACTIONS[action].word}`);
  const saved = plan.tokensBefore - plan.tokensAfter;
  return [
    `  ${parts.join(", ")}, of ${plural(plan.entries.length, "message")}.`,
    `  ${formatCount(plan.tokensBefore)} tokens now, at most ${formatCount(plan.tokensAfter)} after (−${formatPercent(Math.max(0, saved), plan.tokensBefore)}), up to ${formatCount(plan.summaryTokens)} of them the summary's.`,
    "  Nothing was changed: this is what compact would do.",
  ];
}
