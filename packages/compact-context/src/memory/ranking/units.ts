import { rarityOf } from "../../search/rank.ts";
import { wordsOf } from "../../search/words.ts";
import { groupBy } from "../../summarizers/extractive/text.ts";
import { listed, readTimestamp, speaksOfTime } from "./dates.ts";

/**
 * The stem of a lower-case English word: `deploy` for `deployments`. Seven rules in sequence; on LoCoMo they
 * find as much as the hundred of Porter2. A word with characters other than a to z and the apostrophe is
 * unchanged.
 */
export function englishStem(word: string): string {
  if (word.length <= 3 || !/^[a-z']+$/.test(word)) return word;
  return word
    .replace(/'s?$/, "")
    .replace(/ie[sd]$/, "y")
    .replace(/(?<=[aeiouy].*[^su])s$/, "")
    .replace(/(?<=[aeiouy].*)(?:ing|ed)(?:ly)?$/, "")
    .replace(/(?<=[aeiouy].*)([bdfgmnprt])\1$/, "$1")
    .replace(/(?<=...)(?:ational|ation|ate?|ion|ment|ness|ful|ly)$/, "")
    .replace(/(?<=...)(?:e+|y|i)$/, "");
}

/**
 * English words without a topic, including those that only shape a question ("what kind of", "how many
 * times") and the endings that an apostrophe cuts off.
 */
const STOP_WORDS: ReadonlySet<string> = new Set(
  listed(`
  a about above after again against all also although always am an and any anyone anything are aren around as at away
  be because been before being below besides between both but by can cannot cant could couldn d did didn do does doesn
  doing don done down during each either else etc ever every few for from further get gets getting give given go goes
  going gonna got gotten had hadn has hasn have haven having he hello her here hers herself hey hi him himself his how
  however i if im in into is isn it its itself just kind kinds let lets like ll lot lots m made make makes making many
  may maybe me mean might mine more most much must mustn my myself need neither no nor not now of off oh ok okay on
  once only onto or other others our ours ourselves out over own people per please quite rather re really s said same
  say says shall shan she should shouldn since so some somebody someone something sort sorts still such sure t tell
  than thank thanks that the their theirs them themselves then there these they thing things this those though through
  thus to too toward towards type types under until up upon us use used using ve very via was wasn way we well were
  weren what whatever when where whether which while who whom whose why will with within without won would wouldn yeah
  yes yet you your yours yourself yourselves
  describe explain happen happened happens long mention mentioned often one ones particular regarding specific
  time times would wonder
`).flatMap(wordsOf),
);

/** Irregular English forms that a stemmer cannot know, by form. */
const IRREGULAR_FORMS: ReadonlyMap<string, string> = new Map(
  listed(`
  become:became begin:began,begun bite:bit,bitten blow:blew,blown break:broke,broken bring:brought build:built
  buy:bought catch:caught choose:chose,chosen come:came deal:dealt draw:drew,drawn
  drink:drank,drunk drive:drove,driven eat:ate,eaten fall:fell,fallen feed:fed feel:felt fight:fought find:found
  fly:flew,flown forget:forgot,forgotten forgive:forgave,forgiven freeze:froze,frozen grow:grew,grown hang:hung
  hear:heard hide:hid,hidden hold:held keep:kept know:knew,known lead:led learn:learnt leave:left lend:lent lose:lost
  meet:met pay:paid ride:rode,ridden ring:rang,rung rise:rose,risen run:ran see:saw,seen seek:sought sell:sold
  send:sent shake:shook,shaken shine:shone shoot:shot sing:sang,sung sink:sank,sunk sit:sat sleep:slept
  speak:spoke,spoken spend:spent stand:stood steal:stole,stolen stick:stuck strike:struck swim:swam,swum
  take:took,taken teach:taught tear:tore,torn think:thought throw:threw,thrown understand:understood wake:woke,woken
  wear:wore,worn win:won write:wrote,written
  child:children man:men woman:women foot:feet tooth:teeth mouse:mice life:lives wife:wives knife:knives
  leaf:leaves person:persons good:better,best bad:worse,worst
`).flatMap((entry) => {
    const [base = "", ...forms] = entry.split(/[:,]/);
    return forms.map((form): [string, string] => [form, base]);
  }),
);

const stems = new Map<string, string>();
const MOST_STEMS = 50_000;
/** V8 copies a substring of up to 12 characters; a longer one would keep the whole text in memory. */
const LONGEST_KEPT = 12;

/** The index terms of a text, in order, with repetition: words as in the archive's search, but stemmed. */
export function analyze(text: string): string[] {
  return wordsOf(text.replace(/[\u2018\u2019\u02BC]/g, "'")).flatMap((word) =>
    STOP_WORDS.has(word) ? [] : [stemOf(word)],
  );
}

function stemOf(word: string): string {
  const known = stems.get(word);
  if (known !== undefined) return known;
  const bare = withoutAccents(word);
  const stem = englishStem(IRREGULAR_FORMS.get(bare) ?? bare);
  if (word.length > LONGEST_KEPT) return stem;
  if (stems.size >= MOST_STEMS) stems.clear();
  stems.set(word, stem);
  return stem;
}

/** Questions often omit accents of Latin letters; in other scripts marks form other letters. */
function withoutAccents(word: string): string {
  return /^[\p{Script=Latin}\p{N}]+$/u.test(word)
    ? word.normalize("NFD").replace(/[\u0300-\u036F]/g, "")
    : word;
}

/** Words of courtesy and assent: they do not call for a memory. */
const COURTESY: ReadonlySet<string> = new Set(
  analyze(
    "ahead alright amazing awesome bye continue cool excellent fine glad good goodbye great look looks looking nice perfect please proceed sorry sounds welcome wonderful wow",
  ),
);

/**
 * Words of questions and grammar in other languages, except those that mean something in English (`war`, `mit`):
 * a question is not about them.
 */
const GRAMMAR: ReadonlySet<string> = new Set(
  analyze(`
  der das dem des ein eine einen einem einer ist sind und oder aber ich wir du mir mich mein meine meinen meinem
  meiner unser unsere unseren unserem unserer welche welcher welches welchen welchem wo wer wen wem wie wann warum wieso
  weshalb wohin woher womit wofür viel viele von vom zu zum zur im am auf für bei wird werden wurde wurden
  nicht es sich noch denn eigentlich
  où est-ce que qu j n l quel quelle quels quelles qui quoi quand combien pourquoi le la les une des du de et ou
  je tu il elle nous vous notre nos mon ma mes sont suis au aux en dans sur avec par ne pas déjà
  qué cuál cuáles cuándo dónde quién quiénes cómo cuánto cuántos cuánta cuántas por el los las una unos unas es está
  están mi mis nuestro nuestra nuestros nuestras yo del al con para se
  o as um uma da das na é são fica meu minha meus minhas nosso nossa nossos nossas qual quais onde quem
  quanto quantos quantas porque por que
  где когда кто кого кому что чем как какой какая какое какие каком какую каков сколько почему зачем куда откуда у в на с
  со по от для из о об и или но не я мы ты наш наша наше наши нашей нашего мой моя моё мои моей моего меня мне нас нам ли
  это
`),
);
/** The same where words are not spaced. */
const UNSPACED_GRAMMAR =
  /什么时候|什麼時候|为什么|為什麼|什么|什麼|哪[里儿裡天个位些]|怎么样?|怎樣|多[少久]|星期几|几[点楼号天]|[谁吗呢]|我们?的?|我們的?|咱们?的?|[是的在了]|何(?:時|曜日|階|人)?|いつ|どこ|だれ|誰|どう|なに|いくつ|どの|私(?=[はのがもに])|(?:です|ます|でしょう)か/gu;
const A_WORD = /[\p{L}\p{M}]+/gu;
const ALONE = /(?<![\p{L}\p{N}])\p{Script=Hiragana}(?![\p{L}\p{N}])/gu;

/** The terms of a query without words of grammar; all of them if it has no others. A name has a capital: `the DAS`. */
function askedFor(query: string): readonly string[] {
  const start = /\p{L}/u.exec(query)?.index;
  const asked = query
    .replace(A_WORD, (word, at: number) => {
      const written = at === start ? word.charAt(0).toLowerCase() + word.slice(1) : word;
      return written === written.toLowerCase() && GRAMMAR.has(analyze(written)[0] ?? "") ? " " : word;
    })
    .replace(UNSPACED_GRAMMAR, " ")
    .replace(ALONE, " ");
  const terms = analyze(asked);
  return terms.length > 0 ? terms : analyze(query);
}

// ---- units and their terms

/** A piece of text that can be recalled: a message, a section of a note, a line of a list. */
export interface RecallCandidate {
  readonly id: string;
  readonly content: string;
  /** Its heading, with those above it; counts like content. */
  readonly title?: string;
  /** Who wrote or said it; a query that names the author prefers their units. */
  readonly author?: string;
  /** When it was written: ISO text, a date in English words, or milliseconds since 1970. */
  readonly timestamp?: string | number | Date;
  /**
   * The conversation or file it belongs to. Neighbours in one section explain each other. If omitted
   * everywhere, candidates with an order or author form one section; those with only a timestamp form one per
   * time.
   */
  readonly section?: string | number;
  /** Position in the section. Default: position in the list. */
  readonly order?: number;
}

/** A candidate as the ranker uses it; units of one section are adjacent. */
export interface Unit {
  readonly id: string;
  readonly section: number;
  /** Number of terms in the content. */
  readonly length: number;
  /** Milliseconds since 1970; NaN if unknown. */
  readonly time: number;
  readonly asks: boolean;
  readonly speaksOfTime: boolean;
  readonly author: string | undefined;
}

/** The terms of a unit; not needed once indexed. */
export interface UnitTerms {
  readonly content: readonly string[];
  readonly title: readonly string[];
}

/** Candidates grouped by section. */
export function unitsOf(candidates: readonly RecallCandidate[]): {
  readonly units: readonly Unit[];
  readonly terms: readonly UnitTerms[];
} {
  const sections = groupBy([...candidates.entries()], ([index, candidate]) => sectionKey(candidate, index));
  const units: Unit[] = [];
  const terms: UnitTerms[] = [];
  [...sections.values()].forEach((members, section) => {
    for (const candidate of inOrder(members.map(([, candidate]) => candidate))) {
      const { content, title = "" } = candidate;
      const said = { content: analyze(content), title: title === "" ? [] : analyze(title) };
      terms.push(said);
      units.push(unitOf(candidate, section, said.content.length));
    }
  });
  return { units, terms };
}

function unitOf({ id, content, author, timestamp }: RecallCandidate, section: number, length: number): Unit {
  return {
    id,
    section,
    length,
    time: readTimestamp(timestamp) ?? Number.NaN,
    asks: /[?？]["'”’)]*\s*$/.test(content),
    speaksOfTime: speaksOfTime(content),
    author: author === "" ? undefined : author,
  };
}

/** Without a section, candidates with an order or author are one conversation, those of one time one note. */
function sectionKey({ section, order, author, timestamp }: RecallCandidate, index: number): string {
  if (section !== undefined || order !== undefined || author !== undefined) return `part ${section ?? ""}`;
  return timestamp === undefined ? `alone ${index}` : `at ${String(timestamp)}`;
}

function inOrder(members: readonly RecallCandidate[]): readonly RecallCandidate[] {
  return members
    .map((candidate, index) => ({ candidate, order: candidate.order ?? index }))
    .sort((one, other) => one.order - other.order)
    .map(({ candidate }) => candidate);
}

/** The units that contain a term, ascending, and its weight in each. */
export interface Posting {
  readonly units: readonly number[];
  readonly values: readonly number[];
}

/** The units of every term. */
export interface Postings {
  /** Postings of a term; if no unit has it, those of the terms it was probably meant to be. */
  of(term: string): readonly Posting[];
  /** Share of a query's words in a text, weighted by rarity, 0 to 1; words of courtesy and grammar do not count. */
  coverage(query: string, text: string): number;
}

/** Term counts, normalized by a unit's length relative to the average (BM25F). */
export function buildPostings(
  units: readonly Unit[],
  terms: readonly UnitTerms[],
  weights: { readonly title: number; readonly lengthPenalty: number },
): Postings {
  const postings = new Map<string, { readonly units: number[]; readonly values: number[] }>();
  const total = units.reduce((sum, { length }) => sum + length, 0);
  const average = Math.max(1, total / Math.max(1, units.length));
  terms.forEach(({ content, title }, unit) => {
    const counts = new Map<string, number>();
    for (const term of content) counts.set(term, (counts.get(term) ?? 0) + 1);
    for (const term of title) counts.set(term, (counts.get(term) ?? 0) + weights.title);
    const relative = (units[unit]?.length ?? 0) / average;
    const norm = 1 - weights.lengthPenalty + weights.lengthPenalty * relative;
    for (const [term, count] of counts) {
      const posting = postings.get(term) ?? { units: [], values: [] };
      if (posting.units.length === 0) postings.set(term, posting);
      posting.units.push(unit);
      posting.values.push(count / norm);
    }
  });
  const near = nearestIn(postings);
  const of = (term: string): readonly Posting[] => {
    const own = postings.get(term);
    return own === undefined ? near(term).flatMap((other) => postings.get(other) ?? []) : [own];
  };
  // One query is held against many texts.
  let asked: { readonly query: string; readonly terms: ReadonlySet<string> } = {
    query: "",
    terms: new Set(),
  };
  return {
    of,
    coverage(query, text) {
      const held = new Set(analyze(text));
      let [all, covered] = [0, 0];
      if (query !== asked.query) asked = { query, terms: new Set(askedFor(query)) };
      for (const term of asked.terms) {
        if (COURTESY.has(term)) continue;
        const known = postings.get(term);
        const rarity = worth(term) * Math.max(LEAST_RARITY, rarityOf(units.length, known?.units.length ?? 0));
        all += rarity;
        if (held.has(term) || (known === undefined && near(term).some((other) => held.has(other))))
          covered += rarity;
      }
      return all === 0 ? 0 : covered / all;
    },
  };
}

/** Rarity of a word that most units have: a small memory repeats itself across files. */
const LEAST_RARITY = 0.5;

/** In Japanese, words in hiragana alone are mostly grammar; other characters count in the pairs that they are part of. */
function worth(term: string): number {
  if (/^\p{Script=Hiragana}+$/u.test(term)) return 0.2;
  return /^[\p{Script=Han}\p{Script=Katakana}ー]$/u.test(term) ? 0.3 : 1;
}

const SHORTEST = 5;
const MOST_NEAR = 3;
const SAME_LETTERS = 3;

/** Finds terms with one typo after the third letter, or with one as a prefix (`mentorship`, `mentor`). */
function nearestIn(postings: ReadonlyMap<string, unknown>): (term: string) => readonly string[] {
  let buckets: Map<string, string[]> | undefined;
  return (term) => {
    if (term.length < SHORTEST || /[^\p{L}]/u.test(term)) return [];
    buckets ??= groupBy(
      [...postings.keys()].filter((other) => other.length >= SHORTEST - 1),
      (other) => other.slice(0, SAME_LETTERS),
    );
    const like = buckets.get(term.slice(0, SAME_LETTERS)) ?? [];
    return like.filter((other) => isNear(term, other)).slice(0, MOST_NEAR);
  };
}

function isNear(term: string, other: string): boolean {
  const [short, long] = term.length <= other.length ? [term, other] : [other, term];
  const more = long.length - short.length;
  if (short.length < SHORTEST || more > 4) return false;
  if (long.startsWith(short)) return true;
  let at = 0;
  while (at < short.length && short[at] === long[at]) at++;
  // One letter inserted, omitted, changed, or swapped with the next.
  if (more > 0) return more === 1 && short.slice(at) === long.slice(at + 1);
  const swapped = short[at] === long[at + 1] && short[at + 1] === long[at];
  return (
    short.slice(at + 1) === long.slice(at + 1) || (swapped && short.slice(at + 2) === long.slice(at + 2))
  );
}
