import { isDirective } from "../../summarizers/extractive/directives.ts";

/** Words that limit something as often as they tell of it; alone they make no rule of an English sentence. */
const WEAK = /\b(?:no|should(?:n['’]t)?|without|rather than|instead of|except|keep|required?|only)\b/gi;
const ENGLISH = /\b(?:the|a|an|is|are|to|of|it|this|that|and|when|on|in|for|with|by)\b/i;

/** True for a directive that forbids or demands something in so many words. */
export function isFirmRule(sentence: string): boolean {
  if (/[:：]$/.test(sentence)) return false;
  return isDirective(ENGLISH.test(sentence) ? sentence.replace(WEAK, " ") : sentence);
}

const ABOUT_TO =
  /^(?:now|let me|next|quick|first|i['’]m (?:going|looking|about)|i am (?:going|looking|about)|i['’]ll (?:check|look|confirm|read|see|start)|i need|yes|no|ok|okay|absolutely|good|great|got it)\b/i;
const SETTLED =
  /\b(?:decided|decision|agreed|going with|chose|chosen|opt(?:ed|ing) for|switch(?:ed|ing)? to|stick(?:ing)? with|settled on|instead of|rather than|because)\b/i;

/** A choice that somebody who goes on should know, as opposed to one about the next move. */
export function isTellingDecision(text: string): boolean {
  return SETTLED.test(text) && !ABOUT_TO.test(text) && !/[:：?]$/.test(text);
}
