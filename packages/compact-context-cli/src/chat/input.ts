import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";

/** Line input of the chat; one reader at a time. */
export interface ChatInput {
  /** Whether a person can answer questions. */
  readonly isTerminal: boolean;
  /** The next message; a paste of several lines is one. Undefined at the end of the input. */
  next(prompt: string): Promise<string | undefined>;
  /**
   * The answer to a question; ignores text typed before it. Undefined if no person can answer, and after
   * Ctrl-C or Ctrl-D.
   */
  ask(question: string): Promise<string | undefined>;
  /** Whether a question is open. */
  isAsking(): boolean;
  /** The current line, not yet submitted. */
  typed(): string;
  close(): void;
}

export interface ChatInputOptions {
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: NodeJS.WritableStream & { readonly columns?: number };
  readonly isTerminal: boolean;
  /** Earlier messages, newest first. */
  readonly history: readonly string[];
  /** Completions for Tab. */
  readonly words: readonly string[];
  /** Called for every message. */
  onMessage(text: string): void;
  /** Called for a message that is queued because no read is pending. */
  onQueued?(text: string): void;
  /** Ctrl-C, or Esc while no read is pending; `typed` is the cleared line. */
  onInterrupt(typed: string): void;
}

/** Turn the terminal's bracketed paste mode on and off. */
const BRACKETED_PASTE = { on: "\u001b[?2004h", off: "\u001b[?2004l" } as const;
/** Milliseconds after which an escape character counts as the Esc key. */
const ESCAPE_MS = 50;
/** Without bracketed paste, lines within this many milliseconds belong to one paste. */
const PASTE_MS = 15;
const HISTORY_SIZE = 500;

/** Line editing and history by `node:readline`. Text typed between prompts is not echoed, but kept. */
export function createChatInput(options: ChatInputOptions): ChatInput {
  const { isTerminal } = options;
  const echo = createEcho(options);
  const lines = createInterface({
    input: options.stdin,
    output: echo.stream,
    terminal: isTerminal,
    historySize: HISTORY_SIZE,
    history: [...options.history],
    removeHistoryDuplicates: true,
    prompt: "",
    escapeCodeTimeout: ESCAPE_MS,
    completer: (line: string) => [options.words.filter((word) => word.startsWith(line)), line],
  });
  const state = createState(lines, echo, options);
  if (isTerminal) {
    options.stdout.write(BRACKETED_PASTE.on);
    options.stdin.on(
      "keypress",
      (_: unknown, key: { readonly name?: string; readonly meta?: boolean } | undefined) => {
        if (key?.name === "paste-start" || key?.name === "paste-end") state.paste(key.name === "paste-start");
        else if (key?.name === "escape") state.escape();
        // Alt-Enter starts a new line, like a backslash at the end.
        else if (key?.name === "return" && key.meta === true) lines.write("\\\n");
      },
    );
  }
  lines.on("line", (line) => state.addLine(line));
  lines.on("history", (history: string[]) => state.dropAnswer(history));
  lines.on("SIGINT", () => state.interrupt());
  lines.on("close", () => state.end());
  return {
    isTerminal,
    next: (prompt) => state.next(prompt),
    ask: (question) => (isTerminal ? state.ask(question) : Promise.resolve(undefined)),
    isAsking: () => state.isAsking(),
    typed: () => lines.line,
    close: () => {
      if (isTerminal) options.stdout.write(BRACKETED_PASTE.off);
      lines.close();
    },
  };
}

interface Echo {
  readonly stream: Writable;
  isOn: boolean;
}

/** Passes readline's output to the terminal while a prompt is open. */
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
  addLine(line: string): void;
  /** A paste starts, or has ended; its last line can still be edited. */
  paste(starts: boolean): void;
  escape(): void;
  /** Keeps an answer out of readline's history. */
  dropAnswer(history: string[]): void;
  interrupt(): void;
  end(): void;
}

type ReadKind = "message" | "answer";

/** The pending read, if any. */
interface Read {
  kind(): ReadKind | undefined;
  start(kind: ReadKind, prompt: string): Promise<string | undefined>;
  /** Resolves the read, if one is pending. */
  settle(text: string | undefined): void;
}

function createRead(lines: Interface, echo: Echo): Read {
  let pending: { readonly kind: ReadKind; resolve(text: string | undefined): void } | undefined;
  return {
    kind: () => pending?.kind,
    start: (kind, prompt) =>
      new Promise((resolve) => {
        pending = { kind, resolve };
        echo.isOn = true;
        lines.setPrompt(prompt);
        lines.prompt(true);
      }),
    settle(text) {
      const { resolve } = pending ?? {};
      pending = undefined;
      echo.isOn = false;
      resolve?.(text);
    },
  };
}

function createState(lines: Interface, echo: Echo, options: ChatInputOptions): State {
  const queue: string[] = [];
  let pasted: string[] = [];
  let timer: NodeJS.Timeout | undefined;
  let ended = false;
  let isPasting = false;
  const read = createRead(lines, echo);

  const flush = (): void => {
    const text = pasted.join("\n");
    pasted = [];
    if (text.trim() !== "") options.onMessage(text);
    if (read.kind() === "message") read.settle(text);
    else {
      queue.push(text);
      options.onQueued?.(text);
    }
  };
  return {
    isAsking: () => read.kind() === "answer",
    paste(starts) {
      isPasting = starts;
      clearTimeout(timer);
    },
    escape() {
      if (read.kind() === undefined) options.onInterrupt("");
    },
    addLine(line) {
      const continues = !isPasting && line.endsWith("\\");
      if (read.kind() === "answer") return read.settle(line);
      pasted.push(continues ? line.slice(0, -1) : line);
      if (continues || isPasting) {
        lines.setPrompt("… ");
        if (read.kind() !== undefined) lines.prompt();
        return;
      }
      clearTimeout(timer);
      if (options.isTerminal) timer = setTimeout(flush, PASTE_MS);
      else flush();
    },
    dropAnswer(history) {
      if (read.kind() === "answer") history.shift();
    },
    interrupt() {
      const typed = clearLine(lines);
      if (read.kind() === "answer") {
        options.stdout.write("\n");
        read.settle(undefined);
      }
      options.onInterrupt([...pasted, typed].join("\n"));
      pasted = [];
      if (read.kind() !== undefined && !ended) lines.prompt();
    },
    end() {
      ended = true;
      if (pasted.length > 0) flush();
      read.settle(undefined);
    },
    async next(prompt) {
      const queued = queue.shift();
      if (queued !== undefined) {
        if (options.isTerminal) options.stdout.write(`${prompt}${queued}\n`);
        return queued;
      }
      return ended ? undefined : read.start("message", prompt);
    },
    async ask(question) {
      if (ended) return undefined;
      // Text typed before the question is for the agent and must not answer it.
      const before = clearLine(lines);
      const reply = await read.start("answer", question);
      if (before !== "" && !ended) lines.write(before);
      return reply;
    },
  };
}

/** Clears the line and returns its text. */
function clearLine(lines: Interface): string {
  const { line } = lines;
  lines.write(null, { ctrl: true, name: "e" });
  lines.write(null, { ctrl: true, name: "u" });
  return line;
}

/** Messages of earlier chats, newest first, in a file that only its owner can read. */
interface InputHistory {
  readonly entries: readonly string[];
  /** Adds a message without its secrets. */
  add(text: string): void;
  /** Resolves once the file is written; rejects if it cannot be. */
  saved(): Promise<void>;
}

/** The file's name in the agent's folder. */
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

/** Removes the entries that contain the text; returns their number. */
export async function removeFromHistory(file: string, text: string): Promise<number> {
  const phrase = text
    .trim()
    .replace(/[.!?。]+$/, "")
    .toLowerCase();
  const entries = await readHistory(file);
  const kept = entries.filter((entry) => !entry.toLowerCase().includes(phrase));
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
    add(text) {
      // readline shows entries of one line only.
      const entry = redact(text.replace(/\s*\n\s*/g, " ").trim());
      if (entry === "" || entry === entries[0]) return;
      entries = [entry, ...entries.filter((one) => one !== entry)].slice(0, HISTORY_SIZE);
      saving = saving.then(save, save);
      saving.catch(() => undefined);
    },
    saved: () => saving,
  };
}

/** Handles Ctrl-C. */
export interface Interrupts {
  /** A signal that the next Ctrl-C aborts, until `stop` is called. */
  start(): { readonly signal: AbortSignal; stop(): void };
  /** Called for a Ctrl-C while no work runs; `typed` is the cleared line. */
  onIdle: (typed: string) => void;
  /** Call for each Ctrl-C. */
  hit(typed: string): void;
}

export function createInterrupts(leave: () => void): Interrupts {
  let current: AbortController | undefined;
  const interrupts: Interrupts = {
    start() {
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
