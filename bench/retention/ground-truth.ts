import { type FactKind, factsIn, phrasesIn, phraseText } from "./facts.ts";
import { type Fact, tellingWords } from "./presence.ts";
import { createRandom } from "./random.ts";
import { type Turn, visibleText } from "./turns.ts";

/** A fact of the part that a compaction takes away. */
export interface PrefixFact extends Fact {
  /** How often it stands there, and in how many turns. */
  readonly times: number;
  readonly turns: number;
  /** Index of the last turn that has it. */
  readonly last: number;
  /** Who said it first. */
  readonly origin: Turn["role"];
}

export interface NeededFact extends PrefixFact {
  /** The words around its first later use; undefined for phrases. */
  readonly useWords: ReadonlySet<string> | undefined;
}

export interface GroundTruth {
  /** Written again by the assistant before a result or the user said it. */
  readonly needed: readonly NeededFact[];
  /** Never seen again. */
  readonly never: readonly PrefixFact[];
  readonly resupplied: number;
  readonly all: number;
}

export interface Cut {
  readonly prefix: readonly Turn[];
  readonly future: readonly Turn[];
  /** System prompt; what it names is always there. */
  readonly system: string;
  /** Values that many unrelated sessions have. */
  readonly common: ReadonlySet<string>;
}

interface Open {
  readonly kind: FactKind;
  times: number;
  turns: number;
  last: number;
  readonly origin: Turn["role"];
}

/** Facts in more turns than this share are the scenery (the working directory). */
const SCENERY_SHARE = 0.25;
const SCENERY_TURNS = 6;
const USE_REACH = 200;

/** Which facts of the prefix the future needs: what the agent itself wrote later decides, no judge. */
export function groundTruth(cut: Cut): GroundTruth {
  const facts = prefixFacts(cut);
  const later = laterUses(facts, cut.future);
  const needed: NeededFact[] = [];
  const never: PrefixFact[] = [];
  let resupplied = 0;
  for (const [value, fact] of facts) {
    const use = later.get(value);
    if (use === undefined) never.push({ value, ...fact });
    else if (use.by === "assistant") needed.push({ value, ...fact, useWords: use.words });
    else if (use.by === "others") resupplied += 1;
  }
  return { needed, never, resupplied, all: facts.size };
}

function prefixFacts({ prefix, future, system, common }: Cut): Map<string, Open> {
  const facts = new Map<string, Open>();
  for (const [index, turn] of prefix.entries()) {
    const text = visibleText(turn);
    const here = factsIn(text);
    if (turn.role === "user") phrasesIn(text, here);
    for (const [value, { kind, times }] of here) {
      const fact = facts.get(value) ?? { kind, times: 0, turns: 0, last: index, origin: turn.role };
      facts.set(
        value,
        Object.assign(fact, { times: fact.times + times, turns: fact.turns + 1, last: index }),
      );
    }
  }
  const given = factsIn(system);
  const names = new Set(
    [...prefix, ...future].flatMap(({ parts }) => parts.flatMap((part) => part.names ?? [])),
  );
  for (const [value, { turns }] of facts) {
    const scenery = turns >= SCENERY_TURNS && turns > prefix.length * SCENERY_SHARE;
    if (scenery || given.has(value) || names.has(value) || common.has(value)) facts.delete(value);
  }
  return facts;
}

interface Use {
  /** A fact that the agent only thought of counts neither way, unless it is used afterwards. */
  readonly by: "assistant" | "others" | "reasoning";
  readonly words: ReadonlySet<string> | undefined;
}

function laterUses(facts: ReadonlyMap<string, Open>, future: readonly Turn[]): Map<string, Use> {
  const uses = new Map<string, Use>();
  const phrases = [...facts].flatMap(([value, { kind }]) => (kind === "phrase" ? [value] : []));
  const isOpen = (value: string): boolean => {
    const use = uses.get(value);
    return facts.has(value) && (use === undefined || use.by === "reasoning");
  };
  for (const turn of future) {
    const said = turn.parts.flatMap(({ kind, text }) => (kind === "text" ? [text] : [])).join(" ");
    for (const { kind, text } of turn.parts) {
      const by = turn.role !== "assistant" ? "others" : kind === "reasoning" ? "reasoning" : "assistant";
      const lead = kind === "call" ? said.slice(0, 400) : "";
      for (const value of factsIn(text).keys()) {
        if (isOpen(value)) uses.set(value, { by, words: useWords(text, value, lead) });
      }
      const words = phraseText(text);
      for (const value of phrases) {
        if (isOpen(value) && words.includes(` ${value} `)) uses.set(value, { by, words: undefined });
      }
    }
  }
  return uses;
}

function useWords(text: string, value: string, lead: string): Set<string> {
  const at = Math.max(0, text.indexOf(value));
  const before = text.slice(Math.max(0, at - USE_REACH), at);
  const after = text.slice(at + value.length, at + value.length + USE_REACH);
  return tellingWords(`${before} ${after} ${lead}`);
}

/** For each needed fact one that was never needed, of the same kind, about as frequent and, if there is one, of the same speaker. */
export function matchedControl({ needed, never }: GroundTruth, seed: number): PrefixFact[] {
  const random = createRandom(needed.length * 7919 + never.length + seed);
  const pools = new Map<string, PrefixFact[]>();
  for (const fact of never) {
    for (const key of keysOf(fact)) pools.set(key, [...(pools.get(key) ?? []), fact]);
  }
  const used = new Set<string>();
  return needed.flatMap((fact): PrefixFact[] => {
    for (const key of keysOf(fact)) {
      const free = (pools.get(key) ?? []).filter(({ value }) => !used.has(value));
      const match = free[Math.floor(random() * free.length)];
      if (match === undefined) continue;
      used.add(match.value);
      return [match];
    }
    return [];
  });
}

function keysOf({ kind, times, origin }: PrefixFact): string[] {
  const often = times <= 1 ? 0 : times <= 3 ? 1 : times <= 9 ? 2 : 3;
  return [`${kind} ${often} ${origin}`, `${kind} ${often}`];
}
