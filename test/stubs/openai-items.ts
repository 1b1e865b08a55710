import { createHash } from "node:crypto";
import type { Rejection } from "./answers.ts";
import { firstOf, type Json, textOf } from "./wire.ts";

/** The provider's record of the items it created. */
export interface ItemLedger {
  /** Records new items: the reasoning each depends on, and whether they can be referenced by id. */
  issue(items: readonly Json[], stored: boolean): void;
  /** The reasoning item that must accompany this one. */
  reasoningBefore(id: string): string | undefined;
  isKnown(id: string): boolean;
  encrypt(text: string): string;
  isOwn(encrypted: string): boolean;
  store(responseId: string, items: readonly Json[]): void;
  stored(responseId: string): readonly Json[] | undefined;
}

export function createItemLedger(): ItemLedger {
  const reasoningOf = new Map<string, string>();
  const known = new Set<string>();
  const secrets = new Set<string>();
  const responses = new Map<string, readonly Json[]>();
  return {
    issue: (items, stored) => {
      const reasoning = items.find((item) => item.type === "reasoning");
      const next = reasoning === undefined ? undefined : items[items.indexOf(reasoning) + 1];
      if (reasoning !== undefined && next !== undefined)
        reasoningOf.set(String(next.id), String(reasoning.id));
      if (stored) for (const item of items) known.add(String(item.id));
    },
    reasoningBefore: (id) => reasoningOf.get(id),
    isKnown: (id) => known.has(id),
    encrypt: (text) => {
      const secret = `gAAAAAB${createHash("sha256").update(text).digest("base64")}`;
      secrets.add(secret);
      return secret;
    },
    isOwn: (encrypted) => secrets.has(encrypted),
    store: (responseId, items) => {
      responses.set(responseId, items);
    },
    stored: (responseId) => responses.get(responseId),
  };
}

const TYPES = `message file_search_call computer_call computer_call_output web_search_call function_call
  function_call_output tool_search_call tool_search_output additional_tools configuration_update reasoning compaction
  compaction_trigger image_generation_call code_interpreter_call local_shell_call local_shell_call_output shell_call
  shell_call_output apply_patch_call apply_patch_call_output mcp_list_tools mcp_approval_request
  mcp_approval_response mcp_call custom_tool_call custom_tool_call_output item_reference program
  program_output`.split(/\s+/);
const ROLES = ["assistant", "system", "developer", "user"];

const typeOf = (item: Json): string => textOf(item.type) || (item.role === undefined ? "" : "message");

function bad(message: string, param: string | null = "input", code: string | null = null): Rejection {
  return { status: 400, type: "invalid_request_error", message, param, code };
}

/** OpenAI's validation of a list of input items. */
export function checkItems(items: readonly Json[], ledger: ItemLedger): Rejection | undefined {
  return firstOf([
    () => firstOf(items.map((item, index) => () => checkShape(item, index))),
    () => checkIds(items),
    () => firstOf(items.map((item) => () => checkSeal(item, ledger))),
    () => firstOf(Array.from(items.keys(), (index) => () => checkReasoning(items, index, ledger))),
    () => checkCalls(items),
  ]);
}

function checkShape(item: Json, index: number): Rejection | undefined {
  const type = typeOf(item);
  if (!TYPES.includes(type)) {
    return bad(
      `Invalid value: '${type}'. Supported values are: ${TYPES.map((one) => `'${one}'`).join(", ")}.`,
      `input[${index}].type`,
      "invalid_value",
    );
  }
  if (type !== "message") return undefined;
  if (!ROLES.includes(textOf(item.role))) {
    return bad(
      `Invalid value: '${String(item.role)}'. Supported values are: ${ROLES.map((one) => `'${one}'`).join(", ")}.`,
      `input[${index}].role`,
      "invalid_value",
    );
  }
  const wrong = Array.isArray(item.content)
    ? item.content.findIndex((part: Json) => !partsOf(item.role).includes(textOf(part.type)))
    : -1;
  if (wrong < 0) return undefined;
  const given = textOf((item.content as Json[])[wrong]?.type);
  return bad(
    `Invalid value: '${given}'. Supported values are: ${partsOf(item.role)
      .map((one) => `'${one}'`)
      .join(" and ")}.`,
    `input[${index}].content[${wrong}]`,
    "invalid_value",
  );
}

const partsOf = (role: unknown): readonly string[] =>
  role === "assistant"
    ? ["output_text", "refusal"]
    : ["input_text", "input_image", "input_file", "input_audio"];

function checkIds(items: readonly Json[]): Rejection | undefined {
  const seen = new Set<string>();
  for (const { id } of items) {
    if (typeof id !== "string") continue;
    if (seen.has(id)) {
      return bad(`Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`);
    }
    seen.add(id);
  }
  return undefined;
}

/** A compaction item must come back unchanged. */
function checkSeal(item: Json, ledger: ItemLedger): Rejection | undefined {
  if (item.type !== "compaction" || ledger.isOwn(textOf(item.encrypted_content))) return undefined;
  return bad(
    `The encrypted content for item ${String(item.id)} could not be verified.`,
    null,
    "invalid_encrypted_content",
  );
}

/** A reasoning item and the item it led to must come back together or not at all. */
function checkReasoning(items: readonly Json[], index: number, ledger: ItemLedger): Rejection | undefined {
  const item = items[index] ?? {};
  const id = textOf(item.id);
  const type = typeOf(item);
  if (type !== "reasoning") {
    const needed = id === "" ? undefined : ledger.reasoningBefore(id);
    const there = items.slice(0, index).some((earlier) => earlier.id === needed);
    return needed === undefined || there
      ? undefined
      : bad(
          `Item '${id}' of type '${type}' was provided without its required 'reasoning' item: '${needed}'.`,
        );
  }
  const encrypted = textOf(item.encrypted_content);
  if (encrypted !== "" && !ledger.isOwn(encrypted)) {
    return bad(
      `The encrypted content for item ${id} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
      null,
      "invalid_encrypted_content",
    );
  }
  if (encrypted === "" && !ledger.isKnown(id)) {
    return {
      ...bad(
        `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
      ),
      status: 404,
    };
  }
  const next = typeOf(items[index + 1] ?? {});
  const follows = next !== "" && !next.endsWith("_output") && items[index + 1]?.role !== "user";
  return follows
    ? undefined
    : bad(`Item '${id}' of type 'reasoning' was provided without its required following item.`);
}

function checkCalls(items: readonly Json[]): Rejection | undefined {
  const called = new Set<string>();
  const answered = new Set<string>();
  for (const item of items) {
    const type = typeOf(item);
    const id = textOf(item.call_id);
    if (id === "") continue;
    if (!type.endsWith("_output")) {
      called.add(id);
      continue;
    }
    const what = type === "function_call_output" ? "function call output" : type.replaceAll("_", " ");
    if (!called.has(id)) return bad(`No tool call found for ${what} with call_id ${id}.`);
    answered.add(id);
  }
  const open = [...called].find((id) => !answered.has(id));
  return open === undefined ? undefined : bad(`No tool output found for function call ${open}.`);
}
