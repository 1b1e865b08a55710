import { CompactError, kindOf, requireList } from "../errors.ts";
import { type Finding, REDACTED } from "./finding.ts";
import { compileProgram, parsePattern, readsCodePoints, type Step } from "./patterns.ts";

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

/** True inside the replacement that an earlier round or another redactor inserted. */
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

/** Flags that affect what matches. */
const FLAGS = "imsuv";
/** `(?i)` at the start, as in Python and Go. */
const INLINE_FLAGS = /^\(\?([a-zA-Z]+)\)/;
/** `/…/i`, as in JavaScript, without an unescaped slash inside. */
const LITERAL = /^\/((?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/([a-zA-Z]*)$/;

/** A pattern's expression without delimiters, and its flags. */
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

/** The flags that affect what matches, without duplicates. */
function onlyMatching(flags: string): string {
  return [...FLAGS].filter((flag) => flags.includes(flag)).join("");
}

/** True for `(a+)*` and similar: an unbounded repetition inside a group with unbounded repetition. */
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

/** Active NFA states in order of priority, each with the start of its match. */
interface Threads {
  readonly steps: Int32Array;
  readonly starts: Int32Array;
  length: number;
}

/** A compiled pattern with its search buffers; supports one search at a time. */
export interface Machine {
  readonly program: readonly Step[];
  /** True: reads code points. False: reads code units. */
  readonly codePoints: boolean;
  /** Codes below 128 that can start a match; undefined if a match can be empty or start with an assertion. */
  readonly beginnings: Uint8Array | undefined;
  /** By step: the stamp of the position where it was last reached. */
  readonly seen: Float64Array;
  /** Offset that distinguishes the stamps of the next search from those of earlier ones. */
  stamp: number;
  readonly buffers: readonly [Threads, Threads];
}

const ASCII = 128;

export function createMachine(program: readonly Step[], codePoints = false): Machine {
  const size = program.length;
  return {
    program,
    codePoints,
    beginnings: beginningsOf(program),
    seen: new Float64Array(size),
    stamp: 1,
    buffers: [newThreads(size), newThreads(size)],
  };
}

/**
 * The first match at or after `from`, the same one that a backtracking engine finds, by simulating all
 * threads in parallel (Thompson 1968, Pike's VM). Time is at most the text's length times the pattern's.
 */
export function findMatch(
  machine: Machine,
  text: string,
  from: number,
): { start: number; end: number } | undefined {
  let [now, next] = machine.buffers;
  now.length = 0;
  machine.stamp += text.length + 2;
  let found: { start: number; end: number } | undefined;
  const begin = machine.codePoints && isSecondHalf(text, from) ? from + 1 : from;
  for (let at = begin; at <= text.length; at += widthAt(machine, text, at)) {
    if (now.length === 0 && found !== undefined) return found;
    if (now.length === 0) at = nextBeginning(machine, text, at);
    if (found === undefined) follow(machine, now, { step: 0, start: at, text, at });
    next.length = 0;
    const start = advance(machine, { now, next, text, at });
    if (start !== undefined) found = { start, end: at };
    [now, next] = [next, now];
  }
  return found;
}

interface Stride {
  readonly now: Threads;
  readonly next: Threads;
  readonly text: string;
  readonly at: number;
}

/**
 * Advances every thread over the character at `at`. If the best thread matches here, returns the start of its
 * match and drops threads of lower priority.
 */
function advance(machine: Machine, { now, next, text, at }: Stride): number | undefined {
  const code = codeAt(machine, text, at);
  const behind = at + widthAt(machine, text, at);
  for (let index = 0; index < now.length; index++) {
    const step = now.steps[index] ?? 0;
    const start = now.starts[index] ?? 0;
    const instruction = machine.program[step];
    if (instruction?.op === "match") return start;
    if (code >= 0 && instruction?.op === "char" && instruction.test(code))
      follow(machine, next, { step: step + 1, start, text, at: behind });
  }
  return undefined;
}

/** The character at `at`; -1 at the end of the text. */
function codeAt({ codePoints }: Machine, text: string, at: number): number {
  if (at >= text.length) return -1;
  return codePoints ? (text.codePointAt(at) ?? -1) : text.charCodeAt(at);
}

function widthAt(machine: Machine, text: string, at: number): number {
  return machine.codePoints && codeAt(machine, text, at) > 0xffff ? 2 : 1;
}

/** True between the two halves of a surrogate pair. */
function isSecondHalf(text: string, at: number): boolean {
  return at > 0 && (text.codePointAt(at - 1) ?? 0) > 0xffff;
}

function nextBeginning({ beginnings }: Machine, text: string, from: number): number {
  if (beginnings === undefined) return from;
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= ASCII || beginnings[code] === 1) return at;
  }
  return text.length;
}

interface Way {
  readonly step: number;
  readonly start: number;
  readonly text: string;
  readonly at: number;
}

/** Adds a thread and every step reachable without reading a character; each step once per position. */
function follow(machine: Machine, threads: Threads, way: Way): void {
  const open = [way.step];
  for (let step = open.pop(); step !== undefined; step = open.pop()) {
    if (machine.seen[step] === machine.stamp + way.at) continue;
    machine.seen[step] = machine.stamp + way.at;
    const instruction = machine.program[step];
    if (instruction?.op === "char" || instruction?.op === "match") {
      threads.steps[threads.length] = step;
      threads.starts[threads.length] = way.start;
      threads.length += 1;
    } else open.push(...reached(instruction, step, (holds) => holds(way.text, way.at)));
  }
}

type Assertion = (text: string, at: number) => boolean;

/** The steps reachable from a step without reading a character, the preferred one last. */
function reached(
  instruction: Step | undefined,
  step: number,
  isTrue: (holds: Assertion) => boolean,
): number[] {
  if (instruction?.op === "jump") return [instruction.to];
  if (instruction?.op === "split") return [instruction.second, instruction.first];
  return instruction?.op === "assert" && isTrue(instruction.holds) ? [step + 1] : [];
}

function beginningsOf(program: readonly Step[]): Uint8Array | undefined {
  const codes = new Uint8Array(ASCII);
  const seen = new Set<number>();
  const open = [0];
  for (let step = open.pop(); step !== undefined; step = open.pop()) {
    if (seen.has(step)) continue;
    seen.add(step);
    const instruction = program[step];
    if (instruction?.op === "match") return undefined;
    if (instruction?.op === "char") markAll(codes, instruction.test);
    else open.push(...reached(instruction, step, () => true));
  }
  return codes;
}

function markAll(codes: Uint8Array, test: (code: number) => boolean): void {
  for (let code = 0; code < ASCII; code++) if (test(code)) codes[code] = 1;
}

function newThreads(size: number): Threads {
  return { steps: new Int32Array(size), starts: new Int32Array(size), length: 0 };
}
