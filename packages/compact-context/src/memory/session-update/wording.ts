import { rulesIn } from "../../summarizers/extractive/statements.ts";
import { clipEnd, oneLine, sentences } from "../../summarizers/extractive/text.ts";

const AT_START =
  /^(?:no\b[,.!: ]|nope\b|stop\b|wait\b|wrong\b|not (?:that|this|so|like)\b|actually\b|instead\b|rather\b|scratch that|forget (?:it|that|about)|never ?mind|on second thought|undo\b|revert\b|let['’]?s not\b|i (?:said|meant)\b|nein\b|halt\b|stopp\b|doch\b|eigentlich\b|non\b[, ]|en fait\b|arrête|plutôt\b|en realidad\b|mejor\b|espera\b|não\b[, ]|na verdade\b|anzi\b|invece\b|aspetta\b|нет\b|стоп\b|подожди|на самом деле|不对|不是|错了|停|等等|其实|改成|違う|いや|待って|やっぱり|아니|잠깐|사실)/iu;
const ANYWHERE =
  /\b(?:that['’]?s (?:wrong|not (?:right|what|it))|that is (?:wrong|not (?:right|what|it))|you (?:misunderstood|forgot|broke|missed)|not what i (?:asked|meant|wanted)|don['’]?t do that|change of plan|das ist falsch|nicht so|ce n['’]est pas|eso no|no era eso)\b|不是这个|不要这样|そうじゃな|그게 아니/iu;
const SHORT = 280;

/** True for words of a person that turn back or correct what was done, in some major languages. */
export function isCorrection(text: string): boolean {
  const [first = ""] = sentences(text);
  return AT_START.test(first) || (text.length <= SHORT && ANYWHERE.test(text));
}

/** Asks to note a fact, which forbids and demands nothing. */
const NOTED = /\bremember that\b/gi;

/** True for a directive that forbids or demands something in so many words. */
export function isFirmRule(sentence: string): boolean {
  if (/[:：]$/.test(sentence)) return false;
  return rulesIn(sentence.replace(NOTED, " ")).length > 0;
}

const ABOUT_TO =
  /^(?:now|let me|next|quick|first|i['’]m (?:going|looking|about)|i am (?:going|looking|about)|i['’]ll (?:check|look|confirm|read|see|start)|i need|yes|no|ok|okay|absolutely|good|great|got it)\b/i;
const SETTLED =
  /\b(?:decided|decision|agreed|going with|chose|chosen|opt(?:ed|ing) for|switch(?:ed|ing)? to|stick(?:ing)? with|settled on|instead of|rather than|because)\b/i;

/** A choice that somebody who goes on should know, as opposed to one about the next move. */
export function isTellingDecision(text: string): boolean {
  return SETTLED.test(text) && !ABOUT_TO.test(text) && !/[:：?]$/.test(text);
}

const HEADING =
  /^(?:#{1,6}\s*|\*\*|__)?(?:what(?:['’]s| is) (?:next|left)|next(?: steps?| up| actions?)?|remaining(?: \w+)?|still (?:to do|open|missing|left)|to ?-?do|open (?:points|questions|items)|follow[- ]?ups?|nächste schritte|offen|prochaines étapes|reste à faire|próximos pasos|próximos passos|prossimi passi|дальше|следующие шаги|下一步|接下来|待办|次のステップ|残り|다음 단계)[^\n]{0,40}?(?:\*\*|__)?\s*[:：]?\s*(?:\*\*|__)?$/iu;
const ITEM = /^\s{0,8}(?:[-*+•]|\d{1,2}[.)]|\[ \])\s+(?:\[ \]\s*)?(.+)$/;
const DONE_ITEM = /^(?:\[x\]|✅|✔|~~)/i;
const SENTENCE =
  /^(?:next\b[,:]?|then i(?:['’]ll| will)\b|after (?:that|this)\b|remaining\b|what(?:['’]s| is) left\b|als nächstes\b|ensuite\b|après cela\b|luego\b|a continuación\b|em seguida\b|poi\b|далее\b|затем\b|接下来|下一步|次に|다음으로)|\bstill (?:needs?|has|have|to be|to do|missing|open)\b|\b(?:next|remaining) (?:step|task|item)s?\b|\bnot (?:yet )?(?:done|implemented|tested|covered) yet\b/iu;
const MOST = 8;
const LONGEST = 240;

/** What the assistant says is still to be done: items below a heading of that sense, else sentences. */
export function statedNextSteps(text: string): string[] {
  const listed = listedSteps(text);
  const found = listed.length > 0 ? listed : sentences(text).filter((sentence) => SENTENCE.test(sentence));
  return [...new Set(found.map((step) => clipEnd(oneLine(plain(step)), LONGEST)))]
    .filter((step) => /[\p{L}\p{N}]/u.test(step) && !/[?？]$/.test(step))
    .slice(0, MOST);
}

function listedSteps(text: string): string[] {
  const steps: string[] = [];
  let open = false;
  for (const line of text.split("\n")) {
    const item = ITEM.exec(line)?.[1];
    if (HEADING.test(line.trim())) open = true;
    else if (open && item !== undefined) steps.push(item);
    else if (line.trim() !== "" && !/^\s/.test(line)) open = false;
  }
  return steps.filter((step) => !DONE_ITEM.test(step));
}

function plain(step: string): string {
  return step.replace(/\*\*|__/g, "").replace(/^[-*>#\s]+/, "");
}
