import type { Step } from "./program.ts";

/** Places that are tried at once, in order of preference, each with where its match would begin. */
interface Threads {
  readonly steps: Int32Array;
  readonly starts: Int32Array;
  length: number;
}

/** A compiled pattern and what its search works with; one search at a time. */
export interface Machine {
  readonly program: readonly Step[];
  /** Reads code points; code units otherwise. */
  readonly codePoints: boolean;
  /** Codes below 128 that a match can begin with; undefined where a match can be empty or begin with a condition. */
  readonly beginnings: Uint8Array | undefined;
  /** By step: the stamp of the place where it was reached last. */
  readonly seen: Float64Array;
  /** What the next search adds to its places to tell its stamps from earlier ones. */
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
 * The first match at or after `from`, the one that a backtracking engine would give, found by following all
 * ways at once (Thompson 1968, Pike's threads): the time is the text's length times the pattern's, never more.
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

/** Every way reads the character at `at`; where the best one ends here, the start of its match, the rest given up. */
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

/** The character at `at`; -1 at the end. */
function codeAt({ codePoints }: Machine, text: string, at: number): number {
  if (at >= text.length) return -1;
  return codePoints ? (text.codePointAt(at) ?? -1) : text.charCodeAt(at);
}

function widthAt(machine: Machine, text: string, at: number): number {
  return machine.codePoints && codeAt(machine, text, at) > 0xffff ? 2 : 1;
}

/** True between the two halves of one character. */
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

/** Adds a way and all that it reaches without reading a character; each step once at each place. */
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

/** The steps that a step leads to without reading a character, the preferred last. */
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
