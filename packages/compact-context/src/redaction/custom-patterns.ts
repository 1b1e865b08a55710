import { CompactError, kindOf, requireList } from "../errors.ts";
import { parsePattern, readsCodePoints } from "./patterns/parse.ts";
import { compileProgram } from "./patterns/program.ts";
import { createMachine, findMatch, type Machine } from "./patterns/search.ts";
import { type Finding, REDACTED } from "./secrets.ts";

/** A match that needs more text than this in one piece is cut into two findings. */
const PIECE = 32_768;

/**
 * Compiles the caller's patterns to one finder; whole matches are found. Text may begin with `(?i)` or be written
 * `/…/i`. They are not run by the backtracking
 * engine of the platform but followed all ways at once, in linear time.
 * Throws `InvalidConfig` for a pattern that does not compile, repeats a repetition or cannot be matched so.
 * Text over 32,768 characters is searched in pieces that end with a line.
 */
export function compilePatterns(patterns: readonly (string | RegExp)[]): (text: string) => Iterable<Finding> {
  requireList(
    patterns,
    "redaction.patterns",
    "Pass the regular expressions as a list, also where it is one.",
  );
  const machines = patterns.map(compilePattern);
  return function* (text) {
    if (machines.length === 0) return;
    for (const [start, end] of pieces(text)) {
      const piece = start === 0 && end === text.length ? text : text.slice(start, end);
      for (const machine of machines) yield* matchesOf(machine, piece, start);
    }
  };
}

function* matchesOf(machine: Machine, piece: string, offset: number): Generator<Finding> {
  for (let from = 0; from <= piece.length; ) {
    const match = findMatch(machine, piece, from);
    if (match === undefined) return;
    from = Math.max(match.end, from + 1, match.start + 1);
    if (match.end > match.start && !isRedacted(piece, match)) {
      yield { start: offset + match.start, end: offset + match.end, kind: "custom" };
    }
  }
}

/** True within what an earlier round, or another redactor, put in place of a secret. */
function isRedacted(text: string, { start, end }: { readonly start: number; readonly end: number }): boolean {
  const from = Math.max(0, start - REDACTED.length);
  const at = text.slice(from, start + REDACTED.length).lastIndexOf(REDACTED, start - from);
  return at !== -1 && end <= from + at + REDACTED.length;
}

function compilePattern(pattern: string | RegExp, index: number): Machine {
  const place = `redaction.patterns[${index}]`;
  const { source, flags } = readPattern(pattern, place);
  if (repeatsRepetition(source)) {
    throw new CompactError("InvalidConfig", `${place} repeats a group that holds a repetition`, {
      place,
      hint: "Such a pattern can take for ever on some texts: write it without a + or * inside a repeated group.",
    });
  }
  try {
    new RegExp(source, flags);
  } catch (cause) {
    throw new CompactError("InvalidConfig", `${place} is no valid regular expression`, {
      place,
      hint: "Write it as JavaScript would: new RegExp(pattern, 'g') must accept it. (?i) may stand at its beginning.",
      cause,
    });
  }
  try {
    return createMachine(compileProgram(parsePattern(source, flags)), readsCodePoints(flags));
  } catch (cause) {
    throw new CompactError("InvalidConfig", `${place} cannot be matched in linear time`, {
      place,
      hint: "Write it without lookahead, lookbehind, references to groups and very large counts.",
      cause,
    });
  }
}

/** Flags that change what matches. */
const FLAGS = "imsuv";
/** `(?i)` at the beginning, as Python and Go write it. */
const INLINE_FLAGS = /^\(\?([a-zA-Z]+)\)/;
/** `/…/i`, as JavaScript writes it: no bare slash inside. */
const LITERAL = /^\/((?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/([a-zA-Z]*)$/;

/** The expression of a pattern without the marks around it, and its flags. */
function readPattern(
  pattern: string | RegExp,
  place: string,
): { readonly source: string; readonly flags: string } {
  if (typeof pattern !== "string" && !(pattern instanceof RegExp)) {
    throw new CompactError("InvalidConfig", `${place} must be text or a RegExp, not ${kindOf(pattern)}`, {
      place,
      hint: "Write the regular expression as text, such as 'ticket-\\d+'.",
    });
  }
  if (typeof pattern !== "string") return { source: pattern.source, flags: onlyMatching(pattern.flags) };
  const literal = LITERAL.exec(pattern);
  const [, body = pattern, outer = ""] = literal ?? [];
  const inline = INLINE_FLAGS.exec(body);
  const flags = outer + (inline?.[1] ?? "");
  const unknown = [...flags].find((flag) => !`${FLAGS}dgy`.includes(flag));
  if (unknown !== undefined) {
    throw new CompactError("InvalidConfig", `${place} has the flag ${unknown}, which is not known`, {
      place,
      hint: `Use flags of ${[...FLAGS].join(", ")}; (?i) or /…/i ignores case.`,
    });
  }
  return { source: body.slice(inline?.[0].length ?? 0), flags: onlyMatching(flags) };
}

/** Each flag once, without those that say how a match is used. */
function onlyMatching(flags: string): string {
  return [...FLAGS].filter((flag) => flags.includes(flag)).join("");
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

function* pieces(text: string): Generator<[number, number]> {
  for (let start = 0; start < text.length; ) {
    const lineEnd = text.lastIndexOf("\n", start + PIECE);
    const end = start + PIECE >= text.length ? text.length : lineEnd > start ? lineEnd + 1 : start + PIECE;
    yield [start, end];
    start = end;
  }
}
