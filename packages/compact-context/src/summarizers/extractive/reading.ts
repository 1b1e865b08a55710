import { type Message, messageText, resultText } from "../../core/message.ts";
import type { SummaryContext } from "../../core/ports.ts";
import { flatMapInSteps, runAtOnce, type Steps } from "../../errors.ts";
import { readAction } from "./actions.ts";
import { readOutcome, readResult, tookEffect } from "./outcomes.ts";
import { NO_PLACE, withPlaces } from "./places.ts";
import { openReports } from "./reports.ts";
import { liftsIn, type Standing, standing } from "./standing.ts";
import {
  acceptedIn,
  decisionsIn,
  leftIn,
  nextStepsIn,
  questionsIn,
  readSentences,
  rulesIn,
  type Sentence,
} from "./statements.ts";
import {
  asRequested,
  findOpenErrors,
  lastVerification,
  type OpenError,
  type Repository,
  readPlan,
  readRepository,
  type Step,
  type Task,
} from "./steps.ts";
import { groupBy, oneLine, withoutMarks } from "./text.ts";
import { readTextCalls, readTypedRuns, type TypedRuns, textResult } from "./text-calls.ts";
import {
  type Answer,
  aboutOf,
  FOREIGN,
  isBareReply,
  readAnswer,
  readPrompted,
  readSaid,
  withoutHandedOver,
} from "./typed.ts";

/** Words of a person or of the assistant in one message. */
export interface Speech {
  /** Index of the message in the list that was read. */
  readonly message: number;
  readonly id: string;
  readonly text: string;
  readonly sentences: readonly Sentence[];
  /** What of it are the speaker's own words: not what a person hands over to be worked on. */
  readonly own: Pick<Speech, "text" | "sentences">;
  /** It stands beside the summary: whole, or with its middle cut out. */
  readonly stays: "no" | "cut" | "whole";
}

/** What happened in an episode, in order of time, by the index of its message. */
export type Entry = { readonly message: number } & (
  | { readonly kind: "user"; readonly speech: Speech; readonly about: string }
  | { readonly kind: "answer"; readonly id: string; readonly answer: Answer }
  | { readonly kind: "assistant"; readonly speech: Speech; readonly closing: boolean }
  | { readonly kind: "foreign"; readonly speech: Speech }
  | { readonly kind: "step"; readonly step: Step }
);

/** One request of the user, and everything until the next one. */
export interface Episode {
  /** Undefined before the first request. */
  readonly request: Speech | undefined;
  /** The assistant's preceding question; "" if there is none. */
  readonly about: string;
  readonly entries: readonly Entry[];
}

export interface Statement {
  readonly text: string;
  /** Index and id of the message that states it. */
  readonly message: number;
  readonly id: string;
}

/** The contents of a conversation, before any budget applies. */
export interface Reading {
  readonly messages: readonly Message[];
  readonly episodes: readonly Episode[];
  readonly steps: readonly Step[];
  /** What people typed, in order; also what stays. */
  readonly requests: readonly Speech[];
  /**
   * The message of the assistant's last answer: a text without a call beside it or behind it, or work that a person is
   * content with.
   */
  readonly lastAnswer: number | undefined;
  /** Standing rules, newest first, and the words that lifted others. */
  readonly rules: readonly Statement[];
  readonly lifts: readonly Standing[];
  readonly decisions: readonly Statement[];
  /** The newest task list; undefined if there is none. */
  readonly plan: readonly Task[] | undefined;
  /** The last run of each test, build or check, newest first. */
  readonly verification: readonly Step[];
  readonly openErrors: readonly OpenError[];
  /** What the host reported on work in the background. */
  readonly notices: readonly string[];
  readonly repository: Repository;
  /** The next steps as last announced by the assistant. */
  readonly nextSteps: readonly string[];
  /** The assistant's last thoughts and words while working, in order; empty once it has answered. */
  readonly lastWords: readonly string[];
  readonly questions: readonly string[];
  /** True if the assistant spoke last, without a call in the same message. */
  readonly answered: boolean;
  /** Something is told beside messages that stay: where it says nothing new, it repeats them. */
  readonly repeats: boolean;
  /** The parts of truncated messages that stay next to the summary. */
  readonly beside: readonly string[];
}

/** Reads messages in the context of their list; without a list they are the whole conversation. */
export function readConversation(messages: readonly Message[], context?: SummaryContext): Reading {
  return runAtOnce(readInSteps(messages, context));
}

/** A host's report on work in the background, which it sends as a user's message. */
const NOTICE = /<(?:task-notification|system-reminder)>/;

export function* readInSteps(messages: readonly Message[], context?: SummaryContext): Steps<Reading> {
  const scene = yield* sceneOf(messages, context);
  yield;
  const steps = withPlaces(yield* readSteps(scene));
  const entries = yield* readEntries(scene, steps);
  const requests = entries.flatMap((entry) => (entry.kind === "user" ? [entry.speech] : []));
  const { closing, nextSteps } = lastWords(entries);
  yield;
  const { rules, lifts } = yield* standingRules(entries);
  const decisions = yield* readDecisions(entries);
  const reports = yield* openReports(entries);
  const verification = lastVerification(steps);
  yield;
  const openErrors = [...findOpenErrors(steps), ...reports];
  yield;
  const users = scene.messages.filter(({ role }) => role === "user");
  const notices = users.flatMap((message) => messageText(message).split(NOTICE).slice(1));
  return {
    messages: scene.messages,
    episodes: toEpisodes(entries),
    steps,
    requests,
    lastAnswer: lastAnswer(entries),
    rules,
    lifts,
    decisions,
    plan: readPlan(steps),
    verification,
    openErrors,
    notices,
    repository: readRepository(steps),
    nextSteps,
    lastWords: closing === "" ? wordsAtWork(scene, requests) : [],
    questions: questionsIn(closing),
    answered: closing !== "",
    repeats: scene.repeats,
    beside: scene.beside,
  };
}

interface Scene {
  readonly messages: readonly Message[];
  readonly staysOf: (message: Message) => Speech["stays"];
  readonly repeats: boolean;
  readonly beside: readonly string[];
  /** Commands that stand in the chat, and the messages with their output. */
  readonly typed: TypedRuns;
}

function* sceneOf(messages: readonly Message[], context: SummaryContext | undefined): Steps<Scene> {
  const list = new Set(context?.list);
  if (context === undefined || !messages.every((message) => list.has(message))) {
    const typed = yield* readTypedRuns(messages);
    return { messages, staysOf: () => "no", repeats: false, beside: [], typed };
  }
  const summarized = new Set(messages);
  const kept = new Set(context.kept.map(({ id }) => id));
  const ids = new Set(messages.map(({ id }) => id));
  const shown = context.list.filter((message) => message.meta?.summaryVersion === undefined);
  return {
    messages: shown,
    staysOf: (message) => (summarized.has(message) ? (kept.has(message.id) ? "cut" : "no") : "whole"),
    repeats: summarized.size > 0 && summarized.size < shown.length,
    beside: context.kept.filter(({ id }) => ids.has(id)).map(messageText),
    typed: yield* readTypedRuns(shown),
  };
}

function* readSteps({ messages, staysOf, typed }: Scene): Steps<Step[]> {
  const found = messages.flatMap((message) =>
    message.parts.flatMap((part) => {
      if (part.type !== "toolResult") return [];
      const result = readResult(resultText(part), part.isError === true);
      return [{ id: part.id, result, stays: staysOf(message) === "whole" }];
    }),
  );
  const results = groupBy(found, ({ id }) => id);
  return yield* flatMapInSteps(messages, (message, index) => {
    const written = message.role === "assistant" ? readTextCalls(messageText(message), message.id).calls : [];
    const run = typed.runs.get(index);
    const inText = run === undefined ? written : [run.call];
    const calls = [...message.parts.filter((part) => part.type === "toolCall"), ...inText];
    const after = run?.output ?? (written.length > 0 ? textResult(messages[index + 1]) : undefined);
    return calls.map((call) => {
      const told = call === inText[0] && after !== undefined ? { text: after, isError: false } : undefined;
      const answer = results.get(call.id)?.shift();
      const result = answer?.result ?? told;
      const unanswered = result === undefined && (!inText.includes(call) || index === messages.length - 1);
      const action = unanswered ? asRequested(readAction(call)) : readAction(call);
      return {
        message: index,
        id: message.id,
        call,
        action,
        place: NO_PLACE,
        outcome: readOutcome(action, result),
        result,
        stays: staysOf(message) === "whole" && answer?.stays !== false,
        emptied: staysOf(message) === "whole" && answer?.stays === false,
      };
    });
  });
}

function* readEntries({ messages, staysOf, typed }: Scene, steps: readonly Step[]): Steps<Entry[]> {
  const stepsOf = groupBy(steps, ({ message }) => message);
  const said: LastSaid = { asked: "", before: "", typed };
  return yield* flatMapInSteps(messages, (message, index) => {
    if (message.role !== "user" && message.role !== "assistant") return [];
    const calls = stepsOf.get(index) ?? [];
    const spoken = typed.outputs.has(index)
      ? undefined
      : spokenEntry(message, index, staysOf(message), calls.length === 0 || endsInText(message), said);
    return [...(spoken === undefined ? [] : [spoken]), ...calls.flatMap(entriesOf)];
  });
}

/** True if a text follows the last call and result of a message that holds both; not where the text holds the call. */
function endsInText({ parts }: Message): boolean {
  const text = parts.findLastIndex((part) => part.type === "text" && part.text.trim() !== "");
  const call = parts.findLastIndex(({ type }) => type === "toolCall" || type === "toolResult");
  return call >= 0 && text > call;
}

/** Reasoning that a model writes at the beginning of its text; further on, between lines of their own. */
const THOUGHT =
  /(?<![\s\S])<(think(?:ing)?)>[\s\S]*?<\/\1>\s*|^<(think(?:ing)?)>[ \t]*\n(?:(?!^<think)[\s\S])*?^<\/\2>[ \t]*(?:\n\s*|$(?![\s\S]))/gim;
/** Some hosts write this sentence as the assistant without being asked. */
const NOTHING_SAID = "No response requested.";

/** The assistant's last words while they wait for a reply, the text before, and the commands that stand in the chat. */
interface LastSaid {
  asked: string;
  before: string;
  readonly typed: TypedRuns;
}

function spokenEntry(
  message: Message,
  index: number,
  stays: Speech["stays"],
  closing: boolean,
  said: LastSaid,
): Entry | undefined {
  const { role, id } = message;
  const { runs, said: typed } = said.typed;
  const text = messageText(message)
    .replace(runs.get(index)?.written ?? "", "")
    .trim();
  const whole = role === "assistant" ? readTextCalls(text.replace(THOUGHT, ""), id).said : text;
  const foreign = FOREIGN.test(whole);
  const words = foreign || role === "assistant" ? whole : (typed.get(index) ?? readSaid(message));
  const answer = readPrompted(whole, said.before);
  said.before = whole;
  if (answer !== undefined) return { kind: "answer", message: index, id, answer };
  if (words === "" || (role === "assistant" && words === NOTHING_SAID)) return undefined;
  const speech = { message: index, id, stays, ...wordsOf(words, role === "user" && !foreign) };
  if (foreign) return { kind: "foreign", message: index, speech };
  const { asked } = said;
  said.asked = role === "user" ? "" : words;
  return role === "user"
    ? { kind: "user", message: index, speech, about: aboutOf(words, asked) }
    : { kind: "assistant", message: index, speech, closing };
}

function wordsOf(text: string, typed: boolean): Pick<Speech, "text" | "sentences" | "own"> {
  const whole = { text, sentences: readSentences(text) };
  const own = typed ? withoutHandedOver(text) : text;
  return { ...whole, own: own === text ? whole : { text: own, sentences: readSentences(own) } };
}

/** A call, and the user's response to it. */
function entriesOf(step: Step): Entry[] {
  const answer = readAnswer(step.call, step.result);
  const { message, id } = step;
  const answers: Entry[] = answer === undefined ? [] : [{ kind: "answer", message, id, answer }];
  return [{ kind: "step", message, step }, ...answers];
}

/** True if the words were typed anew with more behind them, in the place of a mark that ended them too. */
function goesOn(before = "", words = ""): boolean {
  const open = before.replace(/[\s.!?…]+$/, "");
  const more = open === before ? /^(?![\p{L}\p{N}_-])/u : /^(?:[,;\s]|[.!?…]+(?:\s|$))/;
  return open !== "" && words.startsWith(open) && more.test(words.slice(open.length));
}

function toEpisodes(entries: readonly Entry[]): Episode[] {
  const episodes: { request: Speech | undefined; about: string; entries: Entry[] }[] = [];
  for (const entry of entries) {
    const current = episodes.at(-1);
    const begins = entry.kind === "user" && (current === undefined || !isBareReply(entry.speech.text));
    if (begins && current?.entries.length === 0 && goesOn(current.request?.text, entry.speech.text))
      episodes.pop();
    if (begins) episodes.push({ request: entry.speech, about: entry.about, entries: [] });
    else if (current === undefined) episodes.push({ request: undefined, about: "", entries: [entry] });
    else current.entries.push(entry);
  }
  return episodes;
}

/** Rules that people typed or gave as the reason for a refusal, newest first. */
function* standingRules(entries: readonly Entry[]): Steps<Pick<Reading, "rules" | "lifts">> {
  const said = yield* flatMapInSteps(entries.flatMap(wordsIn).reverse(), ({ own, id, message, stays }) => {
    const rules = rulesIn(own.text, own.sentences).map((rule) => ({ text: oneLine(rule), lifts: false }));
    // A message lifts rules of earlier ones, not its own.
    const lifts = liftsIn(own.sentences).map((text) => ({ text, lifts: true }));
    return [...rules, ...lifts].map((one) => ({ ...one, id, message, stays }));
  });
  const rules = (yield* standing(said)).filter(({ lifts, stays }) => !lifts && stays !== "whole");
  return { rules, lifts: said.filter(({ lifts }) => lifts) };
}

function wordsIn(entry: Entry, index: number, entries: readonly Entry[]): Speech[] {
  if (entry.kind === "user") return [entry.speech];
  if (entry.kind !== "answer" || entry.answer.kind === "approval") return [];
  const asked = entries[index - 1];
  const stays = asked?.kind === "step" && asked.step.stays ? "whole" : "no";
  return [{ message: entry.message, id: entry.id, stays, ...wordsOf(entry.answer.text, true) }];
}

/** A reply that only names an option. */
const PICK = /^\s{0,9}(?:option |choice |number |#)?\(?[a-h1-9][.)]?\s{0,9}$/i;

/** Decisions: stated by one side, or proposed by the assistant and accepted by the user. */
function* readDecisions(entries: readonly Entry[]): Steps<Statement[]> {
  const decisions = new Map<string, Statement>();
  let proposal: Speech | undefined;
  const add = ({ message, id, stays }: Speech, found: readonly string[]): void => {
    for (const line of found.map(oneLine))
      if (stays !== "whole" && !decisions.has(line)) decisions.set(line, { text: line, id, message });
  };
  yield* flatMapInSteps(entries, (entry) => {
    if (entry.kind !== "assistant" && entry.kind !== "user") return [];
    const { speech } = entry;
    if (entry.kind === "assistant") proposal = speech;
    else if (proposal !== undefined) {
      add(proposal, acceptedIn(proposal.text, speech.text));
      if (PICK.test(speech.text) && entry.about !== "" && !entry.about.endsWith("?"))
        add(speech, [withoutMarks(entry.about)]);
      proposal = undefined;
    }
    add(speech, decisionsIn(speech.own.sentences, entry.kind));
    return [];
  });
  return [...decisions.values()];
}

/** What says that work which was handed in is not done. */
const NOT_DONE = /wrong|invalid|not yet|try again|rejected|fail|feedback/i;

/** True for a call that ends the work and says what came of it. */
function handsIn(entry: Entry): entry is Extract<Entry, { kind: "step" }> {
  if (entry.kind !== "step" || entry.step.result === undefined) return false;
  const { action, outcome, result } = entry.step;
  return action.kind === "message" && tookEffect(outcome) && !NOT_DONE.test(result.text);
}

/** Number of the assistant's last messages that may state open work. */
const LAST_TEXTS = 4;

/**
 * What the assistant said last: its closing message, "" if a call or another speaker follows it; and the steps that it
 * announced and nothing shows to be done, none where its last message stays and says them itself.
 */
function lastWords(entries: readonly Entry[]): { closing: string; nextSteps: readonly string[] } {
  const last = entries.at(-1);
  if (last !== undefined && handsIn(last)) return { closing: last.step.action.words, nextSteps: [] };
  const closing = last?.kind === "assistant" && last.closing ? last.speech.text : "";
  const newest = entries.findLast((entry) => entry.kind === "assistant");
  if (newest?.speech.stays === "whole") return { closing, nextSteps: [] };
  const asked = entries.findLastIndex(({ kind }) => kind === "user" || kind === "foreign");
  const after = sentencesIn(entries.slice(asked + 1));
  const before =
    after.length < LAST_TEXTS && asked >= 0 ? sentencesIn(entries.slice(0, asked)).slice(-1) : [];
  if (closing !== "") return { closing, nextSteps: nextStepsIn(after.at(-1) ?? []) };
  const steps = [
    ...before.flatMap((all) => leftIn(all)),
    ...after.slice(-LAST_TEXTS, -2).flatMap((all) => leftIn(all, true)),
    ...after.slice(-2).flatMap((all) => nextStepsIn(all, true)),
  ];
  return { closing, nextSteps: [...new Set(steps)] };
}

/** The reply of a person who is content with what was done: praise that ends there, or thanks. */
const CONTENT =
  /^(?:(?:thanks|thank you|danke|merci|gracias|obrigad[oa]|спасибо|谢谢|ありがとう)(?![\p{L}])|(?:good|great|perfect|nice|excellent|awesome|cool|lgtm|looks good|that works|it works|works|super|parfait|perfecto|отлично|很好)(?: (?:work|job|stuff|one))?\s{0,3}(?:[^\p{L}\p{N}\s]|$))/iu;

function lastAnswer(entries: readonly Entry[]): number | undefined {
  const at = entries.findLastIndex((entry, index) => {
    if (entry.kind === "user") return CONTENT.test(entry.speech.text.trim());
    if (handsIn(entry)) return true;
    if (entry.kind !== "assistant" || !entry.closing) return false;
    let next = index + 1;
    // The calls of the same message stand before its closing text.
    while (entries[next]?.kind === "step" && entries[next]?.message === entry.message) next += 1;
    return entries[next]?.kind !== "assistant" && entries[next]?.kind !== "step";
  });
  const last = entries[at];
  return last?.kind === "user" ? last.message - 1 : last?.message;
}

function sentencesIn(entries: readonly Entry[]): (readonly Sentence[])[] {
  return entries.flatMap((entry) => (entry.kind === "assistant" ? [entry.speech.sentences] : []));
}

const AT_WORK = 2;

/**
 * Visible reasoning counts: what was found a moment ago is often said nowhere else. Nothing where the assistant's newest
 * messages stay: they show where it stopped.
 */
function wordsAtWork({ messages, staysOf, typed }: Scene, requests: readonly Speech[]): string[] {
  const asked = requests.at(-1)?.message ?? -1;
  const spoken = [...messages.entries()].slice(asked + 1).filter(([, { role }]) => role === "assistant");
  if (spoken.some(([, message]) => staysOf(message) === "whole")) return [];
  return spoken
    .filter(([, message]) => staysOf(message) === "no")
    .flatMap(([index, { id, parts }]) =>
      parts.flatMap((part) => {
        if (part.type === "text") {
          const text = part.text.replace(typed.runs.get(index)?.written ?? "", "");
          return [oneLine(readTextCalls(text, id).said)];
        }
        return part.type === "reasoning" ? [oneLine(part.text)] : [];
      }),
    )
    .filter((text) => text.length >= 12 && text !== NOTHING_SAID)
    .slice(-AT_WORK);
}
