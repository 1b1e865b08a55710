import type { RunningSummary } from "../core/manager.ts";
import { type Message, messageText, toolCalls, toolResults } from "../core/message.ts";
import { groupUnits } from "../core/units.ts";
import { CompactError } from "../errors.ts";

/** A message of the caller's list, what it costs, and whether its id is its own. */
export interface ListedMessage {
  readonly message: Message;
  /** Where it stands in the caller's list. */
  readonly index: number;
  readonly tokens: number;
  /** The id was made from the content: another message may get the same. */
  readonly minted: boolean;
}

/** The summary so far, and the whole text of the message that shows it. */
export interface ShownSummary extends RunningSummary {
  readonly shown: string;
}

/** A shorter summary may stand in any message by chance; a longer one is recognised whatever was put around it. */
const UNMISTAKABLE = 40;

export interface RunningLimits {
  readonly maxTokens: number;
  readonly maxTokensBeforeSummary: number;
  readonly maxSummaryTokens: number;
}

/** Which messages a summary is to be made of and which stay. */
export interface RunningSelection {
  /** The system message at the head, when it is not the summary itself. */
  readonly system: ListedMessage | undefined;
  readonly summarize: readonly ListedMessage[];
  readonly stay: readonly ListedMessage[];
}

/**
 * Takes messages from the oldest on until the threshold is passed and the rest fits. Calls go with their results,
 * wherever those stand; calls that are still open, and the newest thing that the user said, stay. Throws
 * `InvalidMessages` for a message that was summarized already, `InsufficientBudget` when what must stay does not fit.
 */
export function selectMessages(
  listed: readonly ListedMessage[],
  running: ShownSummary | undefined,
  limits: RunningLimits,
): RunningSelection {
  const { system, rest } = splitHead(listed, running);
  const candidates = notYetSummarized(rest, running);
  const total = sum(candidates);
  const room = limits.maxTokens - limits.maxSummaryTokens - (system?.tokens ?? 0);
  if (candidates.length === 0 || total < limits.maxTokensBeforeSummary)
    return { system, summarize: [], stay: candidates };
  for (const held of heldBack(candidates)) {
    const chosen = choose(candidates, held, { room, threshold: limits.maxTokensBeforeSummary });
    if (chosen !== undefined) return { system, ...chosen };
  }
  const enough = running === undefined ? limits.maxTokens - (system?.tokens ?? 0) : room;
  if (total <= enough) return { system, summarize: [], stay: candidates };
  throw new CompactError(
    "InsufficientBudget",
    `what must stay does not fit ${limits.maxTokens} tokens beside a summary of ${limits.maxSummaryTokens}`,
    { hint: "Raise maxTokens, lower maxSummaryTokens, or shorten the system message or the newest request." },
  );
}

/** The leading system message, and the list without it and without the summary that an earlier call put there. */
function splitHead(
  listed: readonly ListedMessage[],
  running: ShownSummary | undefined,
): { readonly system: ListedMessage | undefined; readonly rest: readonly ListedMessage[] } {
  const told = ({ message }: ListedMessage): boolean => {
    if (running === undefined || running.summary === "") return false;
    const text = messageText(message);
    return (
      text === running.shown || (running.summary.length >= UNMISTAKABLE && text.includes(running.summary))
    );
  };
  let head = 0;
  while (isSystem(listed[head]) && (head === 0 || isTold(listed[head], told))) head += 1;
  const system = listed.slice(0, head).find((entry) => !told(entry));
  const rest = listed.slice(head);
  const [first] = rest;
  // A summary may have another role than system.
  const repeated = first !== undefined && first.message.role !== "tool" && told(first) && head <= 1;
  return { system, rest: repeated ? rest.slice(1) : rest };
}

function isTold(entry: ListedMessage | undefined, told: (entry: ListedMessage) => boolean): boolean {
  return entry !== undefined && told(entry);
}

function isSystem(entry: ListedMessage | undefined): boolean {
  return entry?.message.role === "system" || entry?.message.role === "developer";
}

function notYetSummarized(
  rest: readonly ListedMessage[],
  running: RunningSummary | undefined,
): readonly ListedMessage[] {
  if (running === undefined) return rest;
  const done = new Set(running.summarizedMessageIds);
  const reached = rest.findLastIndex((entry) => entry.message.id === running.lastSummarizedMessageId) + 1;
  const carried = rest.slice(0, reached).filter((entry) => !done.has(entry.message.id));
  const fresh = rest.slice(reached);
  const again = fresh.find((entry) => done.has(entry.message.id) && !entry.minted);
  if (again !== undefined) {
    throw new CompactError("InvalidMessages", `message ${again.message.id} has already been summarized`, {
      place: `messages[${again.index}]`,
      hint: "Ids are unique in a conversation; give the new message its own.",
    });
  }
  return [...carried, ...fresh];
}

/** What stays whatever it costs, the most first: the newest ask with its answer, then the ask alone; open calls in both. */
function heldBack(candidates: readonly ListedMessage[]): readonly ReadonlySet<number>[] {
  const asked = candidates.findLastIndex((entry) => isAsk(entry.message));
  const last = candidates.length - 1;
  const newest = candidates[last]?.message;
  const answered = newest?.role === "assistant" && toolCalls(newest).length === 0 && last > asked;
  const ask = asked < 0 ? [] : [asked];
  return answered && asked >= 0 ? [new Set([...ask, last]), new Set(ask)] : [new Set(ask)];
}

function isAsk(message: Message): boolean {
  return message.role === "user" && message.meta?.synthetic !== true && toolResults(message).length === 0;
}

function choose(
  candidates: readonly ListedMessage[],
  held: ReadonlySet<number>,
  { room, threshold }: { readonly room: number; readonly threshold: number },
): Pick<RunningSelection, "summarize" | "stay"> | undefined {
  const withOthers = companions(candidates, held);
  const taken = new Set<number>();
  let passed = 0;
  let left = sum(candidates);
  for (const [index, entry] of candidates.entries()) {
    passed += entry.tokens;
    for (const member of withOthers.get(index) ?? []) {
      if (!taken.has(member)) left -= candidates[member]?.tokens ?? 0;
      taken.add(member);
    }
    if (passed < threshold || left > room || taken.size === 0) continue;
    return {
      summarize: candidates.filter((_, at) => taken.has(at)),
      stay: candidates.filter((_, at) => !taken.has(at)),
    };
  }
  return undefined;
}

/** By position, what leaves together with a message; nothing for one that stays or waits for a result. */
function companions(
  candidates: readonly ListedMessage[],
  held: ReadonlySet<number>,
): ReadonlyMap<number, readonly number[]> {
  const units = groupUnits(candidates.map((entry) => entry.message));
  return new Map(
    units
      .filter((unit) => unit.open === 0)
      .flatMap((unit) => {
        const members = unit.indexes.filter((index) => !held.has(index));
        return members.map((index) => [index, members] as const);
      }),
  );
}

function sum(entries: readonly ListedMessage[]): number {
  return entries.reduce((total, entry) => total + entry.tokens, 0);
}
