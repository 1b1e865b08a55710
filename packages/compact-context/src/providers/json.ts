import { objectOf } from "../codecs/native.ts";

export type Json = Readonly<Record<string, unknown>>;

export { objectOf };

export function objectsIn(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
