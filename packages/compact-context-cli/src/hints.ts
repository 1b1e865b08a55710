import { toSnakeCase } from "compact-context/internal/config/schema";
import { CompactError } from "compact-context/internal/errors";

// The library's hints name options and calls; for the command line they are translated to flags and commands.

const TRANSLATIONS: readonly (readonly [library: RegExp, command: string])[] = [
  [
    /Go on under a new session id; this one can be used again (\d+ days) after its deletion\./,
    "Name another archive folder with --archive DIR; this one takes the session again $1 after its deletion.",
  ],
  [/`recall\(sessionId\)\.restore\(\)` gives/, "compact archive restore SESSION STEP -o FILE gives"],
  [/set onOverflow to "elide"/, "add --on-overflow elide"],
  [
    /aise maxTokens to (\d+) tokens or more/,
    "aise --window, and policy.max_tokens where it is set, so that a request may have $1 tokens",
  ],
  [/choose another one\.$/, "choose another folder with --archive DIR."],
  [
    /(choose another archive folder|choose one on a file system with hard links|choose an archive folder on another one|point the archive at another disk)\.$/,
    "$1 with --archive DIR.",
  ],
  [/Look at the list of changes for its id\./, "compact memory log lists the changes with their ids."],
  [/\. `new CompactManager\(config, \{ repair: true \}\)` mends such lists/, ""],
];

/** Settings in camel case, as code names them; files use snake case. */
const SETTING =
  /\b(?:policy|storage|summarizer|redaction|tracing|memory|retention)\.[a-z]+[A-Z]\w*|\bmaxContextTokens\b/g;

/** A text of the library in the terms of the command line. */
export function inCommandWords(text: string): string {
  return TRANSLATIONS.reduce(
    (current, [library, command]) => current.replace(library, command),
    text,
  ).replace(SETTING, toSnakeCase);
}

/** The hint of an error in the terms of the command line; empty if it has none. */
export function hintOf(error: unknown): string {
  return CompactError.isInstance(error) ? inCommandWords(error.hint) : "";
}
