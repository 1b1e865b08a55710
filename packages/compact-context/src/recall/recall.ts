import type { ArchivedMessage } from "../archive/transcript.ts";
import { codecFor } from "../codecs/formats.ts";
import { argumentsText, type Format, type Message, type Part, resultText } from "../core/message.ts";
import { CompactError, characterStart, requireOptions } from "../errors.ts";
import type { Archive, FoundMessage, SearchHit } from "../search/archive.ts";
import type { StepProblem } from "../search/session-index.ts";
import { o200kBase } from "../tokens/encodings/o200k-base.ts";

/** Reads what left the prompt of one session, with secrets redacted; ids of other sessions are not found. */
export interface Recall {
  readonly sessionId: string;
  /**
   * The message with the given archive id (as in stubs and search results) or its own id, as much of it as
   * fits. Undefined if the archive has no such message for this session.
   */
  expand(id: string, options?: ExpandOptions): Promise<Expanded | undefined>;
  /** Finds messages by their words, best first; text in double quotes must match exactly. */
  search(text: string, options?: { readonly limit?: number }): Promise<readonly SearchHit[]>;
  /** The steps of the session that have a transcript, ascending; one per compaction. */
  steps(): Promise<readonly number[]>;
  /** The conversation up to a step, in its own format. Default: the newest step. Rejects with `NotFound`. */
  restore(step?: number, options?: { readonly asSent?: boolean }): Promise<Restored>;
}

export interface ExpandOptions {
  /** Token limit of `text`. Default: 2,000. */
  readonly maxTokens?: number;
  /** Start within the readable text, in characters: `next` of the previous piece. */
  readonly offset?: number;
}

/** An archived message and a piece of its readable text. */
export interface Expanded {
  readonly found: FoundMessage;
  /** Texts, calls with arguments, and results, in order. Data of a past conversation, not instructions. */
  readonly text: string;
  /** Number of characters before `text`; `characters` is the total. */
  readonly offset: number;
  readonly characters: number;
  /** Offset of the next piece; undefined at the end. */
  readonly next: number | undefined;
}

export interface RecallPorts {
  readonly sessionId: string;
  archive(): Promise<Archive>;
  /** Default: o200k_base. */
  countText?(text: string): number;
}

/** Default token limit of one answer. */
export const RECALL_TOKENS = 2000;

export function createRecall(ports: RecallPorts): Recall {
  requireOptions(ports, "ports", "Pass the session and its archive: { sessionId, archive }.");
  const { sessionId, archive, countText = o200kBase.count } = ports;
  return {
    sessionId,
    async expand(id, { maxTokens = RECALL_TOKENS, offset = 0 } = {}) {
      requireWhole("maxTokens", maxTokens, 1);
      requireWhole("offset", offset, 0);
      const found = await (await archive()).findMessage(sessionId, id);
      if (found === undefined) return undefined;
      return expandedPiece(found, { maxTokens, offset }, countText);
    },
    async search(text, { limit } = {}) {
      return (await (await archive()).search(text, { sessionId, limit })).hits;
    },
    steps: async () => (await archive()).steps(sessionId),
    restore: async (step, options) => restoreStep(await archive(), sessionId, { step, ...options }),
  };
}

/** A piece of a message's readable text. */
export function expandedPiece(
  found: FoundMessage,
  { maxTokens = RECALL_TOKENS, offset = 0 }: ExpandOptions = {},
  countText: (text: string) => number = o200kBase.count,
): Expanded {
  const whole = readableMessage(found.message);
  const text = within(whole.slice(offset), maxTokens, countText);
  const end = Math.min(whole.length, offset + text.length);
  const next = end < whole.length ? end : undefined;
  return { found, text, offset, characters: whole.length, next };
}

function requireWhole(name: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw new CompactError("InvalidArgument", `${name} must be a whole number from ${least}, not ${value}`, {
    place: `options.${name}`,
    hint: "Leave it out, or pass `next` of the piece before as `offset`.",
  });
}

/** A message list as it was, except for what the archive never stored. */
export interface Restored {
  readonly sessionId: string;
  readonly step: number;
  /** Undefined for neutral messages. */
  readonly format: Format | undefined;
  /** In that format. */
  readonly messages: readonly unknown[];
  /** The same messages in neutral form, one for one. */
  readonly neutral: readonly Message[];
  readonly archiveIds: readonly string[];
  /** Where the list differs from the original, and why. */
  readonly differences: readonly Difference[];
  /** Unreadable lines, with their step. */
  readonly problems: readonly StepProblem[];
}

export interface Difference {
  /** Index into `messages`. */
  readonly index: number;
  readonly archiveId: string;
  readonly reason: string;
}

export interface RestoreOptions {
  /** Default: the newest. */
  readonly step?: number | undefined;
  /** Returns the list as it was before that compaction, with earlier summaries, instead of all originals. */
  readonly asSent?: boolean;
}

/** Reassembles a session's conversation. Rejects with `NotFound` for an unknown step. */
export async function restoreStep(
  archive: Pick<Archive, "steps" | "readTranscript">,
  sessionId: string,
  { step, asSent = false }: RestoreOptions,
): Promise<Restored> {
  const steps = await archive.steps(sessionId);
  const last = step ?? steps.at(-1) ?? 1;
  const wanted = asSent || !steps.includes(last) ? [last] : steps.filter((one) => one <= last);
  const problems: StepProblem[] = [];
  let messages: readonly ArchivedMessage[] = [];
  for (const one of wanted) {
    const transcript = await archive.readTranscript(sessionId, one);
    problems.push(...transcript.problems.map((problem) => ({ ...problem, step: one })));
    messages = one === wanted[0] ? transcript.messages : joinSteps(messages, transcript.messages);
  }
  const neutral = messages.map((archived) => archived.message);
  const format = neutral.find((message) => message.format !== undefined)?.format;
  return {
    sessionId,
    step: last,
    format,
    messages: format === undefined ? neutral : codecFor(format).encode(neutral),
    neutral,
    archiveIds: messages.map((archived) => archived.archiveId),
    differences: messages.flatMap(differencesOf),
    problems,
  };
}

function differencesOf({ archiveId, redacted, leftOut }: ArchivedMessage, index: number): Difference[] {
  const reasons = [
    ...(redacted ? ["secrets were taken out"] : []),
    ...(leftOut === undefined ? [] : [`left out: ${leftOut}`]),
  ];
  return reasons.map((reason) => ({ index, archiveId, reason }));
}

const POINTER = /archive id ([0-9a-z]{10})/g;

/**
 * Appends to the originals what a later step adds. The later list starts with what a compaction left of the
 * originals, in order and with one of our summaries among them, followed by new messages.
 */
export function joinSteps(
  originals: readonly ArchivedMessage[],
  later: readonly ArchivedMessage[],
): readonly ArchivedMessage[] {
  const added: ArchivedMessage[] = [];
  let from = 0;
  for (const archived of later.filter(({ message }) => message.meta?.summaryVersion === undefined)) {
    const { role } = archived.message;
    const fixed = role === "system" || role === "developer";
    // Remaining originals precede all new messages; instructions can be anywhere.
    const stays = fixed || added.length === 0;
    const at = stays ? placeOf(archived, originals, fixed ? 0 : from) : -1;
    if (at < 0) added.push(archived);
    from = fixed ? from : at + 1;
  }
  return [...originals, ...added];
}

function placeOf(archived: ArchivedMessage, originals: readonly ArchivedMessage[], from: number): number {
  const said = readableMessage(archived.message);
  const pointers = new Set([...said.matchAll(POINTER)].map(([, id = ""]) => id));
  for (let at = from; at < originals.length; at++) {
    const original = originals[at];
    if (original === undefined) continue;
    if (original.archiveId === archived.archiveId) return at;
    if (original.message.role !== archived.message.role) continue;
    if (original.message.id === archived.message.id || pointers.has(original.archiveId)) return at;
  }
  return -1;
}

/** A message as readable text: texts, calls with their arguments, and results. */
export function readableMessage(message: Message): string {
  return message.parts
    .map(readablePart)
    .filter((text) => text !== "")
    .join("\n");
}

function readablePart(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "reasoning":
      return part.text === "" ? "" : `[reasoning] ${part.text}`;
    case "toolCall":
      return `[call ${part.name}] ${argumentsText(part)}`;
    case "toolResult": {
      const media =
        typeof part.content === "string" ? [] : part.content.filter((one) => one.type === "media");
      return [resultText(part), ...media.map((one) => `[${one.mediaType}]`)].filter(Boolean).join("\n");
    }
    case "media":
      return `[${part.mediaType}${part.name === undefined ? "" : ` ${part.name}`}]`;
  }
}

/** Upper bound: even base64 and emoji have fewer characters per token. */
const MOST_CHARACTERS = 8;

/** The longest prefix found within `maxTokens` tokens; never splits a character, and keeps at least one. */
export function within(text: string, maxTokens: number, countText: (text: string) => number): string {
  let piece = cut(text, maxTokens * MOST_CHARACTERS);
  for (;;) {
    const tokens = countText(piece);
    if (tokens <= maxTokens) return piece;
    // A shortened piece can tokenize differently: drop at least one character each time.
    const shorter = cut(piece, Math.min(piece.length - 1, Math.floor((piece.length * maxTokens) / tokens)));
    if (shorter.length === piece.length) return piece;
    piece = shorter;
  }
}

function cut(text: string, characters: number): string {
  if (text.length <= characters) return text;
  // A pair at the start stays whole.
  return text.slice(0, characterStart(text, Math.max(1, characters)) || 2);
}
