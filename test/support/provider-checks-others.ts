import {
  type Check,
  changedBlocks,
  checkPairing,
  type Fields,
  fields,
  objects,
  string,
} from "./provider-checks-shared.ts";

const isUser = ({ role }: Fields): boolean => role === "user" || role === "system" || role === "developer";

/** C1, C2 and C4 of Chat Completions. */
export const checkChat: Check = (list, original) => {
  const entries = list.map(fields);
  const found = entries.flatMap((entry, index) => {
    if (entry.role !== "assistant") return [];
    const calls = objects(entry.tool_calls).map(({ id }) => string(id));
    const behind = entries.slice(index + 1);
    const end = behind.findIndex(({ role }) => role !== "tool");
    const answers = (end === -1 ? behind : behind.slice(0, end)).map((one) => string(one.tool_call_id));
    const waiting = new Set(end === -1 ? calls : []);
    const empty = (entry.content ?? null) === null && calls.length === 0;
    return [
      ...checkPairing("C1", { calls, results: answers, waiting }),
      ...(empty ? ["C2 neither content nor calls"] : []),
    ];
  });
  const orphans = entries.flatMap((entry, index) => {
    if (entry.role !== "tool") return [];
    const caller = entries.slice(0, index).findLast(({ role }) => role !== "tool");
    const known = objects(caller?.tool_calls).some(({ id }) => id === entry.tool_call_id);
    return known ? [] : [`C1 no call for ${string(entry.tool_call_id)}`];
  });
  return [...found, ...orphans, ...checkThoughts(entries, original.map(fields))];
};

/** C4: a kept call has its original reasoning, or all calls of the open loop have lost theirs. */
function checkThoughts(entries: readonly Fields[], before: readonly Fields[]): string[] {
  const thoughts = new Map<string, unknown>();
  for (const entry of before) {
    for (const { id } of objects(entry.tool_calls)) thoughts.set(string(id), entry.reasoning_content);
  }
  const callers = entries
    .slice(entries.findLastIndex(isUser) + 1)
    .filter((entry) => objects(entry.tool_calls).length);
  const lost = callers.filter((entry) => {
    const was = thoughts.get(string(objects(entry.tool_calls)[0]?.id));
    return was !== entry.reasoning_content;
  });
  const thinking = callers.filter((entry) => entry.reasoning_content !== undefined);
  return lost.length > 0 && thinking.length > 0
    ? ["C4 some calls of the open loop lost their reasoning"]
    : [];
}

const callsOf = (entry: Fields | undefined): Fields[] =>
  objects(entry?.parts).filter((part) => part.functionCall !== undefined);
const responsesOf = (entry: Fields | undefined): Fields[] =>
  objects(entry?.parts).filter((part) => part.functionResponse !== undefined);

/** M1 to M3 of Gemini. */
export const checkGemini: Check = (list, original) => {
  const entries = list.map(fields).filter(({ role }) => role !== "system");
  const names = (parts: readonly Fields[], key: string): string =>
    parts.map((part) => string(fields(part[key]).name)).join(" ");
  const unequal = entries.flatMap((entry, index) => {
    const [next, previous] = [entries[index + 1], entries[index - 1]];
    const calls = callsOf(entry);
    if (responsesOf(entry).length > 0 && callsOf(previous).length === 0)
      return [`M1 responses without calls`];
    if (calls.length === 0 || next === undefined) return [];
    const [asked, answered] = [names(calls, "functionCall"), names(responsesOf(next), "functionResponse")];
    const waits = entries[index + 2] === undefined && asked.startsWith(answered) && answered !== "";
    return asked === answered || waits ? [] : [`M1 ${asked} answered by ${answered}`];
  });
  const first = entries[0];
  const wrongStart = first !== undefined && (first.role !== "user" || responsesOf(first).length > 0);
  return [
    ...unequal,
    ...checkSignatures(entries, original.map(fields)),
    ...(wrongStart ? ["M3 does not start with the user"] : []),
  ];
};

/** M2: a call keeps its original signature. */
function checkSignatures(entries: readonly Fields[], before: readonly Fields[]): string[] {
  const key = ({ functionCall, thoughtSignature }: Fields): string =>
    `${string(fields(functionCall).name)} ${string(thoughtSignature)}`;
  const count = (list: readonly Fields[]): Map<string, number> => {
    const counts = new Map<string, number>();
    for (const part of list.flatMap(callsOf)) counts.set(key(part), (counts.get(key(part)) ?? 0) + 1);
    return counts;
  };
  const known = count(before);
  return [...count(entries)]
    .filter(([one, times]) => times > (known.get(one) ?? 0))
    .map(([one]) => `M2 ${one}`);
}

/** V1 of the AI SDK: approvals and calls are pruned together. */
export const checkAiSdk: Check = (list, original) => {
  const entries = list.map(fields);
  const blocks = entries.flatMap(({ content }) => objects(content));
  const ofType = (type: string): Fields[] => blocks.filter((block) => block.type === type);
  const [requests, responses] = [ofType("tool-approval-request"), ofType("tool-approval-response")];
  const asked = new Set(requests.map(({ approvalId }) => approvalId));
  const calls = ofType("tool-call");
  const ids = new Set(calls.map(({ toolCallId }) => toolCallId));
  const behind = entries.slice(entries.findLastIndex(isUser) + 1).flatMap(({ content }) => objects(content));
  const isServed = ({ providerExecuted, toolName }: Fields): boolean =>
    providerExecuted === true || toolName === "web_search";
  return [
    ...responses.filter((one) => !asked.has(one.approvalId)).map((one) => `V1 no request ${one.approvalId}`),
    ...requests.filter((one) => !ids.has(one.toolCallId)).map((one) => `V1 no call ${one.toolCallId}`),
    ...changedBlocks(
      "V1 served",
      blocks.filter(isServed),
      original.flatMap((entry) => objects(fields(entry).content)).filter(isServed),
    ),
    ...checkPairing("V1", {
      calls: calls.map((call) => string(call.toolCallId)),
      results: ofType("tool-result").map((result) => string(result.toolCallId)),
      waiting: new Set(behind.map(({ toolCallId }) => string(toolCallId))),
    }),
  ];
};

const kwargsOf = (entry: unknown): Fields => fields(fields(entry).kwargs ?? entry);
const kindOf = (entry: unknown): string => {
  const { id } = fields(entry);
  return Array.isArray(id) ? string(id.at(-1)) : "";
};

/** L3 and L5 of LangChain. */
export const checkLangchain: Check = (list, original) => {
  const known = new Set(original.map((entry) => kwargsOf(entry).id));
  const isSummary = (entry: unknown): boolean =>
    JSON.stringify(kwargsOf(entry).content).includes("<COMPACT-SUMMARY v");
  const ids = list.map((entry) => kwargsOf(entry).id);
  const foreign = list.filter((entry, index) => !isSummary(entry) && !known.has(ids[index]));
  const tail = list.slice(list.findLastIndex((entry) => /^(Human|System)/.test(kindOf(entry))) + 1);
  const calls = (entries: readonly unknown[]): string[] =>
    entries.flatMap((entry) => objects(kwargsOf(entry).tool_calls).map(({ id }) => string(id)));
  return [
    ...foreign.map((entry) => `L3 ${kindOf(entry)} ${string(kwargsOf(entry).id)} is new`),
    ...checkPairing("L5", {
      calls: calls(list),
      results: list
        .filter((entry) => kindOf(entry) === "ToolMessage")
        .map((one) => string(kwargsOf(one).tool_call_id)),
      waiting: new Set(calls(tail)),
    }),
  ];
};

/** G1 of pi: every call has its result; signed thinking is unchanged. */
export const checkPi: Check = (list, original) => {
  const entries = list.map(fields);
  const blocks = (all: readonly Fields[], type: string): Fields[] =>
    all.flatMap(({ content }) => objects(content)).filter((block) => block.type === type);
  const tail = entries.slice(entries.findLastIndex(isUser) + 1);
  return [
    ...changedBlocks("G1 thinking", blocks(entries, "thinking"), blocks(original.map(fields), "thinking")),
    ...checkPairing("G1", {
      calls: blocks(entries, "toolCall").map(({ id }) => string(id)),
      results: entries
        .filter(({ role }) => role === "toolResult")
        .map(({ toolCallId }) => string(toolCallId)),
      waiting: new Set(blocks(tail, "toolCall").map(({ id }) => string(id))),
    }),
  ];
};
