import { listIn, numberIn, outcomeOf, recordIn, textIn } from "./message-view.ts";
import type { MessageOutcome } from "./session-view.ts";

/** The outcome of a message, from the summary record of its step. */
export type StoredOutcome = Pick<MessageOutcome, "outcome" | "tokens" | "tokensAfter" | "reason">;

/** The summary record of a compaction; every part may be missing. */
export interface StoredRecord {
  /** The summary. */
  readonly text?: string;
  /** ISO 8601. */
  readonly at?: string;
  readonly model?: string;
  readonly summarizer?: string;
  readonly tokensBefore?: number;
  readonly tokensAfter?: number;
  readonly summaryTokens?: number;
  /** Tokens of the request outside its messages. */
  readonly system: number;
  readonly tools: number;
  /** One per message of the list; undefined if any is invalid. */
  readonly outcomes?: readonly StoredOutcome[];
}

/** Parses the summary record that `compact FILE` or a manager stores beside an archived list. */
export function storedRecord(value: object | undefined): StoredRecord {
  const text = textIn(value, "text");
  const fixed = recordIn(value, "fixedTokens");
  const outcomes = listIn(value, "fates")?.map(storedOutcome);
  return {
    text,
    at: textIn(value, "at"),
    model: textIn(value, "model"),
    summarizer: text === undefined ? undefined : textIn(value, "summarizer"),
    tokensBefore: numberIn(value, "tokensBefore"),
    tokensAfter: numberIn(value, "tokensAfter"),
    summaryTokens: numberIn(value, "tokens"),
    system: numberIn(fixed, "system") ?? 0,
    tools: numberIn(fixed, "tools") ?? 0,
    outcomes: outcomes?.every((outcome) => outcome !== undefined) ? outcomes : undefined,
  };
}

function storedOutcome(value: unknown): StoredOutcome | undefined {
  const outcome = outcomeOf(textIn(value, "action"));
  const [tokens, tokensAfter] = [numberIn(value, "tokens"), numberIn(value, "tokensAfter")];
  const reason = textIn(value, "reason");
  if (outcome === "unknown" || tokens === undefined || tokensAfter === undefined) return undefined;
  return { outcome, tokens, tokensAfter, reason };
}
