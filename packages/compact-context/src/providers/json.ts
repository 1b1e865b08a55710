import { objectOf } from "../codecs/native.ts";

export type Json = Readonly<Record<string, unknown>>;

export { objectOf };

export function objectsIn(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

/** The first of the values that is a number above 0, such as a limit that goes by several names. */
export function positiveOf(...values: readonly unknown[]): number | undefined {
  return values.find((value): value is number => typeof value === "number" && value > 0);
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
