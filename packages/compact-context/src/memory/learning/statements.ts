import type { Message } from "../../core/message.ts";
import { rulesIn } from "../../summarizers/extractive/statements.ts";
import { DAY_NAMES } from "../ranking/dates.ts";
import {
  CHOSEN,
  FORBIDS,
  LASTING,
  LEAD,
  PERMITS,
  REMEMBER,
  REMEMBER_THAT,
  rule,
  SAID_ON,
  STRONG_CHANGE,
  TASK,
  TELLS_CHANGE,
  TRANSIENT,
  word,
} from "./language.ts";
import { clausesIn, type Read, read } from "./meaning.ts";
import { insteadOfForgotten, ownAsides, ownStatements, saidIn, sentencesOf } from "./own-words.ts";
import { means, tellsAnotherValue } from "./relation.ts";
import { heldBy, holds, isOrdinary, list, toolsLike } from "./terms.ts";

/** Sections of a channel's MEMORY.md that the runtime adds to. */
export type DurableSection = "Constraints" | "Decisions" | "Facts";

/** Something the user said that holds beyond the session, verbatim. */
export interface DurableStatement {
  readonly section: DurableSection;
  readonly text: string;
  /** Id of the message with the statement. */
  readonly from: string;
  /** The user asked to remember it. */
  readonly asked: boolean;
  /** It stands in the place of something that was just taken back. */
  readonly corrects: boolean;
}

/** Emoticons and unfinished sentences. */
const CHAT =
  /\p{Extended_Pictographic}|(?:^|\s)[:;]-?[|()DPp](?:\s|$)|\.\.\.$|^\(?[a-z1-9]\) (?:why|how|what|who|when|where)\b/iu;
const SHORTEST = 9;
/** `Remember to …` is a task. */
const TO_DO = /^to (?!.*\b(?:each|every|always)\b)|^never ?mind/i;
/** What somebody should do, after a request to remember it: `Merk dir, Milch zu kaufen`. */
const INFINITIVE =
  /(?:^|\s)(?:zu \p{Ll}+e?n|\p{Ll}+zu\p{Ll}{3,}n)[.!]*$|^(?:d['’])?(?!por)\p{Ll}{2,}(?:[aei]r|re|ть|ти|чь)(?![\p{L}])|^(?:明天|今天)?提醒/u;
const SHORTEST_UNSPACED = 5;
const LONGEST = 300;
/** A message with more statements is a document: its rules belong to its task. */
const MOST_OF_ONE = 6;
/** A message with more sentences is a story: its events are not facts, but states in it may be. */
const MOST_OF_TALK = 8;

/** True for transient states. */
export function isTransient(text: string): boolean {
  return TRANSIENT.test(text);
}

/** Rules that people state in their own name, oldest first: lasting ones, and those in `firm`. */
export function ownRules(messages: readonly Message[], firm: ReadonlySet<string>): string[] {
  const rules = messages.flatMap((message) =>
    ownStatements(saidIn(message)).filter(
      (text) => firm.has(text) || firm.has(`${text}.`) || (isRule(text) && isStatement(text)),
    ),
  );
  return [...new Set(rules)];
}

/** Minimum share of a statement's words in the user's own sentences for it to be theirs. */
const OWN_WORDS = 0.6;

/** Whether a model's statement is covered by what the user says in their own name. */
export function isSaidByUser(statement: string, messages: readonly Message[]): boolean {
  const own = messages.flatMap((message) => ownStatements(saidIn(message)));
  return heldBy(statement, own.join("\n")) >= OWN_WORDS;
}

/**
 * What people settled in their own words: lasting rules, choices, facts about them and their habits, what
 * they asked to remember, and corrections of something in `known`.
 */
export function durableStatements(
  messages: readonly Message[],
  known: readonly string[],
): DurableStatement[] {
  const all: DurableStatement[] = [];
  for (const message of messages) {
    const found = inMessage(message, [...known, ...all.map(({ text }) => text)]);
    all.push(...(found.length > MOST_OF_ONE ? found.filter(({ asked }) => asked) : found));
  }
  return all;
}

function inMessage(message: Message, known: readonly string[]): DurableStatement[] {
  const typed = saidIn(message);
  const sentences = joined(ownStatements(typed), known);
  const instead = new Set(insteadOfForgotten(typed));
  const isStory = sentencesOf(typed).length > MOST_OF_TALK;
  const found = sentences.flatMap((sentence, index): Told[] => {
    const lead = REMEMBER.exec(sentence)?.[0] ?? "";
    const plain = sentence.slice(lead.length);
    if (TO_DO.test(plain) || (lead !== "" && INFINITIVE.test(plain)) || isBareRequest(sentence)) return [];
    const isAsked = lead !== "" || REMEMBER_THAT.test(plain) || isBareRequest(sentences[index + 1] ?? "");
    const corrects = instead.has(sentence);
    const heard = { asked: isAsked || corrects, corrects, isStory };
    return toldIn(heard.asked ? plain.replace(/^to (?=\p{L})/u, "") : plain, heard, known);
  });
  const said = [...found, ...(isStory ? [] : asidesIn(typed, found))];
  return said.map((told) => ({
    ...told,
    text: told.text.charAt(0).toUpperCase() + told.text.slice(1),
    from: message.id,
  }));
}

type Told = Omit<DurableStatement, "from">;
type Heard = Pick<Told, "asked" | "corrects"> & { readonly isStory: boolean };

/** The lasting statement of a sentence: all of it, or the part with news about something known. */
function toldIn(text: string, heard: Heard, known: readonly string[]): Told[] {
  if (!isStatement(text)) return [];
  const { asked, corrects, isStory } = heard;
  const section = sectionOf(text, heard, known);
  if (section !== undefined) return [{ section, text, asked, corrects }];
  const news = isStory ? undefined : newsOf(text, known);
  if (news === undefined || !isStatement(news) || TRANSIENT.test(news.replace(SAID_ON, " "))) return [];
  return [{ section: "Facts", text: news, asked, corrects }];
}

/** Facts told along with a request, except those already found. */
function asidesIn(typed: string, found: readonly Told[]): Told[] {
  return ownAsides(typed).flatMap(({ text, reads }): Told[] => {
    const isTold = found.some((one) => one.text.includes(text));
    if (isTold || !isStatement(text) || TRANSIENT.test(text) || !tellsFact(reads)) return [];
    return [{ section: "Facts", text, asked: false, corrects: false }];
  });
}

/** Joins a correction in two sentences: `The date slipped. It is the 21st.`, `Correction. The port is 80.` */
function joined(sentences: readonly string[], known: readonly string[]): string[] {
  const corrected = (text: string): readonly string[] => known.filter((older) => means(text, older));
  const corrects = (text: string): boolean => known.some((older) => means(text, older));
  const result: string[] = [];
  for (const sentence of sentences) {
    const last = result.at(-1);
    const both = `${last} ${sentence}`;
    const goesOn =
      last !== undefined &&
      both.length < LONGEST &&
      (GOES_ON.test(sentence)
        ? corrects(last) || isBareChange(last)
        : TELLS_CHANGE.test(last) &&
          !corrects(sentence) &&
          corrected(last).every((older) => heldBy(sentence, older) > 0));
    if (goesOn && (corrects(both) || isBareChange(last))) result[result.length - 1] = both;
    else result.push(sentence);
  }
  return result;
}

/** It says that something changed, but not to what: `We relicensed.` */
function isBareChange(sentence: string): boolean {
  return STRONG_CHANGE.test(sentence) && sentence.split(/\s+/).length <= 3;
}

/** The subject or topic is in the sentence before. */
const GOES_ON =
  /^(?:(?:it|they|that|he|she|there|only|es|sie|il|elle|c['’]|ello|ela|это|он|она)(?:['’]s)?|(?:just |finally |already )?(?:picked up|bought|got|ordered|went with|switched to|moved (?:to|in)|joined|using|typing this on|now (?:on|at|in|with|using)))\s/iu;

/** `Remember that.`: refers to the sentence before. */
function isBareRequest(sentence: string): boolean {
  return REMEMBER_THAT.test(sentence) && sentence.replace(REMEMBER_THAT, "").trim() === "";
}

function sectionOf(text: string, heard: Heard, known: readonly string[]): DurableSection | undefined {
  const { asked, isStory } = heard;
  if (!asked && TRANSIENT.test(text))
    return TRANSIENT.test(text.replace(SAID_ON, " ")) ? undefined : sectionOfChange(text, known);
  const isFact = tellsFact(text) && (asked || !isStory || tellsState(text));
  if (CHOSEN.test(text)) return /\s[a-d1-9][.!]?$/i.test(text) ? undefined : "Decisions";
  if (asked || isFact) return isRule(text) && !isFact ? "Constraints" : "Facts";
  return isWish(text, heard) ? "Constraints" : sectionOfChange(text, known);
}

/** In a story, or about something mentioned before, only an imperative is a wish. */
function isWish(text: string, { isStory }: Heard): boolean {
  return isRule(text) && (!(isStory || DEICTIC.test(text)) || rulesIn(text).length > 0);
}

/** Lifts a rule for good, or corrects something known. */
function sectionOfChange(text: string, known: readonly string[]): DurableSection | undefined {
  if (!known.some((older) => means(text, older))) return undefined;
  return PERMITS.test(text) ? "Constraints" : "Facts";
}

function isStatement(text: string): boolean {
  const least = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/.test(text) ? SHORTEST_UNSPACED : SHORTEST;
  return text.length >= least && text.length < LONGEST && !/[?？:：]$/.test(text) && !CHAT.test(text);
}

// ---- which sentences state facts about the speakers

/**
 * Whether a sentence states something about the speaker, their people, places, times, tools or habits. It is
 * judged by its subject, or by the shape `X is Y` with a name, number or day as Y. Wishes, findings and work
 * done do not count.
 */
function tellsFact(sentence: string): boolean {
  const plain = sentence.replace(LEAD, "").replace(LEAD_IN, "").replace(FOLLOWS, "");
  if (SETTING.test(plain) || NAMED_SETTING.test(plain))
    return !DEICTIC.test(plain) && !/[`{}<>;]|\w\(/.test(plain);
  if (APPOSED.test(plain)) return !DEICTIC.test(plain);
  if (isOfThisMoment(plain)) return false;
  if (OURS.test(plain)) return STANDS.test(plain) || !WISH.test(plain);
  if (DEICTIC.test(plain) || WISH.test(plain)) return false;
  if (/[\u3040-\u9fff]/u.test(plain)) return UNSPACED_THING.test(plain);
  return PERSON.test(plain) || (plain.split(/\s+/).length <= MOST_WORDS && isThing(plain));
}

/** It is about an error, something in progress or the current moment, or it is code. */
function isOfThisMoment(text: string): boolean {
  return PASSING.test(text) || CODE.test(text);
}

/** A time or reason before the subject: `After the breach I …`. */
const LEAD_IN =
  /^(?:after|since|with|because of|thanks to|during|over|until) (?:the|my|our|all|last|a) (?:\S+\s){1,5}?(?=(?:i|we|my|our)\s)/iu;

const MOST_WORDS = 18;

/** `The Osprey repo uses pnpm`, `the billing service needs Java 21`: a name or a kind of project. */
const NAMED_SETTING =
  /^(?:[Tt]he|[Oo]ur) (?:(?:\p{Ll}+\s){0,2}\p{Lu}\S*(?:\s\p{Ll}+){0,2}|(?:[\p{L}\d-]+\s){1,3}(?:project|repo(?:sitory)?|services?|apps?|site|shop|team|backend|frontend|servers?|cluster|pipeline|package|library|module|worker|bot))\s(?:uses?|runs?(?: on)?|requires?|needs?|supports?|targets?)\s/u;

/** `My mother (78, hard of hearing) …`: the description is in brackets. */
const APPOSED =
  /^(?:(?:my|our) (?:[\p{L}'’-]+ ){1,4}|the (?:kids|children|twins|boys|girls) )\((?=[^)]*(?:\d|\p{L}{3}))[^)]{3,60}\)/iu;

/** A consequence of a statement, or a further request. */
const FOLLOWS =
  /(?:,? so (?:that |when |if |the |this |it |i |we |you |please )|, (?:give|tell|show|help|fix|write|make|suggest|please|keep that|can you|could you|what|how|why)(?![\p{L}])).*$/isu;

/** A setup, whatever the value: where something is kept or runs, what it runs with, a project's tools. */
const SETTING: RegExp = rule(
  "^(?:the |our |all |every )?(?:\\S+\\s){1,6}?(?:(?:is|are) (?:kept|stored|hosted|deployed|run|built|written|formatted|linted|tested|signed|billed|paid|backed up|owned|scheduled|archived|reviewed|approved|licensed|managed|tracked|monitored|published|released|handled|served|configured) (?:in|on|at|with|by|under|via|from|to|through)|lives? (?:in|on|under)|runs? (?:under|on|with|via)|goes? (?:in(?:to)?|under|through)|go (?:in(?:to)?|under|through|to)|gets? (?:posted|sent|published|deployed) (?:in|to|on))\\s(?!(?:the )?(?:background|loop|parallel|order|way|place|time|same|wrong|right|circles)(?![\\p{L}]))(?<=^(?:.(?!\\b(?:functions?|methods?|class|variables?|arrays?|loops?|buttons?|values?|strings?|results?|components?|errors? message)(?![\\p{L}])))*)",
  "^(?:the |our )?(?:\\S+ ){1,4}(?:in|on|for) (?:staging|production|prod|dev|development|qa|live|ci)(?: environment)? is\\s",
  "^(?:the |our )?(?:\\S+ ){1,4}(?:in|for|of) (?:our|my) (?:\\S+ )?\\S+: \\S",
  "^(?:in|on|for) (?:the )?(?:staging|production|prod|dev|development|test|testing|qa|live|ci)(?: environment| system| cluster)?,? .{2,40}\\s(?:is|are)\\s",
  "^(?:os|as|o|a|los|las|el|la|les|le|die|der|das) (?:\\S+\\s){1,6}?(?:roda(?:m)?|corren?|se ejecutan?|tourne(?:nt)?|laufen|läuft|vencen?|scade|caduca) (?:com|con|avec|mit|em|en|im?|auf|no|el|le|am|a|unter|sous)\\s",
  "^для .{2,30} мы использу|^\\p{Lu}\\p{L}+ (?:\\p{L}+ ){0,2}?(?:теперь )?(?:работа(?:ет|ют)|написан\\p{L}*|дежурит|собира(?:ет|ют)ся) (?:на|в|по|через)\\s",
  "^(?:bei uns|chez nous|en mi (?:equipo|empresa)|aqui (?:a gente|nós)|у нас)(?![\\p{L}])",
);

/** In a story: what someone is, uses, prefers or has changed, not what they did, felt or saw. */
function tellsState(sentence: string): boolean {
  const plain = sentence.replace(LEAD, "");
  return STATES.test(plain) || (MINE.test(plain) && isThing(plain));
}

const MINE: RegExp = rule(
  "^(?:my|our|unser\\p{L}{0,2}|mein\\p{L}{0,2}|notre|nos|mon|ma|mes|nuestr[oa]s?|mis?|noss[oa]s?|meus?|minhas?|наш\\p{L}{0,2}|мо[йяеиё]\\p{L}?)\\s",
);
const STATES: RegExp = rule(
  "^(?:i|we)(?:['’](?:m|re)|\\s(?:am|are))\\s(?:an?|the|based|from|allergic|vegetarian|called|named|using|moving|switching|migrating|pivoting|responsible|no longer|not using)\\s",
  "^(?:i|we)\\s(?:(?:also|now|always|mostly|usually|only|no longer)\\s)*(?:work|live|use|prefer|lead|own|manage|maintain|host|deploy|ship|support|speak|moved|switched|migrated|dropped|hired|joined|renamed|decided)\\s",
  "^(?:ich|wir)\\s(?:bin|sind|arbeite\\p{L}?|wohne\\p{L}?|lebe\\p{L}?|nutzen?|verwenden?|leite\\p{L}?|deployen|bevorzuge\\p{L}?)\\s",
  "^(?:je suis|j['’]habite|je travaille|je préfère|j['’]utilise|nous (?:utilisons|sommes|travaillons)|on (?:utilise|travaille))\\s",
  "^(?:soy|vivo|trabajo|usamos|uso|prefiero|somos|sou|moro|trabalho|prefiro)\\s|^(?:я|мы)\\s(?:работа|жив|использу|предпочита)\\p{L}*\\s",
  "^我们?(?:用|使用|住在|在|是|喜欢|偏好)|^(?:私|うち|弊社).{0,8}は",
  "^(?:\\p{Lu}[\\p{L}'’-]+\\s){1,3}(?:(?:is|was)\\s(?:now\\s)?(?:our|my|the)|owns|leads|maintains|manages|handles|replaced|replaces|took over)\\s",
);

function isThing(plain: string): boolean {
  const verb = THING.exec(plain);
  if (verb !== null && !OF_CODE.test(verb[0])) {
    const after = plain.slice(verb[0].length - 1);
    return VALUE.test(after) || /(?<=\s)\p{Lu}\p{L}/u.test(after);
  }
  return (
    /^\p{Script=Cyrillic}/u.test(plain) && !/^\p{L}+(?:й|йте|ьте|ите)\s/u.test(plain) && VALUE.test(plain)
  );
}

/** The sentence begins with the speaker or something of theirs. */
const OURS: RegExp = rule(
  "^(?:my|our|the team['’]s|\\p{L}+, (?:my|our) [^,]{3,30},|unser\\p{L}{0,2}|mein\\p{L}{0,2}|notre|nos|mon|ma|mes|nuestr[oa]s?|mis?|noss[oa]s?|meus?|minhas?)\\s",
  "^(?:we|i|wir|ich|nous|je|nosotr[oa]s|yo|nós|eu|a gente|мы|я)(?:['’](?:m|re|ve))?\\s|^i(?:m|ve)\\s|^(?:j|m)['’]\\p{L}|^on\\s(?:(?:n['’]|ne |se |s['’]|a |est |y )|(?:utilise|héberge|déploie|teste|travaille|paie|paye|facture|parle|mange|fait|préfère|garde|suit|livre|vend|gère|stocke|appelle)\\s)",
  "^(?:in|on|at|for|within) (?:our|my)\\s|^(?:\\S+\\s){1,4}\\p{L}+en wir\\s|^(?:\\S+\\s){1,3}у нас\\s",
  "^(?:you can )?call me\\s|^(?:me|nos)\\s(?:llamo|(?:he |hemos )?mud(?:é|amos|ado)|gusta\\p{L}*|encanta\\p{L}*)|^chamo-me\\s",
  // Spanish and Portuguese omit the pronoun.
  "^(?:(?:ya|também|también|no|não|siempre|sempre)\\s){0,2}(?!v?amos\\s|hagamos|sejamos)\\p{L}{2,}(?:amos|emos|imos)\\s",
  "^(?:(?:ya|também|también|no|não|siempre|sempre|nunca)\\s){0,2}(?:vivo|trabajo|soy|tengo|prefiero|hablo|uso|como|bebo|tomo|estudio|llevo|viajo|conduzco|dirijo|enseño|juego|toco|duermo|odio|nací|dejé|cambié|compré|vendí|moro|trabalho|sou|tenho|prefiro|falo|estudo|viajo|ensino|jogo|gosto|durmo|nasci|mudei|parei|deixei|comprei)\\s",
  "^(?:наш|мо[йяеиё]|нашег?о?|моег?о?|наш[аиуе]й?|мою|моей|нашему|моему|наших|моих|у (?:меня|нас)|меня зовут|мне \\d+)\\s",
  "^(?:tests?|commits?|comments|docs|releases?)\\s.* in (?:this|our) (?:project|repo|codebase)[.]?$",
  "^(?:我|咱|本人|私|僕|俺|わたし|うち|弊社)",
);

/** A preference, or a state that has lasted long. */
const STANDS =
  /^(?:i|we) (?:\p{L}+ly |much |always )?prefer\s|^(?:i|we)(?:['’]ve| have) (?:\p{L}+ed|been|had|taught|kept|known)\s.*\s(?:since|for (?:over |almost |about )?(?:\d+|\p{L}+) (?:years?|months?|decades?))(?![\p{L}])/iu;

const WISH: RegExp = rule(
  // A finished action is not a habit, unless it changes the state of things.
  "^(?:i|we)(?:['’]ve| have)?\\s(?:(?!only)\\p{L}+ly\\s|just\\s|also\\s)*(?!(?:mov|switch|migrat|chang|replac|renam|dropp|stopp|start|hir|join|retir|marri|adopt|cancell?|postpon|reschedul|extend|relocat|graduat|agre|decid|sign|us|need|shift|swapp|pass|retir|expand|upgrad|downgrad)ed\\s)\\p{L}{2,}ed\\s",
  "(?<!^call me .{0,40})\\s(?:when|while|after|once|until|if) (?:i|we|you)\\s",
  "^(?:i|we)(?:['’](?:d|ll)\\s|(?:['’](?:m|re|ve)| am| are| have)?\\s(?:(?:also|really|still|just|then|now|only|\\p{L}+ly|don['’]t|do not|didn['’]t|am not|not)\\s)*(?:wants?(?! (?:at least|at most|no more than|every|all))|wanted|need(?:ed)?|would|like you|hoping|ready|willing|glad|happy|afraid|seeing|having|cancel\\p{L}*|started?|like (?:option|it|this|that|the|your)|th?ink|figure|concede|do need|_do_ need|quite sure|pretty sure|thoug\\p{L}*|guess|believe|hope|sees?|saw|gets?|got (?!married|promoted)|getting|tr(?:y|ied|ying)|ran|did|must|should|shall|can(?!['’]t (?:eat|drink|have|hear|see|drive|swim|stand|read))(?:not|['’]t)?|could(?:n['’]t)?|will|won['’]t|going|gonna|plan|look(?:ing|ed)?|wonder\\p{L}*|found|find|noticed?|just(?! got (?:married|promoted))|fix(?:ed)?|made|make|add(?:ed)?|ask(?:ed)?|said|says?|mean|meant|understand|know|knew|forg[eo]t|let|thank|appreciate|agree|feel|expect\\p{L}*|suspect|assume|suppose|reali[sz]ed|check(?:ed)?|click(?:ed)?|press(?:ed)?|have to|had|was (?!born)|were|held|gave|ate|drank|kept|sat|stood|lay|slept|woke|felt|took|came|went|brought|heard|spoke|drove|flew|rode|threw|caught|told|fell|hid|shook|stuck|walked|called|talked|tested|wrote|read|updated|installed|refactored|merged|committed|pushed|created|removed|deleted|implemented|finished|completed|reverted|rebased|copied|pasted|attached|uploaded|opened|set|put|ended|spent|broke|restarted|rebuilt|do not know|care|remember|wish)(?![\\p{L}]))",
  "^(?:ich|wir)\\s(?:(?:auch|jetzt)\\s)?(?:möchte|will|wollen|brauche|muss|müssen|soll|kann|könn|denke|glaube|finde|bekomme|sehe|hoffe|versuche|würde|hätte|habe gerade|verstehe|weiß|werde)",
  "^(?:je|nous|on|j['’])\\s?(?:n['’]?e?\\s?)?(?:veux|voudrai|aimerai|ai besoin|avons besoin|dois|devons|doit|voulons|pense|crois|vois|peux|peut|pouvons|ai (?:essayé|lancé|vu|trouvé|ajouté|corrigé)|essaie|espère|trouve|vais|allons|va|comprends|sais|faut)(?![\\p{L}])",
  "^(?:yo |nosotros |eu |nós |a gente |no |não )*(?:quier[oe]|queremos|necesit|deb[oe]|puedo|podemos|creo|creemos|pienso|veo|vemos|espero|voy|vamos|intent|me gustaría|hay que|tengo que|tenemos que|quero|preciso|precisamos|devo|devemos|posso|acho|achamos|vejo|vou|gostaria|tent|tenho que|temos que|estou tentando|entiendo|entendo|sé|sei)",
  "^(?:я|мы)\\s(?:не\\s)?(?:хо(?:чу|тим|тел)|думаю|считаю|виж|мог|можем|надеюсь|пыта|попробовал|долж|получа|бы|понима|знаю|запустил|добавил|исправил)|^(?:мне|нам) (?:нужно|надо)|^(?:нужно|надо)\\s",
  "^(?:我们?|咱们?)(?:也|还|就|都|正)?(?:不?想|要|需要|觉得|认为|希望|试|看|应该|可以|能|会|刚|得|打算|遇到|发现|不知道|不明白|怀疑)|帮我|^请",
  "(?:たい|ほしい|欲しい|思い|思う|思っ|ください|べき|かも|でしょう|しよう|ましょう|てみ|できない|できません|わかりません|見え)",
);

/** Errors, work in progress, the current moment. */
const PASSING: RegExp = rule(
  word(
    "(?<!(?:for|our|all|track|of|on|with) )(?:errors?(?! (?:track|report|monitor|budget))|warnings?|problems?|issues?|questions?|ideas?)|bug|exceptions?|crash\\p{L}*|fail(?:s|ed|ing|ure)?|broken|stuck|slowly|(?:do(?:es)?n['’]t|won['’]t|can['’]t) (?:compile|work|load|start|respond|render|show|open|find|connect)|in (?:\\d+|\\p{L}+) (?:minutes|seconds)|frozen|down(?! to)|wrong|slow|(?<=(?:is|are|was|were|still|be|goes|went|turned|all) )(?:red|green)|missing|undefined|null|stack ?trace|line \\d+|still|again|weird|strange|here|fehler\\p{L}*|kaputt|fehlt|problem|frage|erreurs?|problème|cassée?|error(?:es)?|problema|fallo|falla|erros?|falha|problemas?|ошибк\\p{L}*|проблем\\p{L}*|сломал\\p{L}*|строке|heard|apparently|supposedly|allegedly|rumou?r\\p{L}*|convinced|jok(?:e|ed|ing)|kidding|pretended|dream(?:t|ed)|if only|seems?|seemed|oh|hm+|lol|haha",
  ),
  "错误|报错|失败|问题|坏了|崩溃|エラー|バグ|失敗|問題|壊れ|動かない|動きません|听说|据说|らしい|そうです(?:。|$)",
);
const CODE =
  /[`{}<>=;]|\w\(|=>|\.(?:tsx?|jsx?|py|go|rs|java|css|html|md|json|ya?ml|sh|c|cpp|sql)(?![\p{L}])/u;
const DEICTIC =
  /^(?:this|that|these|those|it|there|here|he|she|they|you|some(?:body|one)|jemand|quelqu['’]un|alguien|alguém|кто-то|what|which|why|how|who|where|when|let['’]s|everything|nothing|something|das (?:ist|war|geht|sollte|macht)|dies\p{L}*|es|er|sie|du|ihr|ce(?:la|tte|ci|s)?|ça|c['’]|il|elle|ils|elles|tu|vous|est[aeo]s?|es[aeo]s?|él|ella|tú|iss?t?o|ess[ae]s?|ele|ela|você|это|эт\p{L}+|он[аои]?|ты|вы)(?![\p{L}])|^(?:这|那|它|你|他|她|有人|某人|誰か|だれか|この|その|これ|それ|あの|ここ)/iu;

const NOT_NAMES =
  "(?!(?:The|A|An|And|But|So|If|When|While|After|Before|Because|Since|Please|Tests?|Code|Note|Sure|Yes|No|Ok|Also|Then|Let|Add|Fix|Make|Use|Run|Try|Write|Der|Die|Le|La|Les|El|Los|Las|O|Os|As|Un|Une|Una|Um|Uma)\\s)";
/** A name and what that person is or does. */
const PERSON: RegExp = new RegExp(
  `^(?:[Зз]а\\s.{2,40}\\sотвечает\\s|[Cc]['’]est\\s(?:\\p{Lu}\\S+\\s){1,3}qui\\s)|^(?:(?:O|A|Der|Die|El|La)\\s)?${NOT_NAMES}\\p{Lu}[\\p{L}'’-]+(?:\\s\\p{Lu}[\\p{L}'’.-]+){0,2}(?:['’]s\\s\\p{Ll}[\\p{L}-]+)?\\s(?:(?:now|also|no longer|jetzt|ahora|agora|теперь)\\s)?(?:(?:is|are|was|has been)\\s(?:now\\s|also\\s|not\\s|no longer\\s)*(?:our|my|the|on|in|from|based|away|allergic|responsible|an?)|owns|leads?|maintains|manages|handles|runs|heads|joined|left|takes? (?:over|care)|took over|works|lives|speaks|reports|approves|prefers|likes|moved|replaced|replaces|became|covers|teaches|reviews|designs|coordinates|writes|does|draws|cooks|plays|studies|attends|coaches|sings|drives|collects|hates|loves|weighs|goes to|organi[sz]es|signs off|is on call|has taken over|leitet|verantwortet|betreut|übernimmt|kümmert sich|ist\\s(?:jetzt\\s)?(?:unsere?|meine?|die|der|im|bei|für)|arbeitet|wohnt|gère|dirige|s['’]occupe|est\\s(?:maintenant\\s|désormais\\s)?(?:notre|mon|ma|le|la|responsable)|travaille|habite|gestiona|lidera|lleva|se encarga|es\\s(?:ahora\\s)?(?:nuestr[oa]|mi|el|la)|trabaja|vive|cuida|gerencia|é\\s(?:agora\\s)?(?:noss[oa]|meu|minha|o|a)|trabalha|mora|отвечает|ведёт|руководит|работает|живёт|занимается)(?![\\p{L}])`,
  "u",
);

/** A few words, and a verb that says what, where or when they are. */
const THING =
  /^(?!(?:if|when|while|please|let|make)\s)(?:\S+\s){1,11}?(?:(?:is|are|has|have|go(?:es)? to|tiene[n]?|hat|haben|se fait|se hace[n]?|se faz(?:em)?|se \p{L}+[ae]n|was \p{L}+ed|were \p{L}+ed|(?:has|have) (?:been )?\p{L}+ed|moved|changed|switched|runs?|lives?|sits?|starts?|begins?|ends?|comes?|arrives?|leaves?|happens?|takes? place|belongs?|costs?|takes?|seats?|holds?|weighs?|opens?|closes?|lasts?|meets?|go(?:es)? (?:out|live)|ships?|expires?|listens?|uses?|allows?|supports?|accepts?|rejects?|requires?|usan?|utilizan?|caducan?|expiran?|tourne(?:nt)?|собира(?:ется|ются)|slipped|went (?:up|down)|is on|ist|nutzt|verwendet|utilise|sind|steht|stehen|liegt|liegen|findet|finden|beginnt|endet|dauert|kostet|heißt|läuft|wurden?|wird|werden|startet|gehört|öffnet|schließt|n['’]est|est|sont|a lieu|ont lieu|commence|finit|dure|coûte|s['’]appelle|se trouvent?|a été|ouvre|ferme|(?:ahora |agora |ya no |não )?(?:es|son|está|están|empieza|termina|dura|cuesta|se llama|fue|se movió|se mudó|cambió|pasó|abre|cierra|tiene lugar|é|são|ficam?|começa|custa|se chama|chama-se|foi|mudou|passou|fecha|acontece)|находится|находятся|стоит|начинается|длится|проходит|называется|перенесли|переехал\p{L}?))\s/iu;
const OF_CODE: RegExp = rule(
  word(
    "functions?|methods?|class(?:es)?|tests?(?! (?:database|server|environment|system|account|cluster|user|run|suite))|builds?(?! (?:takes|server|machine|system))|arrays?|lists?|loops?|code(?! (?:freeze|review))|buttons?|variables?|types?|files?|outputs?|results?|values?|index|strings?|scripts?|components?|imports?|the logs?|regex|quer(?:y|ies)|fields?|columns?|rows?|headers?|footers?|colou?rs?|margins?|funktion|datei|función|archivo|fonction|fichier|função|arquivo|функция|файл|тест",
  ),
);

const VALUE: RegExp = rule(
  "\\d",
  word(
    DAY_NAMES,
    "noon|midnight|every|each|once|twice|weekly|daily|monthly|midi|minuit|mediodía|meio-dia|полдень|полночь|находится|называется",
  ),
  word(
    "forbidden|required|mandatory|verboten|pflicht|obligatoire|interdite?s?|prohibid[oa]s?|proibid[oa]s?|obligatori[oa]s?|запрещен\\p{L}*|обязател\\p{L}*",
  ),
  "(?<=\\s)[#@][\\p{L}\\d]|(?:called|named)\\s\\S",
  "(?:https?://|\\p{L}\\.(?:com|org|net|io|dev|internal|local)(?![\\p{L}])|[\\p{L}\\d-]+(?:\\.[\\p{L}\\d-]+){2,})",
);

const UNSPACED_THING =
  /^[^，,]{1,16}(?:是|在|为|叫|(?<!不要?|别|请|都)用(?!户)|改到|改成|改为|负责|定在|搬到|推迟到|提前到|挪到|迁到|移到|换成|归|属于|保留|每[天周月年]).{1,40}$|から.{1,20}に(?:乗り換え|切り替え|移行|変更)(?:まし)?た[。.]?$|[はがも].{1,40}(?:です|である|だ|あります|ありません|います|いません|なりました|担当.{0,6}|変更.{0,8}|ました|ます|ません)[。.]?$|^(?:(?:先|今)[週月]|去年|昨日|最近|ついに)?[、,]?.{1,20}(?:に引っ越し|に転職し|に入社し|を辞め|をやめ|を卒業し)(?:まし)?た[。.]?$|^(?!.*(?:どこ|だれ|誰|たぶん|もし|夢|主人公))[^、。]{1,20}(?:に住んで|で働いて|に勤め(?:て)?|に通って|を愛用して)い(?:ます|る)[。.]?$|^(?:上个?月|上周|去年|昨天|最近|已经|刚){0,2}(?:搬到|搬去|换了|换成|辞了|买了).{1,20}$/u;

// ---- which sentences are standing rules

/** A standing wish: `always …`, `never …`, `stop …`, `when you show me dates, …`, `in Python code, use …`. */
function isRule(text: string): boolean {
  if (/[:：]$/.test(text)) return false;
  if (HABIT.test(text)) return !OF_THE_TASK.test(text);
  if (LASTING.test(text)) return isImperative(text);
  return !OF_THE_TASK.test(text) && rulesIn(text).length > 0;
}

/** It applies only to the task at hand, or is not a rule. */
const OF_THE_TASK: RegExp = rule(
  word(
    "^(?:it|he|she|they)|^you (?:must|have to|need to|should)|this|these|those|that (?=function|method|file|class|test|line|page|bug|error)|it(?=[.!]?$|,| and )|them|here|yet|again|first|(?:don['’]?t|do not) (?:forget|worry|bother|know|think|understand)|rest of (?:the|this) (?:session|chat|day)|(?:un)?til|while i|when you(?:['’]re| are) (?:done|finished|ready)|there should be",
    "diese[rsnm]?|noch nicht|(?:wir|ich) (?:müssen|muss|will|möchte|wollen)|cette|je veux|est[aeo]s?|todavía|(?:quiero|quero|gostaria) que|ess[ae]s?|isso|isto|эт\\p{L}+|пока|хочу",
  ),
  "这|この|その|それ|今回",
);

/** Recurring work with a fixed style or tool: `Commit messages should be …`, `Use … for function names`. */
const PRACTICE =
  "(?:commit messages?|commits|branch(?: name|e)s|pull requests|prs|release notes|change ?log entries|docs|docstrings|(?:code )?comments|code reviews|(?:\\p{L}+ ){0,2}names|unit tests|end-to-end tests|integration tests|migrations|timestamps|dates|times|numbers|prices|amounts|units|quotes|error messages|e-?mails|letters|messages|answers|replies|recipes|summaries|headlines|keywords|links|tables|lists|paragraphs|sentences|posts|code(?: samples| examples| snippets)?|examples|(?:\\p{L}+ )?labels)";
/** Recurring actions of the agent. */
const DOES =
  "(?:use|write|put|keep|make|name|format|indent|spell|leave|give|show|list|answer|reply|respond|address|sign|start|begin|end|close|avoid|prefer|quote|round|sort|mark|label|call|stick)";
const HABIT: RegExp = rule(
  `^(?:all |every |the |our )?${PRACTICE} (?:here |in \\S+ \\S+ )?(?:should|must|have to|need to|ought to|shall) (?:(?!work|pass|now)\\p{L})`,
  `^use .{1,60} for (?:all |every )?(?:(?:\\p{L}|[+#])+ ){0,2}?${PRACTICE}[.]?$`,
  "^(?:please )?use .{2,50} for (?:indentation|formatting|naming|logging|testing|styling|translations?|navigation) in \\S",
  `^(?:please )?${DOES}.{3,120} (?:in|for|across|throughout) (?:this|our|the (?:whole|entire)|all(?: the| of the)?) (?:project|code ?base|repo(?:sitory)?|docs|documentation|files)[.]?$`,
  "^(?:please )?use .{2,40} (?:with|for|around) me(?![\\p{L}])",
  "^(?:bitte )?(?:duze|sieze) (?:mich|uns)(?![\\p{L}])",
  "^(?:please )?(?:answer|reply(?: to)?|respond to|address|talk to|write to) me (?:in|with|as|by)(?![\\p{L}])",
  // A recurring action with a fixed way.
  `^(?:please )?${DOES} (?:me )?(?:all |the |your |my |any )?${PRACTICE} (?:to (?:the )?\\p{L}+ |from (?:the )?\\p{L}+ )?(?:in|as|with|without|like|by|after)(?![\\p{L}])`,
  `^(?:\\p{L}+ )?${PRACTICE},? (?:always |only |please )(?:in|with|without|as)(?![\\p{L}])`,
  "^(?:please )?(?:answer|address|reply to|respond to|write to|sign (?:letters|mails?|e-?mails|notes) to) (?:the |our |my )?\\p{L}+s (?:in|with|as|by)(?![\\p{L}])",
  // A scope: things of a kind, not a single thing.
  `^(?:in|for|with|on) (?:(?:all|any|every|our|my) .{2,40}?|(?!(?:the|this|that|these|an?|your|case|addition|general|short|fact|example|instance)(?![\\p{L}])).{2,40}?|the (?:\\S+ ){0,2}\\p{L}{2,}s),? (?:please )?(?:always |never |only )?${DOES}(?![\\p{L}])`,
  `^(?:when|if|each time|any time) you (?:show|give|write|answer|reply|explain|suggest|recommend|quote|mention|format|create|send|name|list|cite|translate|draft|talk|review|commit|make|propose)(?![\\p{L}]).{2,80}?, (?:please )?(?:\\p{L}+ )?${DOES}(?![\\p{L}])`,
  // A complaint, and a wish about the answers.
  "^(?:please )?(?:stop|quit) \\p{L}+ing (?:\\S+ ){0,6}?(?:your|me|every|each|everything|emojis?|answers?|replies|so (?:much|many|often))(?![\\p{L}])",
  "^i (?:hate|can['’]t stand|dislike|don['’]t like|do not like|love|like|prefer) (?:it )?when you ",
  "^i(?:['’]d| would) (?:rather|prefer|like|love)(?: to have| to get)? (?:you(?:r| to)?|(?:\\p{L}+ ){0,2}(?:answers|replies|explanations|summaries))(?![\\p{L}])",
  `^(?:please,? )?no (?:more )?(?:\\S+ ){1,3}(?:in|at|from) (?:(?:the|your|my|our|any|\\p{L}+) )?${PRACTICE}`,
  "^(?!.*(?:この|今回|その)).{2,20}は.{1,30}(?:で|に)(?:書いて|答えて|返信して|出して|まとめて|統一して)(?:ください|ほしい)",
);

/** Facts may contain "always" too; a wish begins with its verb, or forbids. */
function isImperative(text: string): boolean {
  return (
    rulesIn(text).length > 0 ||
    FORBIDS.test(text.slice(0, 40)) ||
    LASTING.test(text.slice(0, 12)) ||
    /[\u3040-\u9fff]/u.test(text)
  );
}

/**
 * The sentence, or its clause, that mentions something known and says something new about it, in the
 * speaker's words; undefined if there is none.
 */
function newsOf(sentence: string, known: readonly string[]): string | undefined {
  return [sentence, ...clausesOf(sentence)].find(
    (piece) => states(piece) && known.some((older) => tellsMoreOf(piece, older)),
  );
}

/** For ordering two lines: a newer text says something new about the older one, or names all it names. */
export function speaksAnewOf(text: string, older: string): boolean {
  if (/[?？]$/.test(text)) return false;
  return [text, ...clausesOf(text)].some((piece) => tellsMoreOf(piece, older)) || namesAllOf(text, older);
}

function namesAllOf(text: string, older: string): boolean {
  const [now, then] = [read(text), read(older)];
  const areNamed = then.names.size > 0 && [...then.names].every((name) => holds(now.content, name));
  return areNamed && sharedBy(now, then).length > 1;
}

/** The older one's terms that show its topic, as far as the newer one has them. */
function sharedBy(now: Read, then: Read): readonly string[] {
  return [...then.content].filter((term) => isDistinctive(term) && holds(now.content, term));
}

/** Its clauses, but those that are too short to say something on their own. */
function clausesOf(sentence: string): readonly string[] {
  return clausesIn(sentence).filter((clause) => clause.split(/\s+/).length > 3);
}

/** It states how something is: no wish, question or order, and not about the current moment. */
function states(text: string): boolean {
  const plain = text.replace(LEAD, "");
  return ![DEICTIC, INTENT, TASK, ORDER].some((other) => other.test(plain)) && !isOfThisMoment(plain);
}

function tellsMoreOf(text: string, older: string): boolean {
  const [now, then] = [read(text), read(older)];
  const shared = sharedBy(now, then);
  const names = [...then.names].filter((name) => holds(now.content, name));
  const isNamed = names.some(isDistinctive) || (names.length > 1 && names.length === then.names.size);
  const another = tellsAnotherValue(now, then);
  if (shared.length < 2 && !isNamed) return shared.length === 1 && another && now.tellsChange;
  return now.isChange || another || (isNamed && [...now.names].some((name) => !holds(then.content, name)));
}

/** A term that shows the topic: not a value, a verb of having, or a word common in work with an agent. */
function isDistinctive(term: string): boolean {
  return toolsLike(term) !== undefined || (!isOrdinary(term) && !COMMON.has(term) && term.length > 2);
}

/** Words that are common in conversations with an agent. */
const COMMON = list(`
  add app back build button call change check class code column command commit component config create data database date day default docs
  email error example field file files find fix folder function get good help home idea images issue item job key last left line link list
  load login look lot mail main make message method name need new next number old one order output page part people place point print
  problem process query question read repo request result return right row run script section see send server service set show side site
  start state step stuff table task test tests text thing time today type update upload url user users value version view way web week
  word work write year`);

/** Wishes, thoughts, attempts and requests. */
const INTENT: RegExp = rule(
  "^(?:i|we|ich|wir|je|nous|on|yo|eu|я|мы)(?:['’](?:d|ll))?\\s(?:\\p{L}+ly |just |still |also |do(?:n['’]t)? )?(?:think|guess|want|need|would|should|could|wonder|hope|plan|might|must|can(?:['’]t)?|will|tr(?:y|ied)|believe|suppose|expect|see|saw|get|got|will|möchte\\p{L}*|glaube|denke|brauche|veux|pense|crois|quiero|creo|quero|acho|думаю|хочу)(?![\\p{L}])",
);
const ORDER: RegExp = rule(
  `^(?:please |now |then |also |and |let['’]s )*${word(
    "set|move|change|update|rename|remove|delete|drop|make|give|show|run|use|keep|list|find|get|take|go|try|do|let|start|stop|open|close|build|deploy|install|implement|refactor|replace|switch|bump|merge|push|pull|split|sort|help|suggest|plan|think|compare|turn",
  )}`,
);
