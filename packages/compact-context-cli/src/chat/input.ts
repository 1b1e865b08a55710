import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";

/** The line that is typed; one reader at a time. */
export interface ChatInput {
  /** Whether somebody sits there who can be asked. */
  readonly isTerminal: boolean;
  /** The next message; lines that were pasted together are one. Undefined at the end of the input. */
  next(prompt: string): Promise<string | undefined>;
  /**
   * The answer to a question: only what is typed after it. Undefined where nobody can be asked, and when the reader
   * gives up (Ctrl-C, Ctrl-D).
   */
  ask(question: string): Promise<string | undefined>;
  /** Whether a question waits for its answer. */
  isAsking(): boolean;
  /** What stands in the line, not sent yet. */
  typed(): string;
  close(): void;
}

export interface ChatInputOptions {
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: NodeJS.WritableStream & { readonly columns?: number };
  readonly isTerminal: boolean;
  /** What was typed before, newest first. */
  readonly history: readonly string[];
  /** Words that Tab completes, such as commands. */
  readonly words: readonly string[];
  /** Told of every message that was typed. */
  onTyped(text: string): void;
  /** Told of a message that was typed while nobody reads: it is the next one. */
  onTypedAhead?(text: string): void;
  /** Ctrl-C, or Esc while nobody reads; `typed` is what stood in the line, which is taken away. */
  onInterrupt(typed: string): void;
}

/** A terminal that knows them says where a paste begins and ends. */
const PASTES = { on: "\u001b[?2004h", off: "\u001b[?2004l" } as const;
/** Milliseconds after which an escape character is a key of its own. */
const ESCAPE_MS = 50;
/** Elsewhere lines that follow within this many milliseconds belong to one paste. */
const PASTE_MS = 15;
const HISTORY = 500;

/** Lines with editing and history by `node:readline`; what is typed while nobody reads is kept, unseen, for the next prompt. */
export function createChatInput(options: ChatInputOptions): ChatInput {
  const { isTerminal } = options;
  const echo = createEcho(options);
  const lines = createInterface({
    input: options.stdin,
    output: echo.stream,
    terminal: isTerminal,
    historySize: HISTORY,
    history: [...options.history],
    removeHistoryDuplicates: true,
    prompt: "",
    escapeCodeTimeout: ESCAPE_MS,
    completer: (line: string) => [options.words.filter((word) => word.startsWith(line)), line],
  });
  const state = createState(lines, echo, options);
  if (isTerminal) {
    options.stdout.write(PASTES.on);
    options.stdin.on(
      "keypress",
      (_: unknown, key: { readonly name?: string; readonly meta?: boolean } | undefined) => {
        if (key?.name === "paste-start" || key?.name === "paste-end") state.paste(key.name === "paste-start");
        else if (key?.name === "escape") state.escape();
        // Alt-Enter goes on in the next line, as a backslash at the end does.
        else if (key?.name === "return" && key.meta === true) lines.write("\\\n");
      },
    );
  }
  lines.on("line", (line) => state.take(line));
  lines.on("history", (history: string[]) => state.forgetAnswers(history));
  lines.on("SIGINT", () => state.interrupt());
  lines.on("close", () => state.end());
  return {
    isTerminal,
    next: (prompt) => state.next(prompt),
    ask: (question) => (isTerminal ? state.ask(question) : Promise.resolve(undefined)),
    isAsking: () => state.isAsking(),
    typed: () => lines.line,
    close: () => {
      if (isTerminal) options.stdout.write(PASTES.off);
      lines.close();
    },
  };
}

interface Echo {
  readonly stream: Writable;
  isOn: boolean;
}

/** What readline writes, while it should be seen. */
function createEcho({ stdout }: ChatInputOptions): Echo {
  const stream = new Writable({
    write(piece, _encoding, done) {
      if (echo.isOn) stdout.write(piece);
      done();
    },
  });
  Object.defineProperty(stream, "columns", { get: () => stdout.columns });
  stdout.on("resize", () => stream.emit("resize"));
  const echo: Echo = { stream, isOn: false };
  return echo;
}

interface State extends Pick<ChatInput, "next" | "ask" | "isAsking"> {
  take(line: string): void;
  /** A paste begins, or is over: its last line can still be changed. */
  paste(begins: boolean): void;
  escape(): void;
  forgetAnswers(history: string[]): void;
  interrupt(): void;
  end(): void;
}

type Waiting = { readonly kind: "message" | "answer"; resolve(text: string | undefined): void };

function createState(lines: Interface, echo: Echo, options: ChatInputOptions): State {
  const queue: string[] = [];
  let pasted: string[] = [];
  let timer: NodeJS.Timeout | undefined;
  let waiting: Waiting | undefined;
  let ended = false;
  let isPasting = false;

  const answer = (text: string | undefined): void => {
    const { resolve } = waiting ?? {};
    waiting = undefined;
    echo.isOn = false;
    resolve?.(text);
  };
  const wait = (kind: Waiting["kind"], prompt: string): Promise<string | undefined> =>
    new Promise((resolve) => {
      waiting = { kind, resolve };
      echo.isOn = true;
      lines.setPrompt(prompt);
      lines.prompt(true);
    });
  const flush = (): void => {
    const text = pasted.join("\n");
    pasted = [];
    if (text.trim() !== "") options.onTyped(text);
    if (waiting?.kind === "message") answer(text);
    else {
      queue.push(text);
      options.onTypedAhead?.(text);
    }
  };
  return {
    isAsking: () => waiting?.kind === "answer",
    paste(begins) {
      isPasting = begins;
      clearTimeout(timer);
    },
    escape() {
      if (waiting === undefined) options.onInterrupt("");
    },
    take(line) {
      const goesOn = !isPasting && line.endsWith("\\");
      if (waiting?.kind === "answer") return answer(line);
      pasted.push(goesOn ? line.slice(0, -1) : line);
      if (goesOn || isPasting) {
        lines.setPrompt("… ");
        if (waiting !== undefined) lines.prompt();
        return;
      }
      clearTimeout(timer);
      if (options.isTerminal) timer = setTimeout(flush, PASTE_MS);
      else flush();
    },
    forgetAnswers(history) {
      if (waiting?.kind === "answer") history.shift();
    },
    interrupt() {
      const typed = takeLine(lines);
      if (waiting?.kind === "answer") {
        options.stdout.write("\n");
        answer(undefined);
      }
      options.onInterrupt([...pasted, typed].join("\n"));
      pasted = [];
      if (waiting !== undefined && !ended) lines.prompt();
    },
    end() {
      ended = true;
      if (pasted.length > 0) flush();
      answer(undefined);
    },
    async next(prompt) {
      const queued = queue.shift();
      if (queued !== undefined) {
        if (options.isTerminal) options.stdout.write(`${prompt}${queued}\n`);
        return queued;
      }
      return ended ? undefined : wait("message", prompt);
    },
    async ask(question) {
      if (ended) return undefined;
      // What was typed ahead is meant for the agent: it must not answer a question nobody had seen.
      const before = takeLine(lines);
      const given = await wait("answer", question);
      if (before !== "" && !ended) lines.write(before);
      return given;
    },
  };
}

/** What stands in the line, which is empty then. */
function takeLine(lines: Interface): string {
  const { line } = lines;
  lines.write(null, { ctrl: true, name: "e" });
  lines.write(null, { ctrl: true, name: "u" });
  return line;
}

/** What was typed in earlier chats, newest first, kept in a file that only its owner reads. */
interface InputHistory {
  readonly entries: readonly string[];
  /** Takes a message in; its secrets stay out of the file. */
  add(text: string): void;
  /** Resolves when the file is written; rejects when it cannot be. */
  saved(): Promise<void>;
}

const MOST = 500;
/** The file's name in the folder of the channels. */
export const HISTORY_FILE = "history";

async function readHistory(file: string): Promise<string[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.split("\n").filter((line) => line !== "");
}

async function writeHistory(file: string, entries: readonly string[]): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(`${file}.tmp`, `${entries.join("\n")}\n`, { mode: 0o600 });
  await rename(`${file}.tmp`, file);
}

/** Takes out what was typed that holds the text word for word; how many entries it was. */
export async function forgetTyped(file: string, text: string): Promise<number> {
  const words = text
    .trim()
    .replace(/[.!?。]+$/, "")
    .toLowerCase();
  const entries = await readHistory(file);
  const kept = entries.filter((entry) => !entry.toLowerCase().includes(words));
  if (kept.length < entries.length) await writeHistory(file, kept);
  return entries.length - kept.length;
}

export async function openHistory(file: string, redact: (text: string) => string): Promise<InputHistory> {
  let entries = await readHistory(file);
  let saving: Promise<void> = Promise.resolve();
  const save = (): Promise<void> => writeHistory(file, entries);
  return {
    get entries() {
      return entries;
    },
    add(typed) {
      // A pasted text is one entry of one line, which readline can show.
      const entry = redact(typed.replace(/\s*\n\s*/g, " ").trim());
      if (entry === "" || entry === entries[0]) return;
      entries = [entry, ...entries.filter((one) => one !== entry)].slice(0, MOST);
      saving = saving.then(save, save);
      saving.catch(() => undefined);
    },
    saved: () => saving,
  };
}

/** Ctrl-C, from wherever it comes. */
export interface Interrupts {
  /** Aborted by the next Ctrl-C until `stop` is called. */
  begin(): { readonly signal: AbortSignal; stop(): void };
  /** Told of a Ctrl-C that interrupts no work; `typed` is what stood in the line. */
  onIdle: (typed: string) => void;
  /** To be called at each Ctrl-C. */
  hit(typed: string): void;
}

export function createInterrupts(leave: () => void): Interrupts {
  let current: AbortController | undefined;
  const interrupts: Interrupts = {
    begin() {
      const controller = new AbortController();
      current = controller;
      return {
        signal: controller.signal,
        stop: () => {
          if (current === controller) current = undefined;
        },
      };
    },
    onIdle: () => undefined,
    hit(typed) {
      if (current === undefined) interrupts.onIdle(typed);
      else if (current.signal.aborted) leave();
      else current.abort(new Error("interrupted"));
    },
  };
  return interrupts;
}
