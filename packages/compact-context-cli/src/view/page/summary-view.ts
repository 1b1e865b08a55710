import type { CompactionView, SourceView, SummaryPiece } from "../session-view.ts";
import { button, element, fill } from "./dom.ts";
import { count, plural } from "./numbers.ts";
import { visibleText } from "./visible-text.ts";

export interface SummaryView {
  readonly node: HTMLElement;
  /** `undefined`: it is on its way. */
  show(compaction: CompactionView | undefined): void;
  /** Marks the lines that come from a message, and brings the first into sight; says how many there are. */
  markFrom(message: number | undefined): number;
  /** Takes all marks away. */
  clear(): void;
}

export interface SummaryPorts {
  /** A line was chosen: its sources, and which of them to bring into sight. */
  choose(sources: readonly SourceView[], nearest: SourceView): void;
  announce(text: string): void;
}

/** Most sources that are offered one by one; a line that gathers more says how many. */
const MOST_CHIPS = 12;

const NONE = "No summary was written: nothing but old tool output left.";

interface Line {
  readonly node: HTMLButtonElement;
  readonly sources: readonly SourceView[];
}

/** The summary line by line; each line leads to the messages that it comes from. One tab stop, arrow keys inside. */
export function createSummaryView(ports: SummaryPorts): SummaryView {
  const node = element("div", { class: "summary", role: "group", "aria-label": "The summary, line by line" });
  const chips = element("div", { class: "chips", role: "group", "aria-label": "Sources of this line" });
  let lines: Line[] = [];

  const choose = ({ node: chosen, sources }: Line): void => {
    const [nearest] = sources;
    for (const each of lines) each.node.setAttribute("aria-pressed", String(each.node === chosen));
    fill(chips, ...chipsOf(sources, (source) => ports.choose(sources, source)));
    chosen.after(chips);
    if (nearest === undefined) return;
    ports.choose(sources, nearest);
    ports.announce(`${plural(sources.length, "source")} marked in the list.`);
  };
  const lineOf = ({ text, sources }: SummaryPiece): HTMLElement => {
    const attributes = {
      class: sources.length === 0 ? "line loose" : "line",
      "aria-pressed": "false",
      dir: "auto",
    };
    const line: Line = { node: button(visibleText(text.trimEnd()), () => choose(line), attributes), sources };
    line.node.tabIndex = lines.length === 0 ? 0 : -1;
    line.node.addEventListener("focus", () => {
      for (const each of lines) each.node.tabIndex = each === line ? 0 : -1;
    });
    lines.push(line);
    return line.node;
  };
  node.addEventListener("keydown", (event) => {
    const from = lines.findIndex((line) => line.node === document.activeElement);
    const to = { ArrowDown: from + 1, ArrowUp: from - 1, Home: 0, End: lines.length - 1 }[event.key];
    if (from < 0 || to === undefined) return;
    event.preventDefault();
    lines[Math.max(0, Math.min(lines.length - 1, to))]?.node.focus();
  });

  return {
    node,
    show(compaction) {
      lines = [];
      const pieces = compaction?.summary ?? [];
      const none = element("p", { class: "empty" }, compaction === undefined ? "…" : NONE);
      fill(
        node,
        ...(pieces.length === 0 ? [none] : pieces.map((piece) => headingOf(piece) ?? lineOf(piece))),
      );
      node.scrollTop = 0;
    },
    markFrom(message) {
      const from = lines.filter(({ sources }) => sources.some((source) => source.message === message));
      const found = message === undefined ? [] : from;
      for (const line of lines) line.node.classList.toggle("from", found.includes(line));
      found[0]?.node.scrollIntoView({ block: "nearest" });
      return found.length;
    },
    clear() {
      chips.remove();
      for (const { node: line } of lines) {
        line.classList.remove("from");
        line.setAttribute("aria-pressed", "false");
      }
    },
  };
}

/** A heading or an empty line as it stands; undefined for a line that leads somewhere. */
function headingOf({ kind, text }: SummaryPiece): HTMLElement | undefined {
  if (kind === "blank" || text.trim() === "") return element("div", { class: "blank" });
  return kind === "heading"
    ? element("h4", { dir: "auto" }, visibleText(text.trim()).replace(/^#+\s*/, ""))
    : undefined;
}

function chipsOf(sources: readonly SourceView[], go: (source: SourceView) => void): HTMLElement[] {
  if (sources.length === 0) return [element("span", {}, "No source was found for this line.")];
  const offered = sources.slice(0, MOST_CHIPS).map((source) => {
    const name = source.message === undefined ? "archive" : `#${count(source.message + 1)}`;
    const label = source.match === "exact" ? name : `${name} likely`;
    return button(label, () => go(source), {
      class: "chip",
      title:
        source.match === "exact" ? "Its words stand there as they are." : "Most of its words stand there.",
    });
  });
  const more = sources.length - offered.length;
  const words = more > 0 ? `and ${count(more)} more, marked in the list` : "";
  return [element("span", {}, "from"), ...offered, element("span", {}, words)];
}
