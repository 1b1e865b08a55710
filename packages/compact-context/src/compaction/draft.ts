import type { Message } from "../messages/message.ts";
import type { KeepCounts, Partition } from "../policy/partition.ts";
import { partition } from "../policy/partition.ts";
import type { TokenCounter } from "../tokens/counter.ts";
import { newestTypedAsk } from "./ask.ts";
import { summaryMessage } from "./assemble.ts";
import { type Edit, type EditContext, losesText } from "./edit.ts";

/** What a plan is made from; counts are tokens of `counter`. */
export interface PlanInput {
  readonly messages: readonly Message[];
  readonly counter: TokenCounter;
  readonly fixedTokens: number;
  readonly budget: number;
  /** Aim; may be missed when what must stay is larger. Without it everything eligible is summarized. */
  readonly target?: number | undefined;
  /** Below this the next compaction is far enough away: the keep counts are lowered until it is reached, or to their floor. */
  readonly preferred?: number;
  readonly keep: KeepCounts;
  readonly clearToolResults: boolean;
  readonly onOverflow: "error" | "elide";
  /** The model takes signed reasoning back only behind an unchanged prefix. */
  readonly reasoningBound?: boolean;
  /** Most tokens of the summary's text. */
  readonly maxSummaryTokens: number;
  /** Most bytes of the request on the wire; see `wireBytes`. */
  readonly maxBytes?: number;
  readonly archiveId?: (message: Message) => string;
  /** Tool answers that stay whole while there is room: the model has just asked for them. */
  readonly recalled?: ReadonlySet<Message>;
}

/** What stays and what it costs, before it is told as a plan. */
export interface Draft {
  readonly partition: Partition;
  readonly keep: KeepCounts;
  readonly relaxed: number;
  /** Index of the newest message in which the user asks for something; -1 where there is none. */
  readonly ask: number;
  /** Tokens of what no compaction touches: beside the messages, and those that are pinned. */
  readonly pinnedTokens: number;
  /** One edit per kept message that is changed. */
  readonly edits: ReadonlyMap<number, Edit>;
  readonly kept: ReadonlySet<number>;
  readonly costs: readonly number[];
}

/** A summary message without its text; a constant, so that it is counted once. */
const EMPTY_SUMMARY = summaryMessage({ version: 99, text: "" }, "assistant");

/** Tokens of a summary message beside its text: tags, role, per-message overhead, two for how texts join. */
export function summaryOverhead(counter: TokenCounter): number {
  return counter.countMessage(EMPTY_SUMMARY) + 2;
}

/** Least room worth a summary. */
export const MIN_SUMMARY_TOKENS = 64;
/** A summary needs its tags and framing, which alone would fill less room than this. */
const TINY_ROOM = 256;

/** Keeps all that the keep counts keep, as it is. */
export function draftOf(
  input: PlanInput,
  keep: KeepCounts,
  { relaxed, costs }: Pick<Draft, "relaxed" | "costs">,
): Draft {
  const ask = newestTypedAsk(input.messages);
  const parts = partition(input.messages, keep, ask);
  const pinned = indexesOf(parts, (layer) => layer === "pinned");
  const kept = new Set(indexesOf(parts, (layer) => layer !== "remainder"));
  const pinnedTokens = input.fixedTokens + sum(pinned, costs);
  return { partition: parts, keep, relaxed, ask, pinnedTokens, edits: new Map(), kept, costs };
}

function indexesOf({ layers }: Partition, wanted: (layer: Partition["layers"][number]) => boolean): number[] {
  return layers.flatMap((layer, index) => (wanted(layer) ? [index] : []));
}

/** Least tokens of the result: all that is kept, and a small summary where something goes or is emptied. */
export function floorOf(input: PlanInput, draft: Draft): number {
  // A few dozen tokens hold the newest ask and nothing else; without one the summary opens the list.
  const askAlone = isTiny(input, draft) && opensWithUser(input, draft);
  const room = askAlone ? 0 : MIN_SUMMARY_TOKENS + summaryOverhead(input.counter);
  const summary = needsSummary(input, draft) ? room : 0;
  return input.fixedTokens + sum(draft.kept, draft.costs) + summary;
}

/** True where what is pinned leaves too little for a summary beside the newest ask. */
export function isTiny({ budget }: PlanInput, { pinnedTokens }: Draft): boolean {
  return budget - pinnedTokens < TINY_ROOM;
}

function opensWithUser({ messages }: PlanInput, { kept }: Draft): boolean {
  const first = messages.find(
    ({ role }, index) => kept.has(index) && role !== "system" && role !== "developer",
  );
  return first?.role === "user";
}

/** A summary tells what was dropped, and what emptied results and cut texts held. */
export function needsSummary(input: PlanInput, draft: Draft): boolean {
  if (draft.kept.size < input.messages.length) return true;
  return [...draft.edits.values()].some(losesText);
}

/** Where less than this share of a list can remain, a summary tells more of it than its newest words do. */
const TIGHT_SHARE = 0.05;

/** True where so little of the list can remain that its summary comes before its newest words. */
export function isTight(input: PlanInput, { costs }: Draft, limit: number): boolean {
  return limit < TIGHT_SHARE * costs.reduce((total, cost) => total + cost, input.fixedTokens);
}

/** Tokens of the messages at these indexes. */
export function sum(indexes: Iterable<number>, costs: readonly number[]): number {
  let total = 0;
  for (const index of indexes) total += costs[index] ?? 0;
  return total;
}

/** What edits of the planned messages are made with. */
export function editContext(input: PlanInput): EditContext {
  const countText = (text: string): number => input.counter.countText(text);
  return input.archiveId === undefined ? { countText } : { countText, archiveId: input.archiveId };
}
