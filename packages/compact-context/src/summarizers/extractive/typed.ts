import { argumentsValue, type Message, type ToolCallPart } from "../../core/message.ts";
import { textSegments, typedText } from "../../core/units.ts";
import { isObject } from "../../errors.ts";
import { textOf } from "./actions.ts";
import { withoutPasted } from "./printed.ts";
import { questionsIn } from "./statements.ts";
import { blocksOf, clipEnd, clipLine, oneLine, parsedJson, readable } from "./text.ts";

/** A user's input other than a typed message. */
export interface Answer {
  readonly kind: "choice" | "refusal" | "approval";
  /** The question or proposal, shortened at sentence ends. */
  readonly about: string;
  /** The user's words. */
  readonly text: string;
}

// ---- messages

/** How other tools' summaries in a history begin; a heading or a tag alone also begins what people type. */
export const FOREIGN: RegExp =
  /^\s*(?:This session is being continued from a previous conversation|Another language model started to solve this problem|The conversation history before this point was compacted|Here is a summary of the conversation to date|<summary>(?=[\s\S]*<\/summary>\s*$)|## Goal\b(?=[\s\S]*\n## (?:Progress|Accomplished|Discoveries|Key Decisions|Critical Context))|## Summary of (?:the )?conversation)/;

/** Text that no person types: written entirely by a host or a tool. */
const NOTICES: readonly RegExp[] = [
  // Skills, interruptions and project instructions.
  /^(?:Base directory for this skill: {0,4}\S{0,300}[/\\]|Invoke the \S{1,80} skill and follow it exactly as presented|<skill>\s{0,9}<name>|# (?:AGENTS|CLAUDE|GEMINI)\.md instructions for \S{1,300}\s*(?:\n|$))/,
  /^\[(?:Request interrupted by user[^\]\n]{0,40}|User interrupted[^\]\n]{0,40}|Operation (?:aborted|cancell?ed)[^\]\n]{0,40})\]\s*$/i,
  FOREIGN,
  // Notes by the host.
  /^(?:Caveat: The messages below|(?:Operation stopped by hook|Stop hook feedback|UserPromptSubmit [^\n:]{0,60}):|System: Please continue\.?\s*$)/,
  /^(?:Summarize the task tool output above(?: and continue with your task\.?)?\s*$|\[TASK RESUMPTION\]|Your (?:tool call|last output|output) .{0,40}(?:invalid|malformed)[.!]?\s*(?:\n|$)|\[ERROR\] You did not use a tool)/,
  // Output of tools, and messages by aider.
  /^(?:EXECUTION RESULT of \[|OBSERVATION:\s*\n|<returncode>\S{1,9}<|\[[\w_-]{1,60}[^\]\n]{0,200}\] Result:(?!\s{0,9}<(?:feedback|user_message|answer)>)|The command completed(?: successfully| with[^\n]{0,60})?[.:]?\s*(?:\n|$))/,
  /^(?:Tokens: [\d.,]+k? sent|Commit [0-9a-f]{7} [a-z]{2,10}(?:\([^)\n]{1,60}\))?!?: |={5,} test session starts|\S{0,200}\/aider\b[^\n]{0,300}\n+Aider v\d)/,
  /^(?:Applied edit to \S{1,300}|(?:Added|Removed) \S{1,300} (?:to|from) the chat\.?|No changes to display(?: since the last message)?\.?)\s*(?:\n|$)/,
  /^(?:Removed: [0-9a-f]{7} |Diff since [0-9a-f]{7}|Add (?:the output|these files) to the chat\?)/,
];

/** The part of a template that holds the person's words. */
const TEMPLATES: readonly RegExp[] = [
  /^We['’]re currently solving the following (?:issue|CTF challenge)[\s\S]{0,300}?issue text:\s{0,9}(?:ISSUE:\s{0,9})?([\s\S]{1,20000}?)\n\s{0,9}(?:INSTRUCTIONS|Now, you['’]re going to)/,
  /^Please solve this issue: ([\s\S]{1,20000}?)\n\s{0,9}(?:You can execute bash commands|## Recommended Workflow)/,
  /-{8} NEW TASK DESCRIPTION -{8,}\n([\s\S]{1,20000}?)\n-{8,} END OF NEW TASK/,
];
/** An opencode command that inserts its arguments into a prompt. */
const REVIEW =
  /^You are a code reviewer\. Your job is to review code changes[\s\S]{0,200}?\nInput:([^\n]{0,500})\n/;

const WRAPPER =
  /(?:^|\n)\s{0,20}<(user_message|user_query|userRequest|user_request|task|feedback|user_input|answer)>/;
/** A block of any name beside a wrapped text. */
const BLOCK = /^\s{0,24}<([\w-]{1,60})(?:\s[^>\n]{0,200})?>/;
/** What a host writes above a wrapped text. */
const ABOVE = /^(?:\[[\w-]{1,60}|The user |New (?:message|instructions) )/;
const COMMAND = /<command-name>\s{0,20}\/?([^<\n]{1,100})<\/command-name>/;
/** Commands that only control the program. */
const STEERING =
  /^\/(?:exit?|ex|quit|q|clear|compact|model|mode|them?e?|help|login|logout|status|cost|config|resume|context|usage|mcp|memory|vim|doctor|permissions|hooks|agents|plugin|reload-plugins|terminal-setup|fast|new|settings|tokens|ls)?$/;
/** Where Claude Code tells the agent to find the output of a task that ended. */
const POINTER = /^Read the output file to retrieve the result: \S/;
/** Blocks that hosts write beside those that every part of the library leaves out. */
const HOST_BLOCK =
  /^\s{0,24}<(skill|returncode|output|warning|user-prompt-submit-hook|attached_files|additional_data|attachments?|reminder|context|current_datetime|workspace_info|editorContext|file|files|open_files|git_status|user_info|project_layout|rules(?=>\s{0,9}(?:<|The rules section))|notification|image|summary(?=>[ \t]*\n)|state_snapshot|ultrathink_instruction|system_notification)(?:\s[^>\n]{0,200})?>/i;

/**
 * The text a person typed in a message of any format, without wrappers, reminders, injected context and
 * pasted output.
 */
export function readSaid({ role, meta, parts }: Message): string {
  if (role !== "user" || meta?.synthetic === true || meta?.summaryVersion !== undefined) return "";
  const typed = parts.flatMap((part) => (part.type === "text" ? [typedIn(part.text)] : []));
  return typed
    .filter((words) => words !== "")
    .join("\n")
    .trim();
}

function typedIn(text: string): string {
  const start = text.slice(0, 30_000).trimStart();
  if (NOTICES.some((opening) => opening.test(start))) return "";
  if (/^<command-(?:name|message)>/.test(start)) {
    const name = COMMAND.exec(start)?.[1]?.trim() ?? "";
    const line = `/${name} ${between(start, "<command-args>", "</command-args>")}`.trim();
    return STEERING.test(line) ? "" : line;
  }
  const review = REVIEW.exec(start)?.[1];
  if (review !== undefined) return `/review ${review.trim()}`.trim();
  for (const template of TEMPLATES) {
    const inside = template.exec(start)?.[1];
    if (inside !== undefined) return ownLines(inside);
  }
  const wrapped = wrappedIn(text);
  return ownLines(wrapped === "" ? withoutSteering(typedText(text)) : wrapped);
}

/** What a host wrapped in a message; "" where there is nothing, or a person's own words stand beside the tags. */
function wrappedIn(text: string): string {
  const found = WRAPPER.exec(text.slice(0, 30_000));
  if (found === null) return "";
  const { 1: name, index } = found;
  const closing = `</${name}>`;
  const above = withoutBlocks(text.slice(0, index));
  const below = withoutBlocks(text.slice(text.indexOf(closing, index) + closing.length));
  return below === "" && (above === "" || ABOVE.test(above)) ? between(text, `<${name}>`, closing) : "";
}

function withoutBlocks(text: string): string {
  const segments = textSegments(text, BLOCK).filter(({ typed }) => typed);
  return segments
    .map((segment) => segment.text)
    .join("\n")
    .trim();
}

/** The trimmed text between two tags; "" if one is missing. */
function between(text: string, opening: string, closing: string): string {
  const from = text.indexOf(opening);
  const to = from === -1 ? -1 : text.indexOf(closing, from);
  return to === -1 ? "" : text.slice(from + opening.length, to).trim();
}

/** aider repeats the question of a command below it; a command alone that steers the program says nothing. */
function withoutSteering(text: string): string {
  if (!text.startsWith("/")) return text;
  const [first = "", ...rest] = text.split("\n");
  const below = rest.join("\n").trim();
  if (STEERING.test(first.trim())) return below;
  const asked = /^\/[a-z-]{1,20}\s+(\S[^\n]{0,2000})/.exec(first)?.[1]?.trim();
  return asked !== undefined && asked === below ? first.trim() : text;
}

/** The sentences of a typed text; what is pasted beside them and blocks of a host are left out. */
function ownLines(text: string): string {
  const segments = textSegments(readable(text), HOST_BLOCK).filter(({ typed }) => typed);
  const lines = segments.flatMap(({ text: own }) => own.split("\n")).filter((line) => !POINTER.test(line));
  return withoutPasted(lines)
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}

// ---- what is handed over

// Material that a user pastes to have it worked on: mail, chats, documents, texts to translate. Its words are
// someone else's, so it yields no rules, decisions or facts.

/** Blocks with explicit start and end. */
const FENCED =
  /^[ \t]{0,8}(```|~~~|"""|''')[\s\S]*?(?:^[ \t]{0,8}\1.*$|$(?![\s\S]))|("""|''')[\s\S]*?\2|^\s{0,3}>.*$/gm;
const TAG =
  /<(\/?)(document|article|email|mail|message|text|transcript|page|content|quote|blockquote|context|source|input|data)\b[^<>\n]{0,200}>/gi;

/** The first line of a mail. */
const MAIL_HEADER =
  /^[ \t]{0,4}(?:from|to|cc|subject|date|sent|von|an|betreff|gesendet|de|à|objet|para|asunto|assunto|от|кому|тема|发件人|收件人|主题|差出人|宛先|件名)\s?[:：].{0,200}$/im;
const SALUTATION =
  /^[ \t]{0,4}(?:dear|hi|hello|hey|liebe[rs]?|hallo|sehr geehrte[rs]?|cher|chère|bonjour|querid[oa]|hola|estimad[oa]|prezad[oa]|car[oa]|olá|уважаем\p{L}+|здравствуйте)\b.{0,40},\s*$/imu;
/** The first line of a chat: sender and time. */
const SPEAKER_AND_TIME =
  /^[ \t]{0,4}(?:[\p{Lu}][\p{L}.'-]{1,30}(?: [\p{Lu}][\p{L}.'-]{0,30}){0,2}(?:\s{2,}|\s?[,–—|-]\s?|\s\[|\s\())\d{1,2}[:.]\d{2}(?:\s?[AaPp][Mm])?[\])]?\s*$/mu;
/** Headings of issue tracker forms. */
const ISSUE_FORM =
  /^#{2,4} (?:description|steps to reproduce|expected behaviou?r|actual behaviou?r|describe the (?:bug|issue)|bug report|environment)\s*$/im;

/** Requests to work on a text, whatever its content. */
const WORK_ON_TEXT =
  "translate|summari[sz]e|proof-?read|rephrase|reword|rewrite|paraphrase|shorten|tl;?dr|übersetze?|fasse|korrigiere|traduis|résume|corrige|traduce|resume|corrige|traduza|resuma|revise|переведи|перескажи|исправь";
/** Pasted after a colon: `Translate to French: …`, `Summarize this mail: …`. */
const BEHIND_COLON = new RegExp(
  `(?:^|[.!?]\\s|\\n)\\s{0,4}(?:(?:please|can you|could you|bitte)\\s)?(?:${WORK_ON_TEXT})(?![\\p{L}])[^.!?:：\\n]{0,120}[:：]\\s`,
  "iu",
);
/**
 * Pasted below the line that asks: `proofread this please`, `review this prompt for another bot:`, `what does
 * he want?`.
 */
const BELOW = new RegExp(
  `^[^\\n]{0,200}?(?<![\\p{L}])(?:(?:${WORK_ON_TEXT}|review|reply to|answer)(?![\\p{L}])[^\\n]{0,60}?(?<![\\p{L}])(?:this|these|it|the following|below|diese[nrs]?|das|ce(?:tte)?|est[ea]|isto|это)(?![\\p{L}])|(?:what|was)(?:['’]s)? (?:is |are |does |do |did |will )?(?:he|she|they|er|sie)(?![\\p{L}])|what(?:['’]s| is) wrong (?:here|with this)|(?:this|here) is (?:the|a|an|what) [^\\n]{0,60}(?:copied|got|received|wrote|sent|says?))[^\\n]*\\n\\s*\\n`,
  "iu",
);

/** Removes text between two tags of one name, also within a line; each tag is visited once, closed or not. */
function withoutTagged(text: string): string {
  const open = new Map<string, number>();
  const spans: { readonly start: number; readonly end: number }[] = [];
  for (const { 0: tag, 1: slash, 2: name = "", index } of text.matchAll(TAG)) {
    const key = name.toLowerCase();
    const start = open.get(key);
    if (slash === "" && start === undefined) open.set(key, index);
    if (slash === "" || start === undefined) continue;
    // Nested blocks are removed with it.
    while ((spans.at(-1)?.start ?? -1) > start) spans.pop();
    spans.push({ start, end: index + tag.length });
    open.delete(key);
  }
  let from = 0;
  const rest = spans.map(({ start, end }) => {
    const between = text.slice(from, start);
    from = Math.max(from, end);
    return between;
  });
  return [...rest, text.slice(from)].join("\n");
}

export function withoutHandedOver(text: string): string {
  const plain = withoutTagged(text.replace(FENCED, "\n"));
  const begins = [MAIL_HEADER, SALUTATION, SPEAKER_AND_TIME, ISSUE_FORM].map((line) => plain.search(line));
  const behind = [BEHIND_COLON, BELOW].map((ask) => {
    const asked = ask.exec(plain);
    return asked === null ? -1 : asked.index + asked[0].length;
  });
  const first = Math.min(plain.length, ...[...begins, ...behind].filter((at) => at >= 0));
  return first === plain.length && plain === text ? text : plain.slice(0, first);
}

// ---- answers to calls

const MOST_ABOUT = 240;
const MOST_WORDS = 2_000;
const PAIR = /"((?:[^"\\\n]|"(?!=")){1,600})"="((?:[^"\\]|\\.){0,2000}?)"(?=[,.\s]|$)/g;
const ASKED_AND_ANSWERED = /- "([^\n]{1,600})"\n\s{0,8}Answer: ([^\n]{1,1000})/g;
/** How hosts tell that a person refused a call. */
export const REFUSED: RegExp =
  /^(?:<tool_use_error>)?\s{0,4}(?:Error: )?(?:The user doesn['’]t want to (?:proceed|take this action)|(?:The )?User (?:rejected|denied|declined|cancelled|refused|did not allow)\b|\[?Operation cancell?ed|\[Request interrupted by user|Plan rejected|Action rejected|Tool (?:call|use|execution) (?:was )?(?:rejected|denied)\b|.{0,40}(?:rejected|denied) by (?:the )?user)/i;
const REASON =
  /(?:the user said|provided the following feedback|with the following (?:feedback|reason)|user feedback|feedback|reason):\s{0,9}([\s\S]{1,2000})/i;
const APPROVED =
  /^(?:User has approved|User approved|The user approved|Plan approved|The user has approved)/i;
const ANSWERED =
  /^(?:User has answered|Your questions have been answered|User (?:responded|selected|answered)|The user (?:answered|selected|responded))/i;
const ASKS =
  /^(?:ask_?user(?:_?question)?|ask_followup_question|request_user_input|question|plan_mode_respond|ask_question|attempt_completion)$/i;
const NO_WORDS =
  /^(?:STOP what you are doing|User did not allow|User denied|unknown reason|none|The user wants to clarify these questions)\b/i;
const PLAIN_ANSWER =
  /^(?:User|The user) (?:responded|selected|answered)[^:\n]{0,40}:\s{0,9}([\s\S]{1,2000})/i;
const TAGGED = /<(answer|feedback|user_message)>\s{0,20}([\s\S]{1,2000}?)\s{0,20}<\/\1>/;

/** What a person said by answering a call: a choice, a refusal, an approval; undefined where no person spoke. */
export function readAnswer(
  call: ToolCallPart,
  result: { readonly text: string; readonly isError: boolean } | undefined,
): Answer | undefined {
  if (result === undefined) return undefined;
  const text = result.text.slice(0, 8_000).trim();
  if (REFUSED.test(text)) return readRefusal(call, text);
  if (APPROVED.test(text) && !ANSWERED.test(text)) {
    const words = TAGGED.exec(text)?.[2] ?? REASON.exec(text.slice(0, 500))?.[1] ?? "";
    return { kind: "approval", about: proposalOf(call), text: shorten(words) };
  }
  if (ANSWERED.test(text) || ASKS.test(call.name)) return readChoice(call, text);
  return undefined;
}

function readRefusal(call: ToolCallPart, text: string): Answer {
  const told = choices([...text.matchAll(ASKED_AND_ANSWERED)]);
  if (told !== undefined) return told;
  const said = TAGGED.exec(text)?.[2] ?? REASON.exec(text)?.[1] ?? "";
  const words = (said.split(/\n\s{0,9}\n?Note: The user's next message/)[0] ?? "").trim();
  return { kind: "refusal", about: proposalOf(call), text: NO_WORDS.test(words) ? "" : shorten(words) };
}

function readChoice(call: ToolCallPart, text: string): Answer | undefined {
  const questions = questionsOf(call);
  const structured = structuredAnswers(text).map((answer, at) => ["", questions[at] ?? "", answer]);
  const told = choices([...text.matchAll(PAIR)]) ?? choices(structured);
  if (told !== undefined) return told;
  const answer = TAGGED.exec(text)?.[2] ?? PLAIN_ANSWER.exec(text)?.[1] ?? "";
  return answer.trim() === "" ? undefined : choices([["", questions[0] ?? "", answer]]);
}

/** Pairs of what was asked and answered, the whole match before them. */
function choices(pairs: readonly (readonly string[])[]): Answer | undefined {
  const told = pairs.map(([, asked = "", answer = ""]) => [shortAbout(asked), shorten(answer)] as const);
  const [only] = told;
  if (only === undefined) return undefined;
  if (told.length === 1) return { kind: "choice", about: only[0], text: only[1] };
  return { kind: "choice", about: "", text: told.map((pair) => pair.join(" → ")).join("\n") };
}

/** `{"answers":{"id":{"answers":["x"]}}}` of Codex, `{"answers":{"0":"x"}}` of Gemini CLI. */
function structuredAnswers(text: string): string[] {
  if (!text.startsWith("{")) return [];
  const value = parsedJson(text);
  const answers = isObject(value) ? value.answers : undefined;
  if (!isObject(answers)) return [];
  return Object.values(answers).flatMap((answer) => {
    const inner = isObject(answer) ? answer.answers : answer;
    if (typeof inner === "string") return [inner];
    return Array.isArray(inner) ? [inner.filter((one) => typeof one === "string").join(", ")] : [];
  });
}

function questionsOf(call: ToolCallPart): string[] {
  const value = argumentsValue(call);
  if (!isObject(value)) return [];
  const list = Array.isArray(value.questions) ? value.questions : [value];
  return list.flatMap((one) => {
    const asked = isObject(one) ? (one.question ?? one.response ?? one.result ?? one.message) : one;
    return typeof asked === "string" ? [asked] : [];
  });
}

/** What a call would have done, in a few words: the plan's first line, the question, the command or the file. */
function proposalOf(call: ToolCallPart): string {
  const value = argumentsValue(call);
  if (!isObject(value)) return call.name;
  if (typeof value.plan === "string") {
    const first = value.plan.split("\n", 20).find((line) => line.trim() !== "") ?? "";
    return `plan: ${shortAbout(first.replace(/^#{1,6}\s+/, ""))}`;
  }
  const [question] = questionsOf(call);
  if (question !== undefined) return shortAbout(question);
  const named = textOf(value, ["command", "file_path", "path", "filePath", "title", "description", "url"]);
  return named === undefined ? call.name : `${call.name} ${shortAbout(named)}`;
}

function shortAbout(text: string): string {
  return clipLine(blocksOf(text.slice(0, 4_000), MOST_ABOUT)[0]?.text ?? "", MOST_ABOUT);
}

function shorten(text: string): string {
  return clipEnd(text.trim(), MOST_WORDS);
}

/** A prompt of aider's, what it asks, and what was typed behind it. */
const MAY_PROMPT = /\(y\/n| to the chat\?/;
const PROMPTED =
  /^(?:([^\n?]{3,200}\?)\s{0,3})?(?:\(y\/n(?:\/\w{1,20})?\)|(?<= to the chat\?\s{0,3}))\s{0,3}(\S[^\n]{0,2000})$/m;

/** What a person typed at a prompt, in a text of the host's or of the assistant's; `before` may end with the question. */
export function readPrompted(text: string, before: string): Answer | undefined {
  const read = text.slice(0, 8_000);
  const [whole, about, typed] = (MAY_PROMPT.test(read) && PROMPTED.exec(read)) || [];
  if (whole === undefined || typed === undefined) return undefined;
  const asked = about ?? /[^\n]{3,200}\?\s*$/.exec(before.slice(-300))?.[0] ?? "";
  return { kind: "choice", about: asked.trim(), text: typed.trim() };
}

// ---- replies that lean on what they answer

const REPLY_WORDS = new Set(
  (
    "yes yeah yep yup ya y no nope nah n ok okay k kk sure fine good great perfect cool nice awesome thanks thank thx ty you please pls plz do it " +
    "that this them both all go ahead proceed continue resume right correct exactly agreed agree approved approve confirmed confirm done lgtm " +
    "sounds looks works for me let's lets keep going so just then first second third one two three four last option choice number the a b c d e f " +
    "ja jo nein gut passt klar gerne bitte mach machen weiter einverstanden genau richtig danke das so los erste zweite dritte " +
    "oui ouais non d'accord dac parfait vas-y allez-y vas allez y merci bien continue continuez fais-le fais le faites-le stp svp ça marche première deuxième " +
    "sí si vale claro adelante hazlo perfecto gracias por favor sigue continúa de acuerdo bueno está bien la primera segunda opción " +
    "sim não tá certo pode beleza claro isso faz faça ok obrigado valeu segue continue manda ver vai favor primeira " +
    "да нет ага ок хорошо ладно давай давайте конечно согласен верно именно продолжай продолжайте делай сделай спасибо пожалуйста первый второй вариант так " +
    "sì va bene procedi certo grazie 네 예 응 아니요 좋아요 좋아 그래 진행해 진행해주세요 해줘 부탁해요"
  ).split(" "),
);
const UNSPACED_REPLY =
  /^(?:(?:好|好的|好啊|行|可以|可以的|是|是的|对|对的|不|不用|不是|嗯|没问题|同意|继续|请继续|继续吧|开始吧|就这样|就这么做|做吧|去做吧|谢谢|选?第?[一二三四五1-5a-dA-D][个项]?|はい|ええ|うん|いいえ|いや|お願いします|それでお願いします|それで|続けて|続けてください|進めて|進めてください|了解|了解です|オッケー|いいよ|いいです|いいですね|大丈夫|大丈夫です|どうぞ|やって|やってください|ありがとう|ok)[、，,。.！!\s]{0,3}){1,4}(?:吧|了|です)?$/i;
const MOST_REPLY = 60;

/** True for "yes", "2", "go ahead", "ok do it" and their like: they mean nothing without what they answer. */
export function isBareReply(text: string): boolean {
  const reply = text.trim();
  if (reply === "" || reply.length > MOST_REPLY || /[?？`\n]/.test(reply)) return false;
  if (UNSPACED_REPLY.test(reply)) return true;
  const words = reply
    .toLowerCase()
    .replace(/’/g, "'")
    .split(/[^\p{L}\p{N}'-]+/u)
    .filter((word) => word !== "");
  if (words.length === 0 || words.length > 8) return words.length === 0;
  if (words.every((word) => REPLY_WORDS.has(word) || /^\d{1,2}$/.test(word))) return true;
  const pronoun = /^(?:it|that|this|them|both)$/;
  const rest = words.filter((word) => !/^(?:ok|okay|yes|yeah|yep|please|and|now|then|sure)$/.test(word));
  return rest.length === 2 && pronoun.test(rest[1] ?? "");
}

/** Longer replies are self-explanatory. */
const LONGEST_REPLY = 160;
/** A reply that accepts or declines. */
const ANSWERS =
  /^(?:yes|yeah|yep|yup|no|nope|ok(?:ay)?|sure|agreed?|sounds|good|great|perfect|exactly|correct|right|do (?:it|that|both)|go|please|let['’]?s|both|neither|all|none|option|keep|skip|use|i (?:think|like|prefer|want)|[\p{Lo}]|ja|nein|oui|non|sí|si|sim|não|да|нет)(?![\p{L}])/iu;
const CHOSEN =
  /(?:^|\b(?:option|choice|number|variant|take|try|go with|do|let's do|#)\s*\(?)([1-9]|[a-h])(?=$|[^\p{L}\p{N}])/iu;

const OWN_ITEM = /^\s{0,9}\d{1,2}[.)]\s{1,4}(?:\S{1,80}\s{1,4}){3}\S/;

/** What a short reply answers: the assistant's option that it names, otherwise its last question. */
export function aboutOf(reply: string, asked: string): string {
  if (reply.length > LONGEST_REPLY || asked === "") return "";
  const chosen = CHOSEN.exec(reply)?.[1];
  const option = chosen === undefined ? undefined : optionOf(chosen, asked);
  // `2. Add a test for it` is a list of the person's own; it answers at most the question of that number.
  if (option !== undefined && (!OWN_ITEM.test(reply) || /[?？]/.test(option))) return option;
  const answers = isBareReply(reply) || (ANSWERS.test(reply.trim()) && !/[?？]/.test(reply));
  return answers ? (questionsIn(asked).at(-1) ?? "") : "";
}

function optionOf(label: string, asked: string): string | undefined {
  const begins = (word: string): RegExp =>
    new RegExp(`^[\\s*_#>-]{0,8}${word}\\s{0,2}\\(?${label}\\s{0,2}[.):\\]*-]`, "i");
  const lines = readable(asked).split("\n");
  const first = (pattern: RegExp): string | undefined =>
    lines.findLast((candidate) => pattern.test(candidate.slice(0, 60)));
  // Below options that are called so, a number alone counts something else.
  const line = first(begins("(?:option|choice|variant)")) ?? first(begins(""));
  return line === undefined ? undefined : oneLine(line.replace(/^\s*[-*+•]\s+/, ""));
}
