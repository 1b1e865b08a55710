import { toSnakeCase } from "compact-context/internal/config/schema";
import { CompactError } from "compact-context/internal/errors";

// What the library advises, it says to programs: options and calls. Whoever types a command has flags and commands.

/** The library's words, and what stands for them in a command. */
const TRANSLATIONS: readonly (readonly [library: RegExp, command: string])[] = [
  [
    /Go on under a new session id; this one can be used again (\d+ days) after its deletion\./,
    "Name another archive folder with --archive DIR; this one takes the session again $1 after its deletion.",
  ],
  [/`recall\(sessionId\)\.restore\(\)` gives/, "compact archive restore SESSION STEP -o FILE gives"],
  [/set onOverflow to "elide"/, "add --on-overflow elide"],
  [/choose another one\.$/, "choose another folder with --archive DIR."],
  [
    /choose (another archive folder|one on a file system with hard links)\.$/,
    "choose $1 with --archive DIR.",
  ],
  [
    /(choose an archive folder on another one|point the archive at another disk)\.$/,
    "$1 with --archive DIR.",
  ],
  [/Look at the list of changes for its id\./, "compact memory log lists the changes with their ids."],
  [/\. `new CompactManager\(config, \{ repair: true \}\)` mends such lists/, ""],
];

/** A setting as code names it; files name it with underscores. */
const SETTING =
  /\b(?:policy|storage|summarizer|redaction|tracing|memory|retention)\.[a-z]+[A-Z]\w*|\bmaxContextTokens\b/g;

/** The library's advice in the words of the command line. */
export function inCommandWords(advice: string): string {
  const told = TRANSLATIONS.reduce((text, [library, command]) => text.replace(library, command), advice);
  return told.replace(SETTING, toSnakeCase);
}

/** What to do about an error, in the words of the command line; empty where there is no advice. */
export function hintOf(error: unknown): string {
  return CompactError.isInstance(error) ? inCommandWords(error.hint) : "";
}
