import { isObject } from "compact-context/internal/errors";

/** An own field that is an object. */
export function recordIn(value: unknown, name: string): Readonly<Record<string, unknown>> | undefined {
  const found = own(value, name);
  return isObject(found) ? found : undefined;
}

/** An own field that is a list. */
export function listIn(value: unknown, name: string): readonly unknown[] | undefined {
  const found = own(value, name);
  return Array.isArray(found) ? found : undefined;
}

/** An own field that is a finite number from 0. */
export function numberIn(value: unknown, name: string): number | undefined {
  const found = own(value, name);
  return typeof found === "number" && Number.isFinite(found) && found >= 0 ? found : undefined;
}

/** An own field that is text. */
export function textIn(value: unknown, name: string): string | undefined {
  const found = own(value, name);
  return typeof found === "string" ? found : undefined;
}

/** Any value as JSON text; words in its place where it is nested too deeply to be written. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "(nested too deeply to be shown)";
  }
}

function own(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
