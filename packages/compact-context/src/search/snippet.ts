import { characterStart } from "../core/message.ts";
import type { Query } from "./query.ts";
import type { WeighedTerm } from "./rank.ts";

const BEFORE = 24;
const AFTER = 170;
const PLACES_PER_WORD = 200;

interface Place {
  readonly at: number;
  readonly end: number;
  readonly word: string;
  readonly weight: number;
}

/** The stretch of a text that holds most of what was looked for, from a little before the rarest of it; some 200 characters. */
export function snippetOf(text: string, query: Query, terms: readonly WeighedTerm[]): string {
  const lower = text.toLowerCase();
  const places = [...phrasePlaces(lower, query), ...wordPlaces(lower, terms)].sort(
    (one, other) => one.at - other.at,
  );
  const start = heaviestNear(places, densest(places));
  if (start === undefined) return cut(text, 0, BEFORE + AFTER);
  return cut(text, start.at - BEFORE, Math.max(start.end, start.at) + AFTER);
}

function phrasePlaces(lower: string, { phrases }: Query): Place[] {
  return phrases.flatMap(({ text }) => {
    const at = lower.indexOf(text);
    return at < 0 ? [] : [{ at, end: at + text.length, word: text, weight: 1000 }];
  });
}

function wordPlaces(lower: string, terms: readonly WeighedTerm[]): Place[] {
  return terms.flatMap(({ word, weight }) => {
    const places: Place[] = [];
    for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + word.length)) {
      places.push({ at, end: at + word.length, word, weight });
      if (places.length === PLACES_PER_WORD) break;
    }
    return places;
  });
}

/** The place from which most of the words, each counted once, stand within the length of a snippet, the closest together. */
function densest(places: readonly Place[]): Place | undefined {
  let found: Place | undefined;
  let [most, closest] = [0, 0];
  places.forEach((place, index) => {
    const words = new Set<string>();
    let [sum, span] = [0, 0];
    for (let next = index; next < places.length; next++) {
      const { at, word, weight } = places[next] as Place;
      if (at > place.at + AFTER) break;
      if (words.has(word)) continue;
      words.add(word);
      sum += weight;
      span = at - place.at;
    }
    if (sum > most || (sum === most && span < closest)) [found, most, closest] = [place, sum, span];
  });
  return found;
}

/** Within the stretch that begins at a place, what weighs most: it is shown even where little of the stretch is. */
function heaviestNear(places: readonly Place[], start: Place | undefined): Place | undefined {
  if (start === undefined) return undefined;
  return places
    .filter(({ at }) => at >= start.at && at <= start.at + AFTER)
    .reduce((heaviest, place) => (place.weight > heaviest.weight ? place : heaviest), start);
}

function cut(text: string, from: number, to: number): string {
  const start = characterStart(text, Math.max(0, from));
  const end = characterStart(text, Math.min(text.length, to));
  return `${start > 0 ? "…" : ""}${text.slice(start, end)}${end < text.length ? "…" : ""}`;
}
