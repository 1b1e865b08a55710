import { sentences } from "../../summarizers/extractive/text.ts";

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
