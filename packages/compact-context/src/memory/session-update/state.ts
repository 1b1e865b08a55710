import { type Message, messageText } from "../../core/message.ts";
import { turnStarts } from "../../core/units.ts";
import { commandKey, isLookingCommand } from "../../summarizers/extractive/commands.ts";
import { filesChanged } from "../../summarizers/extractive/items.ts";
import { type Outcome, tookEffect } from "../../summarizers/extractive/outcomes.ts";
import { type Reading, readConversation } from "../../summarizers/extractive/reading.ts";
import { rulesIn } from "../../summarizers/extractive/statements.ts";
import { keyOf, type OpenError, openTasks, type Step } from "../../summarizers/extractive/steps.ts";
import { clipEnd, oneLine, sentences } from "../../summarizers/extractive/text.ts";
import { relationOf, sayTheSame } from "../learning/relation.ts";
import { ownRules } from "../learning/statements.ts";
import { heldBy } from "../learning/terms.ts";
import type { SessionMemoryState } from "../session-memory.ts";

/** Number of newest messages read; older ones are covered by the last state. */
const MOST_MESSAGES = 600;
const MOST = 12;
const REQUESTS = 5;
const LONGEST = 240;
const TITLE = 100;
/** Minimum characters of a request that says what is wanted; shorter ones just say to go on. */
const TELLING = 18;
const MOST_ERRORS = 6;

/**
 * The state of the work according to the messages, merged into the last state: no model, deterministic. Pass
 * `messages` as returned by `lessonsOf`.
 */
export function sessionStateOf(messages: readonly Message[], last: SessionMemoryState): SessionMemoryState {
  const read = messages.slice(-MOST_MESSAGES);
  const task = readConversation(read);
  const { requests, steps } = task;
  if (requests.length === 0 && steps.length === 0) return last;
  const log = worklogOf(task);
  const decided = task.decisions.map(({ text }) => text).filter(isTellingDecision);
  return {
    title: titleOf(task, last),
    currentState: currentState(task, last),
    userIntent: merged(last.userIntent, intentOf(task)).slice(-MOST),
    activeFiles: activeFiles(steps, last.activeFiles),
    decisions: merged(last.decisions, decided.slice(-MOST)).slice(-MOST),
    constraints: constraintsOf(task, last.constraints),
    errorsAndCorrections: errorsOf(task, last.errorsAndCorrections),
    nextSteps: nextSteps(task, last.nextSteps, log),
    // The line of a turn that went on is written anew.
    worklog: [
      ...last.worklog.filter((item) => !log.some(({ asked }) => item.startsWith(`${asked} → `))),
      ...log.map(({ text }) => text),
    ].slice(-MOST),
  };
}

/** The first request of a list; a list whose beginning is gone keeps its title. */
function titleOf({ requests }: Reading, last: SessionMemoryState): string {
  const telling = requests.find(({ text }) => text.length >= TELLING) ?? requests[0];
  if (telling === undefined) return last.title;
  const title = clipEnd(firstSentence(telling.text), TITLE);
  const known = last.userIntent.some((intent) => intent.startsWith(title.replace(/ …$/, "")));
  return last.title !== "" && known ? last.title : title;
}

function currentState(task: Reading, last: SessionMemoryState): string[] {
  const newest = task.requests.at(-1)?.text;
  const doing = openTasks(task.plan)
    .filter(({ status }) => /progress|active|doing/i.test(status))
    .map(({ text }) => `Doing: ${text}`);
  const said = lastSaid(task.messages);
  const open = task.openErrors.filter(isTelling).slice(0, 2).map(errorText);
  const ran = lastRun(task.steps);
  const state = [
    ...(newest === undefined
      ? []
      : [`${task.answered ? "Answered" : "Under way"}: ${clipEnd(firstSentence(newest), LONGEST)}`]),
    ...doing,
    ...(said === "" ? [] : [`Last said: ${said}`]),
    ...(ran === undefined ? [] : [`Last run: \`${clipEnd(oneLine(ran.command), 120)}\` (${ran.outcome})`]),
    ...open.map((text) => `Open: ${text}`),
  ];
  return state.length === 0 ? [...last.currentState] : state;
}

function lastSaid(messages: readonly Message[]): string {
  const message = messages.findLast((one) => one.role === "assistant" && messageText(one).trim() !== "");
  if (message === undefined) return "";
  const said = sentences(messageText(message)).map((sentence) => oneLine(sentence.replace(/^[-*>#\s]+/, "")));
  return clipEnd(
    said
      .filter((sentence) => /[\p{L}\p{N}]{2}/u.test(sentence))
      .slice(0, 2)
      .filter((sentence, place) => place === 0 || !/[:：]$/.test(sentence))
      .join(" "),
    LONGEST,
  );
}

function intentOf({ requests }: Reading): string[] {
  const telling = requests.filter(({ text }) => text.length >= TELLING);
  const shown = new Set([...telling.slice(0, 1), ...telling.slice(-REQUESTS)]);
  return [...shown].map(({ text }) => clipEnd(firstSentence(text), LONGEST));
}

/** Changed files or, if there are none, the last ones read; the most recently touched last. */
function activeFiles(steps: readonly Step[], last: readonly string[]): string[] {
  const read = steps.filter(({ outcome }) => tookEffect(outcome)).flatMap(({ action }) => action.files);
  const changed = filesChanged(steps, (path) => path).map(({ path, effect }) => `${path} (${effect})`);
  const shown =
    changed.length > 0 ? changed : [...new Set(read.map(({ path }) => `${path} (read)`))].slice(-6);
  const pathOf = (item: string): string => item.replace(/ \([^()]{1,40}\)$/, "");
  const now = new Set(shown.map(pathOf));
  return [...last.filter((item) => !now.has(pathOf(item))), ...shown].slice(-MOST);
}

/** Number of rules from the start and from the end that are compared with each other. */
const MOST_LOOKED_AT = 40;

/** The rules that people state in their own name. */
export function rulesOf({ rules, messages }: Reading): string[] {
  return ownRules(messages, new Set(rules.map(({ text }) => text).filter(isFirmRule)));
}

/** The person's own rules; a newer rule replaces one that it says it replaces. */
function constraintsOf(task: Reading, last: readonly string[]): string[] {
  const own = rulesOf(task);
  const rules = [...last.filter((item) => !own.includes(item)), ...own];
  const all = rules.filter((_, index) => index < MOST_LOOKED_AT || index >= rules.length - MOST_LOOKED_AT);
  const standing = all.filter(
    (item, index) => !all.slice(index + 1).some((rule) => relationOf(rule, item) === "replaces"),
  );
  if (standing.length <= MOST) return standing;
  // The first and the newest matter most: a task is set at the start and corrected at the end.
  return [...standing.slice(0, MOST / 2), ...standing.slice(-MOST / 2)];
}

function errorsOf(task: Reading, last: readonly string[]): string[] {
  const open = task.openErrors.filter(isTelling).map(errorText);
  const solved = solvedErrors(task).map((error) => `${errorText(error)} (passed later)`);
  const errors = [...open, ...solved].slice(0, MOST_ERRORS).toReversed();
  const corrections = task.requests
    .slice(1)
    .filter(({ text }) => isCorrection(text))
    .map(({ text }) => `Corrected by the user: ${clipEnd(firstSentence(text), LONGEST)}`);
  const now = [...errors, ...corrections];
  // A recurring error is listed once, with its newest outcome.
  const bare = (item: string): string => item.replace(/ \(passed later\)$/, "");
  const known = new Set(now.map(bare));
  return [...last.filter((item) => !known.has(bare(item))), ...now].slice(-MOST);
}

/** A failure of work; looking for a file that does not exist is not one. */
function isTelling({ text, from }: OpenError): boolean {
  return TROUBLE.test(text) && !LOOKING.test(from);
}

/** Failures after which the same command passed, newest first. */
function solvedErrors({ steps }: Reading): OpenError[] {
  const passed = new Set<string>();
  const solved: OpenError[] = [];
  for (const step of steps.toReversed()) {
    const key = keyOf(step);
    const { state, errors, detail } = step.outcome;
    if (state === "passed") passed.add(key);
    if (state === "failed" && passed.delete(key))
      solved.push({ text: oneLine(errors[0] ?? detail), from: clipEnd(oneLine(key), 100) });
  }
  return solved.filter(isTelling);
}

const TROUBLE =
  /error|exception|fail|fatal|panic|denied|refused|reject|not found|cannot|can['’]t|unable|invalid|missing|timed? ?out|错误|失败|エラー|失敗|오류|실패|fehler|erreur|ошибка/i;
const LOOKING = /^(?:ls|cat|grep|rg|find|head|tail|sed -n|wc|read|view|open|glob|search)\b/i;

/** Tool output, marked as a quote: a request in it is not the user's. */
function errorText({ text, from }: OpenError): string {
  return `\`${from}\` gave "${text.replace(/<\/?[\w-]{1,40}>/g, "").replaceAll('"', "'")}"`;
}

/** The newest task list; else the steps the assistant says are left; else the last steps not done since. */
function nextSteps(task: Reading, last: readonly string[], log: readonly WorklogLine[]): string[] {
  const listed = openTasks(task.plan).map(({ text, status }) =>
    /progress|active|doing/i.test(status) ? `${text} (begun)` : text,
  );
  if (listed.length > 0) return listed.slice(0, MOST);
  const reply = task.messages.findLast((one) => one.role === "assistant" && messageText(one) !== "");
  const answer = reply === undefined ? "" : messageText(reply);
  const listedLast = listedSteps(answer);
  const stated = listedLast.length > 0 ? listedLast : task.nextSteps;
  const open = task.answered
    ? []
    : task.requests.slice(-1).map(({ text }) => `${FINISH}${clipEnd(firstSentence(text), LONGEST)}`);
  if (stated.length > 0) return [...open, ...stated].slice(0, MOST);
  const newest = log.slice(-3).map(({ text }) => text);
  const said = [...newest, answer].join("\n");
  const kept = last.filter(
    (step) => !step.startsWith(FINISH) && heldBy(step, said) < DONE && !open.includes(step),
  );
  return [...open, ...kept].slice(0, MOST);
}

/** Prefix in the next steps of a request that is not answered yet. */
const FINISH = "Finish: ";
/** Share of a step's words in the newest turns from which it counts as done. */
const DONE = 0.8;

function merged(last: readonly string[], now: readonly string[]): string[] {
  const distinct = [...new Set(now)];
  return [
    ...last.filter((item) => !distinct.some((other) => item === other || sayTheSame(item, other))),
    ...distinct,
  ];
}

// ---- turns, steps and decisions in words

/** One turn in a line. */
export interface WorklogLine {
  readonly asked: string;
  /** The request and its outcome, as written to SESSION.md and HISTORY.md. */
  readonly text: string;
  /** True if files were changed or a command failed. */
  readonly weighty: boolean;
}

const ASKED = 110;
const SAID = 130;
const NAMED = 3;

/** The turns of a conversation that have an outcome or are the newest, in order. */
export function worklogOf({ messages, requests, steps }: Reading): readonly WorklogLine[] {
  const starts = turnStarts(messages);
  const turns = starts.flatMap((start, turn) => {
    const end = starts[turn + 1] ?? messages.length;
    const within = ({ message }: { readonly message: number }): boolean => message >= start && message < end;
    const request = requests.find(within);
    const calls = steps.filter(within);
    return request === undefined ? [] : [{ request, calls, messages: messages.slice(start, end) }];
  });
  return turns.flatMap(({ request, calls, messages: said }, turn) => {
    const outcome = outcomeIn(said, calls);
    // A request without an answer belongs to what follows; the newest is still waiting for its answer.
    if (outcome === "" && turn < turns.length - 1) return [];
    const asked = clipEnd(firstSentence(request.text), ASKED);
    const weighty = calls.some((call) => changes(call).length > 0 || call.outcome.state === "failed");
    return [{ asked, text: `${asked} → ${outcome === "" ? "under way" : outcome}`, weighty }];
  });
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
function lastRun(steps: readonly Step[]): { readonly command: string; readonly outcome: string } | undefined {
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
