/** `keep_recent_turns` for `"keepRecentTurns"`, in types. */
export type SnakeCase<Name extends string> = Name extends `${infer Head}${infer Rest}`
  ? Head extends Lowercase<Head>
    ? `${Head}${SnakeCase<Rest>}`
    : `_${Lowercase<Head>}${SnakeCase<Rest>}`
  : Name;

/** Levels below which nothing is a setting any more: `models.<name>.window` is the deepest. */
const DEEPEST = 3;

/** `keepRecentTurns` becomes `keep_recent_turns`; a name without capitals stays as it is. */
export function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** `keep_recent_turns` becomes `keepRecentTurns`; a name without underscores stays as it is. */
export function toCamelCase(name: string): string {
  return name.replace(/(?<=[a-z0-9])_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Renames the keys of nested settings; names of models belong to the user and stay. Keys set to undefined are left out. */
export function renameKeys(
  value: unknown,
  rename: (key: string, path: readonly string[]) => string,
  path: readonly string[] = [],
): unknown {
  if (!isGroup(value) || path.length > DEEPEST) return value;
  const renamed: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) {
    if (inner === undefined) continue;
    const below = [...path, key];
    const name = path.length === 1 && path[0] === "models" ? key : rename(key, below);
    // Defined, not assigned: assigning `__proto__` would set the prototype instead of a key.
    Object.defineProperty(renamed, name, {
      value: renameKeys(inner, rename, below),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return renamed;
}

/** True for an object with named entries, as opposed to a list or a bare value. */
export function isGroup(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// ---- near names

/** `; did you mean …?`: the nearest of the names that would do here, else the path of the same name elsewhere, else nothing. */
export function didYouMean(
  name: string,
  here: readonly string[],
  elsewhere: readonly (readonly string[])[] = [],
): string {
  const isSame = (known: string | undefined): boolean => known !== undefined && plain(known) === plain(name);
  const found =
    here.find(isSame) ??
    closest(name, here) ??
    elsewhere.find((path) => path.length > 1 && isSame(path.at(-1)))?.join(".");
  return found === undefined ? "" : `; did you mean ${found}?`;
}

/** The candidate that a mistyped name most likely meant: at most a third of its letters differ. */
export function closest(name: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - name.length) >= least) continue;
    const edits = editDistance(name, candidate);
    if (edits < least) [best, least] = [candidate, edits];
  }
  return best;
}

/** Letters to insert, delete or replace to get from one word to the other. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

/** Files, code and the environment spell one setting differently. */
function plain(name: string): string {
  return name.replaceAll("_", "").toLowerCase();
}
