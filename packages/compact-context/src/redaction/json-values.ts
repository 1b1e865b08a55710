import { withoutSplitSecrets } from "./boundaries.ts";
import type { Finder } from "./finding.ts";
import { flagName, redactByName } from "./named-string.ts";
import { isPasswordName, isSecretName, REDACTED } from "./secret-names.ts";

/** What stands in place of a value nested too deep, which is not looked into. */
const TOO_DEEP = "<REDACTED:too-deep>";
const DEEPEST = 500;
/** Fields of a JSON Web Key (RFC 7518) that hold its secret. */
export const PRIVATE_PARTS_OF_JWK: ReadonlySet<string> = new Set(["d", "p", "q", "dp", "dq", "qi", "k"]);

interface Walk {
  readonly redactText: (text: string) => string;
  readonly find: Finder | undefined;
  /** The objects that the walk is inside of. */
  readonly above: Set<object>;
  readonly deepest: number;
}

/** What a walk may also look for. */
export interface WalkOptions {
  readonly deepest?: number;
  /** Finds secrets that two neighbours of one array share; they are not looked for when it is left out. */
  readonly find?: Finder;
}

/**
 * The value with secrets replaced: by field name, and inside every string. What holds no secret comes back as
 * the same object. An object inside itself becomes `<CIRCULAR>`; `toJSON` is honoured.
 * What lies deeper than `deepest` levels becomes `TOO_DEEP`.
 */
export function redactJson(
  value: unknown,
  redactText: (text: string) => string,
  options: WalkOptions | number = {},
): unknown {
  const { deepest = DEEPEST, find } = typeof options === "number" ? { deepest: options } : options;
  return walkValue(value, undefined, { redactText, find, above: new Set(), deepest });
}

function walkValue(value: unknown, name: string | undefined, walk: Walk): unknown {
  if (typeof value === "string") return redactByName({ value, name }) ?? walk.redactText(value);
  if (typeof value === "number") return isNumericPassword(value, name) ? REDACTED : value;
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (walk.above.has(value)) return "<CIRCULAR>";
  if (walk.above.size >= walk.deepest) return TOO_DEEP;
  walk.above.add(value);
  const walked = walkObject(value, name, walk);
  walk.above.delete(value);
  return walked;
}

/** True for `"password": 12345678`; numbers under other names are counts. */
export function isNumericPassword(value: number, name: string | undefined): boolean {
  return name !== undefined && isSecretName(name) && isPasswordName(name) && Math.abs(value) >= 1000;
}

function walkObject(value: object, name: string | undefined, walk: Walk): unknown {
  if ("toJSON" in value && typeof value.toJSON === "function") {
    const plain: unknown = value.toJSON(name ?? "");
    const walked = walkValue(plain, name, walk);
    return walked === plain ? value : walked;
  }
  if (Array.isArray(value)) return walkArray(value, name, walk);
  return walkFields(value, walk);
}

function walkArray(value: readonly unknown[], name: string | undefined, walk: Walk): unknown {
  const whole = walk.find === undefined ? value : withoutSplitSecrets(value, walk.find);
  const items = whole.map((item, index) => {
    const before: unknown = whole[index - 1];
    return walkValue(item, (typeof before === "string" ? flagName(before) : undefined) ?? name, walk);
  });
  return items.every((item, index) => Object.is(item, value[index])) ? value : items;
}

function walkFields(value: object, walk: Walk): unknown {
  const fields = new Map<string, unknown>();
  let changed = false;
  const given = nameGiven(value);
  const isKey = "kty" in value && typeof value.kty === "string";
  for (const [key, before] of Object.entries(value)) {
    const after =
      isKey && PRIVATE_PARTS_OF_JWK.has(key) && typeof before === "string"
        ? REDACTED
        : walkValue(before, key === "value" ? (given ?? key) : key, walk);
    const shownKey = freeName(walk.redactText(key), fields);
    changed ||= after !== before || shownKey !== key;
    fields.set(shownKey, after);
  }
  return changed ? Object.fromEntries(fields) : value;
}

/** The name that `{ "name": "DB_PASSWORD", "value": "…" }` gives its value. */
function nameGiven(value: object): string | undefined {
  if (!("value" in value)) return undefined;
  if ("name" in value && typeof value.name === "string") return value.name;
  return "key" in value && typeof value.key === "string" ? value.key : undefined;
}

/** Two names that were secrets must not end up as one field. */
function freeName(name: string, taken: ReadonlyMap<string, unknown>): string {
  let free = name;
  for (let number = 2; taken.has(free); number++) free = `${name}#${number}`;
  return free;
}
