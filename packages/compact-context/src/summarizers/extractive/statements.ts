import { languagesOf } from "./languages.ts";
import { MOST_UNWRAPPED as MOST, oneLine, paragraphsOf, sentencesOfLine, unwrapped } from "./text.ts";

// ---- sentences and their context

const LIST_MARK = /^\s{0,12}(?:(?:[-*+•]|#{1,6}|>{1,8}|\d{1,3}[.)]|[A-Za-z]\))\s{1,4}(?:\[[ xX]\]\s)?)+/;
const HEADING = /^\s{0,3}(?:#{1,6}\s|\*\*[^*\n]{1,120}\*\*:?\s{0,4}$|[^.!?。]{1,80}[:：]\s{0,4}$)/;
const TABLE_OR_QUOTE = /^\s{0,12}(?:\||>|│|[-=*_]{3,}\s{0,4}$)/;
const CODE =
  /^\s{0,80}(?:(?:const|let|var|import|export|function|def|class|return|if|for|while|public|private|func|type|interface|package|#include|@\w+)\b.{0,400}[;{}()=:]|[{}[\]()<>/;#$]|\w{1,60}(?:\.\w{1,60}){0,6}\(.{0,300}\);?$)|(?:[;{}]|=>)\s{0,4}$/;

/** A line printed by a program, after its location, time or bracketed name. */
const LOGGED =
  /^(?:[[(<][^\])>\n]{1,60}[\])>]:?\s{1,4}|[\w./@-]{1,60}:\d{1,7}(?::\d{1,7})?:?\s{1,4}|\d[\d:.,tz-]{4,30}\s{1,4}|[⚠✖❌×✗]\ufe0f?\s{1,4}){0,3}(?:(?:uncaught (?:\(in promise\) )?|unhandled )?(?:[\w.]{0,60}(?:error|warning|exception)|fatal|panic|notice) ?[:!\]]|(?:npm|pnpm|yarn) (?:err!|warn)|(?:warn|info|debug|trace)(?:\s{0,4}[[:]|\s-\s))/;
/** What a program complains of without saying that it does. */
const COMPLAINT =
  /^(?:encountered|failed to|unable to|invalid \w+|unexpected|received|detected|module not found|objects are not|expected (?=.{0,200}\b(?:but|got|found)\b))\b/;
/** Addresses someone: text that a person adds after or below such a line. */
const ADDRESSES =
  /\b(?:you|your|please|pls|we|our|us|i|my|let['’]?s)\b|^(?:(?:and|but|so|also|now|then|ok|okay),? )*(?:never|always|don['’]?t|do not|avoid|only|use|keep|make|fix|ask|run|stop|add|remove|put|write)\b|[^\p{ASCII}]{2}/u;
const QUOTED = /[“"][^“”"\n]{1,600}[”"]/g;

export interface Sentence {
  readonly text: string;
  /** Lower case, without list and emphasis markers. */
  readonly plain: string;
  /** The heading above it. */
  readonly heading: string;
  readonly item: boolean;
  /** Inside or after program output, or quoted. */
  readonly pasted: boolean;
}

/**
 * The sentences of prose in a text: no code, tables, quotes or headings; lines that wrap a sentence are joined, and one that
 * stands there again says nothing more.
 */
export function readSentences(text: string): Sentence[] {
  let heading = "";
  const known = new Set<string>();
  const prose = paragraphsOf(text).filter(([first]) => first?.code === false);
  return prose.flatMap((lines) => {
    let below = false;
    return unwrapped(lines).flatMap(({ text: line }) => {
      if (known.has(line) || TABLE_OR_QUOTE.test(line)) return [];
      known.add(line);
      const item = LIST_MARK.test(line);
      const marked = /^\s{0,3}#{1,6}\s/.test(line);
      // An item that introduces a nested list stays below its heading.
      const nests = item && !marked && RULE_HEADING.test(heading);
      if (line.length < 160 && HEADING.test(line) && !nests) heading = plainOf(line);
      if (marked) return [];
      const logged = LOGGED.test(line.trimStart().slice(0, 160).toLowerCase());
      below ||= logged;
      return sentencesIn(line).map(({ words, quoted }): Sentence => {
        const plain = plainOf(words);
        const pasted = logged || quoted || (below && !ADDRESSES.test(plain));
        below ||= COMPLAINT.test(plain);
        return { text: words, plain, heading, item, pasted };
      });
    });
  });
}

/** The sentences of one line, and whether each is quoted. */
function sentencesIn(line: string): { readonly words: string; readonly quoted: boolean }[] {
  const quotes = /[“"]/.test(line)
    ? [...line.matchAll(QUOTED)].map(({ index, 0: words }) => [index, index + words.length])
    : [];
  const start = LIST_MARK.exec(line)?.[0].length ?? 0;
  let end = start;
  let quote = 0;
  return sentencesOfLine(line.slice(start)).flatMap((part) => {
    const at = line.indexOf(part, end) + part.length - part.trimStart().length;
    end = at + part.trimStart().length;
    const words = part.trim();
    if (words.length < 2 || words.length > MOST || CODE.test(words)) return [];
    while ((quotes[quote]?.[1] ?? at + 1) <= at) quote += 1;
    return [{ words, quoted: at > (quotes[quote]?.[0] ?? at) }];
  });
}

const EMPHASIS = /\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)/g;

/** Lower case, without list and emphasis markers and quoted text. */
function plainOf(sentence: string): string {
  const unmarked = sentence.replace(LIST_MARK, "");
  const plain = /[*_“”"]/.test(unmarked)
    ? unmarked.replace(EMPHASIS, "").replace(/[“”"]([^“”"\n]{1,120})[“”"]/g, "“”")
    : unmarked;
  return oneLine(plain).toLowerCase();
}

/** The words of those sentences for which something holds. */
export function textsOf(all: readonly Sentence[], holds: (sentence: Sentence) => boolean): string[] {
  return all.filter(holds).map(({ text }) => text);
}

// ---- rules

export const QUESTION: RegExp = /[?？]["”')\]]{0,2}$/;
const RULE_HEADING =
  /(?:^|\b)(?:rules?|constraints?|guidelines?|conventions?|non-?goals|out of scope|ground rules|preferences|regeln|vorgaben|règles|contraintes|reglas|restricciones|regras|restrições|правила|ограничения)\b(?: (?:for|across|on|of|to|in) (?:\w+ ?){1,4})?\s{0,2}[:：]?$|(?:^|\b)important[:：]?$|(?:规则|约束|要求|规范|注意事项|ルール|制約|注意事項)[:：]?$/iu;
/** What stands below is told as done. */
const DONE_HEADING = /\b(?:already|done|completed|finished|implemented)\b/;
/** In a plan, only instructions on how to work are rules: the rest describes what to build. */
const ABOUT_WORK =
  /\b(?:commit\w*|push\w*|merge\w*|branch\w*|pull request|pr|prs|deploy\w*|run (?:all |the )?(?:tests?|lint|checks?)|tests? (?:before|after|must|first)|ask(?:ing)?|stop|confirm\w*|dependenc\w+|existing (?:tests?|behaviou?r|code|functionality|api)|scope|refactor\w*|you|minimal (?:changes?|diffs?)|(?:be|stay) minimal|targeted|report|logic|modify|(?:every|each) (?:change|commit|step|task|item)|backward)\b/i;
const ONE_OFF =
  /^(?:please |ok |okay |now |also |and |just )?(?:only )?(?:show|print|give|list|tell|explain|display)\b|\b(?:this time|for this one|just (?:this )?once|right now|in this (?:case|commit|change|step)|for this (?:commit|change|task|step|one))\b|don['’]t do anything|\bthis (?:once|one time)\b|, (?:just|only) (?:the|this|tell|show|explain|give|look)\b|\bin this (?:function|file|method|class|component|test|loop|query|answer|reply|message|section|paragraph|sentence|table|heading)\b|\band re-?run\b|^(?:please |can you |could you )?(?:write|add|make|create|build|draft|generate)(?: me)? (?:an?|one|some) (?!.*\b(?:for|to|with|in) (?:every|each|any|all) )|просто (?:покажи|скажи)|只告诉|原因だけ|só me (?:manda|mostra|diz)|\bbut (?:do not|don['’]t) \w+ it$|that should never happen|\bmust pass\b/;
/** Requests a one-time action: settled once it is done. */
const AT_HAND =
  /^(?:(?:no|ok|okay|yeah|yes|so|and|but|now|please|just|then),? )*(?:only \w+ (?:this|these|that|those|the failing)\b|(?:use|take|make|keep|pick|try|turn|paint) (?:the|this|that) (?:[\w-]+ )?ones?\b|let['’]s do\b|(?:re-?run|run|try|do|check|test|build|start|open|send|show) (?:it|this|that|them|these|those|all of (?:it|them))\b(?! (?:every|each|before|after (?:every|each)|whenever)))|\b(?:this|that) one\b|\b(?:today|tonight)[.!]?$|^(?!.*\b(?:never|not|always|don['’]?t)\b).*\bagain[.!]?$/;
/** Requests something to be built or fixed now: requirements then describe that. */
const BUILDS =
  /(?:^|[.,;:!?] |\b(?:and|so|please|then|can you|could you) )(?:add|put|write|implement|build|create|fix|code|generate|sketch|design|route|handle|start with)\b|füge?\b|ergänze?\b|implementier|\b(?:ajoute|implémente|corrige|mets|agr[eé]ga\p{L}*|añade|hazlo|cámbia\p{L}*|implementa|adicion[ae]|coloca|cria|добавь|сделай|напиши|исправь|реализуй)\b|(?:^|[\s,])(?:добавь|сделай|напиши|исправь|реализуй)|加上|实现|写一个|(?:追加|実装|修正|直し|作っ)(?:して|てください)/iu;
/**
 * Says how one thing is to look: "use a table here", "keep it short". What is meant for all of a kind has no article, or says
 * that it lasts; what is not to be used stays forbidden.
 */
const OF_ONE_THING =
  /^(?!.*\b(?:never|always|every|each|any|all)\b)(?:(?:no|ok|okay|yes|so|and|but|now|please|just|only),? )*(?:(?:use|put|add|write|draw|insert|format|start|end)\b (?:\w+ )?(?:an?|one|two|three) [^.;]{1,80}\bhere\b|(?:don['’]?t |do not )?(?:make|keep|write) (?:it|this|that|these|them) (?:(?:a bit|a little|so|too|very|much|as|nice and) ){0,2}(?:short|long|brief|concise|terse|simple|small|verbose|wordy|detailed|plain)(?:e?r)?(?: and [\w' -]{1,30})?(?: please| pls)?[.!]?$)/;
const MOST_OF_A_WISH = 600;
/** Says what must be so of a thing, in the third person. */
const REQUIRES =
  /^(?!you\b|we\b|i\b)(?:(?!,? (?:and|but) (?:never|don['’]t|always)\b).){2,80}?(?:\b(?:should|must|has to|have to|needs? to)\b|(?<![\p{L}])(?:darf|muss|soll|doit|doivent|debe|deben|deve|devem|долж\p{L}+)(?![\p{L}])|必须|应该|ように)/iu;
/** Starts with an action to take or avoid. */
const COMMANDS =
  /^(?:(?:and|but|so|also|btw|please|ok|okay|yes|no|again),? )*(?:always|never|don['’]?t|do not|avoid|only|use|keep|make sure|run|ask|immer|nie|toujours|jamais|siempre|nunca|sempre|всегда|никогда|впредь)\b/iu;
const NO_OPINION =
  /^(?:(?:ok|okay|so|hm+|yeah|well|and|but)[, ]{1,2}){0,2}(?:personally|i (?:think|guess|believe|thought|wonder)|maybe|perhaps|could be|might be|in my opinion|imh?o|it (?:seems|looks)|seems|looks like)\b/;
/** Considers possibilities, or reports others' opinions. */
const DISCUSSES =
  /^(?:(?:let['’]?s )?(?:discuss|debate|compare|weigh)\b|(?:some|many|most|other) (?:people|teams|folks|devs|developers|projects|argue|say|think)\b|in (?:theory|principle)\b|(?:pros?|cons?|(?:option|variant|alternative|approach|choice) \w{1,12})\b[:,]|either\b.{1,200}\bor\b|an? (?:\w+ ){1,2}would (?:say|argue|think)\b|if (?:we|i|it|they|one|all|every\w*) (?:\w+ ){0,3}?(?:\w+ed|were|was|had|did)\b.{1,300}\b(?:would|could|might)(?:n['’]t)?\b)|\b(?:undecided|torn|trade-?offs)\b/;
const NO_WISHES = [ONE_OFF, AT_HAND, NO_OPINION, DISCUSSES];

/** Standing rules in a user's text: they bind work beyond the current step. */
export function rulesIn(text: string, all: readonly Sentence[] = readSentences(text)): string[] {
  const task = { isPlan: isDocument(text), builds: BUILDS.test(text.slice(0, MOST_OF_A_WISH)) };
  return all.flatMap((sentence, index) => {
    if (isFrame(sentence)) return [];
    const framed = isFrame(all[index - 1]) && !QUESTION.test(sentence.plain);
    return framed || isRule(sentence, task) ? [inContext(sentence, all[index - 1])] : [];
  });
}

/** A short rule that refers to the previous sentence is quoted with it. */
function inContext({ text, plain }: Sentence, before: Sentence | undefined): string {
  const leans = plain.length <= SHORT_RULE && LEANS.test(plain);
  return leans && before !== undefined && before.text.length <= LONGEST_CONTEXT
    ? `${before.text} ${text}`
    : text;
}

const SHORT_RULE = 40;
const LONGEST_CONTEXT = 240;
const LEANS =
  /\b(?:it|this|that|these|those|them|they|there|here|our own|your own|one|ones|the same|both|either)\b/;

/** Only announces that a rule follows. */
const FRAME =
  /^(?:(?:this is|here is|here's) )?(?:an? |one |my )?(?:very )?(?:important |hard |general |standing )?(?:constraint|rule|ground rule|instruction|requirement)?(?: for you)?[:,. ]*(?:(?:for|during) the (?:rest|remainder) of (?:this|the|our) (?:session|conversation|chat|work)|from now on|going forward)?[:.]?$/i;

function isFrame(sentence: Sentence | undefined): boolean {
  return sentence !== undefined && /\p{L}/u.test(sentence.plain) && FRAME.test(sentence.plain);
}

function isDocument(text: string): boolean {
  if (text.length < 1_200) return false;
  return (text.slice(0, 40_000).match(/^#{1,4}\s\S/gm)?.length ?? 0) >= 2;
}

const ASKS_UNMARKED =
  /^(?:(?:also|and|so|ok|okay|but|wait|then)[, ]{1,2}){0,2}(?:(?:what|why|how|which|who|where)(?:['’]s)? (?:is|are|do|does|did|can|should|would|much|many|types?)|(?:should|do|does|did|is|are|was|were|can|could|would|so your|so then) (?:we|you|i|it|there|this|that|the|man))\b/;

/** Questions that state how to work. */
const WISHES =
  /\b(?:(?:can|could|shall) we|(?:can|could|would) you) (?:please |pls |just )?(?:always|only|never|avoid|not|stick|stop|keep (?:to|using))\b|(?:もらえ|いただけ|くれ)ま(?:せん|す)か[?？]?$|, (?:ok|okay|ja|alles klar|vale|tá)\?$/;

interface Task {
  /** A plan or a specification. */
  readonly isPlan: boolean;
  /** Something is to be built or fixed now. */
  readonly builds: boolean;
}

function isRule(sentence: Sentence, { isPlan, builds }: Task): boolean {
  const { plain, heading, item } = sentence;
  if (isNoWish(sentence)) return false;
  if (item && RULE_HEADING.test(heading)) return true;
  if (OF_ONE_THING.test(plain)) return false;
  if ((isPlan || (builds && REQUIRES.test(plain))) && !ABOUT_WORK.test(plain)) return false;
  const commands = COMMANDS.test(plain);
  return languagesOf(plain).some(
    ({ rule, aside, product }) =>
      rule.test(plain) && !aside.test(plain) && (commands || !product.test(plain)),
  );
}

/** Headings, questions, opinions, completed work, pasted text and one-time requests. */
function isNoWish({ plain, heading, item, pasted }: Sentence): boolean {
  if (plain.length < 5 || !/\p{L}{2}/u.test(plain) || (/[:：]$/.test(plain) && plain.length < 40))
    return true;
  if (pasted || (item && DONE_HEADING.test(heading))) return true;
  const asks = QUESTION.test(plain) || ASKS_UNMARKED.test(plain);
  return (asks && !WISHES.test(plain)) || NO_WISHES.some((pattern) => pattern.test(plain));
}

// ---- decisions

/** The next action, not a choice. */
const NARRATES =
  /^(?:(?:now )?let me|first,? let|i['’]ll (?:check|look|read|run|search|start|try|grep|verify|take|wait|inspect)|let['’]?s (?:see|check|look|run|try|verify)|i see|looking at|now i|the (?:test|error|output|file|command|build)s? (?:is|are|was|shows?|failed|now))\b/i;
const HEDGES =
  /\b(?:could|might|maybe|perhaps|sorry|what if|if needed|options? (?:are|include)|alternatively|would you|do you|should (?:we|i)\b|asserts?|if you['’]d prefer|keep going|wait(?:ing)?|interrupt\w*|polling)\b/;
/** Nothing is settled: a condition, a wish to talk, or what others chose. */
const OPEN =
  /^(?:if|before|until|unless|suppose|assum\w+|whether|going with|they|he|she|the (?:author|docs?|documentation|team|maintainers?|spec|upstream|library|readme)s?) |\bwhether\b|(?:\b(?:not|never)|n['’]t)(?: yet)? (?:decide[ds]?|settled|chosen|agreed)\b|\b(?:not sure|unsure|don['’]t know|undecided|discuss\w*|to decide|pros and cons)\b|\bif (?:it|they|we|i|you|that) (?:were|was|had|could|did)\b|\btrade-?offs? (?:of|between)\b|\bno need to worry\b/;
const REASON = /\b(?:instead of|rather than|because|since|decided|to avoid|approach|for consistency)\b/;
const FINDING = /^(?:the )?(?:key |main |real )?(?:insight|problem|issue|question|bug|finding)\b/;
/** An answer that picks an option: "C)", "B) for now", "option 2, please". */
const PICK =
  /^(?:(?:ok|okay|yes|yeah|i think|i like|let['’]?s (?:try|do|go with))[, ]{1,2}){0,2}(?:option |approach )?(?:[a-d][.)]?$|[a-d][.)]? (?:is |just |for now|please|sounds|works)|(?:option|approach) [a-d1-9]\b(?=,|$| is| please| sounds| works)|[a-d1-9] is (?:fine|the right|good|ok))|^(?:yes|yeah|ok|okay),? let['’]?s (?:go (?!ahead|on)|do (?!it)|use )/;
/** Names the decision that follows. */
const NAMED =
  /^(?:(?:the|my|our|key|main|final|design|product|recommended|right|proper|simplest|cleanest|best|safest|minimal|correct) ){0,3}(?:decision|approach|resolution|trade-?off|stance|recommendation|conclusion|(?<=\w )fix|solution)(?: here)?(?: is(?: now| straightforward| simple)?| was)?(?:: ?\S| (?:is|was) (?:to )?(?:add|use|keep|mov|remov|chang|replac|mak)\w*)|^(?:so,? )?the (?:(?:right|proper|simplest|cleanest|cleaner|best|safest|minimal|correct|better) ){1,2}(?:fix|solution|approach|way|option|choice|call|move)(?: here)? (?:is|was|would be)\b|^(?!i (?:don|do n)).{0,160}\bis the right (?:call|choice|move)\b/;
/** States that something is intended. */
const MEANT =
  /\b(?:by design|deliberately|on purpose)\b|^(?:so )?(?:i|we) (?:did not|didn['’]t|do not|don['’]t|will not|won['’]t|would not|wouldn['’]t|am not going to) (?!know|see|think|have|find|need to|want to).{4,160}\b(?:because|since|so that|to (?:keep|avoid))\b/;
/** States which way to go. */
const CHOOSES =
  /^(?:(?:so|yes|then|for [^,]{2,40}),? ){0,2}(?:i|we)(?:['’]d| should| would)(?: not| rather)? (?:avoid|keep|group|treat|separate|store|reuse|default|leave|stay|drop|stop|optimi[sz]e)\w*\b|\bshould (?:only )?(?:stay|remain|default)\b/;
/** Says what is done and what for, or which other way is left. */
const ON_PURPOSE =
  /(?:^|, so )(?:(?:so|then|now|yes|ok|okay|got it|for now|instead|agreed),? ){0,2}(?:(?:i|we)(?:['’]ll| will|['’]m going to| am going to|['’]d)|let me) (?!know|see|check|look|read|verify|inspect|run|think|try|start|wait|continue|let|give|mark|show|explain|need|have|can)\w+ .{4,240}\b(?:instead of|rather than|so (?:that |the |it |they |we |each |both )\w+|because|to avoid|without (?!any issue)\w+ing|by \w+ing)\b|^(?:for now|instead),? (?:(?:i|we)(?:['’]ll| will)|let me) (?!check|look|see|read|verify|try)\w+|\blet me (?:take|use|try) a (?:different|simpler|cleaner) approach\b/;
/** Prefers one way to another, as an item of a list. */
const PREFERS =
  /^(?:keep|re-?use|use|preserve|prefer|leave|store|default|put|treat|avoid|drop) (?!of\b).{8,240}(?:\b(?:instead of|rather than)\b|, not |\bbut not\b)/;
/** Accepts a proposal and states what follows. */
const AGREES =
  /^(?:yes,? )?(?:i agree|agreed|good call|good idea|fair (?:point|enough))(?: with [^,.;:—–-]{1,60})?[,.;:—– -]{1,3}(?! ?(?:let me|i['’]ll (?:check|look|read)|that|this is|here)).{12,}/;
const SETTLES = [NAMED, MEANT, AGREES, CHOOSES, ON_PURPOSE];
const DECISION_HEADING =
  /\b(?:(?:design|key|important|product|main) )?decisions?(?: \([^)]{1,40}\)| (?:captured|made|so far|taken))?\s?[:：]?$|^why (?:i|we) (?!was|were|am|are)\w+ .{1,60}$|\bchosen (?:approach|design)\b|^(?:i|we|option \w+|my) .{0,80}\bbecause\b.{0,3}$/;
/** What people say of what they want built, as a choice. */
const WANTED =
  /^(?:ok(?:ay)?,? |yes,? )?let['’]?s go with (?!it\b|that\b)\S|\bi(?:['’]d| would) (?:prefer|rather)\b|\bi(?:['’]d| would)? like (?:option|approach|to (?:use|go|keep|stay|start with))\b|\b(?:instead of|rather than)\b|^no, \S|^i think (?:option )?[a-d1-9]\b|^[a-d]\)[, ]{1,2}(?!so|would|should|if|what|why)\S/;

/** A choice phrased as a question, or with one behind it: "can we use tabs instead of spaces?" */
const ASKS_FOR =
  /^i think (?:option [a-d1-9]\b|[b-d1-9]\b)|let['’]?s go with \S.{0,120}(?:, or| instead of| rather than)\b|^(?:please )?(?:can|could) (?:we|you) .{4,120}\b(?:instead of|rather than) /;

/** Choices between ways to do something, with or without a reason; people choose in more words than assistants do. */
export function decisionsIn(all: readonly Sentence[], speaker: "user" | "assistant"): string[] {
  return textsOf(all, (sentence) => isDecision(sentence) || (speaker === "user" && isWanted(sentence)));
}

function isDecision({ text, plain, heading, item }: Sentence): boolean {
  if (QUESTION.test(plain) || /^(?:why|how)\b/.test(plain)) return false;
  if (PICK.test(plain)) return !/^[a-d][.)]?$/.test(text);
  if (plain.endsWith(":") && plain.length < 60) return false;
  if (plain.length < (/\p{Lo}/u.test(plain) ? 5 : 12)) return false;
  if (item && (DECISION_HEADING.test(heading) || PREFERS.test(plain))) return true;
  const settled =
    SETTLES.some((pattern) => pattern.test(plain)) ||
    languagesOf(plain).some(({ decision }) => decision.test(plain));
  if (
    !settled ||
    FINDING.test(plain) ||
    OPEN.test(plain) ||
    HEDGES.test(plain.replace(/\([^()]{0,200}\)/g, ""))
  )
    return false;
  return !NARRATES.test(plain) || REASON.test(plain);
}

function isWanted({ plain }: Sentence): boolean {
  if (
    plain.length < 12 ||
    HEDGES.test(plain) ||
    OPEN.test(plain) ||
    (QUESTION.test(plain) && !ASKS_FOR.test(plain))
  )
    return false;
  return WANTED.test(plain) && !/^(?:if|why|how|what|where)\b/.test(plain);
}

const PROPOSES =
  /^(?:so,? |then,? |for now,? )?(?:i['’]d|i would|i['’]m) (?:also )?(?:suggest|recommend|propose|lean(?:ing)?|go(?:ing)? (?:with|for)|vote|start with)\b|^(?:my |the )?(?:recommend(?:ation|ed)|suggestion|proposal)\b(?: \w+){0,3}:|\bi(?:['’]d| would) recommend\b|\(recommended\)/;
const ACCEPTS =
  /^(?:(?:i think|let['’]?s (?:do|go with|go)|go with|option)\s{1,2})?(?:yes|yeah|yep|yup|ok(?:ay)?|sure|agreed?|sounds (?:good|great|right)|good|great|perfect|exactly|correct|right|do it|go (?:ahead|for it)|please do|makes sense|that works|lgtm|[a-d]\)|[a-d1-9]$|let['’]?s (?:do|go)|both)(?![\p{L}])/iu;
const REJECTS = /\b(?:but|instead|however|don['’]t|do not|rather|no,|wait|actually|what if|why)\b/i;

/**
 * The assistant's proposals that the user accepted: its recommendation, if the reply says yes or names the
 * same option.
 */
export function acceptedIn(proposal: string, reply: string): string[] {
  const words = reply.trim().slice(0, 200);
  if (!ACCEPTS.test(words) || REJECTS.test(words)) return [];
  const picked = /^(?:i think |let['’]?s (?:do|go with) |option )?\(?([a-d1-9])(?:[.)]|$)/i
    .exec(words)?.[1]
    ?.toLowerCase();
  return textsOf(readSentences(proposal.slice(-CLOSING)), ({ plain }) => {
    if (plain.length < 12 || QUESTION.test(plain) || !PROPOSES.test(plain)) return false;
    const named = /(?:^|[\s(*:])(?:option )?([a-d]|[1-9](?=[).]))(?:\)|\b(?= for| -|\.))/.exec(plain)?.[1];
    return picked === undefined || named === undefined || named === picked;
  }).slice(-3);
}

// ---- next steps and closing questions

const NEXT =
  /^(?:(?:the )?next(?: steps?| up| task| i| we|,|:)|remaining|left to do|still (?:to do|open|left|missing|pending|need)|to ?do\b|up next|(?:what|which)['’]?s (?:left|next)|outstanding|pending|not (?:yet )?done|follow-?ups?)\b/i;
const UNDONE =
  /\b(?:(?:i|we|you|it)(?:['’]ll| will)? still (?:need|have|has) to|still needs? (?:to|a|an|the)?|(?:remains?|remaining|left) (?:to be done|to do|open|to \w+)|next,? (?:i|we)(?:['’]ll| will| can| need| should|['’]m going to)|(?:i|we)(?:['’]ll| will| am going to| are going to) (?:then|next|now|continue|proceed|move on)|not (?:yet )?(?:been )?(?:committed|implemented|done|tested|pushed|merged|started|finished|addressed|wired|migrated|covered)(?: yet)?|(?:has|have)n['’]t (?:been )?\w+ yet|yet to (?:be|do|run)|needs? to be (?:done|added|updated|fixed|wired|tested)|todo:|once .{1,80},? i['’]ll|only .{1,60} remains?(?=[.\s]{0,3}$))\b/i;
const UNDONE_ELSEWHERE =
  /(?:下一步|接下来|还(?:需要|没|要|剩)|尚未|待办|剩下|次(?:は|に)|残り|残って|まだ.{0,20}(?:ていません|ていない|未)|これから|als nächstes|noch (?:zu|offen|nicht|ausstehend)|fehlt noch|steht noch aus|prochaine étape|reste à|il reste|pas encore|ensuite,? je|próximo paso|siguiente paso|falta\b|queda(?:n)? por|todavía no|aún no|próximo passo|falta(?:m)?\b|ainda (?:não|falta|precisa)|следующ\p{L}+ шаг|осталось|далее|ещё (?:не|нужно|надо)|пока не)/iu;
const NEXT_HEADING =
  /^(?:[^\n]{0,40}[^\p{L}])?(?:next steps?|remaining|to-?do|follow-?ups?|outstanding|what['’]?s (?:left|next)|pending|still open|open (?:items|tasks|points)|not (?:yet )?done|下一步|待办|剩余|次のステップ|残り|nächste schritte|offen|prochaines étapes|reste à faire|próximos pasos|pendiente|próximos passos|pendente|следующие шаги|осталось)(?![\p{L}\p{N}_])[^\n]{0,40}$/iu;
/** What is left in plain words, also where more was said since. */
const LEFT =
  /\bonly .{1,80}\b(?:remains?|(?:is|are) left)\b|\b(?:is|are) still (?:running|working|open|pending|missing|failing|in progress)\b|^still (?:running|working|open|pending|in progress)\b|\b(?:did|do|does|has|have|is|are|was|were)(?:n['’]t| not) (?:yet )?(?:been )?(?:commit(?:ted)?|pushed?|merged?|finish(?:ed)?|deployed|implemented|tested)\b|\b(?:not (?:yet )?(?:committed|pushed|merged|deployed)|uncommitted (?:changes?|work|edits?|files?))\b|\bonce .{1,80},? (?:i|we)['’](?:ll|m going to)\b/;
const NAMED_ONLY = /^[`*_]{0,3}[\w./@-]+[`*_]{0,3}$/;
const FINISHED =
  /(?:^|\s)(?:✅|✓|☑|\[x\]|~~)|\b(?:nothing (?:left|remaining|else)|no (?:remaining|outstanding|further) |all (?:done|tasks (?:are )?(?:done|complete)))/i;

/** Next steps that an assistant announces as still to be done; with `atWork` also what it says that it does with the calls beside it. */
export function nextStepsIn(all: readonly Sentence[], atWork = false): string[] {
  return announcedIn(all, atWork, (sentence) => isNextStep(sentence) || isLeft(sentence));
}

/** The same of what it says is left, waits or is not committed. */
export function leftIn(all: readonly Sentence[], atWork = false): string[] {
  return announcedIn(all, atWork, isLeft);
}

function announcedIn(
  all: readonly Sentence[],
  atWork: boolean,
  holds: (sentence: Sentence) => boolean,
): string[] {
  const underWay = atWork ? all.filter(isUnderWay).slice(-2) : [];
  return textsOf(all, (sentence) => holds(sentence) || underWay.includes(sentence));
}

function isNextStep({ plain, heading, item, text: own }: Sentence): boolean {
  if (FINISHED.test(own) || QUESTION.test(plain) || plain.length < 8) return false;
  if (item && NEXT_HEADING.test(heading)) return !NAMED_ONLY.test(own);
  if (/[:：]$/.test(plain) || /^(?:if|when(?:ever)?|while|would be)\b/.test(plain)) return false;
  return NEXT.test(plain) || UNDONE.test(plain) || UNDONE_ELSEWHERE.test(plain);
}

function isLeft({ plain, text: own }: Sentence): boolean {
  return (
    LEFT.test(plain) && !QUESTION.test(plain) && !FINISHED.test(own) && !/^(?:if|when|while)\b/.test(plain)
  );
}

const UNDER_WAY =
  /^(?:(?:now|next|first|good|ok|okay|agreed|great|perfect)[,.!]? ){0,2}(?:let me |i['’]ll (?:now |also )?|i will |i['’]m (?:going to |now )?)(?!(?:know|now|also|check|search|trac\w+|look\w*|examin\w+|re-?\w+|read\w*|see\w*|find\w*|verify\w*|resolv\w+|inspect\w*|grep|explor\w+|understand|think\w*|view\w*|try\w*|list\w*|compar\w+|wait\w*|us(?:e|ing)|start\w*)\b)\w+|\b(?:after that|then),? (?:i['’]ll|i will)\b/;

function isUnderWay({ plain }: Sentence): boolean {
  return UNDER_WAY.test(plain) && !QUESTION.test(plain) && plain.length >= 12;
}

const CLOSING = 3_000;
const ASKS_WITHOUT_MARK =
  /^(?:please )?(?:let me know (?:if|which|what|how|whether|when)|tell me (?:if|which|what|whether)|(?:please )?confirm (?:if|whether|that|which)|which (?:would|do) you|would you like)\b|请(?:确认|告诉我|选择)|教えてください|ご確認ください|どちら|(?:sag|gib) mir|dis-moi|dime|me diga|дай знать|скажи/iu;
const RHETORICAL =
  /^(?:why|how|what|so what|what happened|why not|the (?:problem|issue|result)|wie|warum|pourquoi)\?$|^(?:why|what|how)\b.{0,60}\?\s{0,3}(?:because|it|the)\b/i;

/** Unanswered questions to the user in the assistant's closing message. */
export function questionsIn(text: string): string[] {
  return textsOf(readSentences(text.slice(-CLOSING)), ({ plain }) => plain.length >= 8 && asks(plain));
}

const POLITE =
  /^(?:(?:hi|hello|hey|great|sure|ok|okay)[!,. ]{1,3}){0,2}(?:how (?:can|may) i (?:help|assist)\b|what (?:can i|would you like me to) (?:help|assist|do)\b.{0,40}\?$|(?:is there )?anything else\b|do you need anything else\b|wie kann ich .{0,20}helfen|kann ich sonst noch|comment puis-je vous aider|en qué puedo ayudar|¿en qué puedo ayudar|como posso ajudar|чем (?:я )?могу помочь)|有什么(?:我)?(?:可以|能)帮|何かお手伝い|他に何か/;

function asks(plain: string): boolean {
  if (RHETORICAL.test(plain) || POLITE.test(plain)) return false;
  if (
    /^let me know if (?:you (?:have|need|want)|there['’]?s) (?:any|anything|more|further|other)/.test(plain)
  )
    return false;
  return (
    QUESTION.test(plain) ||
    (ASKS_WITHOUT_MARK.test(plain) && plain.length < 300) ||
    /ますか。$|ですか。$|でしょうか。$|吗。$/.test(plain)
  );
}
