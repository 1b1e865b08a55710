import { defined, objectOf } from "../messages/native.ts";

export type Json = Readonly<Record<string, unknown>>;

export { defined, objectOf };

export function objectsIn(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
