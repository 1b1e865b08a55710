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
/** A salutation, as in letters. */
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

/** Removes text between two tags of one name; each tag is visited once, closed or not. */
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

/** The user's own words in a message, without pasted material. */
export function withoutHandedOver(text: string): string {
  const plain = withoutTagged(text.replace(FENCED, "\n"));
  const colon = BEHIND_COLON.exec(plain);
  const below = BELOW.exec(plain);
  const starts = [
    MAIL_HEADER.exec(plain)?.index,
    SALUTATION.exec(plain)?.index,
    SPEAKER_AND_TIME.exec(plain)?.index,
    ISSUE_FORM.exec(plain)?.index,
    colon === null ? undefined : colon.index + colon[0].length,
    below === null ? undefined : below.index + below[0].length,
  ];
  const first = Math.min(...starts.map((at) => at ?? plain.length));
  return first === plain.length && plain === text ? text : plain.slice(0, first);
}
