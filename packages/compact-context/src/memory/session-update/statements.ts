import { rulesIn } from "../../summarizers/extractive/statements.ts";

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
