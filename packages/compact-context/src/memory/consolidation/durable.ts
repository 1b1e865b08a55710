import { messageText } from "../../core/message.ts";
import type { Reading } from "../../summarizers/extractive/reading.ts";
import { clipEnd, oneLine, sentences } from "../../summarizers/extractive/text.ts";
import type { MemoryTrust } from "../changes/operation.ts";
import { isFirmRule, isTellingDecision } from "../session-update/statements.ts";

/** Sections of a channel's MEMORY.md that the runtime adds to. */
export type DurableSection = "Constraints" | "Decisions" | "Facts";

/** Something that was said and will hold beyond the session. */
export interface DurableStatement {
  readonly section: DurableSection;
  readonly text: string;
  readonly trust: MemoryTrust;
  /** Id of the message that says it. */
  readonly from: string;
  /** It says that something is different from now on. */
  readonly isChange: boolean;
}

const REMEMBER =
  /^(?:please\s+|and\s+|also[, ]+)*(?:remember|note|keep in mind|don['’]?t forget|for (?:the )?(?:future|record)(?: reference)?|fyi|merke? (?:dir|euch)|denk daran|souviens-toi|retiens|recuerda|ten en cuenta|lembre-se|ricorda|запомни|учти|记住|請記住|请记住|覚えて|기억해)(?:\s+(?:that|this|always|dass|que|di|che|что))?[\s,:;：，]*/iu;
const LASTING =
  /\b(?:always|never|from now on|going forward|in (?:the )?future|every time|whenever|by default|as a rule|in general|prefer|no longer|until further notice|immer|niemals|nie|ab jetzt|grundsätzlich|toujours|jamais|désormais|siempre|nunca|a partir de ahora|sempre|mai|d['’]ora in poi|всегда|никогда|отныне)\b|总是|永远|绝不|从不|以后|今后|一律|默认|常に|絶対|今後|必ず|항상|절대|앞으로/iu;
const CHOSEN =
  /\b(?:let['’]s (?:use|go with|keep|stick|switch)|we(?:['’]ve| have)? (?:decided|agreed|chosen|chose|settled)|(?:i|we)(?:['’]ve| have)? decided|decision:|go with\b|we(?:['’]ll| will) (?:use|go with|keep)|wir (?:haben (?:uns )?entschieden|nehmen)|on (?:a décidé|prend|utilise)|hemos decidido|decidimos|abbiamo deciso|мы решили)\b|我们决定|决定(?:用|使用)|に決め(?:た|ました)|하기로 (?:했|결정)/iu;
const FACT =
  /^(?:(?:and|so|also|by the way|btw),?\s+)?(?:(?:my|our|the team['’]s)\s+[\p{L}\p{N}' -]{2,50}?\s(?:is|are|was|runs?|lives?|uses?|starts?|ends?|needs?)\b|we\s+(?:use|deploy|run|host|ship|release|build|store|support|target)\b|i(?:['’]m| am)\s+(?:an?|the|from|based|called|allergic|vegetarian|vegan|working (?:at|for|in))\b|(?:you can )?call me\b|i\s+(?:live|work|prefer|speak)\b|unsere?\s|mein(?:e)?\s|wir\s+(?:verwenden|nutzen|deployen)|notre\s|nous utilisons|nuestr[oa]\s|usamos\s|nosso\s|usiamo\s|мы используем|наш[аеи]?\s)|^(?:我们(?:用|使用|在|的)|我(?:叫|是|住|在|的)|私(?:は|の)|うちの|弊社|우리는?|저는|제\s)/iu;
const TRANSIENT =
  /\b(?:current(?:ly)?|right now|at the moment|for now|for the moment|in progress|just now|today|tomorrow|yesterday|tonight|this (?:morning|week|time|session|turn|branch|pr|test|error|message|one)|last (?:message|commit|run)|wip|about to|working on|still (?:failing|running|broken|red)|(?:is|are|was) (?:failing|broken|red|stuck)|temporar(?:y|ily)|gerade|heute|momentan|actuellement|aujourd['’]hui|ahora mismo|hoy|agora|oggi|сейчас|сегодня)\b|目前|现在|今天|正在|暂时|今日|現在|一時的|지금|오늘|현재/iu;
const CHANGE =
  /\b(?:now|instead|no longer|any ?more|from now on|as of|changed?|moved?|switched|actually|correction|ab jetzt|jetzt|nicht mehr|désormais|maintenant|plus jamais|ahora|ya no|agora|adesso|теперь|больше не)\b|改成|改为|现在|不再|以后|今後|これから|이제/iu;
const SHORTEST = 12;
const SHORTEST_UNSPACED = 5;
const LONGEST = 300;
/** One message that says more is a document, not a wish: its rules belong to its task. */
const MOST_OF_ONE = 6;

/** True for words about a passing state of affairs. */
export function isTransient(text: string): boolean {
  return TRANSIENT.test(text);
}

/**
 * What people and the agent settled for longer: rules that are to hold from now on, choices, facts about the people and
 * their ways, and what they asked to remember. Nothing of what tools brought back is among them.
 */
export function durableStatements({ messages, requests }: Reading): DurableStatement[] {
  const said = requests.flatMap(({ id, text }) => {
    const found = proseOf(text).flatMap((sentence) => ofPerson(sentence, id));
    return found.length > MOST_OF_ONE ? found.filter((one) => REMEMBER.test(one.text)) : found;
  });
  const agreed = messages.flatMap((message) =>
    message.role === "assistant"
      ? proseOf(messageText(message)).flatMap((sentence) => ofAgent(sentence, message.id))
      : [],
  );
  return [...said, ...agreed];
}

function ofPerson(sentence: string, from: string): DurableStatement[] {
  const plain = sentence.replace(/^[-*>#\s]+/, "");
  const lead = REMEMBER.exec(plain)?.[0] ?? "";
  const text = clipEnd(oneLine(plain.slice(lead.length)), LONGEST);
  if (!isStatement(text) || (lead === "" && isTransient(text))) return [];
  const section = sectionOf(text, lead !== "");
  if (section === undefined) return [];
  return [{ section, text: capitalized(text), trust: "person", from, isChange: CHANGE.test(plain) }];
}

function sectionOf(text: string, asked: boolean): DurableSection | undefined {
  if (CHOSEN.test(text)) return "Decisions";
  if (isFirmRule(text) && (asked || LASTING.test(text))) return "Constraints";
  return asked || FACT.test(text) ? "Facts" : undefined;
}

function ofAgent(sentence: string, from: string): DurableStatement[] {
  const text = clipEnd(oneLine(sentence.replace(/^[-*>#\s]+/, "").replace(/\*\*/g, "")), LONGEST);
  const isSettled = /^(?:decision:|we (?:have )?(?:decided|agreed)|(?:as )?agreed\b)/i.test(text);
  if (!isStatement(text) || !isSettled || !isTellingDecision(text) || isTransient(text)) return [];
  return [{ section: "Decisions", text, trust: "agent", from, isChange: CHANGE.test(text) }];
}

function isStatement(text: string): boolean {
  const least = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/.test(text) ? SHORTEST_UNSPACED : SHORTEST;
  return text.length >= least && text.length < LONGEST && !/[?？:：]$/.test(text);
}

/** Sentences outside of code. */
function proseOf(text: string): string[] {
  return sentences(text.replace(/^\s{0,8}(```|~~~)[\s\S]*?^\s{0,8}\1/gm, "\n"));
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
