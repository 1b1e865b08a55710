import { DEICTIC, isOfThisMoment } from "./facts.ts";
import { LEAD, rule, TASK, word } from "./language.ts";
import { list, read } from "./meaning.ts";
import { tellsAnotherValue } from "./relation.ts";
import { holds, isOrdinary, toolsLike } from "./values.ts";

/**
 * What of a sentence speaks of something known and says something new about it, in the speaker's words: the sentence, or the
 * clause of it that does; undefined where nothing does.
 */
export function newsOf(sentence: string, known: readonly string[]): string | undefined {
  return [sentence, ...clausesOf(sentence)].find(
    (piece) => states(piece) && known.some((older) => tellsMoreOf(piece, older)),
  );
}

const CLAUSE = /[,;:]\s+|\s[–—-]+\s|,?\s(?:so|and|but)\s/u;
/** Fewer words say nothing by themselves. */
const FEWEST = 4;

function clausesOf(sentence: string): readonly string[] {
  return sentence.split(CLAUSE).filter((clause) => clause.split(/\s+/).length >= FEWEST);
}

/** It says how something is: it wants, asks and orders nothing, and is not of this moment. */
function states(text: string): boolean {
  const plain = text.replace(LEAD, "");
  return ![DEICTIC, INTENT, TASK, ORDER].some((other) => other.test(plain)) && !isOfThisMoment(plain);
}

function tellsMoreOf(text: string, older: string): boolean {
  const [now, then] = [read(text), read(older)];
  const shared = [...then.content].filter((term) => isDistinctive(term) && holds(now.content, term));
  const names = [...then.names].filter((name) => holds(now.content, name));
  const isNamed = names.some(isDistinctive) || (names.length > 1 && names.length === then.names.size);
  const another = tellsAnotherValue(now, then);
  if (shared.length < 2 && !isNamed) return shared.length === 1 && another && now.tellsChange;
  return now.isChange || another || (isNamed && [...now.names].some((name) => !holds(then.content, name)));
}

/** It says what is spoken of: no value, no verb of having, no word that work with an agent is full of. */
function isDistinctive(term: string): boolean {
  return toolsLike(term) !== undefined || (!isOrdinary(term) && !COMMON.has(term) && term.length > 2);
}

/** Words of which talk with an agent is full. */
const COMMON = list(`
  add app back build button call change check class code column command commit component config create data database date day default docs
  email error example field file files find fix folder function get good help home idea images issue item job key last left line link list
  load login look lot mail main make message method name need new next number old one order output page part people place point print
  problem process query question read repo request result return right row run script section see send server service set show side site
  start state step stuff table task test tests text thing time today type update upload url user users value version view way web week
  word work write year`);

/** What is wanted, thought or tried, and what is asked for. */
const INTENT: RegExp = rule(
  "^(?:i|we|ich|wir|je|nous|on|yo|eu|я|мы)(?:['’](?:d|ll))?\\s(?:\\p{L}+ly |just |still |also |do(?:n['’]t)? )?(?:think|guess|want|need|would|should|could|wonder|hope|plan|might|must|can(?:['’]t)?|will|tr(?:y|ied)|believe|suppose|expect|see|saw|get|got|will|möchte\\p{L}*|glaube|denke|brauche|veux|pense|crois|quiero|creo|quero|acho|думаю|хочу)(?![\\p{L}])",
);
const ORDER: RegExp = rule(
  `^(?:please |now |then |also |and |let['’]s )*${word(
    "set|move|change|update|rename|remove|delete|drop|make|give|show|run|use|keep|list|find|get|take|go|try|do|let|start|stop|open|close|build|deploy|install|implement|refactor|replace|switch|bump|merge|push|pull|split|sort|help|suggest|plan|think|compare|turn",
  )}`,
);
