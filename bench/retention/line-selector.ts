import { factsIn } from "./facts.ts";
import { type Turn, type TurnPart, tagOf, tokensOf } from "./turns.ts";

/*
 * A peer without any form: the newest words, then the lines whose facts look likeliest to come back, by ten weights set by
 * hand. No sections, no request or rules kept verbatim, no sources: what selecting lines alone can do.
 */

type Source = "user" | "assistant" | "call" | "read" | "output";

interface Line {
  readonly text: string;
  readonly turn: number;
  readonly part: TurnPart;
  readonly source: Source;
  readonly facts: readonly Known[];
  readonly tokens: number;
  /** How much it says about what it names, 0 to 1. */
  readonly telling: number;
}

interface Known {
  readonly turns: Set<number>;
  readonly first: number;
  readonly firstSaid: boolean;
  last: number;
  bySomeone: boolean;
  calls: number;
  edited: boolean;
  /** Fewest facts in a turn that has it. */
  company: number;
  lines: number;
  besideHot: number;
  likely: number;
  told: number;
}

const WEIGHT: Readonly<Record<Source, number>> = { assistant: 3, user: 2, call: 0.7, read: 0.6, output: 1 };
const TELLINGS = [1, 0.6, 0.4];
const GROUP = 3;
const LOOKS = /read|cat|view|open|fetch|get|grep|search|glob|find|\bls\b/i;
const CHANGES = /edit|write|create|patch|replace|insert/i;

/** The newest texts and calls in up to 55 % of the room (30 % below 1,500 tokens), then the best lines. */
export function selectedLines(turns: readonly Turn[], budget: number): string {
  const roomy = budget >= 1500;
  const lines = readLines(turns, roomy ? 300 : 140);
  weigh(turns, lines);
  const kept = new Kept(lines, budget);
  kept.addNewest(budget * (roomy ? 0.55 : 0.3), roomy ? 2000 : 600);
  kept.addBest();
  return kept.text(turns);
}

function readLines(turns: readonly Turn[], longest: number): Line[] {
  const known = new Map<string, Known>();
  const lines: Line[] = [];
  let pending: string[] = [];
  turns.forEach((turn, index) => {
    const inTurn = new Set<Known>();
    const calls = turn.parts.flatMap(({ kind, names }) => (kind === "call" ? [names?.[0] ?? ""] : []));
    for (const part of turn.parts) {
      if (part.kind === "reasoning") continue;
      const tool = part.kind === "result" ? (pending.shift() ?? "") : (part.names?.[0] ?? "");
      const source = sourceOf(turn, part, tool);
      for (const text of part.text.split("\n").flatMap((line) => pieces(line.trimEnd(), longest))) {
        if (text.trim().length < 2) continue;
        const facts = [...factsIn(text).keys()].map((value) =>
          noted(known, value, { source, turn: index, tool }),
        );
        for (const fact of facts) inTurn.add(fact);
        const words = text.match(/[A-Za-z]{3,}/g)?.length ?? 0;
        const telling = Math.min(1, words / 8);
        lines.push({ text, turn: index, part, source, facts, tokens: tokensOf(text) + 1, telling });
      }
    }
    for (const fact of inTurn) fact.company = Math.min(fact.company, inTurn.size);
    if (calls.length > 0) pending = calls;
  });
  return lines;
}

function sourceOf(turn: Turn, part: TurnPart, tool: string): Source {
  if (part.kind === "result" || turn.role === "tool") return LOOKS.test(tool) ? "read" : "output";
  return part.kind === "call" ? "call" : turn.role;
}

function pieces(line: string, longest: number): string[] {
  const found: string[] = [];
  let rest = line;
  while (rest.length > longest) {
    const head = rest.slice(0, longest);
    const clause = Math.max(head.lastIndexOf(", "), head.lastIndexOf(". "), head.lastIndexOf("; "));
    const end = [clause, head.lastIndexOf(" ")].find((at) => at >= longest * 0.4) ?? longest - 1;
    found.push(rest.slice(0, end + 1));
    rest = rest.slice(end + 1);
  }
  return [...found, rest];
}

function noted(
  known: Map<string, Known>,
  value: string,
  { source, turn, tool }: { source: Source; turn: number; tool: string },
): Known {
  const fact = known.get(value) ?? {
    turns: new Set<number>(),
    first: turn,
    firstSaid: source === "assistant" || source === "call",
    last: turn,
    bySomeone: false,
    calls: 0,
    edited: false,
    company: Number.POSITIVE_INFINITY,
    lines: 0,
    besideHot: 0,
    likely: 0,
    told: 0,
  };
  known.set(value, fact);
  fact.turns.add(turn);
  fact.last = turn;
  fact.lines += 1;
  if (source === "user") fact.bySomeone = true;
  if (source === "call") fact.calls += 1;
  if (source === "call" && CHANGES.test(tool)) fact.edited = true;
  return fact;
}

/** Sets how likely each fact is to come back; what stands in more than a quarter of the turns is worth nothing. */
function weigh(turns: readonly Turn[], lines: readonly Line[]): void {
  const hot = new Set<Known>();
  const newest = newestAssistant(turns, 8);
  for (const { turn, source, facts } of lines) {
    if (turn >= newest && source !== "read" && source !== "output") for (const fact of facts) hot.add(fact);
  }
  for (const { facts } of lines) {
    for (const fact of facts)
      if (facts.some((other) => other !== fact && hot.has(other))) fact.besideHot += 1;
  }
  const lastAsk = turns.findLastIndex(({ role }) => role === "user");
  for (const fact of new Set(lines.flatMap(({ facts }) => facts))) {
    if (turns.length >= 6 && fact.turns.size > turns.length / 4) continue;
    const sum =
      -3.6 +
      0.9 * Math.log(1 + fact.turns.size) +
      (fact.last - fact.first) / turns.length +
      0.5 * (fact.last / turns.length) -
      0.45 * (Math.log(1 + fact.company) - 3) +
      0.4 * Math.log(1 + fact.calls) +
      0.7 * (fact.besideHot / fact.lines) +
      (fact.firstSaid ? 0.9 : 0) +
      (fact.bySomeone ? 0.5 : 0) +
      (fact.turns.has(lastAsk) ? 0.4 : 0) +
      (fact.edited ? 0.4 : 0);
    fact.likely = 1 / (1 + Math.exp(-sum));
  }
}

function newestAssistant(turns: readonly Turn[], count: number): number {
  const own = turns.flatMap(({ role }, index) => (role === "assistant" ? [index] : []));
  return own.at(-count) ?? 0;
}

/** The first place of a rising queue whose value is not below the given one. */
function placeOf(queue: readonly { readonly value: number }[], value: number): number {
  let [low, high] = [0, queue.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((queue[middle]?.value ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

class Kept {
  readonly #lines: readonly Line[];
  readonly #kept = new Set<number>();
  readonly #texts = new Set<string>();
  readonly #turns = new Set<number>();
  #room: number;

  constructor(lines: readonly Line[], room: number) {
    this.#lines = lines;
    this.#room = room;
  }

  addNewest(share: number, longestPart: number): void {
    let room = share;
    const read = new Map<TurnPart, number>();
    const newestFirst = this.#lines
      .map((line, index) => ({ line, index }))
      .sort((a, b) => b.line.turn - a.line.turn);
    for (const { line, index } of newestFirst) {
      const before = read.get(line.part) ?? 0;
      const cost = this.#cost(line);
      if (line.source === "read" || line.source === "output" || before > longestPart || cost > room) continue;
      read.set(line.part, before + line.text.length);
      room -= cost;
      this.#keep(index);
    }
  }

  /** Greedy; the value of a line only sinks, so that the first whose value still holds is the best. */
  addBest(): void {
    const queue = this.#lines
      .map((_, index) => ({ index, value: this.#kept.has(index) ? 0 : this.#value(index) }))
      .filter(({ value }) => value > 0)
      .sort((a, b) => a.value - b.value);
    for (let entry = queue.pop(); entry !== undefined && this.#room > 8; entry = queue.pop()) {
      const line = this.#lines[entry.index] as Line;
      if (this.#texts.has(line.text.trim())) continue;
      const value = this.#value(entry.index);
      if (value <= 0) continue;
      if (value < (queue.at(-1)?.value ?? 0)) {
        queue.splice(placeOf(queue, value), 0, { index: entry.index, value });
      } else if (this.#cost(line) <= this.#room) this.#keep(entry.index);
    }
  }

  text(turns: readonly Turn[]): string {
    let last = -1;
    const texts = [...this.#kept]
      .sort((a, b) => a - b)
      .map((index) => {
        const { text, turn } = this.#lines[index] as Line;
        const tag = turn === last ? "" : `${tagOf(turns[turn] as Turn)}\n`;
        last = turn;
        return tag + text;
      });
    return texts.join("\n");
  }

  #cost({ tokens, turn }: Line): number {
    return tokens + (this.#turns.has(turn) ? 0 : GROUP);
  }

  #keep(index: number): void {
    const line = this.#lines[index] as Line;
    this.#room -= this.#cost(line);
    this.#kept.add(index);
    this.#texts.add(line.text.trim());
    this.#turns.add(line.turn);
    for (const fact of line.facts) fact.told += 1;
  }

  // A fact counts once for being there, and up to three times for what is said about it.
  #value(index: number): number {
    const line = this.#lines[index] as Line;
    let value = 0;
    for (const { likely, told } of line.facts) {
      if (likely === 0) continue;
      if (told === 0) value += likely - 0.05 * (1 - likely);
      value += 2.5 * likely * line.telling * (TELLINGS[told] ?? 0);
    }
    return (value * WEIGHT[line.source]) / this.#cost(line) ** 0.7;
  }
}
