import {
  type Check,
  changedBlocks,
  type Fields,
  fields,
  objects,
  repeated,
  string,
} from "./provider-checks-shared.ts";

interface Turn {
  readonly role: string;
  readonly blocks: readonly Fields[];
}

/** Messages without system ones; adjacent ones of one role are merged, as in the API. */
function turnsOf(list: readonly unknown[]): Turn[] {
  const turns: { role: string; blocks: Fields[] }[] = [];
  for (const entry of list) {
    const { role, content } = fields(entry);
    if (role === "system") continue;
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : objects(content);
    const last = turns.at(-1);
    if (last !== undefined && last.role === role) last.blocks.push(...blocks);
    else turns.push({ role: string(role), blocks: [...blocks] });
  }
  return turns;
}

const blocksOf = (list: readonly unknown[]): Fields[] => turnsOf(list).flatMap(({ blocks }) => blocks);
const isThinking = ({ type }: Fields): boolean => type === "thinking" || type === "redacted_thinking";
const isServed = ({ type }: Fields): boolean =>
  type === "server_tool_use" || type === "web_search_tool_result";
const isUse = ({ type }: Fields): boolean => type === "tool_use";
const isResult = ({ type }: Fields): boolean => type === "tool_result";

/** A1 to A8 of the Messages API. */
export const checkAnthropic: Check = (list, original) => {
  const turns = turnsOf(list);
  const blocks = turns.flatMap((turn) => turn.blocks);
  const before = blocksOf(original);
  return [
    ...turns.flatMap((turn, index) => checkTurn(turn, turns[index + 1], turns[index - 1])),
    ...repeated(blocks.filter(isUse).map(({ id }) => string(id))).map((id) => `A1 id ${id} twice`),
    ...checkOpening(turns[0]),
    ...blocks.filter((block) => block.type === "thinking" && !block.signature).map(() => "A3 no signature"),
    ...changedBlocks("A3 thinking", blocks.filter(isThinking), before.filter(isThinking)),
    ...changedBlocks("A5 served", blocks.filter(isServed), before.filter(isServed)),
    ...checkCompaction(list, before),
    ...checkMarks(blocks),
    ...checkResults(blocks.filter(isResult), before.filter(isResult)),
  ];
};

/** A1: a message's results come first in the next message, one per call; A5: pairs of server tools. */
function checkTurn(turn: Turn, next: Turn | undefined, previous: Turn | undefined): string[] {
  if (turn.role !== "assistant") {
    const asked = new Set((previous?.blocks ?? []).filter(isUse).map(({ id }) => id));
    const results = turn.blocks.filter(isResult);
    const ids = results.map((block) => string(block.tool_use_id));
    const late = turn.blocks.findLastIndex(isResult) >= results.length;
    return [
      ...ids.filter((id) => !asked.has(id)).map((id) => `A1 no call for ${id}`),
      ...repeated(ids).map((id) => `A1 result ${id} twice`),
      ...(late ? [`A1 results behind text, ${ids.join(" ")}`] : []),
    ];
  }
  const answered = new Set((next?.blocks ?? []).filter(isResult).map((block) => block.tool_use_id));
  const last = next === undefined || next.blocks.every(isResult);
  const open = turn.blocks
    .filter((block) => isUse(block) && !answered.has(block.id))
    .map(({ id }) => string(id));
  const uses = new Set(turn.blocks.filter(({ type }) => type === "server_tool_use").map(({ id }) => id));
  const found = turn.blocks.filter(({ type }) => type === "web_search_tool_result");
  return [
    ...(last && next === undefined ? [] : open.map((id) => `A1 no result for ${id}`)),
    ...found
      .filter((block) => !uses.has(block.tool_use_id))
      .map((block) => `A5 no use for ${block.tool_use_id}`),
    ...(found.length < uses.size ? [`A5 no result for one of ${[...uses].join(" ")}`] : []),
  ];
}

/** A2: the first message is the user's, or the provider's own compaction, before which it reads nothing. */
function checkOpening(first: Turn | undefined): string[] {
  const begins = first === undefined || first.role === "user" || first.blocks[0]?.type === "compaction";
  return begins ? [] : ["A2 the assistant begins"];
}

/** A6: the newest compaction is present, unchanged, and first in its message. */
function checkCompaction(list: readonly unknown[], before: readonly Fields[]): string[] {
  const newest = before.findLast(({ type }) => type === "compaction");
  if (newest === undefined) return [];
  const holders = list.map((entry) => objects(fields(entry).content));
  const holder = holders.find((blocks) => blocks.some(({ content }) => content === newest.content));
  if (holder === undefined) return ["A6 the newest compaction is gone"];
  return JSON.stringify(holder[0]) === JSON.stringify(newest)
    ? []
    : ["A6 the newest compaction was changed or moved"];
}

/** A7: at most four cache breakpoints. */
function checkMarks(blocks: readonly Fields[]): string[] {
  return blocks.filter((block) => block.cache_control !== undefined).length > 4
    ? ["A7 too many cache marks"]
    : [];
}

/** A8: only the content of a result may change. */
function checkResults(now: readonly Fields[], before: readonly Fields[]): string[] {
  const known = new Map(before.map((block) => [block.tool_use_id, block]));
  return now
    .filter((block) => {
      const { content: _now, ...rest } = block;
      const { content: _before, ...was } = known.get(block.tool_use_id) ?? {};
      return JSON.stringify(rest) !== JSON.stringify(was);
    })
    .map((block) => `A8 result ${block.tool_use_id} changed`);
}
