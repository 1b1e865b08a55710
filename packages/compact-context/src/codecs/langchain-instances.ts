import { instanceKind } from "./langchain-view.ts";
import type { NativeObject } from "./native.ts";

type MessageClass = new (fields: object) => object;

/** What `getType()` says and `lc_name()` begins with, by the role of a message. */
const KINDS = {
  system: ["system", "System"],
  user: ["human", "Human"],
  assistant: ["ai", "AI"],
  tool: ["tool", "Tool"],
} as const;

/**
 * A message as an instance of LangChain's classes, taken from the instances that stand beside it, so that LangChain is
 * not imported. Where none of them has the class, one of the same name is made of their base class: it serialises as
 * LangChain's own. Undefined where there is no base class to be found.
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

/** `BaseMessage`, by what it alone has: bundlers rename classes. */
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
