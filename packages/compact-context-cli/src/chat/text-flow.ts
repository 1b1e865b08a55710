import { escapeControl } from "compact-context/internal/tracing/tracer";
import { displayWidth } from "../render/width.ts";

/** Lays out text that comes in pieces: indented, broken at spaces, safe for a terminal. */
export interface TextFlow {
  /** What to write for one more piece; a word that may go on is held back. */
  push(piece: string): string;
  /** What was held back, and the end of the line. */
  end(): string;
}

export function createTextFlow(width: () => number, indent: string): TextFlow {
  let column = 0;
  let gap = "";
  let word = "";
  let half = "";

  const flush = (): string => {
    if (word === "") return "";
    let out = "";
    const cells = displayWidth(word);
    if (column === 0) {
      out = indent;
      column = indent.length;
    } else if (column + gap.length + cells > width()) {
      out = `\n${indent}`;
      column = indent.length;
      gap = "";
    }
    out += gap + word;
    column += gap.length + cells;
    gap = "";
    word = "";
    return out;
  };
  const take = (character: string): string => {
    if (character === "\n") {
      const out = `${flush()}\n`;
      column = 0;
      gap = "";
      return out;
    }
    if (character === " ") {
      const out = flush();
      gap += " ";
      return out;
    }
    // Scripts without spaces break anywhere; a word longer than a line has to.
    const cells = displayWidth(character);
    const breaks = cells === 2 || displayWidth(word) + cells > width() - indent.length;
    const before = breaks ? flush() : "";
    word += character;
    return cells === 2 ? before + flush() : before;
  };
  return {
    push(piece) {
      const text = half + piece;
      half = /[\ud800-\udbff]$/.test(text) ? text.slice(-1) : "";
      const safe = escapeControl(half === "" ? text : text.slice(0, -1)).replaceAll("\t", "  ");
      let out = "";
      for (const character of safe) out += take(character);
      return out;
    },
    end() {
      half = "";
      const out = flush();
      const more = column === 0 ? "" : "\n";
      column = 0;
      gap = "";
      return out + more;
    },
  };
}
