import { clipEnd, oneLine, sentences } from "../../summarizers/extractive/text.ts";

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
