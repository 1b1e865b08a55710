import { checkPairing, type Fields, fields, repeated, string } from "./provider-checks-shared.ts";

const isReasoning = ({ type }: Fields): boolean => type === "reasoning";
const isCompaction = ({ type }: Fields): boolean => type === "compaction";
const isOutput = ({ type }: Fields): boolean => /_(output|result)$/.test(string(type));

/** An item's type in the Responses API; the Agents SDK keeps hosted items in `providerData`. */
function wireType(item: Fields): string {
  return item.type === "hosted_tool_call" ? string(fields(item.providerData).type) : string(item.type);
}

/** R1 to R6 of the Responses API and of the Agents SDK; V1 for hosted tools that require approval. */
export function checkItems(
  list: readonly unknown[],
  original: readonly unknown[],
  callId: "call_id" | "callId",
): string[] {
  const items = list.map(fields);
  const before = original.map(fields);
  const idOf = (item: Fields): string => string(item[callId]);
  const calls = items.filter(({ type }) => type === "function_call").map(idOf);
  const lastSpoken = items.findLastIndex(({ role }) => role === "user");
  const tail = items.slice(lastSpoken + 1);
  const lastCall = tail.findLastIndex((item) => item.role === "assistant" || isReasoning(item));
  const waiting = tail.slice(lastCall + 1).filter(({ type }) => type === "function_call");
  return [
    ...checkPairing("R2", {
      calls,
      results: items.filter(isOutput).map(idOf),
      waiting: new Set(waiting.map(idOf)),
    }),
    ...checkReasoning(items, before, idOf),
    ...checkCompaction(items, before),
    ...repeated(items.map(({ id }) => string(id)).filter((id) => id !== "")).map((id) => `R6 id ${id} twice`),
    ...checkFields(items, before),
    ...checkApprovals(items),
  ];
}

/** R1: a reasoning item is followed by the same item as before. */
function checkReasoning(
  items: readonly Fields[],
  before: readonly Fields[],
  idOf: (item: Fields) => string,
): string[] {
  const nameOf = (item: Fields | undefined): string =>
    item === undefined ? "nothing" : `${string(item.type)} ${idOf(item) || string(item.id)}`;
  const followers = new Map<string, string>();
  before.forEach((item, index) => {
    if (isReasoning(item)) followers.set(string(item.id), nameOf(before[index + 1]));
  });
  return items.flatMap((item, index) => {
    if (!isReasoning(item) || items[index + 1] === undefined) return [];
    const [wanted, found] = [followers.get(string(item.id)), nameOf(items[index + 1])];
    return wanted === found ? [] : [`R1 ${string(item.id)} is followed by ${found}, not ${wanted}`];
  });
}

/** R5: the newest compaction is present and unchanged. */
function checkCompaction(items: readonly Fields[], before: readonly Fields[]): string[] {
  const newest = before.findLast(isCompaction);
  if (newest === undefined) return [];
  const kept = items.filter(isCompaction);
  if (JSON.stringify(kept.at(-1)) === JSON.stringify(newest)) return [];
  return [kept.length === 0 ? "R5 the newest compaction is gone" : "R5 another compaction is the newest"];
}

const TEXTS = new Set(["output", "arguments", "content"]);

/** R6: fields other than text are unchanged. Only an item whose reasoning was dropped loses its id. */
function checkFields(items: readonly Fields[], before: readonly Fields[]): string[] {
  const rest = (item: Fields): string =>
    JSON.stringify(Object.entries(item).filter(([key]) => !TEXTS.has(key)));
  const left = new Set(before.filter(isReasoning).map(({ id }) => string(id)));
  for (const item of items.filter(isReasoning)) left.delete(string(item.id));
  const stays = new Set(items.map((item) => JSON.stringify(item)));
  const ends = (item: Fields): boolean =>
    isOutput(item) || (item.role === "user" && stays.has(JSON.stringify(item)));
  const known = new Set([...before.map(rest), ...bareItems(before, left, ends).map(rest)]);
  return items
    .filter((item) => !isSummary(item) && !known.has(rest(item)))
    .map((item) => `R6 fields of ${string(item.type)} ${string(item.id)} changed`);
}

/**
 * The model's items after dropped reasoning, without the ids by which the provider would look it up. A user message that left
 * does not end them.
 */
function bareItems(
  before: readonly Fields[],
  left: ReadonlySet<string>,
  ends: (item: Fields) => boolean,
): Fields[] {
  let isBare = false;
  return before.flatMap((item) => {
    if (isReasoning(item)) isBare = left.has(string(item.id));
    else if (ends(item)) isBare = false;
    const { id: _, ...rest } = item;
    return isBare && !isReasoning(item) ? [rest] : [];
  });
}

function isSummary(item: Fields): boolean {
  return JSON.stringify(item.content ?? "").includes("<COMPACT-SUMMARY v");
}

/** V1: an approval response and the call's outcome follow the approval request. */
function checkApprovals(items: readonly Fields[]): string[] {
  const requests = new Set<string>();
  return items.flatMap((item) => {
    const type = wireType(item);
    if (type === "mcp_approval_request") requests.add(string(item.id));
    const request = string(item.approval_request_id ?? fields(item.providerData).approval_request_id);
    return request === "" || requests.has(request) ? [] : [`V1 ${type} without ${request}`];
  });
}
