import type { MessageMeta, Role } from "../core/message.ts";
import { CompactError, defined, errorMessage, isObject, kindOf, requireList } from "../errors.ts";

export type NativeObject = Readonly<Record<string, unknown>>;

/** The value if it is an object, otherwise an empty object. */
export function objectOf(value: unknown): NativeObject {
  return isObject(value) ? value : {};
}

/** Throws `InvalidMessages` unless every entry is a neutral message. */
export function requireMessages(messages: readonly unknown[]): void {
  requireList(messages);
  const wrong = readNative("messages", () =>
    messages.findIndex((message) => !Array.isArray(objectOf(message).parts)),
  );
  if (wrong === -1) return;
  throw invalidMessages(`messages[${wrong}]`, "is no neutral message", "Pass what decode gave back.");
}

/** `InvalidMessages` for the entry at `place`, such as `messages[3].content[0].type`. */
export function invalidMessages(place: string, problem: string, hint: string): CompactError {
  return new CompactError("InvalidMessages", `${place} ${problem}`, { place, hint });
}

const SHAPE_HINT =
  "Check that the list is in the format you named, or leave the format out to have it detected.";

/** The result of `read`; errors thrown by getters, proxies or the engine become `InvalidMessages`. */
export function readNative<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (CompactError.isInstance(cause)) throw cause;
    const problem = `${place} cannot be read: ${errorMessage(cause)}`;
    throw new CompactError("InvalidMessages", problem, { place, hint: SHAPE_HINT, cause });
  }
}

/** The value as an object; throws `InvalidMessages` otherwise. */
export function objectAt(value: unknown, place: string): NativeObject {
  if (isObject(value)) return value;
  throw invalidMessages(place, `must be an object, not ${kindOf(value)}`, SHAPE_HINT);
}

/** The value as a string; throws `InvalidMessages` otherwise. */
export function stringAt(value: unknown, place: string): string {
  if (typeof value === "string") return value;
  throw invalidMessages(place, `must be a string, not ${kindOf(value)}`, SHAPE_HINT);
}

/** The value as an array; throws `InvalidMessages` otherwise. */
export function arrayAt(value: unknown, place: string): readonly unknown[] {
  if (Array.isArray(value)) return value as readonly unknown[];
  throw invalidMessages(place, `must be an array, not ${kindOf(value)}`, SHAPE_HINT);
}

/** True for a list of objects with a `type`; tools also return other lists. */
export function isBlockList(value: unknown): value is readonly NativeObject[] {
  return Array.isArray(value) && value.every((block) => isObject(block) && typeof block.type === "string");
}

type Roles = Readonly<Record<string, Role>>;
type FormatRoles = "openai-chat" | "items" | "anthropic" | "gemini" | "ai-sdk" | "ui" | "pi";

const SPEAKERS: Roles = { system: "system", user: "user", assistant: "assistant" };

/** The roles of each format. `ui`: AI SDK UI messages. LangChain has message types instead. */
export const ROLES: Readonly<Record<FormatRoles, Roles>> = {
  "openai-chat": { ...SPEAKERS, developer: "developer", tool: "tool", function: "tool" },
  items: { ...SPEAKERS, developer: "developer" },
  anthropic: SPEAKERS,
  gemini: { system: "system", user: "user", model: "assistant", function: "tool" },
  "ai-sdk": { ...SPEAKERS, tool: "tool" },
  ui: SPEAKERS,
  pi: { ...SPEAKERS, toolResult: "tool" },
};

export function isRole(word: unknown, roles: Roles): boolean {
  return typeof word === "string" && Object.hasOwn(roles, word);
}

/** The neutral role for a provider's role; throws `InvalidMessages` for an unknown role. */
export function roleAt(value: unknown, roles: Roles, place: string): Role {
  const role = typeof value === "string" && Object.hasOwn(roles, value) ? roles[value] : undefined;
  if (role !== undefined) return role;
  const shown = typeof value === "string" ? JSON.stringify(value) : kindOf(value);
  const hint = `Use one of ${Object.keys(roles).join(", ")}.`;
  throw invalidMessages(`${place}.role`, `is ${shown}, which this format does not know`, hint);
}

export function filled(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/**
 * The input of a call if it is an object, otherwise an object that contains it: for providers that only
 * accept objects.
 */
export function inputObject(value: unknown): NativeObject {
  if (isObject(value)) return value;
  return value === undefined || value === "" ? {} : { input: value };
}

/** True if the bag, or its `meta`, `metadata` or `compact`, has `protected: true`. */
function isProtected(bag: unknown): boolean {
  if (!isObject(bag)) return false;
  const { meta, metadata, compact } = bag;
  return [bag, meta, metadata, compact].some((one) => objectOf(one).protected === true);
}

/** Neutral meta from an entry's fields, its `meta`, its `metadata` and other objects; undefined if there is none. */
export function readMeta(entry: NativeObject, ...bags: readonly unknown[]): MessageMeta | undefined {
  const timestamp = filled(entry.timestamp);
  const model = filled(entry.model);
  const kept = [entry.meta, entry.metadata, ...bags].some(isProtected);
  if (!kept && timestamp === undefined && model === undefined) return undefined;
  return defined({ protected: kept || undefined, timestamp, model });
}

/** A copy of `native` with `changes`, keeping its prototype; a change to undefined removes the field. */
export function copyWith(native: NativeObject, changes: NativeObject): Record<string, unknown> {
  // Spread, not assigned: assigning a field named `__proto__` would set the prototype.
  const copy: Record<string, unknown> = { ...native };
  const prototype = Object.getPrototypeOf(native) as object | null;
  if (prototype !== Object.prototype) Object.setPrototypeOf(copy, prototype);
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined) delete copy[key];
    else copy[key] = value;
  }
  return copy;
}
