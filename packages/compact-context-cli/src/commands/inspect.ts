import { callNames } from "compact-context/internal/core/message";
import { type Invocation, printResult } from "../flags.ts";
import type { Terminal } from "../ports.ts";
import { barTable, layerTable } from "../render/compaction.ts";
import { headline, messageGist, reportLines } from "../render/headline.ts";
import { bar, labelled, type Row, type Style, table } from "../render/table.ts";
import {
  formatCount,
  formatPercent,
  formatShort,
  oneLine,
  paragraph,
  plural,
  truncate,
  wrap,
} from "../render/text.ts";
import { type Inspection, inspect, type Share } from "../sessions/inspection.ts";
import { openSession } from "../sessions/opened.ts";

export async function inspectSession(invocation: Invocation): Promise<number> {
  const { transcript, settings } = await openSession(invocation);
  const inspection = inspect(transcript, settings);
  printResult(invocation, inspectionJson(inspection), () => inspectionView(inspection, invocation.terminal));
  return 0;
}

function inspectionJson(inspection: Inspection): Record<string, unknown> {
  const { transcript, settings, decision, largest: messages, ...figures } = inspection;
  const { tokensBefore, reported } = settings;
  return {
    format: transcript.format,
    model: settings.model ?? null,
    window: settings.window,
    budget: settings.budget,
    tokens: tokensBefore,
    range: settings.counter.range(tokensBefore),
    messages: transcript.messages.length,
    fixedTokens: settings.fixedTokens,
    unseenTokens: settings.unseenTokens,
    windowFrom: settings.windowFrom.replace("--", ""),
    usagePct: tokensBefore / settings.window,
    wouldTrigger: decision.triggered,
    reason: decision.reason,
    ...figures,
    largest: messages.map(({ index, message, tokens }) => ({ index, role: message.role, tokens })),
    reportedUsage:
      reported === undefined
        ? null
        : {
            index: reported.isEarlier ? null : reported.record.index,
            reportedTokens: reported.reported,
            countedTokens: reported.counted,
          },
    compactions: transcript.compactions,
    leftOut: transcript.leftOut,
    problems: transcript.problems,
  };
}

const TOOLS_SHOWN = 8;
const PROBLEMS_SHOWN = 12;

/** The report of `compact inspect`. */
function inspectionView(inspection: Inspection, terminal: Terminal): string[] {
  const { transcript, settings } = inspection;
  const whole = settings.tokensBefore;
  return [
    ...headline(transcript, settings, terminal),
    ...fullness(inspection, terminal),
    ...heading("By layer", terminal),
    ...layerTable({ layers: inspection.layers, fixedTokens: settings.fixedTokens, tokens: whole }, terminal),
    ...heading("By role", terminal),
    ...shares(inspection.roles, whole, terminal),
    ...(inspection.tools.length === 0 ? [] : heading("By tool", terminal)),
    ...shares(folded(inspection.tools), whole, terminal),
    ...heading("Largest messages", terminal),
    ...largest(inspection, terminal),
    "",
    ...facts(inspection, terminal),
    "",
  ];
}

function heading(text: string, terminal: Terminal): string[] {
  return ["", `  ${terminal.paint("strong", text)}`];
}

function fullness({ settings, decision, transcript, layers }: Inspection, terminal: Terminal): string[] {
  const { tokensBefore, window, budget, config, fixedTokens, reported } = settings;
  const cells = Math.min(60, terminal.width - 20);
  const [style, verdict] = verdictOn(tokensBefore > budget, decision.triggered);
  const drawn = bar(Math.min(tokensBefore, window), window, cells);
  const rest = terminal.paint("faint", "░".repeat(Math.max(0, cells - drawn.length)));
  const range = settings.counter.range(tokensBefore);
  const spread = range.exact
    ? "exact"
    : `an estimate: ${formatShort(range.low)} to ${formatShort(range.high)}`;
  const hasFixed = reported !== undefined || fixedTokens + layers.pinned.messages > 0;
  const note = hasFixed ? "" : ", without system prompt and tools, which the file does not hold";
  const size = `${formatCount(tokensBefore)} of ${formatCount(window)} tokens (${spread}) in ${plural(transcript.messages.length, "message")}${note}`;
  const outlook = `${verdict} (compacts at ${formatCount(Math.min(budget, window * config.policy.triggerPct))}, hard limit ${formatCount(budget)})`;
  return [
    `  ${terminal.paint(style, drawn)}${rest}  ${formatPercent(tokensBefore, window)} full`,
    ...[size, outlook].flatMap((text) => paragraph(text, terminal.width)),
  ];
}

function verdictOn(isOver: boolean, isTriggered: boolean): readonly [Style, string] {
  if (isOver) return ["bad", "It does not fit: the next call would be refused."];
  return isTriggered
    ? ["warn", "The next call would start a compaction."]
    : ["good", "No compaction would start."];
}

function folded(all: readonly Share[]): readonly Share[] {
  if (all.length <= TOOLS_SHOWN + 1) return all;
  const rest = all.slice(TOOLS_SHOWN);
  return [
    ...all.slice(0, TOOLS_SHOWN),
    {
      name: `${rest.length} others`,
      tokens: rest.reduce((total, share) => total + share.tokens, 0),
      messages: rest.reduce((total, share) => total + share.messages, 0),
    },
  ];
}

function shares(all: readonly Share[], whole: number, terminal: Terminal): string[] {
  if (all.length === 0) return [];
  const entries = all.map(({ name, tokens, messages }) => ({
    label: truncate(oneLine(name), 24),
    style: "remainder" as const,
    tokens,
    messages: formatCount(messages),
  }));
  return barTable(entries, whole, terminal);
}

function largest({ largest: all, settings, transcript }: Inspection, terminal: Terminal): string[] {
  const names = callNames(transcript.messages);
  return table(
    all.map(
      ({ index, message, tokens }): Row => [
        { text: `#${index + 1}`, style: "faint" },
        message.role,
        formatCount(tokens),
        { text: formatPercent(tokens, settings.tokensBefore), style: "faint" },
        messageGist(message, names),
      ],
    ),
    ["right", "left", "right", "right", "flexible"],
    terminal,
  );
}

function facts(inspection: Inspection, terminal: Terminal): string[] {
  const { transcript, settings, callsWithoutResult, parallelBatches } = inspection;
  const calls = `${plural(callsWithoutResult, "call")} without a result, ${plural(parallelBatches, "answer")} with several calls`;
  const leftOut = Object.entries(transcript.leftOut).map(([kind, count]) => `${count} × ${kind}`);
  const compactions = `${plural(transcript.compactions.length, "time")} in the file itself; shown is the part after the last`;
  const line = (label: string, text: string): string[] => labelled(label, text, 13, terminal);
  return [
    ...line("tool calls", calls),
    ...reportLines(settings).flatMap((text) => line("counted", text)),
    ...(transcript.compactions.length === 0 ? [] : line("compactions", compactions)),
    ...(leftOut.length === 0 ? [] : line("ignored", oneLine(leftOut.join(", ")))),
    ...problems(inspection, terminal),
  ];
}

function problems({ transcript, faults }: Inspection, terminal: Terminal): string[] {
  const all = [
    ...transcript.problems.map(
      ({ line, place, message }) => `${line === undefined ? (place ?? "file") : `line ${line}`}: ${message}`,
    ),
    ...faults.map((fault) => `message #${fault.index + 1}: ${fault.explanation}`),
  ];
  if (all.length === 0) return [];
  const shown = all
    .slice(0, PROBLEMS_SHOWN)
    .flatMap((text) =>
      wrap(oneLine(text), terminal.width - 6).map((line, index) =>
        index === 0 ? `  ${terminal.paint("warn", "!")} ${line}` : `    ${line}`,
      ),
    );
  const more = all.length - PROBLEMS_SHOWN;
  return [
    ...heading("Problems", terminal),
    ...shown,
    ...(more > 0
      ? [`  ${terminal.paint("warn", "!")} and ${formatCount(more)} more (all of them with --json)`]
      : []),
  ];
}
