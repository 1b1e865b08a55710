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
