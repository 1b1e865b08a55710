import { escapeControl, replaceUnseen } from "compact-context/internal/errors";

/** Text of others on one line: white space joined, everything a terminal would act on made visible. */
export function oneLine(text: string): string {
  return escapeControl(text.replace(/[ \t\r\n]+/g, " ").trim());
}

/** The beginning of a text on one line; only that much of it is looked at. */
export function firstWords(text: string, characters = 400): string {
  return oneLine(text.slice(0, characters).replace(/[\ud800-\udbff]$/, ""));
}

/** The value as JSON that is safe to print to a terminal: who parses it gets the same value. */
export function safeJson(value: unknown, indent = 2): string {
  return replaceUnseen(JSON.stringify(value, undefined, indent), (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`,
    ).join(""),
  );
}

/** Text of others as lines that are safe to print; tabs become spaces. */
export function safeLines(text: string): string[] {
  return escapeControl(text.replaceAll("\r\n", "\n")).replaceAll("\t", "  ").split("\n");
}

/** Keys whose values are somebody else's: messages as the library has them, and counts by names of a file. */
const AS_IS: ReadonlySet<string> = new Set(["message", "left_out", "kinds", "value"]);

/** The value with all keys in snake_case, the one spelling of machine output. */
export function snakeKeys(value: unknown, asIs: ReadonlySet<string> = AS_IS): unknown {
  if (Array.isArray(value)) return value.map((entry) => snakeKeys(entry, asIs));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => {
    const name = key.replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return [name, asIs.has(name) ? inner : snakeKeys(inner, asIs)];
  });
  return Object.fromEntries(entries);
}
