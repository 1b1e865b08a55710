import type { ArchivedConversation, ArchivedEntry } from "./archived-steps.ts";
import { eventLayers, MESSAGE_LAYERS, stacked } from "./layer-tokens.ts";
import type { SessionRecord } from "./session-record.ts";
import type { CompactionHead, Fate } from "./session-view.ts";
import type { StoredRecord } from "./stored-record.ts";

/** One list of the archive with what is stored beside it. */
interface Told {
  readonly entries: readonly ArchivedEntry[];
  readonly stored: StoredRecord;
  readonly summaryTokens: number;
}

/** Tokens of one list by layer, and all of them. */
interface Sizes {
  readonly before: readonly number[];
  readonly after: readonly number[];
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** Tells an archive without events, as the command writes it: each list is a step, and each step a compaction. */
export function tellSteps(
  record: SessionRecord,
  { steps }: ArchivedConversation,
  { storedOf, countText }: { storedOf(step: number): StoredRecord; countText(text: string): number },
): void {
  const isKnown = steps.every(({ entries }) => entries.every(({ fate }) => fate !== "unknown"));
  // Where it is not known what a compaction left, the layers of what it left are not known either.
  if (isKnown) record.amend({ layers: MESSAGE_LAYERS });
  for (const { step, entries, messages } of steps) {
    const stored = storedOf(step);
    const summaryTokens = stored.summaryTokens ?? (stored.text === undefined ? 0 : countText(stored.text));
    const told = { entries, stored, summaryTokens };
    const { before, after, ...tokens } = isKnown ? sizesByMessage(told) : sizesByTotal(told);
    const { at } = stored;
    const made = record.addCompaction({
      step: record.steps.length,
      at,
      ...tokens,
      ...countsOf(told),
      policy: [],
      summarizer: stored.summarizer,
      summaryTokens,
      archive: { step, location: `step ${step}` },
      failures: [],
    });
    record.addStep({ at, messages, tokens: after, before, compaction: made.index });
  }
}

function sizesByMessage({ entries, stored, summaryTokens }: Told): Sizes {
  const before = stacked(entries, stored.fixed);
  const left = entries.map(({ layer, tokensAfter }) => ({ layer, tokens: tokensAfter }));
  const after = stacked([...left, { layer: "summary", tokens: summaryTokens }], stored.fixed);
  return { before, after, tokensBefore: sum(before), tokensAfter: sum(after) };
}

/** What is stored of the whole; where nothing is, nothing is said to have become less. */
function sizesByTotal({ entries, stored, summaryTokens }: Told): Sizes {
  const parts = stacked(entries, stored.fixed);
  const tokensBefore = stored.tokensBefore ?? sum(parts);
  const tokensAfter = stored.tokensAfter ?? tokensBefore;
  const share = (layer: (typeof MESSAGE_LAYERS)[number]): number => parts[MESSAGE_LAYERS.indexOf(layer)] ?? 0;
  const fixed = [share("tools"), share("system"), share("developer")];
  const hasLess = stored.tokensAfter !== undefined;
  return {
    before: eventLayers(fixed, { summary: share("summary") }, tokensBefore),
    after: eventLayers(fixed, { summary: hasLess ? summaryTokens : share("summary") }, tokensAfter),
    tokensBefore,
    tokensAfter,
  };
}

function countsOf({
  entries,
  stored,
}: Told): Pick<CompactionHead, "messagesBefore" | "messagesAfter" | "fates"> {
  const fates: Partial<Record<Fate, number>> = {};
  for (const { fate } of entries) fates[fate] = (fates[fate] ?? 0) + 1;
  const left = entries.length - (fates.summarized ?? 0) + (stored.text === undefined ? 0 : 1);
  return {
    messagesBefore: entries.length,
    messagesAfter: fates.unknown === undefined ? left : undefined,
    fates,
  };
}

function sum(tokens: readonly number[]): number {
  return tokens.reduce((total, one) => total + one, 0);
}
