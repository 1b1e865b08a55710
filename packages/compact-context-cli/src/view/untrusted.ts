import { isObject } from "compact-context/internal/errors";
import type { ExpandedView } from "./session-view.ts";

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

/** Most characters that one answer carries. */
const PIECE = 20_000;

/** The stretch of a text from an offset on, and where to go on; no character is cut in two. */
export function expandedPiece(
  text: string,
  offset: number,
): Pick<ExpandedView, "text" | "offset" | "characters" | "next"> {
  const from = Math.min(offset, text.length);
  const piece = text.slice(from, from + PIECE).replace(/(?<=.)[\ud800-\udbff]$/s, "");
  const end = from + piece.length;
  return { text: piece, offset: from, characters: text.length, next: end < text.length ? end : undefined };
}
