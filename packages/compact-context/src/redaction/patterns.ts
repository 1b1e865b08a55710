interface Reader {
  readonly source: string;
  readonly flags: string;
  at: number;
}

const ASSERTIONS = /\^|\$|\\b|\\B/y;
const CLASS = /\[(?:\\[\s\S]|[^\]\\])*\]/y;
const ESCAPE = /\\(?:u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[pP]\{[^}]*\}|[\s\S])/y;
const COUNT = /\{(\d+)(?:(,)(\d+)?)?\}/y;
const GROUP = /\((?:\?:|\?<(?![=!])[^>]*>)?/y;
const UNLIMITED = Number.POSITIVE_INFINITY;

/** True for flags that treat a character outside the BMP as one character, not two code units. */
export function readsCodePoints(flags: string): boolean {
  return /[uv]/.test(flags);
}

/**
 * Parses a JavaScript pattern that V8 accepts. Throws `RangeError` for constructs without linear-time
 * matching: lookahead, lookbehind and backreferences.
 */
export function parsePattern(source: string, flags: string): PatternNode {
  const reader: Reader = { source, flags, at: 0 };
  const node = readEither(reader);
  if (reader.at < source.length)
    throw new RangeError(`it is not understood from character ${reader.at + 1} on`);
  return node;
}

function readEither(reader: Reader): PatternNode {
  const branches = [readSequence(reader)];
  while (reader.source[reader.at] === "|") {
    reader.at += 1;
    branches.push(readSequence(reader));
  }
  return branches.length === 1 && branches[0] !== undefined ? branches[0] : { type: "either", branches };
}

function readSequence(reader: Reader): PatternNode {
  const items: PatternNode[] = [];
  for (;;) {
    const next = reader.source[reader.at];
    if (next === undefined || next === "|" || next === ")") return { type: "sequence", items };
    items.push(readRepeat(reader));
  }
}

function readRepeat(reader: Reader): PatternNode {
  const item = readItem(reader);
  const counted = take(reader, COUNT);
  const sign = counted === undefined ? (/[*+?]/.exec(reader.source[reader.at] ?? "")?.[0] ?? "") : "";
  if (counted === undefined && sign === "") return item;
  reader.at += sign.length;
  const lazy = reader.source[reader.at] === "?";
  if (lazy) reader.at += 1;
  const [least, most] = counted === undefined ? bounds(sign) : countBounds(counted);
  return { type: "repeat", item, least, most, lazy };
}

function bounds(sign: string): [number, number] {
  return [sign === "+" ? 1 : 0, sign === "?" ? 1 : UNLIMITED];
}

function countBounds(counted: readonly (string | undefined)[]): [number, number] {
  const least = Number(counted[1]);
  const open = counted[2] !== undefined;
  return [least, counted[3] === undefined ? (open ? UNLIMITED : least) : Number(counted[3])];
}

function readItem(reader: Reader): PatternNode {
  const assertion = take(reader, ASSERTIONS)?.[0];
  if (assertion !== undefined) return { type: "assert", holds: assertionOf(assertion, reader.flags) };
  if (reader.source[reader.at] === "(") return readGroup(reader);
  const atom = (take(reader, CLASS) ?? take(reader, ESCAPE))?.[0] ?? takeCharacter(reader);
  if (/^\\(?:[1-9]|k<)/.test(atom) || (atom === "\\k" && reader.source[reader.at] === "<"))
    throw new RangeError("it refers to a group (\\1)");
  return { type: "char", test: testOf(atom, reader.flags) };
}

function takeCharacter(reader: Reader): string {
  const character = readsCodePoints(reader.flags)
    ? String.fromCodePoint(reader.source.codePointAt(reader.at) ?? 0)
    : reader.source.charAt(reader.at);
  reader.at += character.length;
  return character;
}

function readGroup(reader: Reader): PatternNode {
  const opening = take(reader, GROUP)?.[0] ?? "(";
  if (opening === "(" && reader.source[reader.at] === "?")
    throw new RangeError("it looks ahead or behind: (?= (?! (?<= (?<!");
  const inner = readEither(reader);
  reader.at += 1;
  return inner;
}

/** Uses V8 itself to test whether a character matches an atom; results are cached per character. */
function testOf(atom: string, flags: string): CharacterTest {
  const source = /^[[\\.]/.test(atom) ? atom : atom.replace(/[$()*+?.{}|^/\]]/, "\\$&");
  const pattern = new RegExp(`^(?:${source})$`, flags.replace(/[gym]/g, ""));
  const known = new Map<number, boolean>();
  return (code) => {
    let fits = known.get(code);
    if (fits === undefined) {
      fits = pattern.test(String.fromCodePoint(code));
      known.set(code, fits);
    }
    return fits;
  };
}

function assertionOf(sign: string, flags: string): (text: string, at: number) => boolean {
  const lines = flags.includes("m");
  if (sign === "^") return (text, at) => at === 0 || (lines && isLineEnd(text.charCodeAt(at - 1)));
  if (sign === "$") return (text, at) => at === text.length || (lines && isLineEnd(text.charCodeAt(at)));
  const wanted = sign === "\\b";
  return (text, at) => (isWord(text.charCodeAt(at - 1)) !== isWord(text.charCodeAt(at))) === wanted;
}

function isLineEnd(code: number): boolean {
  return code === 10 || code === 13 || code === 0x2028 || code === 0x2029;
}

function isWord(code: number): boolean {
  return (
    (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122)
  );
}

function take(reader: Reader, pattern: RegExp): RegExpExecArray | undefined {
  pattern.lastIndex = reader.at;
  const match = pattern.exec(reader.source);
  if (match === null) return undefined;
  reader.at += match[0].length;
  return match;
}

/** One step of a compiled pattern; jump targets are step indexes. */
export type Step =
  | { readonly op: "char"; readonly test: CharacterTest }
  | { readonly op: "assert"; readonly holds: (text: string, at: number) => boolean }
  /** Continues at both targets, the first with higher priority. */
  | { readonly op: "split"; first: number; second: number }
  | { readonly op: "jump"; to: number }
  | { readonly op: "match" };

/** Tests a character, given its code unit, or its code point if the pattern reads code points. */
export type CharacterTest = (code: number) => boolean;

/** A node of a pattern's syntax tree. */
export type PatternNode =
  | { readonly type: "char"; readonly test: CharacterTest }
  | { readonly type: "assert"; readonly holds: (text: string, at: number) => boolean }
  | { readonly type: "sequence"; readonly items: readonly PatternNode[] }
  | { readonly type: "either"; readonly branches: readonly PatternNode[] }
  | {
      readonly type: "repeat";
      readonly item: PatternNode;
      readonly least: number;
      readonly most: number;
      readonly lazy: boolean;
    };

const LONGEST_PROGRAM = 1000;

/** Compiles a pattern to steps; throws `RangeError` if counted repetitions expand it beyond 1,000 steps. */
export function compileProgram(root: PatternNode): Step[] {
  const steps: Step[] = [];
  emit(root, steps);
  steps.push({ op: "match" });
  return steps;
}

function emit(node: PatternNode, steps: Step[]): void {
  if (steps.length > LONGEST_PROGRAM) throw new RangeError("it repeats too much to be searched for");
  if (node.type === "char") steps.push({ op: "char", test: node.test });
  else if (node.type === "assert") steps.push({ op: "assert", holds: node.holds });
  else if (node.type === "sequence") for (const item of node.items) emit(item, steps);
  else if (node.type === "either") emitEither(node.branches, steps);
  else emitRepeat(node, steps);
}

function emitEither(branches: readonly PatternNode[], steps: Step[]): void {
  const jumps: { op: "jump"; to: number }[] = [];
  for (const [index, branch] of branches.entries()) {
    if (index === branches.length - 1) {
      emit(branch, steps);
      break;
    }
    const split = { op: "split" as const, first: steps.length + 1, second: 0 };
    steps.push(split);
    emit(branch, steps);
    const jump = { op: "jump" as const, to: 0 };
    steps.push(jump);
    jumps.push(jump);
    split.second = steps.length;
  }
  for (const jump of jumps) jump.to = steps.length;
}

function emitRepeat(node: PatternNode & { type: "repeat" }, steps: Step[]): void {
  const { item, least, most, lazy } = node;
  if (least > LONGEST_PROGRAM) throw new RangeError("it repeats too much to be searched for");
  for (let count = 0; count < least; count++) emit(item, steps);
  if (most === Number.POSITIVE_INFINITY) {
    const loop = steps.length;
    const split = splitAt(steps);
    emit(item, steps);
    steps.push({ op: "jump", to: loop });
    aim(split, { item: loop + 1, after: steps.length, lazy });
    return;
  }
  const splits: { op: "split"; first: number; second: number; item: number }[] = [];
  for (let count = least; count < most; count++) {
    const split = Object.assign(splitAt(steps), { item: steps.length });
    splits.push(split);
    emit(item, steps);
  }
  for (const split of splits) aim(split, { item: split.item, after: steps.length, lazy });
}

function splitAt(steps: Step[]): { op: "split"; first: number; second: number } {
  const split = { op: "split" as const, first: 0, second: 0 };
  steps.push(split);
  return split;
}

function aim(
  split: { first: number; second: number },
  places: { readonly item: number; readonly after: number; readonly lazy: boolean },
): void {
  split.first = places.lazy ? places.after : places.item;
  split.second = places.lazy ? places.item : places.after;
}
