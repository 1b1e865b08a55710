import { CompactError } from "./errors.ts";

const LIST_HINT = "Pass the list itself, not the request that holds it.";
const OPTIONS_HINT = "Pass an object with the settings by name; the function's type lists them.";

/** Throws `InvalidArgument` for what is no list. */
export function requireList(value: unknown, name = "messages", hint: string = LIST_HINT): void {
  if (!Array.isArray(value)) throw wrongKind(name, value, { wanted: "an array", hint });
}

/** Throws `InvalidArgument` for options that are no object; `hint` says what to pass. */
export function requireOptions(value: unknown, name = "options", hint: string = OPTIONS_HINT): void {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return;
  throw wrongKind(name, value, { wanted: "an object", hint });
}

/** Throws `InvalidArgument` for what is no string. */
export function requireText(value: unknown, name: string, hint: string): void {
  if (typeof value !== "string") throw wrongKind(name, value, { wanted: "a string", hint });
}

/** Throws `InvalidArgument` for what cannot be called. */
export function requireFunction(value: unknown, name: string, hint: string): void {
  if (typeof value !== "function") throw wrongKind(name, value, { wanted: "a function", hint });
}

function wrongKind(
  name: string,
  value: unknown,
  { wanted, hint }: { readonly wanted: string; readonly hint: string },
): CompactError {
  const problem = `${name} must be ${wanted}, not ${kindOf(value)}`;
  return new CompactError("InvalidArgument", problem, { place: name, hint });
}

/** What a value is, in words: `an array`, `missing`. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (value === undefined) return "missing";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
