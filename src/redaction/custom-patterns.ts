import { CompactError } from "../errors.ts";
import { REDACTED } from "./secret-names.ts";

// A pattern whose cost grows with the square of its text stays affordable on pieces of this size.
const PIECE = 32_768;

/**
 * Compiles the caller's patterns to one replacing function; whole matches are replaced.
 * Throws `InvalidConfig` for a pattern that does not compile or repeats a repetition, which can take for ever.
 * Text over 32,768 characters is searched in pieces that end with a line.
 */
export function compilePatterns(patterns: readonly (string | RegExp)[]): (text: string) => string {
  const compiled = patterns.map(compilePattern);
  return (text) => {
    if (compiled.length === 0) return text;
    return pieces(text)
      .map((piece) => compiled.reduce(replaceAll, piece))
      .join("");
  };
}

function replaceAll(text: string, pattern: RegExp): string {
  return text.replace(pattern, (match) => (match === "" || REDACTED.includes(match) ? match : REDACTED));
}

function compilePattern(pattern: string | RegExp, index: number): RegExp {
  const place = `redaction.patterns[${index}]`;
  const source = typeof pattern === "string" ? pattern : pattern.source;
  const flags = typeof pattern === "string" ? "" : pattern.flags.replace(/[gy]/g, "");
  if (repeatsRepetition(source)) {
    throw new CompactError("InvalidConfig", `${place} repeats a group that holds a repetition`, {
      place,
      hint: "Such a pattern can take for ever on some texts: write it without a + or * inside a repeated group.",
    });
  }
  try {
    return new RegExp(source, `${flags}g`);
  } catch (cause) {
    throw new CompactError("InvalidConfig", `${place} is no valid regular expression`, {
      place,
      hint: "Write it as JavaScript would: new RegExp(pattern, 'g') must accept it.",
      cause,
    });
  }
}

/** True for `(a+)*` and the like: an unbounded repetition inside a group that is itself repeated without bound. */
function repeatsRepetition(source: string): boolean {
  let rest = source.replace(/\\./g, "_").replace(/\[[^\]]*\]/g, "_");
  for (;;) {
    const group = /\(([^()]*)\)/.exec(rest);
    if (group === null) return false;
    const after = rest.slice(group.index + group[0].length);
    const repeats = /[*+∞]|\{\d+,\}/.test(group[1] ?? "");
    if (repeats && /^(?:[*+]|\{\d+,\})/.test(after)) return true;
    rest = rest.slice(0, group.index) + (repeats ? "∞" : "_") + after;
  }
}

function pieces(text: string): string[] {
  const cut: string[] = [];
  for (let start = 0; start < text.length; ) {
    const lineEnd = text.lastIndexOf("\n", start + PIECE);
    const end = start + PIECE >= text.length ? text.length : lineEnd > start ? lineEnd + 1 : start + PIECE;
    cut.push(text.slice(start, end));
    start = end;
  }
  return cut;
}
