import { jsonText, type Role } from "../core/message.ts";
import { isObject } from "../errors.ts";
import { instanceKind } from "./detect.ts";
import { copyWith, filled, invalidMessages, type NativeObject } from "./native.ts";

type MessageClass = new (fields: object) => object;

/** Results of `getType()` and prefixes of `lc_name()`, by role. */
const KINDS = {
  system: ["system", "System"],
  user: ["human", "Human"],
  assistant: ["ai", "AI"],
  tool: ["tool", "Tool"],
} as const;

/**
 * A message as an instance of LangChain's classes, derived from neighbouring instances so that LangChain is
 * not imported. If none has the class, a class of the same name extends their base class and serializes like
 * LangChain's own. Undefined if no base class is found.
 */
export function buildInstance(
  role: keyof typeof KINDS,
  fields: NativeObject,
  beside: readonly object[],
): object | undefined {
  const [kind, name] = KINDS[role];
  const known = beside.find(
    (native) => instanceKind(native as NativeObject) === kind && !classOf(native).name.endsWith("Chunk"),
  );
  const Class = known === undefined ? derivedClass(beside[0], kind, `${name}Message`) : classOf(known);
  return Class && new Class({ ...fields });
}

function classOf(native: object): MessageClass {
  return native.constructor as MessageClass;
}

const derived = new WeakMap<MessageClass, Map<string, MessageClass>>();

function derivedClass(native: object | undefined, kind: string, name: string): MessageClass | undefined {
  const Base = native && baseClass(classOf(native));
  if (Base === undefined) return undefined;
  const classes = derived.get(Base) ?? new Map<string, MessageClass>();
  derived.set(Base, classes);
  const Class = classes.get(name) ?? deriveFrom(Base, kind, name);
  classes.set(name, Class);
  return Class;
}

/** `BaseMessage`, detected by its own members: bundlers rename classes. */
function baseClass(Class: MessageClass): MessageClass | undefined {
  let current: unknown = Class;
  while (typeof current === "function") {
    const prototype: unknown = current.prototype;
    if (typeof prototype === "object" && prototype !== null && Object.hasOwn(prototype, "toDict"))
      return current as MessageClass;
    current = Object.getPrototypeOf(current);
  }
  return undefined;
}

function deriveFrom(Base: MessageClass, kind: string, name: string): MessageClass {
  const Class = class extends Base {
    readonly type = kind;
    static lc_name(): string {
      return name;
    }
    _getType(): string {
      return kind;
    }
  };
  Object.defineProperty(Class, "name", { value: name });
  return Class;
}

/**
 * A LangChain message in any representation: an instance, `lc: 1`, `{type, data}`, `{type, content}` or
 * `{role, content}`.
 */
export interface LangchainView {
  readonly role: Role;
  readonly fields: NativeObject;
  /** A copy of the whole entry with changed fields; undefined removes one. */
  readonly write: (changes: NativeObject) => unknown;
}

const ROLES: Readonly<Record<string, Role>> = {
  human: "user",
  user: "user",
  ai: "assistant",
  assistant: "assistant",
  system: "system",
  developer: "developer",
  tool: "tool",
  function: "tool",
  generic: "user",
  chat: "user",
};

/** Reads a message in any representation; throws `InvalidMessages` for an unknown kind. */
export function viewMessage(entry: NativeObject, place: string): LangchainView {
  if (entry.lc === 1 && isObject(entry.kwargs)) return viewConstructor(entry, entry.kwargs, place);
  const kind = instanceKind(entry);
  if (kind !== undefined)
    return {
      role: roleOf(kind, entry, `${place}.getType()`),
      fields: entry,
      write: (changes) => copyInstance(entry, changes),
    };
  const fields = fieldsOf(entry);
  const word = filled(entry.type) ?? filled(entry.role) ?? "";
  return {
    role: roleOf(word, fields, typeof entry.type === "string" ? `${place}.type` : `${place}.role`),
    fields,
    write: (changes) => {
      const changed = copyWith(fields, changes);
      return fields === entry ? changed : { ...entry, data: changed };
    },
  };
}

function viewConstructor(entry: NativeObject, kwargs: NativeObject, place: string): LangchainView {
  const path = Array.isArray(entry.id) ? entry.id : [];
  return {
    role: roleOf(jsonText(path.at(-1)), kwargs, `${place}.id`),
    fields: kwargs,
    write: (changes) => ({ ...entry, kwargs: copyWith(kwargs, changes) }),
  };
}

/** The fields of a message; a serialized message has them in a nested object. */
export function fieldsOf(entry: NativeObject): NativeObject {
  if (isObject(entry.kwargs)) return entry.kwargs;
  return isObject(entry.data) && typeof entry.type === "string" ? entry.data : entry;
}

/** `AIMessageChunk`, `AIMessage` and `ai` are the same kind. */
function roleOf(word: string, fields: NativeObject, place: string): Role {
  const kind = word.replace(/Message(Chunk)?$/, "").toLowerCase();
  const role = Object.hasOwn(ROLES, kind) ? ROLES[kind] : undefined;
  if (role === undefined)
    throw invalidMessages(
      place,
      `is ${JSON.stringify(word)}, which is no kind of message`,
      `Use one of ${Object.keys(ROLES).join(", ")}.`,
    );
  if (kind === "chat" || kind === "generic") return chatRole(fields.role);
  const extra = fields.additional_kwargs;
  const isDeveloper = isObject(extra) && extra.__openai_role__ === "developer";
  return role === "system" && isDeveloper ? "developer" : role;
}

function chatRole(word: unknown): Role {
  const kind = jsonText(word).toLowerCase();
  return (Object.hasOwn(ROLES, kind) ? ROLES[kind] : undefined) ?? "user";
}

/** Instances are serialized from `lc_kwargs`, so a copy changes these too. */
function copyInstance(entry: NativeObject, changes: NativeObject): unknown {
  const kwargs = entry.lc_kwargs;
  return copyWith(entry, isObject(kwargs) ? { ...changes, lc_kwargs: copyWith(kwargs, changes) } : changes);
}
