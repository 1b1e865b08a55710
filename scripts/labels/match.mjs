// Whether what a program says and a line that people labelled state the same thing.

/** A shorter text that stands in a longer one says nothing. */
const FEWEST_CHARACTERS = 12;
/** So many words of the shorter text stand in the longer one. */
const SHARED_WORDS = 0.7;
/** Fewer words than these stand in many lines. */
const FEWEST_WORDS = 5;
/** A word; a path, a name and a place in a file are one. */
const WORD = /[\p{L}\p{N}]+(?:[./:@\\-]+[\p{L}\p{N}]+)*/gu;

/** A text in the form in which it is compared. */
export function readText(text) {
  const plain = plainText(text);
  return { text, plain, words: new Set(plain.match(WORD) ?? []) };
}

/** Without markdown and the seconds that something took, white space joined, in small letters. */
export function plainText(text) {
  return text
    .replace(/^[ \t]*(?:[-+*>•]|#{1,6}|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?/gm, "")
    .replace(/\[([^\]\n]{1,300})\]\([^)\s]{1,600}\)/g, "$1")
    .replace(/[*`_~|]/g, "")
    .replace(/\(?\b\d+\.\d+ ?m?s\b\)?/g, "")
    .replace(/[“”„«»]/g, '"')
    .replace(/[‘’]/g, "'")
    .replace(/\s+/g, " ")
    .trim()
    .replace(/\s?(?:…|\.\.\.)$/, "")
    .toLowerCase();
}

/** One contains the other, or they share most words. */
export function matches(one, other) {
  if (one.plain === "" || other.plain === "") return false;
  return contains(one, other) || sharesWords(one, other);
}

/** Equal, or one stands in the other. */
export function contains({ plain: one }, { plain: other }) {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  return short === long || (short.length >= FEWEST_CHARACTERS && long.includes(short));
}

function sharesWords({ words: one }, { words: other }) {
  const [few, many] = one.size <= other.size ? [one, other] : [other, one];
  if (few.size < FEWEST_WORDS) return false;
  const shared = [...few].filter((word) => many.has(word)).length;
  return shared >= few.size * SHARED_WORDS;
}

/** Labels that state the same thing, as one group: each matches the first of its group. */
export function groupLabels(labels) {
  const groups = [];
  for (const label of labels) {
    const group = groups.find(([first]) => matches(first.read, label.read));
    if (group === undefined) groups.push([label]);
    else group.push(label);
  }
  return groups;
}
