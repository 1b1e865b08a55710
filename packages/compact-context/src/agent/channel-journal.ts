import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { copyWith } from "../codecs/native.ts";
import type { StorageDriver } from "../core/ports.ts";
import { CompactError, createKeyedMutex, hasCode } from "../errors.ts";
import { CHANNEL_FILES, ensureChannel } from "../memory/files/folders.ts";
import { CLAIM_LEASE_MS, type Claim, type ClaimOwner, takeClaim } from "../memory/files/write-file.ts";
import { objectOf, textOf } from "../providers/request.ts";
import type { Redactor } from "../redaction/redactor.ts";
import { createFsDriver } from "../storage/fs/driver.ts";
import { parsedJson } from "../summarizers/extractive/text.ts";
import { type AgentMessage, answerAll, callsOf } from "./agent-message.ts";
import { type Diagnostic, diagnosticOf } from "./event.ts";

/** A channel's newest session, as stored. */
export interface StoredSession {
  readonly id: string;
  readonly messages: readonly AgentMessage[];
  /**
   * Sessions whose archives also belong to the channel: earlier ones and those of sub-agents. Oldest first,
   * at most 200.
   */
  readonly related: readonly string[];
}

interface ChannelJournalOptions {
  readonly channelDir: string;
  /** Storage used instead of the folder; the host must ensure that only one agent writes there. */
  readonly driver?: StorageDriver;
  /** Redacts everything that is stored. */
  readonly redactor: Redactor;
  readonly now: () => Date;
  readonly warn: (diagnostic: Diagnostic) => void;
}

/** Related archives that a search reads; for older sessions the log has the messages. */
export const MOST_RELATED = 200;
const NO_SESSION = {
  message: "the first line of the session cannot be read, so that a new one begins",
  hint: "log.jsonl has what was said.",
};
const NO_MESSAGE = {
  message: "a line of the session is no message and was left out",
  hint: "The rest of the session goes on; log.jsonl has what was said.",
};
const CUT_OFF = "The process ended before this call was finished. What it had done by then is not known.";
const HOLD_FILE = "agent.lock";

/** Serializes writes and claims of a channel in this process: a new claim waits for the running write. */
const inTurn = createKeyedMutex();

/**
 * A session in a channel's files: `context.jsonl` holds the live list, rewritten as a whole and appended to
 * line by line; `log.jsonl` holds every message ever added. Both stay well-formed after a crash at any time.
 * One agent has the folder at a time: after another has taken it, writes reject with `Conflict`.
 */
export class ChannelJournal {
  readonly #options: ChannelJournalOptions;
  readonly #files: StorageDriver;
  readonly #contextPath: string;
  #header: Omit<StoredSession, "messages"> = { id: "", related: [] };
  #hold: { readonly path: string; readonly claim: Claim; released: boolean } | undefined;
  // A list is stored repeatedly: each message is redacted only once.
  readonly #safe = new WeakMap<AgentMessage, string>();
  // The log is written in the background; failures are reported with the next message.
  #logged: Promise<void> = Promise.resolve();
  #logFailure: unknown;

  constructor(options: ChannelJournalOptions) {
    const { channelDir, driver, warn } = options;
    this.#options = options;
    this.#contextPath = join(channelDir, CHANNEL_FILES.context);
    const tell = (message: string): void => warn({ code: "session-file", message, place: this.#contextPath });
    this.#files = driver ?? createFsDriver({ root: channelDir, warn: tell });
  }

  /**
   * The stored session, claimed for one agent; undefined for a channel without one. Rejects with `Conflict`
   * if an agent of another process has the folder.
   */
  async load(): Promise<StoredSession | undefined> {
    const { driver, channelDir, warn } = this.#options;
    if (driver === undefined) {
      await ensureChannel(channelDir);
      await this.#claimFolder();
    }
    const text = (await this.#files.get(CHANNEL_FILES.context))?.value ?? "";
    const stored = readSession(text, (line) => {
      const place = `${this.#contextPath}:${line}`;
      warn({ code: "session-file", place, ...(line === 1 ? NO_SESSION : NO_MESSAGE) });
    });
    if (stored === undefined) return undefined;
    this.begin(stored);
    // New lines must follow the repaired ones.
    if (stored.mended) await this.replace(stored.messages);
    return stored;
  }

  /** The next stored list belongs to this session; earlier sessions stay in the log. */
  begin({ id, related }: Omit<StoredSession, "messages">): void {
    this.#header = { id, related };
  }

  /** Logs a message, whatever later happens to the list. */
  log(message: AgentMessage): void {
    const timestamp = this.#options.now().toISOString();
    const about = JSON.stringify({ timestamp, session: this.#header.id }).slice(0, -1);
    const line = `${about},"message":${this.#safeText(message)}}\n`;
    this.#logged = this.#logged
      .then(() => this.#files.append(CHANNEL_FILES.log, line))
      .catch((error: unknown) => {
        this.#logFailure = error;
      });
  }

  /** Appends a message to the list; durable when it resolves. */
  async add(message: AgentMessage): Promise<void> {
    await this.#write(() => this.#files.append(CHANNEL_FILES.context, this.#contextLine(message)));
    const failure = this.#logFailure;
    this.#logFailure = undefined;
    if (failure !== undefined) this.#options.warn({ ...diagnosticOf(failure), code: "log-not-written" });
  }

  /** Replaces the list; earlier messages stay in the log. */
  async replace(messages: readonly AgentMessage[]): Promise<void> {
    const first = `${JSON.stringify({ type: "session", format: 1, ...this.#header })}\n`;
    const rest = messages.map((message) => this.#contextLine(message));
    await this.#write(() => this.#files.put(CHANNEL_FILES.context, [first, ...rest].join("")));
  }

  /** Every message of this channel, oldest first, `at` in ISO 8601; lines that are not messages are skipped. */
  async *logged(): AsyncIterable<{ session: string; at: string; message: AgentMessage }> {
    await this.#logged;
    let rest = "";
    try {
      for await (const piece of this.#files.stream(CHANNEL_FILES.log)) {
        const lines = (rest + piece).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          const { session, timestamp, message } = objectOf(parsedJson(line));
          if (isMessage(message)) yield { session: textOf(session), at: textOf(timestamp), message };
        }
      }
    } catch (error) {
      if (!hasCode(error, "NotFound")) throw error;
    }
  }

  /** Resolves when the log contains everything that was added. */
  settled(): Promise<void> {
    return this.#logged;
  }

  /**
   * Marks the agent as working until the returned function is called; rejects with `Conflict` if another
   * agent has taken the folder.
   */
  async atWork(): Promise<() => void> {
    if (this.#hold === undefined) return () => undefined;
    const { path, claim } = this.#hold;
    await inTurn(path, () => this.#requireOwn()).catch((error: unknown) => {
      // A failing disk does not stop the work: write errors are reported by the write itself.
      if (CompactError.isInstance(error)) throw error;
    });
    return claim.keep();
  }

  /** Releases the folder; nothing is written afterwards. */
  async release(): Promise<void> {
    const hold = this.#hold;
    if (hold === undefined) return;
    await inTurn(hold.path, async () => {
      hold.released = true;
      await hold.claim.release();
    });
  }

  /**
   * Claims the folder for an agent of this process: if it is free, held by an earlier agent of the same
   * process (which can no longer write), or by a process that has ended.
   */
  async #claimFolder(): Promise<void> {
    const { channelDir } = this.#options;
    const path = join(await realpath(channelDir), HOLD_FILE);
    const taken = await inTurn(path, () => takeClaim(path, { fromItself: true }));
    if ("owner" in taken) throw heldElsewhere(channelDir, taken.owner);
    this.#hold = { path, claim: taken.claim, released: false };
  }

  async #write(work: () => Promise<unknown>): Promise<void> {
    if (this.#hold === undefined) await work();
    else
      await inTurn(this.#hold.path, async () => {
        await this.#requireOwn();
        await work();
      });
  }

  async #requireOwn(): Promise<void> {
    const { channelDir: place } = this.#options;
    if (this.#hold?.released === true)
      throw new CompactError("Conflict", "this agent was closed, and its channel given back", {
        place,
        hint: "Create an agent again: it goes on with the session.",
      });
    if ((await this.#hold?.claim.renew()) === false)
      throw new CompactError("Conflict", "this channel is another agent's by now, or its lock was removed", {
        place,
        hint: "Go on with that one, or close it and create an agent again.",
      });
  }

  #contextLine(message: AgentMessage): string {
    return `{"type":"message","message":${this.#safeText(message)}}\n`;
  }

  #safeText(message: AgentMessage): string {
    const known = this.#safe.get(message);
    if (known !== undefined) return known;
    const text = JSON.stringify(withoutSecrets(message, this.#options.redactor));
    this.#safe.set(message, text);
    return text;
  }
}

function heldElsewhere(place: string, { pid, onThisMachine }: ClaimOwner): CompactError {
  const where = onThisMachine ? `process ${pid}` : `process ${pid} of another machine`;
  const seconds = CLAIM_LEASE_MS / 1000;
  const wait = onThisMachine ? "" : ` One that has ended there lets go within ${seconds} seconds.`;
  return new CompactError("Conflict", `another agent (${where}) has this channel open`, {
    place,
    hint: `Close that one first, or use another channel folder (compact chat: --channel).${wait}`,
  });
}

/**
 * The message with secrets redacted. If any reasoning contains a secret, all reasoning of the message is
 * dropped, because signed content must not be edited, together with the ids by which its provider would look
 * it up.
 */
function withoutSecrets(message: AgentMessage, redactor: Redactor): AgentMessage {
  if (message.role !== "assistant" || typeof message.content === "string")
    return redactor.redactValue(message) as AgentMessage;
  const isClean = message.content.every(
    (part) => part.type !== "reasoning" || redactor.redactText(part.text) === part.text,
  );
  const kept = isClean
    ? message.content
    : message.content.filter(({ type }) => type !== "reasoning").map(withoutItemId);
  const content = kept.map((part) =>
    part.type === "reasoning" ? part : (redactor.redactValue(part) as typeof part),
  );
  return { role: "assistant", content };
}

/** OpenAI rejects an item id if the reasoning item before it is missing. */
function withoutItemId<Part extends { readonly providerOptions?: unknown }>(part: Part): Part {
  const providers = Object.entries(objectOf(part.providerOptions));
  if (!providers.some(([, options]) => "itemId" in objectOf(options))) return part;
  const providerOptions = Object.fromEntries(
    providers.map(([name, options]) => [name, copyWith(objectOf(options), { itemId: undefined })]),
  );
  return { ...part, providerOptions };
}

function readSession(
  text: string,
  tell: (line: number) => void,
): (StoredSession & { readonly mended: boolean }) | undefined {
  let broken = false;
  const bad = (line: number): void => {
    broken = true;
    tell(line);
  };
  const lines = text.split("\n");
  const head = objectOf(parsedJson(lines[0] ?? ""));
  if (head.type !== "session" || textOf(head.id) === "") {
    if (text.trim() !== "") bad(1);
    return undefined;
  }
  const messages: AgentMessage[] = [];
  lines.forEach((line, index) => {
    if (index === 0 || line.trim() === "") return;
    const { message } = objectOf(parsedJson(line));
    if (isMessage(message)) messages.push(message);
    else bad(index + 1);
  });
  const related = Array.isArray(head.related) ? head.related.filter((id) => typeof id === "string") : [];
  const whole = answered(messages);
  const mended = broken || JSON.stringify(whole) !== JSON.stringify(messages);
  return { id: textOf(head.id), related, messages: whole, mended };
}

function isMessage(value: unknown): value is AgentMessage {
  const { role, content } = objectOf(value);
  const isParts = Array.isArray(content) && content.every((part) => typeof objectOf(part).type === "string");
  if (role === "tool") return isParts;
  return (role === "user" || role === "assistant") && (typeof content === "string" || isParts);
}

/** The list with every call answered: a process that died may have left open calls, or results without a call. */
export function answered(messages: readonly AgentMessage[]): readonly AgentMessage[] {
  return messages.flatMap((message, index): AgentMessage[] => {
    if (message.role === "tool") return answersTo(messages[index - 1], message);
    // Nothing was stored of a message that only had reasoning with a secret in it.
    if (message.content.length === 0) return [];
    const calls = callsOf(message);
    const isOpen = calls.length > 0 && messages[index + 1]?.role !== "tool";
    return isOpen ? [message, answerAll(calls, CUT_OFF)] : [message];
  });
}

/** The results that answer calls of the preceding message, with placeholders for missing ones. */
function answersTo(
  caller: AgentMessage | undefined,
  { content }: AgentMessage & { readonly role: "tool" },
): AgentMessage[] {
  const calls = caller === undefined ? [] : callsOf(caller);
  if (calls.length === 0) return [];
  const known = new Set(calls.map(({ toolCallId }) => toolCallId));
  const results = content.filter(({ toolCallId }) => known.has(toolCallId));
  const given = new Set(results.map(({ toolCallId }) => toolCallId));
  const missing = calls.filter(({ toolCallId }) => !given.has(toolCallId));
  return [{ role: "tool", content: [...results, ...answerAll(missing, CUT_OFF).content] }];
}
