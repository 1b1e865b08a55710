import { type CompactionPlan, type Message, type PlannedMessage, planCompaction } from "compact-context";
import { callNames } from "compact-context/internal/core/message";
import type { PlannedAction } from "compact-context/internal/core/plan";
import { commandLine, type Invocation, printResult, RESULT_FLAGS } from "../flags.ts";
import type { Terminal } from "../ports.ts";
import { untouchedView } from "../render/compaction.ts";
import { headline, messageGist, problemLines } from "../render/headline.ts";
import { columnNames, foldedRows, type Row, type Style, table } from "../render/table.ts";
import { formatCount, formatPercent, paragraph, plural } from "../render/text.ts";
import { requestOf } from "../sessions/job.ts";
import { openSession } from "../sessions/opened.ts";
import type { Settings } from "../settings.ts";
import { closedMessages } from "./lint.ts";

export async function planSession(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation;
  const { source, transcript, settings } = await openSession(invocation);
  const small = settings.tokensBefore <= settings.target;
  const messages = closedMessages(transcript, terminal.warn);
  const planned = small ? undefined : planCompaction(messages, requestOf(transcript, settings));
  const plan = planned?.entries.some((entry) => entry.action !== "keep")
    ? asShown(planned, settings)
    : undefined;
  const again = commandLine(["compact", "plan", source.word ?? source.name], flags, RESULT_FLAGS);
  printResult(invocation, { ...planJson(plan, settings), problems: transcript.problems }, () => [
    ...headline(transcript, settings, terminal),
    ...problemLines(transcript, terminal),
    ...(plan === undefined
      ? untouchedView(settings, terminal, again)
      : planView(plan, messages, { terminal, all: flags.all === true })),
  ]);
  return 0;
}

/** The plan with the tokens that are not in the file, and with the summary's tags counted as part of it. */
function asShown(plan: CompactionPlan, { tokensBefore, unseenTokens }: Settings): CompactionPlan {
  const kept = plan.entries.reduce((total, entry) => total + entry.tokensAfter, plan.fixedTokens);
  const summaryTokens = plan.tokensAfter - kept;
  return { ...plan, tokensBefore, tokensAfter: plan.tokensAfter + unseenTokens, summaryTokens };
}

function planJson(plan: CompactionPlan | undefined, settings: Settings): Record<string, unknown> {
  return {
    compacts: plan !== undefined,
    budget: settings.budget,
    target: settings.target,
    fixed_tokens: settings.fixedTokens,
    tokens_before: settings.tokensBefore,
    tokens_after_at_most: plan?.tokensAfter ?? settings.tokensBefore,
    summary_tokens_at_most: plan?.summaryTokens ?? 0,
    messages: (plan?.entries ?? []).map(({ edit: _, layer, ...entry }) => ({
      ...entry,
      layer: layer === "toolPairs" ? "tool_pairs" : layer,
    })),
  };
}

const ACTIONS: Readonly<Record<PlannedAction, { readonly word: string; readonly style: Style }>> = {
  keep: { word: "kept", style: "good" },
  clear: { word: "cleared", style: "toolPairs" },
  elide: { word: "cut", style: "warn" },
  summarize: { word: "summarized", style: "faint" },
};

/** Short forms of the plan's reasons for keeping a message. */
const SHORT_REASONS: Readonly<Record<PlannedMessage["layer"], string>> = {
  pinned: "protected",
  recent: "recent turn",
  toolPairs: "newest calls",
  remainder: "still fits",
};

/** The plan message by message, with long runs folded unless `all`. */
function planView(
  plan: CompactionPlan,
  messages: readonly Message[],
  { terminal, all }: { readonly terminal: Terminal; readonly all: boolean },
): string[] {
  const names = callNames(messages);
  const row = (entry: PlannedMessage): Row => {
    const message = messages[entry.index];
    const { style } = ACTIONS[entry.action];
    return [
      { text: String(entry.index + 1), style: "faint" },
      // Not the user's words: what the agent's program added for the model.
      message?.meta?.synthetic === true && entry.role === "user" ? "program" : entry.role,
      tokensOf([entry]),
      { text: shortReason(entry), style },
      { text: message === undefined ? "" : messageGist(message, names), style: "faint" },
    ];
  };
  const alike = (one: PlannedMessage, other: PlannedMessage): boolean => groupOf(one) === groupOf(other);
  const rows = foldedRows(plan.entries, { alike, from: 7, kept: 2, all, row, fold: foldedRow });
  const header = columnNames("", "role", "tokens", "what", "");
  return [
    ...table([header, ...rows], ["right", "left", "right", "left", "flexible"], terminal),
    "",
    ...(rows.length < plan.entries.length ? ["  ⋮ marks messages that --all shows.", ""] : []),
    ...legend(plan, terminal),
    "",
    ...totals(plan).flatMap((text) => paragraph(text, terminal.width)),
    "",
  ];
}

/** Explains each short reason: number of messages, tokens, and the plan's sentence. */
function legend(plan: CompactionPlan, terminal: Terminal): string[] {
  const groups = new Map<string, PlannedMessage[]>();
  for (const entry of plan.entries) {
    const group = groups.get(shortReason(entry));
    if (group === undefined) groups.set(shortReason(entry), [entry]);
    else group.push(entry);
  }
  const rows = [...groups].map(
    ([word, entries]): Row => [
      { text: word, style: ACTIONS[entries[0]?.action ?? "keep"].style },
      plural(entries.length, "message"),
      `${formatCount(entries.reduce((total, entry) => total + entry.tokens, 0))} tokens`,
    ],
  );
  const reasons = [...groups.values()].map(([first]) => first?.reason ?? "");
  return table(rows, ["left", "right", "right"], terminal).flatMap((line, index) => [
    line,
    ...paragraph(reasons[index] ?? "", terminal.width, 6).map((text) => terminal.paint("faint", text)),
  ]);
}

/** Neighbors of one group fold together; a cleared message does not end a run of kept ones. */
function groupOf({ action, layer }: PlannedMessage): string {
  return action === "summarize" || action === "elide" ? action : layer;
}

function shortReason({ action, layer }: PlannedMessage): string {
  if (action === "summarize") return "summarized";
  if (action === "elide") return "cut: too large";
  return action === "clear" ? "output cleared" : `kept: ${SHORT_REASONS[layer]}`;
}

/** Tokens of neighbors of one group, and what is left of them. */
function tokensOf(run: readonly PlannedMessage[]): string {
  const before = run.reduce((total, entry) => total + entry.tokens, 0);
  const after = run.reduce((total, entry) => total + entry.tokensAfter, 0);
  const changed = run[0]?.action !== "summarize" && before !== after;
  return changed ? `${formatCount(before)} → ${formatCount(after)}` : formatCount(before);
}

function foldedRow(run: readonly PlannedMessage[]): Row {
  return [
    { text: "⋮", style: "faint" },
    { text: `${formatCount(run.length)} more`, style: "faint" },
    tokensOf(run),
    { text: actionsOf(run).join(", "), style: "faint" },
  ];
}

/** The actions in a run, with counts if they differ. */
function actionsOf(entries: readonly PlannedMessage[]): string[] {
  const counts = (Object.keys(ACTIONS) as PlannedAction[])
    .map((action) => ({ action, count: entries.filter((entry) => entry.action === action).length }))
    .filter(({ count }) => count > 0);
  return counts.map(({ action, count }) =>
    counts.length === 1 ? ACTIONS[action].word : `${formatCount(count)} ${ACTIONS[action].word}`,
  );
}

function totals(plan: CompactionPlan): string[] {
  const saved = plan.tokensBefore - plan.tokensAfter;
  return [
    `${formatCount(plan.tokensBefore)} tokens now, at most ${formatCount(plan.tokensAfter)} after (−${formatPercent(Math.max(0, saved), plan.tokensBefore)}), of which the summary has up to ${formatCount(plan.summaryTokens)}.`,
    "This is a dry run: nothing was changed.",
  ];
}
