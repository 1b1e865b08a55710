/**
 * A model name without what hosts add to it: cloud regions, vendor and gateway prefixes, version suffixes,
 * release dates, `-latest`, `:free`, `[1m]`; dots written as hyphens.
 */
export function normalizeModelName(name: string): string {
  let rest = name.trim().toLowerCase();
  rest = rest.slice(rest.lastIndexOf("/") + 1);
  rest = withoutBrackets(rest).replace(/^~/, "");
  rest = rest.replace(/^(us-gov|us|eu|apac|au|jp|in|ca|global)\./, "");
  rest = rest.replace(
    /^(anthropic|openai|google|xai|deepseek|mistral|moonshotai?|zai|qwen|minimax|meta)\./,
    "",
  );
  rest = rest
    .replace(/@.*$/, "")
    .replace(/-v\d+(:\d+)*$/, "")
    .replace(/:[a-z0-9.-]+$/, "");
  rest = rest.replace(/-(19|20)\d{6}$/, "").replace(/-(19|20)\d\d-\d\d-\d\d$/, "");
  rest = rest.replace(/-v\d+$/, "").replace(/-latest$/, "");
  return rest.replaceAll(".", "-");
}

/** Not by a pattern: one that looks for a bracket's end from every beginning takes quadratic time. */
function withoutBrackets(name: string): string {
  const begin = name.indexOf("[", name.lastIndexOf("]", name.length - 2) + 1);
  return begin !== -1 && name.endsWith("]") ? name.slice(0, begin) : name;
}

/** A normalized name without the mark of one snapshot or fine-tune: `-preview`, `-0613`, `-002`, `ft:…:org`. */
export function withoutSnapshot(name: string): string {
  return normalizeModelName(name.replace(/^ft:([^:]+):.*$/, "$1"))
    .replace(/^chatgpt-/, "gpt-")
    .replace(/-preview(-\d\d-\d{2,4})?$/, "")
    .replace(/-\d{3,4}$/, "");
}

/** The words and numbers of a normalized model name: `gpt-4o` is gpt, 4, o. */
export function nameWords(name: string): string[] {
  return normalizeModelName(name).match(/[a-z]+|\d+/g) ?? [];
}

/** How many words two names have in common from their beginning. */
export function sharedWords(left: readonly string[], right: readonly string[]): number {
  let shared = 0;
  while (shared < left.length && left[shared] === right[shared]) shared += 1;
  return shared;
}

/** True when `candidate` is nearer to `name` than `best`: more words in common, then older, then newest. */
export function isCloser(
  name: readonly string[],
  candidate: readonly string[],
  best: readonly string[],
): boolean {
  const shared = sharedWords(candidate, name) - sharedWords(best, name);
  if (shared !== 0) return shared > 0;
  const older = compareWords(candidate, name) <= 0;
  if (older !== compareWords(best, name) <= 0) return older;
  const order = compareWords(candidate, best);
  return older ? order > 0 : order < 0;
}

/** Orders names as versions are ordered: numbers by value, `2411`-like dates before versions, the shorter first. */
function compareWords(left: readonly string[], right: readonly string[]): number {
  const index = sharedWords(left, right);
  const [one, two] = [left[index], right[index]];
  if (one === undefined || two === undefined) return left.length - right.length;
  const difference = versionOf(one) - versionOf(two);
  if (!Number.isNaN(difference)) return difference;
  return one < two ? -1 : 1;
}

const versionOf = (word: string): number => (word.length === 4 ? Number(word) - 10_000 : Number(word));
