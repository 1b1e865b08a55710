import { oneLine, parsedJson } from "./text.ts";

// Records in JSON, told by their fields.

/** Levels of a record that are read. */
const MAX_DEPTH = 5;
/** Characters of a field in somebody's words. */
const MAX_FIELD = 400;

/** A record that begins and ends a line of its own, outside of a fence. */
const SPOKEN = /(?<!^\s{0,8}(?:```|~~~)\w{0,12}\s*\n)^\{\n[\s\S]*?^\}$/gm;

/** Words with the fields of each record in them as items of a list. */
export function withRecordsTold(words: string): string {
  if (!words.includes("{\n")) return words;
  return words.replace(SPOKEN, (record) => {
    const lines = parsedJson(record) === undefined ? [] : recordLines(record, MAX_FIELD);
    return lines.length === 0 ? record : lines.map((line) => `- ${line}`).join("\n");
  });
}

/** The text of a file in a host's record of a call; any other text itself. */
export function heldText(text: string): string {
  if (!RECORD.test(text)) return text;
  const held = blocksIn(parsedJson(text), 0).join("\n");
  return 2 * held.length >= text.length ? held : text;
}

/** The strings of several lines in a value. */
function blocksIn(value: unknown, depth: number): string[] {
  if (typeof value === "string") return value.includes("\n") ? [value] : [];
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return [];
  return Object.values(value).flatMap((field) => blocksIn(field, depth + 1));
}

const RECORD = /^\s*[[{]/;

/** The lines of a text, or of a record its fields, none longer than `most` characters, then its long texts. */
export function recordLines(text: string, most: number): string[] {
  const value = RECORD.test(text) ? parsedJson(text) : undefined;
  if (value === undefined) return text.split("\n").map(oneLine);
  const long = blocksIn(value, 0).filter((block) => block.length > most);
  return [...fieldsOf(value, 0, most), ...long.flatMap((block) => block.split("\n").map(oneLine))];
}

/** The scalar fields of each object in a value, one line per object. */
function fieldsOf(value: unknown, depth: number, most: number): string[] {
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return [];
  const entries = Object.entries(value);
  const plain = entries.filter(([, field]) => typeof field !== "object" && String(field).length <= most);
  const own = (Array.isArray(value) ? plain : tellingFields(plain)).map(([key, field]) =>
    Array.isArray(value) ? String(field) : `${key}: ${field}`,
  );
  const inner = entries.flatMap(([key, field]) => {
    const lines = fieldsOf(field, depth + 1, most);
    return Array.isArray(value) ? lines : lines.map((line) => `${key}: ${line}`);
  });
  return [...(own.length === 0 ? [] : [own.join(", ")]), ...inner];
}

/** The fields that say something: of several links the first, and none of an object that holds links and zeros only. */
function tellingFields(fields: readonly [string, unknown][]): readonly [string, unknown][] {
  const links = fields.filter(([, value]) => isLink(value));
  const rest = fields.filter((field) => field[1] !== "" && !links.slice(1).includes(field));
  return links.length > 0 && rest.every(([, value]) => isLink(value) || value === 0) ? [] : rest;
}

function isLink(value: unknown): boolean {
  return typeof value === "string" && /^https?:\/\//.test(value);
}
