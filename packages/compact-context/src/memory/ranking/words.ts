import { wordsOf } from "../../search/words.ts";

/**
 * The stem of a lower-case English word: `deploy` for `deployments`. Seven rules in a row; on LoCoMo they find no less than the
 * hundred of Porter2. Anything but the letters a to z and the apostrophe is left as it is.
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

const listed = (text: string): readonly string[] => text.trim().split(/\s+/);

/**
 * English words that carry no topic, among them those that only shape a question ("what kind of", "how many times"),
 * and the ends that an apostrophe cuts off.
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

/** Irregular English forms, by form: what a stemmer cannot know. */
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
/** V8 copies a piece of up to 12 characters out of its text; a longer one would keep all of the text in memory. */
const LONGEST_KEPT = 12;

/** The index terms of a text, in order and with repetition: the words that the archive's search knows, stop words left out, stems of the others. */
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

/** Accents of Latin letters are often left out in questions; in other scripts marks make other letters. */
function withoutAccents(word: string): string {
  return /^[\p{Script=Latin}\p{N}]+$/u.test(word)
    ? word.normalize("NFD").replace(/[\u0300-\u036F]/g, "")
    : word;
}

/** Words of courtesy and assent: in a message they are no sign that a memory is wanted. */
export const COURTESY: ReadonlySet<string> = new Set(
  analyze(
    "ahead alright amazing awesome bye continue cool excellent fine glad good goodbye great look looks looking nice perfect please proceed sorry sounds welcome wonderful wow",
  ),
);
