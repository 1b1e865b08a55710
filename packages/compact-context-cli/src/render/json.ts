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
