import type { FlagName, Flags } from "./flags.ts";
import { oneLine } from "./render/safe.ts";

/** Text that can be pasted into a shell as one word. */
export function shellWord(text: string): string {
  const safe = oneLine(text);
  return /^[\w@%+=:,./~-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", "'\\''")}'`;
}

/** A command to paste: its words, then those of the named flags that were given. */
export function commandLine(words: readonly string[], flags: Flags, names: readonly FlagName[]): string {
  const given = names.flatMap((name) => {
    const value = flags[name];
    return typeof value === "string" ? [`--${name}`, shellWord(value)] : [];
  });
  return [...words.map(shellWord), ...given].join(" ");
}
