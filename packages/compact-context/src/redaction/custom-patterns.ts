import { CompactError, kindOf, requireList } from "../errors.ts";
import { readExpression } from "./beginnings.ts";
import { type Finding, REDACTED, type Span } from "./finding.ts";

/** Text is searched in pieces of this many characters; a longer match becomes two findings. */
const PIECE = 32_768;

/**
 * Compiles the caller's patterns to one finder that reports whole matches. A pattern can start with `(?i)` or
 * be written `/…/i`. Patterns run on a linear-time automaton instead of the platform's backtracking engine.
 * Throws `InvalidConfig` for a pattern that does not compile, nests unbounded repetitions or cannot be
 * matched in linear time. Text over 32,768 characters is searched in pieces that end at a line break.
 */
export function compilePatterns(patterns: readonly (string | RegExp)[]): (text: string) => Iterable<Finding> {
  requireList(
    patterns,
    "redaction.patterns",
    "Pass the regular expressions as a list, also where it is one.",
  );
  const searches = patterns.map(compilePattern);
  return function* (text) {
    if (searches.length === 0) return;
    for (const [start, end] of pieces(text)) {
      const piece = start === 0 && end === text.length ? text : text.slice(start, end);
      for (const search of searches) yield* matchesOf(search, piece, start);
    }
  };
}

function* matchesOf(search: PatternSearch, piece: string, offset: number): Generator<Finding> {
  for (let from = 0; from <= piece.length; ) {
    const match = search(piece, from);
    if (match === undefined) return;
    from = Math.max(match.end, from + 1, match.start + 1);
    if (match.end > match.start && !isRedacted(piece, match)) {
      yield { start: offset + match.start, end: offset + match.end, kind: "custom" };
    }
  }
}

/** True inside the replacement that an earlier round or another redactor inserted. */
function isRedacted(text: string, { start, end }: Span): boolean {
  const from = Math.max(0, start - REDACTED.length);
  const at = text.slice(from, start + REDACTED.length).lastIndexOf(REDACTED, start - from);
  return at !== -1 && end <= from + at + REDACTED.length;
}

function compilePattern(pattern: string | RegExp, index: number): PatternSearch {
  const place = `redaction.patterns[${index}]`;
  const refuse = (fault: string, hint: string, cause?: unknown): never => {
    throw new CompactError("InvalidConfig", `${place} ${fault}`, { place, hint, cause });
  };
  if (typeof pattern !== "string" && !(pattern instanceof RegExp)) {
    return refuse(
      `must be text or a RegExp, not ${kindOf(pattern)}`,
      "Write the regular expression as text, such as 'ticket-\\d+'.",
    );
  }
  const { source, flags } = typeof pattern === "string" ? readPattern(pattern) : pattern;
  const unknown = [...flags].find((flag) => !`${FLAGS}dgy`.includes(flag));
  if (unknown !== undefined) {
    return refuse(
      `has the flag ${unknown}, which is not known`,
      `Use flags of ${[...FLAGS].join(", ")}; (?i) or /…/i ignores case.`,
    );
  }
  const matching = [...FLAGS].filter((flag) => flags.includes(flag)).join("");
  try {
    new RegExp(source, matching);
  } catch (cause) {
    return refuse(
      "is no valid regular expression",
      "Write it as JavaScript would: new RegExp(pattern, 'g') must accept it. (?i) may stand at its beginning.",
      cause,
    );
  }
  try {
    return createPatternSearch(source, matching);
  } catch (cause) {
    if (cause === NESTED) {
      return refuse(
        "repeats a group that holds a repetition",
        "Such a pattern can take for ever on some texts: write it without a + or * inside a repeated group.",
      );
    }
    return refuse(
      "cannot be matched in linear time",
      "Write it without lookahead, lookbehind, references to groups and very large counts.",
      cause,
    );
  }
}

/** Flags that affect what matches. */
const FLAGS = "imsuv";
/** `(?i)` at the start, as in Python and Go. */
const INLINE_FLAGS = /^\(\?([a-zA-Z]+)\)/;
/** `/…/i`, as in JavaScript, without an unescaped slash inside. */
const LITERAL = /^\/((?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/([a-zA-Z]*)$/;

function readPattern(pattern: string): { readonly source: string; readonly flags: string } {
  const [, body = pattern, outer = ""] = LITERAL.exec(pattern) ?? [];
  const [inline = "", inner = ""] = INLINE_FLAGS.exec(body) ?? [];
  return { source: body.slice(inline.length), flags: outer + inner };
}

function* pieces(text: string): Generator<[number, number]> {
  for (let start = 0; start < text.length; ) {
    const lineEnd = text.lastIndexOf("\n", start + PIECE);
    const end = start + PIECE >= text.length ? text.length : lineEnd > start ? lineEnd + 1 : start + PIECE;
    yield [start, end];
    start = end;
  }
}

type PatternSearch = (text: string, from: number) => Span | undefined;

type CharacterTest = (code: number) => boolean;

/** A step of a compiled pattern: reads a character, continues elsewhere, or ends the match if it does neither. */
interface Step {
  readonly test: CharacterTest | undefined;
  /** Steps that follow without reading, relative to this one, so that steps can be copied; the preferred one last. */
  readonly next: readonly number[] | undefined;
  /** Where `next` applies; undefined: everywhere. */
  readonly holds: ((text: string, at: number) => boolean) | undefined;
}

const ASCII = 128;

/** A step that reads or ends, and the start of its match. */
interface Thread {
  readonly step: number;
  readonly start: number;
}

/**
 * Finds the same match as a backtracking engine by simulating all alternatives in parallel (Thompson 1968,
 * Pike's VM). Time is at most the text's length times the pattern's. Throws for a pattern that needs more.
 */
export function createPatternSearch(source: string, flags: string): PatternSearch {
  const codePoints = /[uv]/.test(flags);
  const program = [...compile(source, flags, codePoints), stepOf({})];
  const beginnings = beginningsOf(program);
  /** By step: the stamp of the position where it was last reached. */
  const seen = new Float64Array(program.length);
  let stamp = 1;

  const codeAt = (text: string, at: number): number =>
    (codePoints ? text.codePointAt(at) : text.charCodeAt(at)) || 0;
  const widthAt = (text: string, at: number): number => (codeAt(text, at) > 0xffff ? 2 : 1);
  const nextBeginning = (text: string, from: number): number => {
    if (beginnings === undefined) return from;
    let at = from;
    while (at < text.length && text.charCodeAt(at) < ASCII && beginnings[text.charCodeAt(at)] === 0) at += 1;
    return at;
  };
  /** Adds a step, or every step that follows it without reading; each one once per position. */
  const follow = (threads: Thread[], { step: first, start }: Thread, text: string, at: number): void => {
    const open = [first];
    for (let step = open.pop(); step !== undefined; step = open.pop()) {
      if (seen[step] === stamp + at) continue;
      seen[step] = stamp + at;
      const { next, holds } = program[step] as Step;
      if (next === undefined) threads.push({ step, start });
      else if (holds?.(text, at) !== false) for (const by of next) open.push(step + by);
    }
  };
  /** Moves threads over the character at `at`, in order of priority, up to one whose match ends here. */
  const advance = (threads: readonly Thread[], text: string, at: number, behind: number) => {
    const moved: Thread[] = [];
    const code = codeAt(text, at);
    for (const { step, start } of threads) {
      const { test } = program[step] as Step;
      if (test === undefined) return { moved, found: { start, end: at } };
      if (at < text.length && test(code)) follow(moved, { step: step + 1, start }, text, behind);
    }
    return { moved, found: undefined };
  };

  return (text, from) => {
    stamp += text.length + 2;
    let threads: Thread[] = [];
    let found: Span | undefined;
    // Not between the two halves of a surrogate pair
    let at = from === 0 ? 0 : from - 1 + widthAt(text, from - 1);
    while (at <= text.length && (threads.length > 0 || found === undefined)) {
      if (threads.length === 0) at = nextBeginning(text, at);
      if (found === undefined) follow(threads, { step: 0, start: at }, text, at);
      const behind = at + widthAt(text, at);
      const advanced = advance(threads, text, at, behind);
      threads = advanced.moved;
      found = advanced.found ?? found;
      at = behind;
    }
    return found;
  };
}

/** Codes below 128 that can start a match; undefined if a match can be empty. */
function beginningsOf(program: readonly Step[]): Uint8Array | undefined {
  const codes = new Uint8Array(ASCII);
  const open = new Set([0]);
  for (const step of open) {
    const { test, next } = program[step] as Step;
    if (test === undefined && next === undefined) return undefined;
    for (const by of next ?? []) open.add(step + by);
    for (let code = 0; code < ASCII; code++) if (test?.(code)) codes[code] = 1;
  }
  return codes;
}

const stepOf = ({ test, next, holds }: Partial<Step>): Step => ({ test, next, holds });

const LONGEST_PROGRAM = 1000;
/** Thrown for `(a+)*` and similar: an unbounded repetition of a group that contains one. */
const NESTED = new RangeError("it repeats a repetition");

/** Steps of a part of a pattern, and whether it contains an unbounded repetition. */
interface Part {
  readonly steps: readonly Step[];
  readonly unbounded: boolean;
}

/**
 * Compiles a pattern that V8 accepts. Throws `RangeError` for constructs without linear-time matching
 * (lookahead, lookbehind and backreferences) and for counted repetitions that expand beyond 1,000 steps.
 */
function compile(source: string, flags: string, codePoints: boolean): readonly Step[] {
  return readExpression<Part>(source, codePoints, {
    empty: { steps: [], unbounded: false },
    isFull: () => false,
    item: (atom) => ({ steps: [stepFor(atom, flags)], unbounded: false }),
    around: () => {
      throw new RangeError("it looks ahead or behind: (?= (?! (?<= (?<!");
    },
    joined: (before, behind) => {
      checkLength(before.steps.length + behind.steps.length);
      return partOf([before, behind], [...before.steps, ...behind.steps]);
    },
    either: (one, other) =>
      partOf(
        [one, other],
        [
          stepOf({ next: [one.steps.length + 2, 1] }),
          ...one.steps,
          stepOf({ next: [other.steps.length + 1] }),
          ...other.steps,
        ],
      ),
    repeated,
  }).steps;
}

const partOf = (parts: readonly Part[], steps: readonly Step[]): Part => ({
  steps,
  unbounded: parts.some(({ unbounded }) => unbounded),
});

function stepFor(atom: string, flags: string): Step {
  if (/^(?:\^|\$|\\b)$/i.test(atom)) return stepOf({ next: [1], holds: assertionOf(atom, flags) });
  if (/^\\(?:[1-9]|k<)/.test(atom)) throw new RangeError("it refers to a group (\\1)");
  return stepOf({ test: testOf(atom, flags) });
}

function checkLength(steps: number): void {
  if (steps > LONGEST_PROGRAM) throw new RangeError("it repeats too much to be searched for");
}

function repeated({ steps, unbounded }: Part, least: number, most: number | undefined, lazy: boolean): Part {
  if (most === undefined && unbounded) throw NESTED;
  const size = steps.length;
  checkLength(least * Math.max(size, 1));
  const choice = (skip: number): Step => stepOf({ next: lazy ? [1, skip] : [skip, 1] });
  const all = Array.from({ length: least }, () => steps).flat();
  if (most === undefined) {
    return { steps: [...all, choice(size + 2), ...steps, stepOf({ next: [-size - 1] })], unbounded: true };
  }
  const optional = most - least;
  checkLength(optional * (size + 1));
  for (let left = optional; left > 0; left--) all.push(choice(left * (size + 1)), ...steps);
  return { steps: all, unbounded };
}

/** Uses V8 itself to test whether a character matches an atom; results are cached per character. */
function testOf(atom: string, flags: string): CharacterTest {
  const source = /^[[\\.]/.test(atom) ? atom : atom.replace(/[$()*+?.{}|^/\]]/, "\\$&");
  const pattern = new RegExp(`^(?:${source})$`, flags.replace("m", ""));
  const known = new Map<number, boolean>();
  return (code) => {
    const fits = known.get(code) ?? pattern.test(String.fromCodePoint(code));
    known.set(code, fits);
    return fits;
  };
}

function assertionOf(sign: string, flags: string): NonNullable<Step["holds"]> {
  const isEdge = (text: string, at: number): boolean =>
    at < 0 || at >= text.length || (flags.includes("m") && /[\n\r\u2028\u2029]/.test(text.charAt(at)));
  if (sign === "^") return (text, at) => isEdge(text, at - 1);
  if (sign === "$") return isEdge;
  const isWord = (text: string, at: number): boolean => /\w/.test(text.charAt(at));
  return (text, at) => (isWord(text, at - 1) !== isWord(text, at)) === (sign === "\\b");
}
