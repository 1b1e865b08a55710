import { escapeControl } from "compact-context/internal/errors";
import type { Terminal } from "../ports.ts";
import type { Paint, Style } from "../render/table.ts";
import { displayWidth, padEnd, safeLines, truncate, wrap } from "../render/text.ts";

/** Lays out streamed text: indented, wrapped at spaces, safe for a terminal. */
export interface TextFlow {
  /** The output for one more piece; an unfinished word is buffered. */
  push(piece: string): string;
  /** The buffered rest and the end of the line. */
  end(): string;
}

/** TypeScript refuses the flag `v` in a literal for this target. */
const UNICODE_SETS = "v";
/** The joiners inside an emoji are not escaped. */
const EMOJI = new RegExp("^\\p{RGI_Emoji}$", UNICODE_SETS);
const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** With `paint`, renders Markdown: headings, lists, quotes, bold, inline code; code blocks are unchanged. */
export function createTextFlow(width: () => number, indent: string, paint?: Paint): TextFlow {
  const layout = createLayout(width, indent, paint === undefined ? undefined : createMarks(paint));
  let held = "";
  const addText = (text: string): string => {
    let out = "";
    for (const { segment } of GRAPHEMES.segment(text)) out += layout.add(segment);
    return out;
  };
  return {
    push(piece) {
      // The last grapheme may continue in the next piece.
      const text = held + piece;
      let last = 0;
      for (const { index } of GRAPHEMES.segment(text)) last = index;
      held = text.slice(last);
      return addText(text.slice(0, last));
    },
    end() {
      const out = addText(held.replace(/[\ud800-\udbff]$/, ""));
      held = "";
      return out + layout.end();
    },
  };
}

interface Layout {
  /** The output for one grapheme; an unfinished word is buffered. */
  add(cluster: string): string;
  /** The buffered word and the end of the line. */
  end(): string;
}

/** Wraps words, grapheme by grapheme. */
function createLayout(width: () => number, indent: string, marks: Marks | undefined): Layout {
  let column = 0;
  let gap = "";
  let word = "";
  let isFirst = true;

  const flush = (): string => {
    if (word === "") return "";
    const { text, cells } = marks?.styled(word, { isFirst, gap: gap.length }) ?? {
      text: word,
      cells: displayWidth(word),
    };
    word = "";
    isFirst = false;
    if (text === "") {
      gap = "";
      return "";
    }
    let out = "";
    if (column === 0) {
      out = indent;
      column = indent.length;
    } else if (column + gap.length + cells > width()) {
      const hang = " ".repeat(marks?.hang() ?? 0);
      out = `\n${indent}${hang}`;
      column = indent.length + hang.length;
      gap = "";
    }
    out += gap + text;
    column += gap.length + cells;
    gap = "";
    return out;
  };
  const endLine = (): void => {
    column = 0;
    gap = "";
    isFirst = true;
    marks?.endLine();
  };
  const addSpace = (spaces: string): string => {
    const out = flush();
    // No space follows a hidden mark.
    gap = column === 0 && !isFirst ? "" : gap + spaces;
    return out;
  };
  const addCharacter = (safe: string): string => {
    // Wide characters may break anywhere; so must a word longer than a line.
    const cells = displayWidth(safe);
    const room = width() - indent.length - (marks?.hang() ?? 0);
    const before = cells === 2 || displayWidth(word) + cells > room ? flush() : "";
    word += safe;
    return cells === 2 ? before + flush() : before;
  };
  return {
    add(cluster) {
      if (cluster === " ") return addSpace(" ");
      if (cluster === "\t") return addSpace("  ");
      if (cluster !== "\n" && cluster !== "\r\n")
        return addCharacter(EMOJI.test(cluster) ? cluster : escapeControl(cluster));
      const out = `${flush()}\n`;
      endLine();
      return out;
    },
    end() {
      const out = flush();
      const more = column === 0 ? "" : "\n";
      endLine();
      return out + more;
    },
  };
}

interface Marks {
  /** A word as shown and its width in cells; empty for a word that is only a mark. */
  styled(
    word: string,
    place: { readonly isFirst: boolean; readonly gap: number },
  ): { readonly text: string; readonly cells: number };
  /** Cells by which the continuation rows of this line are indented. */
  hang(): number;
  endLine(): void;
}

/** Renders Markdown word by word, so that streamed text appears at once. */
function createMarks(paint: Paint): Marks {
  let isFenced = false;
  let isHeading = false;
  let isBold = false;
  let isCode = false;
  let hang = 0;
  const plain = (text: string): string => {
    if (isCode) return paint("toolPairs", text);
    return isBold || isHeading ? paint("strong", text) : text;
  };
  const inline = (word: string): { text: string; cells: number } => {
    let text = "";
    let cells = 0;
    const pieces = word.split(/(\*\*|`)/);
    pieces.forEach((piece, place) => {
      const before = pieces.slice(0, place).join("");
      const opens = /^[([{"'*_-]*$/.test(before) && !/^(?:[/.]|$)/.test(pieces[place + 1] ?? "");
      if (piece === "`") isCode = !isCode;
      else if (piece === "**" && !isCode && (isBold || opens)) isBold = !isBold;
      else {
        text += plain(piece);
        cells += displayWidth(piece);
      }
    });
    return { text, cells };
  };
  return {
    hang: () => hang,
    endLine() {
      isHeading = false;
      isBold = false;
      isCode = false;
      hang = 0;
    },
    styled(word, { isFirst, gap }) {
      if (!isFirst) return isFenced ? plainWord(word) : inline(word);
      if (/^(?:```|~~~)/.test(word)) {
        isFenced = !isFenced;
        return { text: paint("faint", word), cells: displayWidth(word) };
      }
      if (isFenced) return plainWord(word);
      if (/^#{1,6}$/.test(word)) {
        isHeading = true;
        return { text: "", cells: 0 };
      }
      const bullet = bulletFor(word);
      if (bullet === undefined) return inline(word);
      hang = gap + word.length + 1;
      return { text: paint("faint", bullet), cells: word.length };
    },
  };
}

function plainWord(text: string): { text: string; cells: number } {
  return { text, cells: displayWidth(text) };
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
      flow ??= createTextFlow(() => terminal().width, INDENT, isTerminal ? terminal().paint : undefined);
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
