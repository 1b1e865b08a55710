import { listCodec } from "./codecs/formats.ts";
import {
  contentHash,
  type Format,
  type LiveSummary,
  type Message,
  messageText,
  readBack,
  summaryMessage,
} from "./core/message.ts";
import { defaultPolicy, isPinned, type Policy } from "./core/policy.ts";
import type { ListCodec, TokenCounter } from "./core/ports.ts";
import type { RunningSummary } from "./core/report.ts";
import type { CompactionRequest } from "./core/request.ts";
import { groupUnits, isProjectInstructions } from "./core/units.ts";
import { assemble } from "./core/view.ts";
import { CompactError, errorMessage } from "./errors.ts";
import { createTokenCounter } from "./tokens/token-counter.ts";

// Reads a list for a running summary: skips what the summary covers, finds the message with the summary, and
// counts the rest with our counter or the caller's.

/**
 * The newest message stays, with its exchange; the target decides how much else stays. Kept messages are not
 * edited.
 */
export const POLICY: Policy = {
  ...defaultPolicy,
  keepRecentTurns: 1,
  keepRecentMessages: 1,
  keepToolIoPairs: 0,
  clearToolResults: false,
  maxRequestBytes: Number.POSITIVE_INFINITY,
};

interface ListOptions<T> {
  readonly format?: Format;
  countTokens?(messages: T[]): number | Promise<number>;
  readonly finalPrompt?: string | { readonly role: "system" | "user" | "assistant"; readonly text: string };
}

export interface RunningList {
  /** A request without its limits. */
  readonly request: Omit<CompactionRequest, "reason" | "budget" | "target" | "maxSummaryTokens">;
  /** Tokens of the current list, including the current summary. */
  readonly tokens: number;
  /** Tokens of what always stays, and of what can be summarized. */
  readonly fixed: number;
  readonly open: number;
  /** Tokens of the summary message without its text, by our own counter. */
  readonly frame: number;
  /** The list with the current summary; the caller's own array if unchanged. */
  asItStands(): readonly unknown[];
  /** The caller's id of a message. */
  idOf(message: Message): string;
  /** Must resolve before a new summary is counted in a plan. */
  countSummary(text: string): Promise<void>;
  encode(messages: readonly Message[]): unknown[];
}

/** The version of the current summary; a new one has the next. */
const STANDING = 1;

/**
 * Rejects with `InvalidMessages` for a list with unreliable ids, `InvalidArgument` for a counter that fails.
 */
export async function readRunningList<T>(
  messages: readonly T[],
  running: RunningSummary | undefined,
  options: ListOptions<T>,
): Promise<RunningList> {
  const codec = listCodec(messages, options.format);
  const natives = new Map<Message, Message>();
  const decoded = codec.decode(messages).map((message) => unmarked(message, natives));
  const ids = new Map(decoded.map((message, index) => [message, ownId(message, index, codec)]));
  const live =
    running === undefined || running.summary === ""
      ? undefined
      : { version: STANDING, text: running.summary };
  const summaryEntry = live && findSummaryEntry(decoded, live.text, options);
  const entries = notSummarized(decoded, ids, running, summaryEntry);
  const encode = (list: readonly Message[]): unknown[] =>
    codec.encode(list.map((message) => natives.get(message) ?? message));
  const summaryAs = createSummaryShape(options, ({ text }) => {
    const same = summaryEntry !== undefined && text === live?.text;
    return same && messageText(summaryEntry) === textFor(text, options) ? summaryEntry : undefined;
  });
  if (summaryEntry !== undefined && live !== undefined)
    natives.set(summaryAs(live), natives.get(summaryEntry) ?? summaryEntry);
  const own = createTokenCounter({ format: codec.format });
  const { counter, count } = counterOf(own, options, (message) => {
    if (codec.neutral) return (natives.get(message) ?? message) as T;
    // The summary is built along with the others, so that it has the same style.
    return (message.native ?? encode([...entries, message]).at(-1)) as T;
  });
  await Promise.all([...entries.map(count), live && count(summaryAs(live))]);
  const kept = entries.map((message) => ({ message, pinned: isPinned(message, POLICY) }));
  const shape = { summaryRole: "system", format: codec.format, summaryAs } as const;
  const placed = assemble(kept, live, shape, (message) => ({ message, pinned: false }));
  const list = placed.map(({ message }) => message);
  const sum = (counted: readonly Message[]): number =>
    counted.reduce((total, message) => total + counter.countMessage(message), 0);
  const open = sum(kept.filter(({ pinned }) => !pinned).map(({ message }) => message));
  return {
    request: {
      ...shape,
      messages: live === undefined ? entries : [summaryMessage(live, "assistant"), ...entries],
      counter,
      policy: POLICY,
      fixedTokens: counter.perRequest,
      lastSummaryVersion: STANDING,
      reasoningBound: false,
      held: openCalls(entries),
    },
    tokens: counter.perRequest + sum(list),
    fixed: counter.perRequest + sum(entries) - open,
    open,
    frame: own.countMessage(summaryAs({ version: STANDING, text: "" })) + 2,
    asItStands() {
      const standing = encode(list);
      const same =
        standing.length === messages.length && standing.every((entry, index) => entry === messages[index]);
      return same ? messages : standing;
    },
    idOf: (message) => ids.get(message)?.id ?? message.id,
    countSummary: (text) => count(summaryAs({ version: STANDING + 1, text: readBack(text, STANDING) })),
    encode,
  };
}

// ---- what the summary covers

/** A summary of another origin is an ordinary message here. */
function unmarked(message: Message, natives: Map<Message, Message>): Message {
  if (message.meta?.summaryVersion === undefined) return message;
  const { summaryVersion: _, ...meta } = message.meta;
  const plain = { ...message, meta };
  natives.set(plain, message);
  return plain;
}

interface OwnId {
  readonly id: string;
  /** Derived from the content: another message can get the same id. */
  readonly minted: boolean;
}

/** The caller's id of a message. */
function ownId(message: Message, index: number, codec: ListCodec): OwnId {
  if (codec.neutral) return { id: message.id, minted: false };
  if (message.id.startsWith(contentHash(message))) {
    if (codec.format !== "langchain") return { id: message.id, minted: true };
    throw new CompactError("InvalidMessages", "messages need an id to be summarized once only", {
      place: `messages[${index}]`,
      hint: "Give every message an id of its own, or let the graph's reducer do it first.",
    });
  }
  // An id used twice was made unique: decoded alone, the message has its own.
  const [alone] = /-\d+$/.test(message.id) ? codec.decode([message.native]) : [message];
  return { id: alone?.id ?? message.id, minted: false };
}

/** Shorter summaries can occur in other messages by chance. */
const UNMISTAKABLE = 40;

/**
 * The message into which an earlier call put the summary: among the first kept ones, or directly after them.
 */
function findSummaryEntry(
  messages: readonly Message[],
  summary: string,
  options: ListOptions<never>,
): Message | undefined {
  const shown = textFor(summary, options);
  for (const message of messages) {
    const text = messageText(message);
    const matches = text === shown || (summary.length >= UNMISTAKABLE && text.includes(summary));
    if (message.role !== "tool" && matches) return message;
    if (!isPinned(message, POLICY) && !isProjectInstructions(message)) return undefined;
  }
  return undefined;
}

/** The messages that no summary covers. Throws `InvalidMessages` for an id that was already summarized. */
function notSummarized(
  messages: readonly Message[],
  ids: ReadonlyMap<Message, OwnId>,
  running: RunningSummary | undefined,
  summaryEntry: Message | undefined,
): Message[] {
  const done = new Set(running?.summarizedMessageIds);
  const last = running?.lastSummarizedMessageId;
  // A list that contains the summary is our output: none of its messages were summarized.
  const reached =
    summaryEntry === undefined ? messages.findLastIndex((message) => ids.get(message)?.id === last) : -1;
  return messages.filter((message, index) => {
    const { id = "", minted = true } = ids.get(message) ?? {};
    if (message === summaryEntry) return false;
    if (!done.has(id) || (minted && index > reached)) return true;
    if (index <= reached) return false;
    throw new CompactError("InvalidMessages", `message ${id} has already been summarized`, {
      place: `messages[${index}]`,
      hint: "Ids are unique in a conversation; give the new message its own.",
    });
  });
}

/** Calls without results, however old: their results can still arrive. */
function openCalls(messages: readonly Message[]): Set<Message> {
  const open = groupUnits(messages).filter((unit) => unit.open > 0);
  return new Set(open.flatMap(({ indexes }) => indexes.map((index) => messages[index] as Message)));
}

// ---- the summary as a message

const FINAL_PROMPT = "Summary of the conversation so far: {summary}";

function textFor(summary: string, { finalPrompt }: ListOptions<never>): string {
  const text = typeof finalPrompt === "object" ? finalPrompt.text : (finalPrompt ?? FINAL_PROMPT);
  return text.replaceAll("{summary}", () => summary);
}

/** Creates one message per summary: its token count is stored with it. */
function createSummaryShape(
  options: ListOptions<never>,
  find: (summary: LiveSummary) => Message | undefined,
): (summary: LiveSummary) => Message {
  const made = new Map<string, Message>();
  const role = typeof options.finalPrompt === "object" ? options.finalPrompt.role : "system";
  return (summary) => {
    const key = `${summary.version} ${summary.text}`;
    const known = made.get(key);
    if (known !== undefined) return known;
    const parts = [{ type: "text", text: textFor(summary.text, options) }] as const;
    const base = find(summary) ?? { id: `running-summary-${contentHash({ role, parts })}`, role, parts };
    const message = { ...base, meta: { ...base.meta, synthetic: true, summaryVersion: summary.version } };
    made.set(key, message);
    return message;
  };
}

// ---- counting

/** Runs the caller's counter in advance, message by message, because planning is synchronous. */
function counterOf<T>(
  own: TokenCounter,
  { countTokens }: ListOptions<T>,
  nativeOf: (message: Message) => T,
): { readonly counter: TokenCounter; count(message: Message): Promise<void> } {
  if (countTokens === undefined) return { counter: own, count: async () => {} };
  const counts = new Map<Message, number>();
  return {
    counter: {
      ...own,
      perRequest: 0,
      countMessage: (message) => counts.get(message) ?? own.countMessage(message),
    },
    async count(message) {
      counts.set(message, await tokensBy(async () => countTokens([nativeOf(message)])));
    },
  };
}

async function tokensBy(count: () => Promise<number>): Promise<number> {
  let cause: unknown;
  try {
    const tokens = await count();
    if (typeof tokens === "number" && tokens >= 0 && tokens < Number.POSITIVE_INFINITY) return tokens;
    cause = `it returned ${String(tokens)}`;
  } catch (error) {
    cause = error;
  }
  throw new CompactError("InvalidArgument", `the token counter failed: ${errorMessage(cause)}`, {
    place: "options.countTokens",
    hint: "It is given a list of one of your own messages, or the summary in their form, and returns a number.",
    cause,
  });
}
