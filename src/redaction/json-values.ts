import { isSecretName, REDACTED } from "./secret-names.ts";
import { isQuotedSecret } from "./secret-values.ts";
import { isPair } from "./token-shapes.ts";

/** What stands in place of a value nested too deep, which is not looked into. */
const TOO_DEEP = "<REDACTED:too-deep>";
const DEEPEST = 500;
const SCHEME = /^(?:bearer|basic|token|digest|apikey|negotiate)[ \t]+/i;

interface Walk {
  readonly redactText: (text: string) => string;
  /** The objects that the walk is inside of. */
  readonly above: Set<object>;
  readonly deepest: number;
}

/**
 * The value with secrets replaced: by field name, and inside every string. What holds no secret comes back as
 * the same object. An object inside itself becomes `<CIRCULAR>`; `toJSON` is honoured.
 * What lies deeper than `deepest` levels becomes `TOO_DEEP`.
 */
export function redactJson(
  value: unknown,
  redactText: (text: string) => string,
  deepest: number = DEEPEST,
): unknown {
  return walkValue(value, undefined, { redactText, above: new Set(), deepest });
}

function walkValue(value: unknown, name: string | undefined, walk: Walk): unknown {
  if (typeof value === "string") return redactString(value, name, walk);
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (walk.above.has(value)) return "<CIRCULAR>";
  if (walk.above.size >= walk.deepest) return TOO_DEEP;
  walk.above.add(value);
  const walked = walkObject(value, name, walk);
  walk.above.delete(value);
  return walked;
}

function walkObject(value: object, name: string | undefined, walk: Walk): unknown {
  if ("toJSON" in value && typeof value.toJSON === "function") {
    const plain: unknown = value.toJSON(name ?? "");
    const walked = walkValue(plain, name, walk);
    return walked === plain ? value : walked;
  }
  if (Array.isArray(value)) {
    const items = value.map((item) => walkValue(item, name, walk));
    return items.every((item, index) => Object.is(item, value[index])) ? value : items;
  }
  return walkFields(value, walk);
}

function walkFields(value: object, walk: Walk): unknown {
  const fields = new Map<string, unknown>();
  let changed = false;
  for (const [key, before] of Object.entries(value)) {
    const after = walkValue(before, key, walk);
    const shownKey = freeName(walk.redactText(key), fields);
    changed ||= after !== before || shownKey !== key;
    fields.set(shownKey, after);
  }
  return changed ? Object.fromEntries(fields) : value;
}

/** Two names that were secrets must not end up as one field. */
function freeName(name: string, taken: ReadonlyMap<string, unknown>): string {
  let free = name;
  for (let number = 2; taken.has(free); number++) free = `${name}#${number}`;
  return free;
}

function redactString(value: string, name: string | undefined, walk: Walk): string {
  if (name !== undefined && isSecretName(name)) {
    const scheme = SCHEME.exec(value)?.[0] ?? "";
    if (isQuotedSecret(value.slice(scheme.length), name)) return scheme + REDACTED;
  }
  if (name !== undefined && /^(?:set-)?cookie$/i.test(name) && isPair(value)) return REDACTED;
  return walk.redactText(value);
}
