import { escapeControl } from "compact-context/internal/errors";
import type { Terminal } from "../ports.ts";
import type { Paint, Style } from "../render/table.ts";
import { displayWidth, padEnd, safeLines, truncate, wrap } from "../render/text.ts";

/** Lays out text that comes in pieces: indented, broken at spaces, safe for a terminal. */
export interface TextFlow {
  /** What to write for one more piece; a word that may go on is held back. */
  push(piece: string): string;
  /** What was held back, and the end of the line. */
  end(): string;
}

/** Joiners inside an emoji are no hidden characters. */
const SETS = "v";
const EMOJI = new RegExp("^\\p{RGI_Emoji}$", SETS);
const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** With `paint`, Markdown is shown as it is meant: headings, lists, quotes, bold, code; code blocks stay as they are. */
export function createTextFlow(width: () => number, indent: string, paint?: Paint): TextFlow {
  const marks = paint === undefined ? undefined : createMarks(paint);
  let column = 0;
  let gap = "";
  let word = "";
  let held = "";
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
  const takeSpace = (spaces: string): string => {
    const out = flush();
    // What was a mark alone has no space behind it.
    gap = column === 0 && !isFirst ? "" : gap + spaces;
    return out;
  };
  const takeCharacter = (safe: string): string => {
    // Scripts without spaces break anywhere; a word longer than a line has to.
    const cells = displayWidth(safe);
    const room = width() - indent.length - (marks?.hang() ?? 0);
    const before = cells === 2 || displayWidth(word) + cells > room ? flush() : "";
    word += safe;
    return cells === 2 ? before + flush() : before;
  };
  const take = (cluster: string): string => {
    if (cluster === " ") return takeSpace(" ");
    if (cluster === "\t") return takeSpace("  ");
    if (cluster !== "\n" && cluster !== "\r\n")
      return takeCharacter(EMOJI.test(cluster) ? cluster : escapeControl(cluster));
    const out = `${flush()}\n`;
    endLine();
    return out;
  };
  const takeAll = (text: string): string => {
    let out = "";
    for (const { segment } of GRAPHEMES.segment(text)) out += take(segment);
    return out;
  };
  return {
    push(piece) {
      // What comes next may belong to the last character, as the parts of an emoji do.
      const text = held + piece;
      let last = 0;
      for (const { index } of GRAPHEMES.segment(text)) last = index;
      held = text.slice(last);
      return takeAll(text.slice(0, last));
    },
    end() {
      const out = takeAll(held.replace(/[\ud800-\udbff]$/, "")) + flush();
      const more = column === 0 ? "" : "\n";
      held = "";
      endLine();
      return out + more;
    },
  };
}

interface Marks {
  /** A word as it is shown, and the cells that it takes; nothing for a word that is only a mark. */
  styled(
    word: string,
    place: { readonly isFirst: boolean; readonly gap: number },
  ): { readonly text: string; readonly cells: number };
  /** Cells by which the further rows of this line stand in. */
  hang(): number;
  endLine(): void;
}

/** The marks of Markdown, word by word: what is said is seen while it comes. */
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
      if (!isFirst) return isFenced ? asItIs(word) : inline(word);
      if (/^(?:```|~~~)/.test(word)) {
        isFenced = !isFenced;
        return { text: paint("faint", word), cells: displayWidth(word) };
      }
      if (isFenced) return asItIs(word);
      if (/^#{1,6}$/.test(word)) {
        isHeading = true;
        return { text: "", cells: 0 };
      }
      const sign = signOf(word);
      if (sign === undefined) return inline(word);
      hang = gap + word.length + 1;
      return { text: paint("faint", sign), cells: word.length };
    },
  };
}

function asItIs(text: string): { text: string; cells: number } {
  return { text, cells: displayWidth(text) };
}

/** What stands for the mark at the beginning of a line of a list or a quote; undefined for a word that is none. */
function signOf(word: string): string | undefined {
  if (/^[-*+]$/.test(word)) return "•";
  if (word === ">") return "│";
  return /^\d{1,3}[.)]$/.test(word) ? word : undefined;
}

/** Words in front of a line that say what it is. */
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

/** Everything that a chat writes, one line below the other; every text is made safe here. */
export interface ChatScreen {
  /** As wide as the terminal is now. */
  terminal(): Terminal;
  /** A piece of what the model says. */
  say(piece: string): void;
  /** A label and a text beside it; further lines stand under the text. */
  tell(label: Label, text: string, most?: number): void;
  /** Lines that are laid out and safe already. */
  print(lines: readonly string[]): void;
  /** A line that is taken away by whatever comes next; only on a terminal. */
  working(text: string): void;
  /** Ends an open line, so that a prompt can follow. */
  rest(): void;
}

interface ScreenPorts {
  readonly isTerminal: boolean;
  terminal(): Terminal;
  write(text: string): void;
}

export function createChatScreen({ isTerminal, terminal, write }: ScreenPorts): ChatScreen {
  let flow: TextFlow | undefined;
  let working = false;
  let last: "said" | "told" | "printed" = "printed";
  /** An empty line between what is said and what is told. */
  const begin = (kind: "said" | "told"): void => {
    if (last !== "printed" && last !== kind) write("\n");
    last = kind;
  };
  const clear = (): void => {
    if (working) write("\r\u001b[K");
    working = false;
  };
  const rest = (): void => {
    clear();
    if (flow !== undefined) write(flow.end());
    flow = undefined;
  };
  const put = (lines: readonly string[]): void => write(`${lines.join("\n")}\n`);
  return {
    terminal,
    rest,
    print(lines) {
      rest();
      last = "printed";
      put(lines);
    },
    say(piece) {
      clear();
      if (flow === undefined) begin("said");
      flow ??= createTextFlow(() => terminal().width, INDENT, isTerminal ? terminal().paint : undefined);
      write(flow.push(piece));
    },
    tell(label, text, most = 12) {
      const { width, paint } = terminal();
      const lines = safeLines(text).flatMap((line) => wrap(line, width - INDENT.length - LABEL));
      const shown =
        lines.length > most
          ? [...lines.slice(0, most - 1), `(${lines.length - most + 1} lines more)`]
          : lines;
      const style = STYLES[label];
      const head = padEnd(label, LABEL);
      const painted = style === undefined ? head : paint(style, head);
      rest();
      begin("told");
      put(
        shown.map((line, index) => `${INDENT}${index === 0 ? painted : " ".repeat(LABEL)}${line}`.trimEnd()),
      );
    },
    working(text) {
      if (!isTerminal || flow !== undefined) return;
      const { width, paint } = terminal();
      write(`\r${paint("faint", truncate(`${INDENT}${text}`, width - 1))}\u001b[K`);
      working = true;
    },
  };
}
