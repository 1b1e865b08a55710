/**
 * The English stem of a lower-case word by Porter2, as published at snowballstem.org: `deploy` for `deployments`.
 * Anything but the letters a to z and the apostrophe is left as it is.
 */
export function englishStem(word: string): string {
  if (word.length <= 2 || !/^[a-z']+$/.test(word)) return word;
  const exception = EXCEPTIONS.get(word);
  if (exception !== undefined) return exception;
  const start = withConsonantY(word.replace(/^'/, "").replace(/('s'|'s|')$/, ""));
  const regions = regionsOf(start);
  const plain = withoutPlural(start);
  if (KEPT_AFTER_PLURAL.has(plain)) return plain;
  const steps = [pastAndGerund, finalY, derivation, adjective, residue, finalLetter];
  return steps.reduce((current, step) => step(current, regions), plain).toLowerCase();
}

/** Where the parts begin that a suffix must lie in to be cut. */
interface Regions {
  readonly first: number;
  readonly second: number;
}

const EXCEPTIONS = new Map(
  [
    "skis:ski skies:sky dying:die lying:lie tying:tie idly:idl gently:gentl ugly:ugli early:earli only:onli",
    "singly:singl sky:sky news:news howe:howe atlas:atlas cosmos:cosmos bias:bias andes:andes",
  ]
    .join(" ")
    .split(" ")
    .map((pair): [string, string] => {
      const [from = "", to = ""] = pair.split(":");
      return [from, to];
    }),
);
const KEPT_AFTER_PLURAL = new Set("inning outing canning herring earring proceed exceed succeed".split(" "));
const SPECIAL_FIRST_REGION = /^(?:gener|commun|arsen)/;

/** A `y` that begins the word or follows a vowel counts as a consonant, written `Y`. */
function withConsonantY(word: string): string {
  return word.replace(/^y|(?<=[aeiouy])y/g, "Y");
}

function regionsOf(word: string): Regions {
  const special = SPECIAL_FIRST_REGION.exec(word)?.[0].length;
  const first = special ?? afterVowelAndConsonant(word, 0);
  return { first, second: afterVowelAndConsonant(word, first) };
}

function afterVowelAndConsonant(word: string, from: number): number {
  const at = word.slice(from).search(/[aeiouy][^aeiouy]/);
  return at < 0 ? word.length : from + at + 2;
}

function withoutPlural(word: string): string {
  if (word.endsWith("sses")) return word.slice(0, -2);
  if (/ie[ds]$/.test(word)) return word.length > 4 ? word.slice(0, -2) : word.slice(0, -1);
  if (/[us]s$/.test(word)) return word;
  return /[aeiouy].+s$/.test(word) ? word.slice(0, -1) : word;
}

function pastAndGerund(word: string, { first }: Regions): string {
  const eed = /eed(?:ly)?$/.exec(word);
  if (eed !== null) return eed.index >= first ? `${word.slice(0, eed.index)}ee` : word;
  const suffix = /(?:ingly|edly|ing|ed)$/.exec(word);
  if (suffix === null) return word;
  const rest = word.slice(0, suffix.index);
  if (!/[aeiouy]/.test(rest)) return word;
  if (/(?:at|bl|iz)$/.test(rest)) return `${rest}e`;
  if (/(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$/.test(rest)) return rest.slice(0, -1);
  return first >= rest.length && endsInShortSyllable(rest) ? `${rest}e` : rest;
}

function endsInShortSyllable(word: string): boolean {
  return /^[aeiouy][^aeiouy]$|[^aeiouy][aeiouy][^aeiouywxY]$/.test(word);
}

function finalY(word: string): string {
  return word.replace(/(?<=.[^aeiouy])[yY]$/, "i");
}

/** A suffix, what takes its place, and the letters one of which must stand before it. */
type Ending = readonly [suffix: string, replacement: string, before: string];

/** Longest first: only the longest match is looked at. */
const endings = (text: string): readonly Ending[] =>
  text
    .trim()
    .split(/\s+/)
    .map((entry): Ending => {
      const [suffix = "", replacement = "", before = ""] = entry.split(":");
      return [suffix, replacement, before];
    });

const DERIVATIONS = endings(`
  ational:ate fulness:ful iveness:ive ization:ize ousness:ous biliti:ble lessli:less tional:tion
  alism:al aliti:al ation:ate entli:ent fulli:ful iviti:ive ousli:ous abli:able alli:al anci:ance
  ator:ate enci:ence izer:ize bli:ble ogi:og:l li::cdeghkmnrt
`);
const ADJECTIVES = endings(`
  ational:ate tional:tion alize:al icate:ic iciti:ic ical:ic ness: ful:
`);
const RESIDUES = endings(`
  ement: able: ance: ence: ible: ment: ant: ate: ent: ion::st ism: iti: ive: ize: ous: al: er: ic:
`);

function replaceEnding(word: string, table: readonly Ending[], region: number): string {
  const found = table.find(([suffix]) => word.endsWith(suffix));
  if (found === undefined) return word;
  const [suffix, replacement, before] = found;
  const rest = word.slice(0, -suffix.length);
  const allowed = rest.length >= region && (before === "" || before.includes(rest.at(-1) ?? " "));
  return allowed ? rest + replacement : word;
}

function derivation(word: string, { first }: Regions): string {
  return replaceEnding(word, DERIVATIONS, first);
}

function adjective(word: string, { first, second }: Regions): string {
  if (word.endsWith("ative")) return word.length - 5 >= second ? word.slice(0, -5) : word;
  return replaceEnding(word, ADJECTIVES, first);
}

function residue(word: string, { second }: Regions): string {
  return replaceEnding(word, RESIDUES, second);
}

function finalLetter(word: string, { first, second }: Regions): string {
  const rest = word.slice(0, -1);
  if (word.endsWith("e")) {
    const cut = rest.length >= second || (rest.length >= first && !endsInShortSyllable(rest));
    return cut ? rest : word;
  }
  return word.endsWith("ll") && rest.length >= second ? rest : word;
}
