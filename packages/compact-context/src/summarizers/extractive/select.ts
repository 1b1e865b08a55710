import type { Message } from "../../core/message.ts";
import type { Evidence, EvidenceIndex } from "./evidence.ts";
import { createMaxHeap } from "./heap.ts";
import type { Line, LineSource } from "./lines.ts";
import { measureLine } from "./text.ts";
import { WEIGHTS } from "./weights.ts";

export interface Selection {
  readonly lines: readonly Line[];
  readonly index: EvidenceIndex;
  /** Keys of facts that the reader sees elsewhere in the summary already. */
  readonly shown: ReadonlySet<string>;
  /** What stays of messages that were cut. */
  readonly cut: readonly Message[];
  /** Words of the person's wish, in lower case; lines that have them count more. */
  readonly wished: ReadonlySet<string>;
  readonly countText: (text: string) => number;
}

/** Tokens left to spend; `take` answers false, and takes nothing, when the cost does not fit. */
export interface Purse {
  left(): number;
  take(tokens: number): boolean;
}

export function createPurse(tokens: number): Purse {
  let left = tokens;
  return {
    left: () => left,
    take(cost) {
      if (cost > left) return false;
      left -= cost;
      return true;
    },
  };
}

const SPEECH: ReadonlySet<LineSource> = new Set(["assistant", "user", "summary"]);
const MISFITS = 60;
const GROUP_COST = 4;

/** Positions of the lines to keep so far, with the bookkeeping that keeps a line or its twin from being taken twice. */
export interface Kept {
  readonly positions: Set<number>;
  readonly texts: Set<string>;
  readonly groups: Set<number>;
  readonly mentions: Map<Evidence, number>;
}

export function createKept(): Kept {
  return { positions: new Set(), texts: new Set(), groups: new Set(), mentions: new Map() };
}

/** Keeps one line when it fits; answers whether it did. A text that is kept already is not kept again and costs nothing. */
export function keepLine(position: number, selection: Selection, kept: Kept, purse: Purse): boolean {
  const line = selection.lines[position];
  if (line === undefined || kept.texts.has(line.text)) return false;
  const from = line.from === undefined ? 0 : selection.countText(line.from);
  const tag = kept.groups.has(line.part) ? 1 : GROUP_COST + from;
  if (!purse.take(selection.countText(`${line.text}\n`) + tag)) return false;
  kept.positions.add(position);
  kept.texts.add(line.text);
  kept.groups.add(line.part);
  for (const fact of selection.index.ofLine[position] ?? []) {
    kept.mentions.set(fact, (kept.mentions.get(fact) ?? 0) + 1);
  }
  return true;
}

/** Fills the purse with the lines that tell most for their tokens: greedy, values looked at again when they may have sunk. */
export function selectLines(selection: Selection, kept: Kept, purse: Purse): void {
  const heap = createMaxHeap();
  const telling = new Float64Array(selection.lines.length);
  const weights = new Float64Array(selection.lines.length);
  const wishes = new Float64Array(selection.lines.length);
  const rate = (position: number): number =>
    (worth(position, telling[position] ?? 0, selection, kept) + (wishes[position] ?? 0)) *
    (weights[position] ?? 0);
  selection.lines.forEach((line, position) => {
    if (line.stays === true || kept.positions.has(position)) return;
    const wish = wishWorth(line, selection.wished);
    const facts = selection.index.ofLine[position] ?? [];
    if (facts.length === 0 && wish === 0 && !SPEECH.has(line.source)) return;
    const { tokens, words } = measureLine(line.text);
    telling[position] = Math.min(1, words / WEIGHTS.tellingWords);
    weights[position] = WEIGHTS.source[line.source] / (tokens + GROUP_COST) ** WEIGHTS.price;
    wishes[position] = wish;
    const value = rate(position);
    if (value > 0) heap.push(position, value);
  });
  let misfits = 0;
  for (let entry = heap.pop(); entry !== undefined; entry = heap.pop()) {
    const value = rate(entry.item);
    if (value <= 0 || kept.texts.has(selection.lines[entry.item]?.text ?? "")) continue;
    if (value < heap.top()) {
      heap.push(entry.item, value);
      continue;
    }
    if (!keepLine(entry.item, selection, kept, purse)) misfits += 1;
    if (misfits > MISFITS || purse.left() < GROUP_COST) return;
  }
}

// Facts that are new to the reader count once for being there; lines that say something about them count up to three times.
function worth(position: number, telling: number, selection: Selection, kept: Kept): number {
  const line = selection.lines[position];
  if (line === undefined) return 0;
  let value = SPEECH.has(line.source) ? WEIGHTS.speech * telling : 0;
  for (const fact of selection.index.ofLine[position] ?? []) {
    const { likely } = fact;
    const mentions = kept.mentions.get(fact) ?? 0;
    if (mentions === 0 && !selection.shown.has(fact.key))
      value += likely - WEIGHTS.distraction * (1 - likely);
    value += WEIGHTS.telling * likely * telling * (WEIGHTS.tellings[mentions] ?? 0);
  }
  return value;
}

// What a person asked for counts whoever said it.
function wishWorth(line: Line, wished: ReadonlySet<string>): number {
  if (wished.size === 0) return 0;
  const text = line.text.toLowerCase();
  let shared = 0;
  for (const word of wished) if (text.includes(word)) shared += 1;
  return (WEIGHTS.wish * Math.min(3, shared)) / WEIGHTS.source[line.source];
}
