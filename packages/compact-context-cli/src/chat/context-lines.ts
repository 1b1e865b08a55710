import type { ContextLayer, ContextView } from "compact-context/internal/agent/context-view";
import { bar } from "../render/bar.ts";
import { formatCount, formatPercent, plural } from "../render/numbers.ts";
import type { Style } from "../render/palette.ts";
import { firstWords, oneLine } from "../render/safe.ts";
import { padEnd, padStart, truncate } from "../render/width.ts";
import type { Terminal } from "../terminal.ts";

const NAMES: Readonly<Record<ContextLayer["name"], readonly [label: string, style: Style]>> = {
  system: ["system prompt", "faint"],
  tools: ["tools", "faint"],
  pinned: ["pinned", "pinned"],
  summary: ["summary", "summary"],
  recent: ["recent turns", "recent"],
  toolPairs: ["tool pairs", "toolPairs"],
  remainder: ["older", "remainder"],
};

const LABEL = 15;
const COUNT = 9;
const SHARE = 7;

/** What `/context` prints: how full, of what, what is pinned, when the next compaction comes, what was recalled. */
export function contextLines(view: ContextView, terminal: Terminal): string[] {
  const { width, paint } = terminal;
  const { tokens, window, layers } = view;
  const cells = Math.max(10, Math.min(40, width - 2 - LABEL - COUNT - SHARE - 14));
  const row = (layer: ContextLayer): string => {
    const [label, style] = NAMES[layer.name];
    const drawn = bar(layer.tokens, window, cells);
    const count = padStart(formatCount(layer.tokens), COUNT);
    const share = paint("faint", padStart(formatPercent(layer.tokens, window), SHARE));
    const messages = paint("faint", messagesOf(layer));
    return `  ${padEnd(label, LABEL)}${count}${share}  ${paint(style, padEnd(drawn, cells))} ${messages}`.trimEnd();
  };
  const line = (label: string, text: string): string =>
    `  ${padEnd(label, LABEL)}${truncate(oneLine(text), width - 2 - LABEL)}`;
  return [
    `  ${paint("strong", padEnd("Context", LABEL))}${formatCount(tokens)} of ${formatCount(window)} tokens, ${formatPercent(tokens, window)}`,
    "",
    ...layers.map(row),
    `  ${padEnd("free", LABEL)}${padStart(formatCount(Math.max(0, window - tokens)), COUNT)}${paint("faint", padStart(formatPercent(Math.max(0, window - tokens), window), SHARE))}`,
    "",
    line("compaction", triggerWords(view)),
    line("so far", pastWords(view)),
    line("pinned", pinnedWords(view)),
    line(
      "recalled",
      view.recalled.length === 0 ? "nothing for the newest message" : view.recalled.join(", "),
    ),
  ];
}

function messagesOf({ name, messages }: ContextLayer): string {
  if (messages === 0 || name === "system") return "";
  return name === "tools" ? plural(messages, "tool") : plural(messages, "message");
}

function triggerWords({ trigger, untilTrigger }: ContextView): string {
  if (untilTrigger === 0) return `due with the next message (trigger ${formatCount(trigger)})`;
  return `starts at ${formatCount(trigger)} tokens: ${formatCount(untilTrigger)} to go`;
}

function pastWords({ compactions, lastCompaction, archiveSteps }: ContextView): string {
  if (compactions === 0) return "nothing was compacted";
  const when =
    lastCompaction === undefined ? "" : `, the last ${lastCompaction.slice(0, 16).replace("T", " ")} UTC`;
  return `${plural(compactions, "compaction")}${when}; ${plural(archiveSteps, "archive step")}`;
}

function pinnedWords({ pinned }: ContextView): string {
  const held = pinned.map((text) => firstWords(text, 60));
  return ["the system prompt", ...held].join("; ");
}
