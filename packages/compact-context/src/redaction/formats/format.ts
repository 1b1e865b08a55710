import { ALPHABETS, type Alphabet } from "./alphabets.ts";

/**
 * How an issuer's tokens look. `shape` is literal text with runs in braces: `ghp_{base62:36}` or, with a range,
 * `{lower:5-30}`. The text before the first run is what tokens are found by.
 */
export interface TokenFormat {
  readonly issuer: string;
  readonly shape: string;
  /** `crc32`: the last six characters are the checksum of those before them; such a token needs nothing around it. */
  readonly check?: "crc32";
  /** The body must hold a digit: for beginnings that words have as well. */
  readonly digit?: true;
}

export interface Run {
  readonly alphabet: Alphabet;
  readonly least: number;
  readonly most: number;
}

/** A shape in its parts: literal text and runs in turn. */
export function partsOf(shape: string): (string | Run)[] {
  return shape
    .split(/(\{[^}]*\})/)
    .filter((part) => part !== "")
    .map((part) => (part.startsWith("{") ? runOf(part.slice(1, -1)) : part));
}

/** Formats of one issuer, one line each; a line that begins with `#` needs a digit. */
export function formatsOf(issuer: string, ...shapes: readonly string[]): TokenFormat[] {
  return shapes.map((shape) =>
    shape.startsWith("#") ? { issuer, shape: shape.slice(1), digit: true as const } : { issuer, shape },
  );
}

function runOf(text: string): Run {
  const [alphabet = "", lengths = ""] = text.split(":");
  const [least = "", most = least] = lengths.split("-");
  if (!(alphabet in ALPHABETS)) throw new RangeError(`no alphabet is called ${alphabet}`);
  return { alphabet: alphabet as Alphabet, least: Number(least), most: Number(most) };
}
