import type { PlannedMessage } from "compact-context/internal/core/plan";
import type { FixedTokens } from "./layer-tokens.ts";
import { fateOf } from "./message-view.ts";
import type { Fate } from "./session-view.ts";
import { listIn, numberIn, recordIn, textIn } from "./untrusted.ts";

/** What became of one message, as the archive's summary record of its step says. */
export interface StoredFate {
  readonly fate: Fate;
  readonly tokens: number;
  readonly tokensAfter: number;
  readonly reason?: string;
}

/** What the archive holds of a compaction beside its list; each part may be missing. */
export interface StoredRecord {
  /** The summary's. */
  readonly text?: string;
  /** ISO 8601. */
  readonly at?: string;
  readonly model?: string;
  readonly summarizer?: string;
  readonly tokensBefore?: number;
  readonly tokensAfter?: number;
  readonly summaryTokens?: number;
  readonly fixed: FixedTokens;
  /** One for one with the messages of the list; missing where not all of them can be read. */
  readonly fates?: readonly StoredFate[];
}

/** What a record says of each message of the list that was compacted: `storedRecord` reads it. */
export function fatesToStore(
  entries: readonly PlannedMessage[],
): Pick<PlannedMessage, "action" | "tokens" | "tokensAfter" | "reason">[] {
  return entries.map(({ action, tokens, tokensAfter, reason }) => ({ action, tokens, tokensAfter, reason }));
}

/** How many messages the record says its list has; undefined where it does not say. */
export function statedMessages(value: object | undefined): number | undefined {
  return listIn(value, "fates")?.length;
}

/** A summary record as it lies in the archive, of a list of so many messages. */
export function storedRecord(value: object | undefined, messages: number): StoredRecord {
  const fixed = recordIn(value, "fixedTokens");
  const fates = listIn(value, "fates")?.map(storedFate);
  const isWhole = fates?.length === messages && fates.every((fate) => fate !== undefined);
  return {
    ...texts(value),
    ...numbers(value),
    fixed: { system: numberIn(fixed, "system") ?? 0, tools: numberIn(fixed, "tools") ?? 0 },
    fates: isWhole ? fates : undefined,
  };
}

function texts(value: object | undefined): Pick<StoredRecord, "text" | "at" | "model" | "summarizer"> {
  const [text, at, model, summarizer] = ["text", "at", "model", "summarizer"].map((name) =>
    textIn(value, name),
  );
  return {
    text,
    at,
    model,
    summarizer: text === undefined ? undefined : summarizer,
  };
}

function numbers(
  value: object | undefined,
): Pick<StoredRecord, "tokensBefore" | "tokensAfter" | "summaryTokens"> {
  const [tokensBefore, tokensAfter, summaryTokens] = ["tokensBefore", "tokensAfter", "tokens"].map((name) =>
    numberIn(value, name),
  );
  return { tokensBefore, tokensAfter, summaryTokens };
}

function storedFate(value: unknown): StoredFate | undefined {
  const fate = fateOf({ action: textIn(value, "action") });
  const [tokens, tokensAfter] = [numberIn(value, "tokens"), numberIn(value, "tokensAfter")];
  const reason = textIn(value, "reason");
  if (fate === "unknown" || tokens === undefined || tokensAfter === undefined) return undefined;
  return { fate, tokens, tokensAfter, reason };
}
