const PER_VALUE = 16;
/** Values that are looked at; more of them are taken to be of the same size as these. */
const MOST_VALUES = 2000;

/** About how many bytes of memory a JSON-like value holds: two for a character, sixteen for every value. */
export function memorySize(value: unknown): number {
  const left: unknown[] = [value];
  let bytes = 0;
  for (let seen = 0; left.length > 0; seen += 1) {
    if (seen === MOST_VALUES) return Math.round(bytes * (1 + left.length / MOST_VALUES));
    const next = left.pop();
    bytes += PER_VALUE;
    if (typeof next === "string") bytes += next.length * 2;
    else if (typeof next === "object" && next !== null) {
      for (const [key, inner] of Object.entries(next)) {
        bytes += key.length * 2;
        left.push(inner);
      }
    }
  }
  return bytes;
}
