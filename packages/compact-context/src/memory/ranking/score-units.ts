import type { Layout } from "./layout.ts";
import type { Postings } from "./postings.ts";
import type { Concept } from "./read-query.ts";
import { createSectionScores } from "./section-scores.ts";
import { type AddTerm, createUnitScores } from "./unit-scores.ts";

/** What the words of a query say about units and sections; the arrays are written over by the next call. */
export interface WordScores {
  readonly units: Float64Array;
  readonly sections: Float64Array;
  /** The units with a score above 0. */
  readonly found: readonly number[];
}

/** Entries that are spread over whole windows; the commoner words after them only help units already found. */
const SPREAD_ENTRIES = 1_500;
/** A word with more entries than this says too little to look at the neighbours of its units. */
const COMMON_ENTRIES = 6_000;
/** So many found units are enough to choose from: common words bring no new ones. */
const ENOUGH = 2_000;
/** Where something rarer was found, a common word that a third of all units has is left out. */
const OMNIPRESENT_SHARE = 1 / 3;

export interface WordScorerOptions {
  readonly postings: Postings;
  readonly layout: Layout;
  /** By unit, its section. */
  readonly sections: Uint32Array;
  readonly saturation: number;
}

/** Exact for up to some thousand entries of the query's words; beyond, common words say less than they could. */
export function createWordScorer(options: WordScorerOptions): (concepts: readonly Concept[]) => WordScores {
  const { postings, layout, sections: sectionOf, saturation } = options;
  const units = createUnitScores(layout, saturation);
  const sections = createSectionScores(layout.sectionLengths);
  const omnipresent = Math.max(COMMON_ENTRIES, sectionOf.length * OMNIPRESENT_SHARE);

  const visit = (concept: Concept, add: AddTerm): void => {
    for (const term of concept.terms) {
      const [start, end] = postings.range(term);
      for (let at = start; at < end; at++) {
        const unit = postings.units[at] ?? 0;
        add(unit, postings.values[at] ?? 0);
        sections.add(sectionOf[unit] ?? 0, 1);
      }
    }
    units.settle(concept.rarity);
    sections.settle();
  };
  const wayOf = (entries: number, before: number): AddTerm => {
    if (before + entries <= SPREAD_ENTRIES) return units.spread;
    if (units.found().length < ENOUGH) return units.addAlone;
    return entries > COMMON_ENTRIES ? units.addAloneToFound : units.addToFound;
  };
  return (concepts) => {
    units.clear();
    sections.clear();
    let entries = 0;
    for (const concept of concepts) {
      if (concept.entries > omnipresent && entries > 0) continue;
      visit(concept, wayOf(concept.entries, entries));
      entries += concept.entries;
    }
    return { units: units.scores, sections: sections.scores, found: units.found() };
  };
}
