import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { copyWith } from "../codecs/native.ts";
import type { StorageDriver } from "../core/ports.ts";
import { CompactError, createKeyedMutex, hasCode } from "../errors.ts";
import { CHANNEL_FILES, ensureChannel } from "../memory/files/folders.ts";
import { CLAIM_LEASE_MS, type ClaimOwner, takeClaim } from "../memory/files/write-file.ts";
import { objectOf, textOf } from "../providers/request.ts";
import type { Redactor } from "../redaction/redactor.ts";
import { createFsDriver } from "../storage/fs/driver.ts";
import { type AgentMessage, answerAll, callsOf } from "./agent-message.ts";
import type { Journal } from "./agent-session.ts";
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

/** A logged message and its session. */
export interface LoggedMessage {
  readonly session: string;
  /** ISO 8601. */
  readonly at: string;
  readonly message: AgentMessage;
}

export interface ChannelJournal extends Journal {
  /**
   * The stored session, claimed for one agent; undefined for a channel without one. Rejects with `Conflict`
   * if an agent of another process has the folder.
   */
  load(): Promise<StoredSession | undefined>;
  /** The next stored list belongs to this session; earlier sessions stay in the log. */
  begin(session: Omit<StoredSession, "messages">): void;
  /** Every message of this channel, oldest first; lines that are not messages are skipped. */
  logged(): AsyncIterable<LoggedMessage>;
  /** Resolves when the log contains everything that was added. */
  settled(): Promise<void>;
  /**
   * Marks the agent as working until the returned function is called; rejects with `Conflict` if another
   * agent has taken the folder.
   */
  atWork(): Promise<() => void>;
  /** Releases the folder; nothing is written afterwards. */
  release(): Promise<void>;
}

export interface ChannelJournalOptions {
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

/**
 * A session in a channel's files: `context.jsonl` holds the live list, rewritten as a whole and appended to
 * line by line; `log.jsonl` holds every message ever added. Both stay well-formed after a crash at any time.
 */
export function createChannelJournal(options: ChannelJournalOptions): ChannelJournal {
  const { channelDir, redactor, now, warn } = options;
  const contextPath = join(channelDir, CHANNEL_FILES.context);
  const tell = (message: string): void => warn({ code: "session-file", message, place: contextPath });
  const files = options.driver ?? createFsDriver({ root: channelDir, warn: tell });
  let header: Omit<StoredSession, "messages"> = { id: "", related: [] };
  let hold: ChannelHold | undefined;
  const write = (work: () => Promise<void>): Promise<void> =>
    hold === undefined ? work() : hold.write(work);

  // A list is stored repeatedly: each message is redacted only once.
  const safe = new WeakMap<AgentMessage, string>();
  const safeText = (message: AgentMessage): string => {
    const known = safe.get(message);
    if (known !== undefined) return known;
    const text = JSON.stringify(withoutSecrets(message, redactor));
    safe.set(message, text);
    return text;
  };
  const contextLine = (message: AgentMessage): string =>
    `{"type":"message","message":${safeText(message)}}\n`;
  const logLine = (message: AgentMessage): string => {
    const about = JSON.stringify({ timestamp: now().toISOString(), session: header.id });
    return `${about.slice(0, -1)},"message":${safeText(message)}}\n`;
  };
  const rewrite = async (messages: readonly AgentMessage[]): Promise<void> => {
    const first = lineOf({ type: "session", format: 1, ...header });
    const rest = messages.map(contextLine);
    await write(async () => void (await files.put(CHANNEL_FILES.context, [first, ...rest].join(""))));
  };
  // The log is written in the background; failures are reported with the next message.
  let logged: Promise<void> = Promise.resolve();
  let logFailure: unknown;

  return {
    async load() {
      if (options.driver === undefined) {
        await ensureChannel(channelDir);
        hold = await holdChannel(channelDir);
      }
      const text = (await files.get(CHANNEL_FILES.context))?.value ?? "";
      const stored = readSession(text, (line) =>
        warn({
          code: "session-file",
          place: `${contextPath}:${line}`,
          ...(line === 1 ? NO_SESSION : NO_MESSAGE),
        }),
      );
      if (stored === undefined) return undefined;
      header = { id: stored.id, related: stored.related };
      // New lines must follow the repaired ones.
      if (stored.mended) await rewrite(stored.messages);
      return stored;
    },
    begin({ id, related }) {
      header = { id, related };
    },
    log(message) {
      const line = logLine(message);
      logged = logged
        .then(() => files.append(CHANNEL_FILES.log, line))
        .catch((error: unknown) => {
          logFailure = error;
        });
    },
    async add(message) {
      await write(() => files.append(CHANNEL_FILES.context, contextLine(message)));
      const failure = logFailure;
      logFailure = undefined;
      if (failure !== undefined) warn({ ...diagnosticOf(failure), code: "log-not-written" });
    },
    async *logged() {
      await logged;
      let rest = "";
      try {
        for await (const piece of files.stream(CHANNEL_FILES.log)) {
          const lines = (rest + piece).split("\n");
          rest = lines.pop() ?? "";
          for (const line of lines) yield* loggedIn(line);
        }
      } catch (error) {
        if (!hasCode(error, "NotFound")) throw error;
      }
    },
    settled: () => logged,
    replace: rewrite,
    atWork: async () => (await hold?.atWork()) ?? (() => undefined),
    release: async () => hold?.release(),
  };
}

function lineOf(value: object): string {
  return `${JSON.stringify(value)}\n`;
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
  const head = objectOf(parse(lines[0] ?? ""));
  if (head.type !== "session" || textOf(head.id) === "") {
    if (text.trim() !== "") bad(1);
    return undefined;
  }
  const messages: AgentMessage[] = [];
  lines.forEach((line, index) => {
    if (index === 0 || line.trim() === "") return;
    const { message } = objectOf(parse(line));
    if (isMessage(message)) messages.push(message);
    else bad(index + 1);
  });
  const related = Array.isArray(head.related) ? head.related.filter((id) => typeof id === "string") : [];
  const whole = answered(messages);
  const mended = broken || JSON.stringify(whole) !== JSON.stringify(messages);
  return { id: textOf(head.id), related, messages: whole, mended };
}

function loggedIn(line: string): LoggedMessage[] {
  const { session, timestamp, message } = objectOf(parse(line));
  return isMessage(message) ? [{ session: textOf(session), at: textOf(timestamp), message }] : [];
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
}

function isMessage(value: unknown): value is AgentMessage {
  const { role, content } = objectOf(value);
  const isParts = Array.isArray(content) && content.every((part) => typeof objectOf(part).type === "string");
  if (role === "tool") return isParts;
  return (role === "user" || role === "assistant") && (typeof content === "string" || isParts);
}

/**
 * The list with every call answered: a process that died may have left open calls, or results without a call.
 */
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

/** The exclusive right of one agent to write a channel's session. */
interface ChannelHold {
  /**
   * Runs a write; rejects with `Conflict`, without writing, if the channel was released or taken by another
   * agent.
   */
  write(work: () => Promise<void>): Promise<void>;
  /**
   * Marks the agent as working, for other machines, until the returned function is called; rejects in the
   * same cases as `write`.
   */
  atWork(): Promise<() => void>;
  release(): Promise<void>;
}

const HOLD_FILE = "agent.lock";

/** Serializes writes and claims of a channel in this process: a new claim waits for the running write. */
const inTurn = createKeyedMutex();

/**
 * Claims a channel for an agent of this process: if it is free, held by an earlier agent of the same process
 * (which can no longer write), or by a process that has ended. Rejects with `Conflict` if another process
 * holds it.
 */
async function holdChannel(channelDir: string): Promise<ChannelHold> {
  const path = join(await realpath(channelDir), HOLD_FILE);
  const taken = await inTurn(path, () => takeClaim(path, { fromItself: true }));
  if ("owner" in taken) throw heldElsewhere(channelDir, taken.owner);
  const { claim } = taken;
  let released = false;
  const requireOwn = async (): Promise<void> => {
    if (released)
      throw conflictOver(channelDir, GIVEN_BACK, "Create an agent again: it goes on with the session.");
    if (await claim.renew()) return;
    throw conflictOver(channelDir, TAKEN_OVER, "Go on with that one, or close it and create an agent again.");
  };
  return {
    write: (work) =>
      inTurn(path, async () => {
        await requireOwn();
        await work();
      }),
    async atWork() {
      await inTurn(path, requireOwn).catch((error: unknown) => {
        // A failing disk does not stop the work: write errors are reported by the write itself.
        if (CompactError.isInstance(error)) throw error;
      });
      return claim.keep();
    },
    release: () =>
      inTurn(path, async () => {
        released = true;
        await claim.release();
      }),
  };
}

function conflictOver(place: string, message: string, hint: string): CompactError {
  return new CompactError("Conflict", message, { place, hint });
}

function heldElsewhere(channelDir: string, { pid, onThisMachine }: ClaimOwner): CompactError {
  const where = onThisMachine ? `process ${pid}` : `process ${pid} of another machine`;
  const seconds = CLAIM_LEASE_MS / 1000;
  const wait = onThisMachine ? "" : ` One that has ended there lets go within ${seconds} seconds.`;
  const hint = `Close that one first, or use another channel folder (compact chat: --channel).${wait}`;
  return conflictOver(channelDir, `another agent (${where}) has this channel open`, hint);
}

const TAKEN_OVER = "this channel is another agent's by now, or its lock was removed";
const GIVEN_BACK = "this agent was closed, and its channel given back";
