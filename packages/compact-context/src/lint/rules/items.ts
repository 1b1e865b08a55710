import { type Format, isCompactionType } from "../../core/message.ts";
import { isObject } from "../../errors.ts";
import type { Entry, ReadList } from "../entries.ts";
import { pairCalls } from "../pairs.ts";
import { at, atEntry, type Rule, typeOf } from "../rule.ts";

const FORMATS: readonly Format[] = ["openai-responses", "openai-agents"];
const STATE = "https://platform.openai.com/docs/guides/conversation-state";
const REASONING = "https://cookbook.openai.com/examples/responses_api/reasoning_items";
const COMPACTION = 'OpenAI: "Compaction", /responses/compact';

/** Items of the Responses API and of the Agents SDK. */
export const ITEM_RULES: readonly Rule[] = [
  {
    id: "items/reasoning-followed",
    formats: FORMATS,
    severity: "error",
    explanation: "A reasoning item must be followed by the message or call that it led to.",
    link: STATE,
    mend: "The reasoning item is dropped.",
    check: (list) => danglingReasoning(list).map((entry) => atEntry(entry)),
  },
  {
    id: "items/output-type",
    formats: FORMATS,
    severity: "error",
    explanation: "The output is of another type than its call.",
    link: 'OpenAI API reference: "Create a model response", input items',
    check: (list) =>
      pairCalls(list).calls.flatMap(({ cell, result }) => {
        if (result === undefined || isMatching(typeOf(cell.value), typeOf(result.cell.value))) return [];
        return [
          at(
            result.entry,
            `${result.cell.path}.type`,
            `"${typeOf(result.cell.value)}" does not answer a "${typeOf(cell.value)}"`,
          ),
        ];
      }),
  },
  {
    id: "items/compaction-newest",
    formats: FORMATS,
    severity: "warning",
    explanation: "Only the newest compaction item counts; older ones are paid for and say nothing.",
    link: COMPACTION,
    check: ({ entries }) => {
      const compactions = entries.filter((entry) => isCompaction(entry.native));
      return compactions.slice(0, -1).map((entry) => atEntry(entry));
    },
  },
  {
    id: "items/compaction-sealed",
    formats: FORMATS,
    severity: "error",
    explanation: "A compaction item without its encrypted content holds nothing.",
    link: COMPACTION,
    mend: "The item is dropped.",
    check: ({ entries }) =>
      entries.filter((entry) => isEmptyCompaction(entry.native)).map((entry) => atEntry(entry)),
  },
  {
    id: "items/sealed-for-other-model",
    formats: FORMATS,
    severity: "warning",
    explanation: "Encrypted content can only be read by the model that made it (with `model`).",
    link: REASONING,
    check: ({ entries }, { model }) =>
      model === undefined
        ? []
        : entries
            .filter(
              ({ native }) => isSealed(native) && modelOf(native) !== undefined && modelOf(native) !== model,
            )
            .map((entry) => atEntry(entry, `sealed by ${modelOf(entry.native)}, to be sent to ${model}`)),
  },
];

/** Reasoning items that nothing of the assistant follows. */
export function danglingReasoning({ entries }: ReadList): Entry[] {
  return entries.filter(({ native }, index) => {
    if (typeOf(native) !== "reasoning") return false;
    const next = entries[index + 1];
    return next === undefined || next.message.role !== "assistant" || isCompaction(next.native);
  });
}

/** Some hosts answer a call of the local shell as if it were a function. */
function isMatching(call: string, output: string): boolean {
  const answered = output.replace(/_(output|result)$/, "");
  if (call === output || !call.endsWith("_call")) return true;
  return answered === call || (call === "local_shell_call" && answered === "function_call");
}

function isCompaction(native: unknown): boolean {
  return isCompactionType(typeOf(native));
}

/** True for a compaction item without its content. */
export function isEmptyCompaction(native: unknown): boolean {
  return isCompaction(native) && !isSealed(native);
}

function isSealed(native: unknown): boolean {
  if (!isObject(native)) return false;
  const data = isObject(native.providerData) ? native.providerData : {};
  return [native, data].some((bag) =>
    [bag.encrypted_content, bag.encryptedContent].some((seal) => typeof seal === "string" && seal !== ""),
  );
}

function modelOf(native: unknown): string | undefined {
  if (!isObject(native)) return undefined;
  const data = isObject(native.providerData) ? native.providerData : {};
  return [native.model, data.model].find((model) => typeof model === "string");
}
