import type { Format } from "compact-context/internal/core/message";
import { describeRules, type LintOptions, lint, repair } from "compact-context/internal/lint/index";
import type { ConversationOptions } from "./generated-lists.ts";
import { generateNativeList } from "./native-lists.ts";

type Entry = Record<string, unknown>;

/** A list that the provider accepts: system text lifted out if required, at most four cache breakpoints. */
export function validList(format: Format, seed: number, options: ConversationOptions = {}): unknown[] {
  const lifted = format === "anthropic" || format === "gemini";
  const list = generateNativeList(format, seed, { ...options, system: lifted ? false : options.system });
  if (format !== "anthropic") return list;
  const marked = list.flatMap((entry) => {
    const { content } = entry as { content: unknown };
    return Array.isArray(content) ? content.filter((block: object) => "cache_control" in block) : [];
  });
  for (const block of marked.slice(0, -4)) delete block.cache_control;
  return list;
}

const ID_FIELDS = ["id", "call_id", "callId", "tool_call_id", "tool_use_id", "toolCallId"];

/** Every object inside a value, including itself. */
function objectsIn(value: unknown): Entry[] {
  if (typeof value !== "object" || value === null) return [];
  return [...(Array.isArray(value) ? [] : [value as Entry]), ...Object.values(value).flatMap(objectsIn)];
}

type Mutation = (list: unknown[], pick: (length: number) => number) => void;

const remove: Mutation = (list, pick) => void list.splice(pick(list.length), 1);

const swap: Mutation = (list, pick) => {
  const [one, other] = [pick(list.length), pick(list.length)];
  [list[one], list[other]] = [list[other], list[one]];
};

const duplicate: Mutation = (list, pick) => {
  const from = pick(list.length);
  list.splice(pick(list.length + 1), 0, structuredClone(list[from]));
};

const dropId: Mutation = (list, pick) => {
  const holders = objectsIn(list).filter((one) => ID_FIELDS.some((field) => field in one));
  const holder = holders[pick(holders.length)];
  const field = ID_FIELDS.find((name) => holder !== undefined && name in holder);
  if (holder !== undefined && field !== undefined) delete holder[field];
};

const emptyText: Mutation = (list, pick) => {
  const holders = objectsIn(list).filter(
    (one) => typeof one.text === "string" || typeof one.content === "string",
  );
  const holder = holders[pick(holders.length)];
  if (holder !== undefined) holder["text" in holder ? "text" : "content"] = "";
};

const splitBlocks: Mutation = (list, pick) => {
  const wide = list.flatMap((entry, index) => {
    const { content, parts } = (entry ?? {}) as Entry;
    const blocks = Array.isArray(content) ? content : parts;
    return Array.isArray(blocks) && blocks.length > 1
      ? [{ index, field: blocks === parts ? "parts" : "content", blocks }]
      : [];
  });
  const chosen = wide[pick(wide.length)];
  if (chosen === undefined) return remove(list, pick);
  const { index, field, blocks } = chosen;
  const entry = list[index] as Entry;
  list.splice(index, 1, { ...entry, [field]: blocks.slice(0, 1) }, { ...entry, [field]: blocks.slice(1) });
};

const insertGarbage: Mutation = (list, pick) => {
  const garbage = [null, "hello", 7, [], {}, { role: "narrator", content: "x" }, { role: "user" }];
  list.splice(pick(list.length + 1), 0, garbage[pick(garbage.length)]);
};

const ODD_IDS = ["functions.read:0", "call.".repeat(20), "call_1|fc_1", "x".repeat(41), "ünïcode"];

/** Changes an id everywhere, or in one place only, which separates calls from results. */
const oddId: Mutation = (list, pick) => {
  const holders = objectsIn(list).flatMap((one) =>
    ID_FIELDS.filter((field) => typeof one[field] === "string").map((field) => ({ one, field })),
  );
  const chosen = holders[pick(holders.length)];
  if (chosen === undefined) return remove(list, pick);
  const old = chosen.one[chosen.field];
  const id = ODD_IDS[pick(ODD_IDS.length)];
  const everywhere = pick(2) === 0;
  for (const { one, field } of holders) if (everywhere && one[field] === old) one[field] = id;
  chosen.one[chosen.field] = id;
};

/** Truncates the input of a call. */
const cutInput: Mutation = (list, pick) => {
  const fields = ["arguments", "input", "args"];
  const holders = objectsIn(list).filter((one) => fields.some((field) => field in one));
  const holder = holders[pick(holders.length)];
  const field = fields.find((name) => holder !== undefined && name in holder);
  if (holder !== undefined && field !== undefined) holder[field] = ['{"path":"a', "7", [], null][pick(4)];
};

/** Inserts a text message anywhere. */
const interrupt: Mutation = (list, pick) => {
  const role = pick(2) === 0 ? "user" : "assistant";
  const model = list.some((entry) => Array.isArray((entry as Entry | null)?.parts));
  const said = model
    ? { role: role === "user" ? role : "model", parts: [{ text: "stop" }] }
    : { role, content: "stop" };
  list.splice(pick(list.length + 1), 0, said);
};

/** Gives a block or an item the type of another. */
const retype: Mutation = (list, pick) => {
  const holders = objectsIn(list).filter((one) => typeof one.type === "string");
  const types = [...new Set(holders.map((one) => one.type))];
  const holder = holders[pick(holders.length)];
  if (holder !== undefined) holder.type = types[pick(types.length)];
};

const empty: Mutation = (list) => void list.splice(0);

const truncate: Mutation = (list, pick) => void list.splice(1 + pick(list.length));

/** Mutations that keep every block's type. */
export const MUTATIONS: readonly Mutation[] = [
  remove,
  swap,
  duplicate,
  dropId,
  emptyText,
  splitBlocks,
  insertGarbage,
  truncate,
  oddId,
  cutInput,
  interrupt,
];

/** Numbers in [0, 1) that depend only on the seed (the linear congruence of Numerical Recipes). */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A valid list with one to four faults; a deep copy, so lists share no objects. */
export function breakList(
  seed: number,
  format: Format,
  mutations: readonly Mutation[] = [...MUTATIONS, retype],
): unknown[] {
  const random = seededRandom(seed);
  const pick = (length: number): number => Math.floor(random() * Math.max(length, 1));
  const list = structuredClone(validList(format, seed, { reasoning: true, media: seed % 2 === 0, turns: 3 }));
  const count = 1 + pick(4);
  if (pick(200) === 0) empty(list, pick);
  for (let round = 0; round < count; round++) mutations[pick(mutations.length)]?.(list, pick);
  return list;
}

const SETTINGS: readonly LintOptions[] = [{}, { strict: true }, { pendingAllowed: false }];
const mendable = new Set(describeRules().flatMap((rule) => (rule.mend === undefined ? [] : [rule.id])));

/** Faults in the repair of a broken list; empty if it is valid and stable. */
export function faultsOfRepair(format: Format, seed: number): string[] {
  const options = SETTINGS[seed % SETTINGS.length] ?? {};
  const list = breakList(seed, format);
  const before = JSON.stringify(list);
  const isRefused = lint(list, format, options).some(
    ({ rule, severity }) => severity === "error" && mendable.has(rule),
  );
  const { messages, mends } = repair(list, format, options);
  const left = lint(messages, format, options).filter(
    ({ rule, severity }) => severity === "error" || mendable.has(rule),
  );
  const again = repair(messages, format, options);
  return [
    ...left.map(({ rule, path }) => `left: ${rule} ${path}`),
    ...again.mends.map(({ rule, index }) => `mended again: ${rule} ${index}`),
    ...(again.messages.some((entry, index) => entry !== messages[index]) ? ["changed again"] : []),
    ...(isRefused && mends.length === 0 ? ["nothing was mended"] : []),
    ...(JSON.stringify(list) === before ? [] : ["the list that was given changed"]),
  ];
}
