import { isPair } from "./places.ts";
import { isHintingName, isSecretName, REDACTED } from "./secret-names.ts";
import { isQuotedSecret, looksGenerated } from "./secret-values.ts";

const SCHEME = /^(?:bearer|basic|token|digest|apikey|negotiate)[ \t]+/i;

/** A string of structured data and where it stands. */
export interface NamedString {
  readonly value: string;
  /** The field that holds it, or the flag (`--password`) or name that stands before it. */
  readonly name: string | undefined;
}

/** What a field's name says about its string: the redacted string, or undefined where the name says nothing. */
export function redactByName({ value, name }: NamedString): string | undefined {
  if (name === undefined || value === "") return undefined;
  if (/^(?:set-)?cookie$/i.test(name) && isPair(value)) return REDACTED;
  const scheme = SCHEME.exec(value)?.[0] ?? "";
  const bare = value.slice(scheme.length);
  if (isSecretName(name)) return isQuotedSecret(bare, name) ? scheme + REDACTED : undefined;
  return isHintingName(name) && /^[\w.+/=~-]{12,4096}$/.test(bare) && looksGenerated(bare)
    ? scheme + REDACTED
    : undefined;
}

/** The name that a command line's word gives to the next one: `--password` to `hunter2`; undefined for others. */
export function flagName(word: string | undefined): string | undefined {
  return word === undefined ? undefined : /^--?([a-z][\w-]{1,60})$/i.exec(word)?.[1];
}
