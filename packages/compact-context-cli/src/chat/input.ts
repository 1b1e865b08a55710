import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";

interface ChatInputOptions {
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
}

/** A key as readline reports it. */
interface Key {
  readonly name?: string;
  readonly meta?: boolean;
}

/** Turn the terminal's bracketed paste mode on and off. */
const BRACKETED_PASTE = { on: "\u001b[?2004h", off: "\u001b[?2004l" } as const;
/** Milliseconds after which an escape character counts as the Esc key. */
const ESCAPE_MS = 50;
/** Without bracketed paste, lines within this many milliseconds belong to one paste. */
const PASTE_MS = 15;
const HISTORY_SIZE = 500;

/**
 * Line input of the chat, one reader at a time; `node:readline` edits the lines and keeps the history. Text typed between
 * prompts is not echoed, but kept.
 */
export class ChatInput {
  /** Whether a person can answer questions. */
  readonly isTerminal: boolean;
  /** Called for Ctrl-C, and for Esc while no read is pending; `typed` is the cleared line. */
  onInterrupt: (typed: string) => void = () => undefined;
  readonly #options: ChatInputOptions;
  readonly #lines: Interface;
  /** The pending read: its answer ends a question, else a message is awaited. */
  #read: { readonly isQuestion: boolean; resolve(text: string | undefined): void } | undefined;
  readonly #queue: string[] = [];
  /** Lines of an unfinished message. */
  #pasted: string[] = [];
  #isPasting = false;
  #timer: NodeJS.Timeout | undefined;
  #hasEnded = false;

  constructor(options: ChatInputOptions) {
    const { stdin, stdout, isTerminal } = options;
    this.#options = options;
    this.isTerminal = isTerminal;
    // Readline's output reaches the terminal while a prompt is open.
    const output = new Writable({
      write: (piece, _encoding, done) => {
        if (this.#read !== undefined) stdout.write(piece);
        done();
      },
    });
    Object.defineProperty(output, "columns", { get: () => stdout.columns });
    stdout.on("resize", () => output.emit("resize"));
    this.#lines = createInterface({
      input: stdin,
      output,
      terminal: isTerminal,
      historySize: HISTORY_SIZE,
      history: [...options.history],
      removeHistoryDuplicates: true,
      prompt: "",
      escapeCodeTimeout: ESCAPE_MS,
      completer: (line: string) => [options.words.filter((word) => word.startsWith(line)), line],
    });
    if (isTerminal) {
      stdout.write(BRACKETED_PASTE.on);
      stdin.on("keypress", (_: unknown, key: Key | undefined) => this.#onKey(key));
    }
    this.#lines.on("line", (line) => this.#addLine(line));
    // An answer stays out of readline's history.
    this.#lines.on("history", (history: string[]) => void (this.isAsking() && history.shift()));
    this.#lines.on("SIGINT", () => this.#interrupt());
    this.#lines.on("close", () => {
      this.#hasEnded = true;
      if (this.#pasted.length > 0) this.#endMessage();
      this.#settle(undefined);
    });
  }

  /** The next message; a paste of several lines is one. Undefined at the end of the input. */
  async next(prompt: string): Promise<string | undefined> {
    const queued = this.#queue.shift();
    if (queued === undefined) return this.#hasEnded ? undefined : this.#start(false, prompt);
    if (this.isTerminal) this.#options.stdout.write(`${prompt}${queued}\n`);
    return queued;
  }

  /**
   * The answer to a question; text typed before it is for the agent and does not answer it. Undefined if no person can
   * answer, and after Ctrl-C or Ctrl-D.
   */
  async ask(question: string): Promise<string | undefined> {
    if (!this.isTerminal || this.#hasEnded) return undefined;
    const before = this.#clearLine();
    const reply = await this.#start(true, question);
    if (before !== "" && !this.#hasEnded) this.#lines.write(before);
    return reply;
  }

  /** Whether a question is open. */
  isAsking(): boolean {
    return this.#read?.isQuestion === true;
  }

  /** The current line, not yet submitted. */
  typed(): string {
    return this.#lines.line;
  }

  close(): void {
    if (this.isTerminal) this.#options.stdout.write(BRACKETED_PASTE.off);
    this.#lines.close();
  }

  #start(isQuestion: boolean, prompt: string): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#read = { isQuestion, resolve };
      this.#lines.setPrompt(prompt);
      this.#lines.prompt(true);
    });
  }

  /** Ends the pending read, if any. */
  #settle(text: string | undefined): void {
    const read = this.#read;
    this.#read = undefined;
    read?.resolve(text);
  }

  #onKey(key: Key | undefined): void {
    if (key?.name === "paste-start" || key?.name === "paste-end") {
      // After a paste its last line can still be edited.
      this.#isPasting = key.name === "paste-start";
      clearTimeout(this.#timer);
    } else if (key?.name === "escape" && this.#read === undefined) this.onInterrupt("");
    // Alt-Enter starts a new line, like a backslash at the end.
    else if (key?.name === "return" && key.meta === true) this.#lines.write("\\\n");
  }

  #addLine(line: string): void {
    if (this.isAsking()) {
      this.#settle(line);
      return;
    }
    const continues = !this.#isPasting && line.endsWith("\\");
    this.#pasted.push(continues ? line.slice(0, -1) : line);
    if (continues || this.#isPasting) {
      this.#lines.setPrompt("… ");
      if (this.#read !== undefined) this.#lines.prompt();
      return;
    }
    clearTimeout(this.#timer);
    if (this.isTerminal) this.#timer = setTimeout(() => this.#endMessage(), PASTE_MS);
    else this.#endMessage();
  }

  #endMessage(): void {
    const text = this.#pasted.join("\n");
    this.#pasted = [];
    if (text.trim() !== "") this.#options.onMessage(text);
    if (this.#read?.isQuestion === false) this.#settle(text);
    else {
      this.#queue.push(text);
      this.#options.onQueued?.(text);
    }
  }

  #interrupt(): void {
    const typed = this.#clearLine();
    if (this.isAsking()) {
      this.#options.stdout.write("\n");
      this.#settle(undefined);
    }
    this.onInterrupt([...this.#pasted, typed].join("\n"));
    this.#pasted = [];
    if (this.#read !== undefined && !this.#hasEnded) this.#lines.prompt();
  }

  /** Clears the line and returns its text. */
  #clearLine(): string {
    const { line } = this.#lines;
    this.#lines.write(null, { ctrl: true, name: "e" });
    this.#lines.write(null, { ctrl: true, name: "u" });
    return line;
  }
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
