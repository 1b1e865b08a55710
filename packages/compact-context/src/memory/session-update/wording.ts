import { type Message, messageText } from "../../core/message.ts";
import { turnStarts } from "../../core/units.ts";
import { commandKey, isLookingCommand } from "../../summarizers/extractive/commands.ts";
import { type Outcome, tookEffect } from "../../summarizers/extractive/outcomes.ts";
import type { Reading } from "../../summarizers/extractive/reading.ts";
import { rulesIn } from "../../summarizers/extractive/statements.ts";
import type { Step } from "../../summarizers/extractive/steps.ts";
import { clipEnd, oneLine, sentences } from "../../summarizers/extractive/text.ts";

/** One turn in a line: the request and its outcome. */
export interface WorklogLine {
  readonly asked: string;
  readonly outcome: string;
  /** True if files were changed or a command failed. */
  readonly weighty: boolean;
}

const ASKED = 110;
const SAID = 130;
const NAMED = 3;

/** The turns of a conversation that have an outcome or are the newest, in order. */
export function worklogOf(reading: Reading): readonly WorklogLine[] {
  const { messages, requests, steps } = reading;
  const starts = turnStarts(messages);
  const lines = starts.flatMap((start, turn) => {
    const end = starts[turn + 1] ?? messages.length;
    const request = requests.find(({ message }) => message >= start && message < end);
    if (request === undefined) return [];
    const calls = steps.filter(({ message }) => message >= start && message < end);
    const outcome = outcomeIn(messages.slice(start, end), calls);
    const asked = clipEnd(firstSentence(request.text), ASKED);
    const weighty = calls.some((call) => changes(call).length > 0 || call.outcome.state === "failed");
    return [{ asked, outcome, weighty }];
  });
  // Requests without an answer belong to what follows; the newest is still waiting for its answer.
  const newest = lines.at(-1);
  return lines.flatMap((line) => {
    if (line.outcome !== "") return [line];
    return line === newest ? [{ ...line, outcome: "under way" }] : [];
  });
}

/** The line as written to SESSION.md and HISTORY.md. */
export function worklogText({ asked, outcome }: WorklogLine): string {
  return `${asked} → ${outcome}`;
}

/** The first sentence with content; one that only announces the next is joined with it. */
export function firstSentence(text: string): string {
  const said = sentences(text).map((sentence) => oneLine(sentence.replace(/^[-*>#\s]+/, "")));
  const at = said.findIndex((sentence) => sentence.length >= 12);
  const first = said[at] ?? said[0] ?? oneLine(text);
  const following = said[at + 1];
  return /[:：]$/.test(first) && at >= 0 && following !== undefined ? `${first} ${following}` : first;
}

/** The first sentence with content and the ones after it, which often give the reason, while they fit. */
function firstSentences(text: string): string {
  const first = firstSentence(text);
  const said = sentences(text).map((sentence) => oneLine(sentence));
  const at = said.findIndex((sentence) => first.endsWith(sentence));
  let all = first;
  for (const sentence of at < 0 ? [] : said.slice(at + 1)) {
    if (all.length + sentence.length >= SAID || /[:：?？]$|^[-*#>\d]/.test(sentence)) break;
    all = `${all} ${sentence}`;
  }
  return clipEnd(all, SAID);
}

function outcomeIn(messages: readonly Message[], calls: readonly Step[]): string {
  const files = [...new Set(calls.flatMap(changes))];
  const ran = lastRun(calls);
  const parts = [
    ...(files.length === 0 ? [] : [`changed ${named(files)}`]),
    ...(ran === undefined ? [] : [`ran \`${clipEnd(oneLine(ran.command), 60)}\` (${ran.outcome})`]),
  ];
  const reply = messages.findLast(
    ({ role, parts: said }) => role === "assistant" && said.some(({ type }) => type === "text"),
  );
  const answer = reply === undefined ? "" : firstSentences(messageText(reply));
  return [...parts, ...(answer === "" ? [] : [answer])].join("; ");
}

function changes({ action, outcome }: Step): string[] {
  if (!tookEffect(outcome)) return [];
  return action.files.filter(({ effect }) => effect !== "read").map(({ path }) => path);
}

/** The last command that does more than look around. */
export function lastRun(
  steps: readonly Step[],
): { readonly command: string; readonly outcome: string } | undefined {
  const run = steps.findLast(
    ({ action }) => action.command !== undefined && !isLookingCommand(action.command),
  );
  const command = commandKey(run?.action.command ?? "");
  return run === undefined || command === "" ? undefined : { command, outcome: ended(run.outcome) };
}

/** How a command ended, if known; its output is kept out of notes that are read later. */
function ended({ state, detail }: Outcome): string {
  if (state === "unknown") return detail === "" ? "outcome not recorded" : detail;
  return state === "passed" ? state : (/^exit \d+/.exec(detail)?.[0] ?? state);
}

function named(files: readonly string[]): string {
  const shown = files.slice(0, NAMED).map((path) => path.split("/").slice(-2).join("/"));
  return files.length > NAMED ? `${shown.join(", ")} and ${files.length - NAMED} more` : shown.join(", ");
}

const AT_START =
  /^(?:no\b[,.!: ]|nope\b|stop\b|wait\b|wrong\b|not (?:that|this|so|like)\b|actually\b|instead\b|rather\b|scratch that|forget (?:it|that|about)|never ?mind|on second thought|undo\b|revert\b|let['’]?s not\b|i (?:said|meant)\b|nein\b|halt\b|stopp\b|doch\b|eigentlich\b|non\b[, ]|en fait\b|arrête|plutôt\b|en realidad\b|mejor\b|espera\b|não\b[, ]|na verdade\b|anzi\b|invece\b|aspetta\b|нет\b|стоп\b|подожди|на самом деле|不对|不是|错了|停|等等|其实|改成|違う|いや|待って|やっぱり|아니|잠깐|사실)/iu;
const ANYWHERE =
  /\b(?:that['’]?s (?:wrong|not (?:right|what|it))|that is (?:wrong|not (?:right|what|it))|you (?:misunderstood|forgot|broke|missed)|not what i (?:asked|meant|wanted)|don['’]?t do that|change of plan|das ist falsch|nicht so|ce n['’]est pas|eso no|no era eso)\b|不是这个|不要这样|そうじゃな|그게 아니/iu;
const SHORT = 280;

/** True if a person rejects or corrects what was done, in several languages. */
export function isCorrection(text: string): boolean {
  const [first = ""] = sentences(text);
  return AT_START.test(first) || (text.length <= SHORT && ANYWHERE.test(text));
}

/** A request to remember a fact; it does not forbid or demand anything. */
const NOTED = /\bremember that\b/gi;

/** True for a directive that explicitly forbids or demands something. */
export function isFirmRule(sentence: string): boolean {
  if (/[:：]$/.test(sentence)) return false;
  return rulesIn(sentence.replace(NOTED, " ")).length > 0;
}

const ABOUT_TO =
  /^(?:now|let me|next|quick|first|i['’]m (?:going|looking|about)|i am (?:going|looking|about)|i['’]ll (?:check|look|confirm|read|see|start)|i need|yes|no|ok|okay|absolutely|good|great|got it)\b/i;
const SETTLED =
  /\b(?:decided|decision|agreed|going with|chose|chosen|opt(?:ed|ing) for|switch(?:ed|ing)? to|stick(?:ing)? with|settled on|instead of|rather than|because)\b/i;

/** A choice that matters to whoever continues, as opposed to one about the next step. */
export function isTellingDecision(text: string): boolean {
  return SETTLED.test(text) && !ABOUT_TO.test(text) && !/[:：?]$/.test(text);
}

const HEADING =
  /^(?:#{1,6}\s*|\*\*|__)?(?:what(?:['’]s| is) (?:next|left)|next(?: steps?| up| actions?)?|remaining(?: \w+)?|still (?:to do|open|missing|left)|to ?-?do|open (?:points|questions|items)|follow[- ]?ups?|nächste schritte|offen|prochaines étapes|reste à faire|próximos pasos|próximos passos|prossimi passi|дальше|следующие шаги|下一步|接下来|待办|次のステップ|残り|다음 단계)[^\n]{0,40}?(?:\*\*|__)?\s*[:：]?\s*(?:\*\*|__)?$/iu;
const ITEM = /^\s{0,8}(?:[-*+•]|\d{1,2}[.)]|\[ \])\s+(?:\[ \]\s*)?(.+)$/;
const DONE_ITEM = /^(?:\[x\]|✅|✔|~~)/i;
const LONGEST = 240;

/** Open tasks the assistant lists below a matching heading. */
export function listedSteps(text: string): string[] {
  const steps: string[] = [];
  let open = false;
  for (const line of text.split("\n")) {
    const item = ITEM.exec(line)?.[1];
    if (HEADING.test(line.trim())) open = true;
    else if (open && item !== undefined) steps.push(item);
    else if (line.trim() !== "" && !/^\s/.test(line)) open = false;
  }
  const left = steps.filter((step) => !DONE_ITEM.test(step) && !/[?？]$/.test(step));
  return [...new Set(left.map((step) => clipEnd(oneLine(step.replace(/\*\*|__/g, "")), LONGEST)))];
}
