import type { Terminal } from "../ports.ts";
import type { Style } from "../render/table.ts";
import { padEnd, safeLines, truncate, wrap } from "../render/width.ts";
import { createTextFlow, type TextFlow } from "./text-flow.ts";

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
