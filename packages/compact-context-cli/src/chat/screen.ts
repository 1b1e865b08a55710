import { escapeControl } from "compact-context/internal/errors";
import type { Terminal } from "../ports.ts";
import type { Paint, Style } from "../render/table.ts";
import { displayWidth, padEnd, safeLines, truncate, wrap } from "../render/text.ts";

/** TypeScript refuses the flag `v` in a literal for this target. */
const UNICODE_SETS = "v";
/** The joiners inside an emoji are not escaped. */
const EMOJI = new RegExp("^\\p{RGI_Emoji}$", UNICODE_SETS);
const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** A word as shown; empty for a word that is only a mark. */
interface Shown {
  readonly text: string;
  readonly cells: number;
}

/**
 * Lays out streamed text: indented, wrapped at spaces, safe for a terminal. With `paint`, renders Markdown word by word,
 * so that it appears at once: headings, lists, quotes, bold, inline code; code blocks are unchanged.
 */
export class TextFlow {
  readonly #width: () => number;
  readonly #indent: string;
  readonly #paint: Paint | undefined;
  /** The last grapheme, which may continue in the next piece. */
  #held = "";
  #column = 0;
  #gap = "";
  /** An unfinished word. */
  #word = "";
  #isFirst = true;
  #isFenced = false;
  #isHeading = false;
  #isBold = false;
  #isCode = false;
  /** Cells by which the continuation rows of this line are indented. */
  #hang = 0;

  constructor(width: () => number, indent: string, paint?: Paint) {
    this.#width = width;
    this.#indent = indent;
    this.#paint = paint;
  }

  /** The output for one more piece; an unfinished word is buffered. */
  push(piece: string): string {
    const segments = [...GRAPHEMES.segment(this.#held + piece)].map(({ segment }) => segment);
    this.#held = segments.pop() ?? "";
    return segments.map((segment) => this.#add(segment)).join("");
  }

  /** The buffered rest and the end of the line. */
  end(): string {
    const rest = this.#held.replace(/[\ud800-\udbff]$/, "");
    this.#held = "";
    const out = (rest === "" ? "" : this.#add(rest)) + this.#flush();
    const more = this.#column === 0 ? "" : "\n";
    this.#endLine();
    return out + more;
  }

  #add(cluster: string): string {
    if (cluster === " " || cluster === "\t") {
      const out = this.#flush();
      // No space follows a hidden mark.
      if (this.#column === 0 && !this.#isFirst) this.#gap = "";
      else this.#gap += cluster === " " ? " " : "  ";
      return out;
    }
    if (cluster === "\n" || cluster === "\r\n") {
      const out = `${this.#flush()}\n`;
      this.#endLine();
      return out;
    }
    // Wide characters may break anywhere; so must a word longer than a line.
    const safe = EMOJI.test(cluster) ? cluster : escapeControl(cluster);
    const cells = displayWidth(safe);
    const room = this.#width() - this.#indent.length - this.#hang;
    const before = cells === 2 || displayWidth(this.#word) + cells > room ? this.#flush() : "";
    this.#word += safe;
    return cells === 2 ? before + this.#flush() : before;
  }

  /** The output for the buffered word. */
  #flush(): string {
    if (this.#word === "") return "";
    const { text, cells } = this.#shown(this.#word);
    this.#word = "";
    this.#isFirst = false;
    let before = this.#gap;
    this.#gap = "";
    if (text === "") return "";
    if (this.#column === 0) before = this.#indent + before;
    else if (this.#column + before.length + cells > this.#width()) {
      const start = this.#indent + " ".repeat(this.#hang);
      this.#column = start.length + cells;
      return `\n${start}${text}`;
    }
    this.#column += before.length + cells;
    return before + text;
  }

  #endLine(): void {
    this.#column = 0;
    this.#gap = "";
    this.#isFirst = true;
    this.#isHeading = false;
    this.#isBold = false;
    this.#isCode = false;
    this.#hang = 0;
  }

  #shown(word: string): Shown {
    const plain = { text: word, cells: displayWidth(word) };
    const paint = this.#paint;
    if (paint === undefined) return plain;
    if (this.#isFirst && /^(?:```|~~~)/.test(word)) {
      this.#isFenced = !this.#isFenced;
      return { ...plain, text: paint("faint", word) };
    }
    if (this.#isFenced) return plain;
    if (this.#isFirst && /^#{1,6}$/.test(word)) {
      this.#isHeading = true;
      return { text: "", cells: 0 };
    }
    const bullet = this.#isFirst ? bulletFor(word) : undefined;
    if (bullet === undefined) return this.#inline(word, paint);
    this.#hang = this.#gap.length + word.length + 1;
    return { text: paint("faint", bullet), cells: word.length };
  }

  /** A word with its marks of bold and code. */
  #inline(word: string, paint: Paint): Shown {
    const pieces = word.split(/(\*\*|`)/);
    let text = "";
    let cells = 0;
    pieces.forEach((piece, place) => {
      const before = pieces.slice(0, place).join("");
      const opens = /^[([{"'*_-]*$/.test(before) && !/^(?:[/.]|$)/.test(pieces[place + 1] ?? "");
      if (piece === "`") this.#isCode = !this.#isCode;
      else if (piece === "**" && !this.#isCode && (this.#isBold || opens)) this.#isBold = !this.#isBold;
      else {
        text += this.#styled(piece, paint);
        cells += displayWidth(piece);
      }
    });
    return { text, cells };
  }

  #styled(piece: string, paint: Paint): string {
    if (this.#isCode) return paint("toolPairs", piece);
    return this.#isBold || this.#isHeading ? paint("strong", piece) : piece;
  }
}

/** The character shown for a list or quote mark; undefined for any other word. */
function bulletFor(word: string): string | undefined {
  if (/^[-*+]$/.test(word)) return "•";
  if (word === ">") return "│";
  return /^\d{1,3}[.)]$/.test(word) ? word : undefined;
}

/** Labels of lines with their styles. */
const STYLES = {
  tool: "faint",
  ok: "good",
  failed: "bad",
  "allow?": "warn",
  refused: "warn",
  note: "warn",
  error: "bad",
  try: undefined,
  compact: "summary",
  undo: undefined,
  memory: "recent",
  agent: "toolPairs",
  skill: "toolPairs",
  new: undefined,
  resume: undefined,
  model: undefined,
  next: "faint",
  "": undefined,
} as const satisfies Readonly<Record<string, Style | undefined>>;

type Label = keyof typeof STYLES;

const LABEL = 9;
const INDENT = "  ";

/** The output of a chat; every text is escaped here. */
export interface ChatScreen {
  /** The terminal at its current width. */
  terminal(): Terminal;
  /** A piece of the model's answer. */
  stream(piece: string): void;
  /** A label followed by a text of at most `maxLines` lines. */
  notify(label: Label, text: string, maxLines?: number): void;
  /** Lines that are already laid out and escaped. */
  print(lines: readonly string[]): void;
  /** A status line that the next output replaces; only on a terminal. */
  showStatus(text: string): void;
  /** Ends an open line, so that a prompt can follow. */
  endLine(): void;
}

interface ScreenPorts {
  readonly isTerminal: boolean;
  terminal(): Terminal;
  write(text: string): void;
}

export function createChatScreen({ isTerminal, terminal, write }: ScreenPorts): ChatScreen {
  let flow: TextFlow | undefined;
  let hasStatus = false;
  let last: "answer" | "notice" | "printed" = "printed";
  /** Puts an empty line between answers and notices. */
  const separate = (kind: "answer" | "notice"): void => {
    if (last !== "printed" && last !== kind) write("\n");
    last = kind;
  };
  const clearStatus = (): void => {
    if (hasStatus) write("\r\u001b[K");
    hasStatus = false;
  };
  const endLine = (): void => {
    clearStatus();
    if (flow !== undefined) write(flow.end());
    flow = undefined;
  };
  const put = (lines: readonly string[]): void => write(`${lines.join("\n")}\n`);
  return {
    terminal,
    endLine,
    print(lines) {
      endLine();
      last = "printed";
      put(lines);
    },
    stream(piece) {
      clearStatus();
      if (flow === undefined) separate("answer");
      flow ??= new TextFlow(() => terminal().width, INDENT, isTerminal ? terminal().paint : undefined);
      write(flow.push(piece));
    },
    notify(label, text, maxLines = 12) {
      const { width, paint } = terminal();
      const lines = safeLines(text).flatMap((line) => wrap(line, width - INDENT.length - LABEL));
      const shown =
        lines.length > maxLines
          ? [...lines.slice(0, maxLines - 1), `(${lines.length - maxLines + 1} lines more)`]
          : lines;
      const style = STYLES[label];
      const head = padEnd(label, LABEL);
      const painted = style === undefined ? head : paint(style, head);
      endLine();
      separate("notice");
      put(
        shown.map((line, index) => `${INDENT}${index === 0 ? painted : " ".repeat(LABEL)}${line}`.trimEnd()),
      );
    },
    showStatus(text) {
      if (!isTerminal || flow !== undefined) return;
      const { width, paint } = terminal();
      write(`\r${paint("faint", truncate(`${INDENT}${text}`, width - 1))}\u001b[K`);
      hasStatus = true;
    },
  };
}
