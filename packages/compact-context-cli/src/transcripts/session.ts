import type { Message } from "compact-context";
import type { MessageMeta } from "compact-context/internal/core/message";
import { defined, type JsonRecord, numberOf, recordOf } from "./json.ts";
import type { CompactedSession, EarlierCompaction, Segment, UsageRecord, UsageSource } from "./transcript.ts";

const SUMMARY_MARK = /^\s*<COMPACT-SUMMARY v(\d{1,9})>/;

/** The message with these facts added to its meta; facts that are undefined are left as they were. */
export function withMeta(message: Message, facts: MessageMeta): Message {
  const known = defined(facts);
  if (Object.keys(known).length === 0) return message;
  return { ...message, meta: { ...message.meta, ...known } };
}

/** Notes the version of a summary of ours that is read back. */
export function withSummaryVersion(message: Message): Message {
  const first = message.parts[0];
  const version = first?.type === "text" ? SUMMARY_MARK.exec(first.text)?.[1] : undefined;
  return version === undefined ? message : withMeta(message, { summaryVersion: Number(version) });
}

/** Takes the summary out of the compacted list: its text, what is kept before it and what after. */
export function splitAtSummary(compacted: CompactedSession): {
  readonly before: readonly Message[];
  readonly summary: string | undefined;
  readonly after: readonly Message[];
} {
  const { messages, summary } = compacted;
  const index = messages.findLastIndex((message) => isSummary(message, summary));
  if (index < 0) return { before: [], summary: summary?.text, after: messages };
  return {
    before: messages.slice(0, index),
    summary: textsOf(messages[index]),
    after: messages.slice(index + 1),
  };
}

function isSummary(message: Message, summary: CompactedSession["summary"]): boolean {
  if (message.meta?.summaryVersion !== undefined) return true;
  return message.native === undefined && summary !== undefined && textsOf(message) === summary.text;
}

function textsOf(message: Message | undefined): string {
  const parts = message?.parts ?? [];
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** One segment of everything, for formats that know no compaction of their own. */
export function singleSegment(messages: readonly Message[]): readonly Segment[] {
  return [{ messages: messages.map(withSummaryVersion), carried: 0 }];
}

/** Where a segment ends: the compaction, placed after all that is new in the segments so far. */
export function endSegment(
  segments: Segment[],
  segment: Segment,
  compaction: Omit<EarlierCompaction, "at">,
): EarlierCompaction {
  const earlier = segments.reduce((sum, one) => sum + one.messages.length - one.carried, 0);
  const endedBy = { ...compaction, at: earlier + segment.messages.length - segment.carried };
  segments.push({ ...segment, endedBy });
  return endedBy;
}

/** Which fields of a provider's record make up the prompt (added together) and the output. */
const USAGE_FIELDS: Readonly<
  Record<UsageSource, readonly [prompt: readonly string[], output: readonly string[]]>
> = {
  anthropic: [["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"], ["output_tokens"]],
  "openai-chat": [["prompt_tokens"], ["completion_tokens"]],
  "openai-responses": [["input_tokens"], ["output_tokens"]],
  gemini: [["promptTokenCount"], ["candidatesTokenCount", "thoughtsTokenCount"]],
  langchain: [["input_tokens"], ["output_tokens"]],
  codex: [["input_tokens"], ["output_tokens"]],
  pi: [["input", "cacheRead", "cacheWrite"], ["output"]],
  // Its output has the reasoning in it: `total` is the sum of these four.
  opencode: [["input", "cache.read", "cache.write"], ["output"]],
  "gemini-cli": [
    ["input", "tool"],
    ["output", "thoughts"],
  ],
  cline: [["inputTokens"], ["outputTokens"]],
  "copilot-cli": [[], ["outputTokens"]],
};

/** A usage record of message `index` in `segment`; undefined when the provider reported nothing or all zeros. */
export function usageRecord(
  source: UsageSource,
  usage: unknown,
  place: { readonly segment: number; readonly index: number },
): UsageRecord | undefined {
  const record = recordOf(usage);
  const [promptFields, outputFields] = USAGE_FIELDS[source];
  const promptTokens = sumOf(record, promptFields);
  const outputTokens = sumOf(record, outputFields);
  if ((promptTokens ?? 0) + (outputTokens ?? 0) === 0) return undefined;
  return { ...place, usage, source, promptTokens, outputTokens };
}

function sumOf(record: JsonRecord, fields: readonly string[]): number | undefined {
  let sum: number | undefined;
  for (const field of fields) {
    const value = numberOf(field.split(".").reduce<unknown>((inner, key) => recordOf(inner)[key], record));
    if (value !== undefined) sum = (sum ?? 0) + value;
  }
  return sum;
}
