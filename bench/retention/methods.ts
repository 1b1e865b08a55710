import { factsIn } from "./facts.ts";
import { selectedLines } from "./line-selector.ts";
import { createRandom } from "./random.ts";
import { fitted, render, renderTurn, type Turn, tagOf, tokensOf, turnTokens, visibleText } from "./turns.ts";

/** Makes a text of at most so many tokens out of the part that is taken away. */
export type Method = (turns: readonly Turn[], budget: number) => string | Promise<string>;

/** The newest turns, and the end of the one before them. */
export const keepLast: Method = (turns, budget) => newest(turns, budget);

function newest(turns: readonly Turn[], budget: number): string {
  let room = budget;
  let from = turns.length;
  for (; from > 0; from--) {
    const tokens = turnTokens(turns[from - 1] as Turn);
    if (tokens > room) break;
    room -= tokens;
  }
  const older = turns[from - 1];
  const rest = render(turns.slice(from));
  if (older === undefined || room < 40) return rest;
  return `${fitted(renderTurn(older), room - 6, true)}\n\n${rest}`;
}

/** A quarter for the beginning, the rest for the end. */
const headAndTail: Method = (turns, budget) => {
  let room = budget * 0.25;
  const head: string[] = [];
  let next = 0;
  for (; next < turns.length && room > 20; next++) {
    const turn = turns[next] as Turn;
    head.push(fitted(renderTurn(turn), room));
    room -= turnTokens(turn);
  }
  const begun = head.join("\n\n");
  return `${begun}\n\n[…]\n\n${newest(turns.slice(next), budget - tokensOf(begun) - 6)}`;
};

const CLEARED = "[old tool output cleared]";

/** Old results are cleared first, as few as will do; then `trim` takes the rest. */
function masked(trim: Method): Method {
  return (turns, budget) => {
    let total = turns.reduce((sum, turn) => sum + turnTokens(turn), 0);
    const left = turns.map((turn): Turn => {
      if (total <= budget || turn.role !== "tool") return turn;
      const parts = turn.parts.map((part) => ({
        ...part,
        text: part.kind === "result" ? CLEARED : part.text,
      }));
      const cleared: Turn = { ...turn, parts };
      if (turnTokens(cleared) >= turnTokens(turn)) return turn;
      total -= turnTokens(turn) - turnTokens(cleared);
      return cleared;
    });
    return total <= budget ? render(left) : trim(left, budget);
  };
}

interface Line {
  readonly text: string;
  readonly turn: number;
}

const LONGEST_LINE = 400;

function linesOf(turns: readonly Turn[]): Line[] {
  return turns.flatMap((turn, index) =>
    visibleText(turn)
      .split("\n")
      .flatMap((line) => line.match(new RegExp(`.{1,${LONGEST_LINE}}`, "gs")) ?? [])
      .filter((text) => text.trim().length > 1)
      .map((text) => ({ text: text.trimEnd(), turn: index })),
  );
}

/** The lines of the highest score that fit, each text once, in their order. */
function bestLines(
  turns: readonly Turn[],
  { lines, scores, budget }: { lines: readonly Line[]; scores: ArrayLike<number>; budget: number },
): string {
  const order = lines.map((_, index) => index).sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0));
  const kept: Line[] = [];
  const seen = new Set<string>();
  let room = budget;
  for (const index of order) {
    const line = lines[index] as Line;
    if (room < budget * 0.01) break;
    if (seen.has(line.text)) continue;
    const tokens = tokensOf(line.text) + 4;
    if (tokens > room) continue;
    room -= tokens;
    seen.add(line.text);
    kept.push(line);
  }
  return inOrder(turns, kept, lines);
}

function inOrder(turns: readonly Turn[], kept: readonly Line[], lines: readonly Line[]): string {
  const wanted = new Set(kept);
  let last = -1;
  return lines
    .filter((line) => wanted.has(line))
    .map(({ text, turn }) => {
      const tag = turn === last ? "" : `${tagOf(turns[turn] as Turn)}\n`;
      last = turn;
      return tag + text;
    })
    .join("\n");
}

/** Lines by chance; `seed` makes a replicate. */
function randomLines(seed: number): Method {
  return (turns, budget) => {
    const random = createRandom(seed);
    const lines = linesOf(turns);
    return bestLines(turns, { lines, scores: lines.map(random), budget });
  };
}

/** Lines by how rare their words are. */
const rareLines: Method = (turns, budget) => {
  const lines = linesOf(turns);
  const words = lines.map(({ text }) => text.toLowerCase().match(/[a-z0-9_][a-z0-9_.-]{2,}/g) ?? []);
  const frequency = new Map<string, number>();
  for (const word of words.flatMap((own) => [...new Set(own)])) {
    frequency.set(word, (frequency.get(word) ?? 0) + 1);
  }
  const scores = words.map((own) => {
    const rarity = own.reduce((sum, word) => sum + Math.log(lines.length / (frequency.get(word) ?? 1)), 0);
    return rarity / Math.sqrt(own.length + 4);
  });
  return bestLines(turns, { lines, scores, budget });
};

interface Seen {
  readonly value: string;
  readonly kind: string;
  turns: number;
  last: number;
  said: number;
}

/** Every fact of the turns with the best first: seen often, lately, by others than tools. */
function worthiest(turns: readonly Turn[]): Seen[] {
  const facts = new Map<string, Seen>();
  for (const [index, turn] of turns.entries()) {
    for (const [value, { kind }] of factsIn(visibleText(turn))) {
      const fact = facts.get(value) ?? { value, kind, turns: 0, last: 0, said: 0 };
      facts.set(value, fact);
      fact.turns += 1;
      fact.last = index;
      if (turn.role !== "tool") fact.said += 1;
    }
  }
  const worth = ({ turns: often, last, said }: Seen): number =>
    Math.log(1 + often) + 0.8 * said + 1.2 * (last / turns.length);
  return [...facts.values()].sort((one, other) => worth(other) - worth(one));
}

/** Bare values by kind: what a benchmark of presence alone would reward. */
export const entityList: Method = (turns, budget) => {
  let room = budget;
  const kept: Seen[] = [];
  for (const fact of worthiest(turns)) {
    room -= tokensOf(fact.value) + 1;
    if (room < 0) break;
    kept.push(fact);
  }
  const kinds = [...new Set(kept.map(({ kind }) => kind))];
  const valuesOf = (kind: string): string =>
    kept.flatMap((fact) => (fact.kind === kind ? [fact.value] : [])).join(", ");
  return kinds.map((kind) => `${kind}: ${valuesOf(kind)}`).join("\n");
};

const CARD_WORDS = 7;

/** `value: seven words of its lines`, no sentence: made to please a measure that counts words, and of no use to a reader. */
export const indexCard: Method = (turns, budget) => {
  const lines = linesOf(turns);
  const words = new Map<string, Set<string>>();
  for (const { text } of lines) {
    const telling = text.toLowerCase().match(/[a-z]{4,}/g) ?? [];
    for (const value of factsIn(text).keys()) {
      const own = words.get(value) ?? new Set();
      words.set(value, own);
      for (const word of telling) if (own.size < CARD_WORDS) own.add(word);
    }
  }
  let room = budget;
  const cards: string[] = [];
  for (const { value } of worthiest(turns)) {
    const card = `${value}: ${[...(words.get(value) ?? [])].join(" ")}`;
    const tokens = tokensOf(card) + 1;
    if (tokens > room) continue;
    room -= tokens;
    cards.push(card);
    if (room < 12) break;
  }
  return cards.join("\n");
};

/** Knows the future: the fewest lines that hold what will be needed. The upper bound of what selection can do. */
export function oracleLines(values: ReadonlySet<string>): Method {
  return (turns, budget) => {
    const lines = linesOf(turns);
    const holds = lines.map(({ text }) => [...factsIn(text).keys()].filter((value) => values.has(value)));
    const covered = new Set<string>();
    const kept: Line[] = [];
    let room = budget;
    for (;;) {
      let best: { index: number; gain: number; tokens: number } | undefined;
      for (const [index, own] of holds.entries()) {
        const news = own.filter((value) => !covered.has(value)).length;
        if (news === 0) continue;
        const tokens = tokensOf((lines[index] as Line).text) + 4;
        const gain = news / tokens;
        if (tokens <= room && gain > (best?.gain ?? 0)) best = { index, gain, tokens };
      }
      if (best === undefined) return inOrder(turns, kept, lines);
      kept.push(lines[best.index] as Line);
      for (const value of holds[best.index] ?? []) covered.add(value);
      room -= best.tokens;
    }
  };
}

/** What every method is shown beside, by its name on the page; those with replicates are averaged. */
export const BASELINES: Readonly<Record<string, readonly Method[]>> = {
  "random lines": [randomLines(7), randomLines(8), randomLines(9)],
  "keep last": [keepLast],
  "head and tail": [headAndTail],
  "mask old results, then trim": [masked(keepLast)],
  "mask, then head and tail": [masked(headAndTail)],
  "rarest lines (TF-IDF)": [rareLines],
  "weighed lines": [selectedLines],
  "list of names": [entityList],
  "index card": [indexCard],
};
