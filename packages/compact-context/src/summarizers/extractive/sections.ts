import type { SummaryStrategy } from "../../core/ports.ts";
import { runAtOnce } from "../../errors.ts";
import { changeWords } from "./edits.ts";
import {
  type Earlier,
  type EarlierEpisode,
  gapAfter,
  HEADINGS,
  NOT_ALL,
  quoteLines,
  type SectionKey,
} from "./format.ts";
import { filesChanged, typedPieces } from "./items.ts";
import { NOT_RECORDED, outcomeWords } from "./outcomes.ts";
import { foundPieces } from "./outputs.ts";
import type { Reading } from "./reading.ts";
import { WEIGHTS } from "./remarks.ts";
import { BY_USER } from "./reports.ts";
import { createSaid, createSelection, type Item, type Said } from "./select.ts";
import { type Standing, standing } from "./standing.ts";
import { findRunning, isFinished, keyOf, openTasks, type Step, type Task } from "./steps.ts";
import { clipEnd, clipLine, clipToTokens, oneLine, unsaidFirst } from "./text.ts";
import { isBareReply } from "./typed.ts";

export interface ComposeOptions {
  /** Maximum tokens of the text. */
  readonly maxTokens: number;
  readonly strategy: SummaryStrategy;
  readonly previous: string | undefined;
  /** What a person asked the summary to focus on. */
  readonly instruction: string | undefined;
  readonly countText: (text: string) => number;
}

/** Sections of a strategy in order of print, each with the most of the budget that it may take. */
type View = Readonly<Partial<Record<SectionKey, number>>>;

/** Six views of one reading: what each tells before the story. */
export const VIEWS: Readonly<Record<SummaryStrategy, View>> = {
  task_state: {
    request: 0.22,
    rules: 0.2,
    tasks: 0.08,
    checks: 0.06,
    errors: 0.05,
    running: 0.05,
    repository: 0.05,
    nextSteps: 0.08,
    questions: 0.04,
  },
  decision_log: { request: 0.12, rules: 0.12, decisionLog: 0.5, tasks: 0.08, nextSteps: 0.05, running: 0.05 },
  code_delta: {
    request: 0.12,
    rules: 0.1,
    codeDelta: 0.5,
    tasks: 0.08,
    checks: 0.05,
    errors: 0.05,
    running: 0.05,
  },
  brief: {
    request: 0.35,
    rules: 0.2,
    tasks: 0.15,
    checks: 0.08,
    errors: 0.08,
    running: 0.05,
    nextSteps: 0.08,
  },
  step_ledger: { request: 0.12, rules: 0.1, steps: 0.6, tasks: 0.08, running: 0.05 },
  requirements_ledger: { request: 0.15, requirements: 0.45, rules: 0.12, tasks: 0.1, running: 0.05 },
};

/** The sections of a strategy in order of print, the story aside. */
export function sectionsOf(strategy: SummaryStrategy): SectionKey[] {
  return Object.keys(VIEWS[strategy]) as SectionKey[];
}

/** In less room there are no sections besides request and rules. */
const SMALL = 240;
/** Minimum tokens of a section: a heading and a line. */
const LEAST_SECTION = 14;
/** What a section may take in the least room: a heading and a longer line. */
const LEAST_SHARE = 36;

export interface Scene {
  readonly reading: Reading;
  readonly earlier: Earlier;
  readonly options: ComposeOptions;
  /** The root of shortened paths; "" if there are none. */
  readonly root: string;
  readonly shorten: (text: string) => string;
  /** The latest user message, unless it stays next to the summary. */
  readonly request: string;
  readonly answered: boolean;
  /** Index of the message with the current request; -1 if it is from an earlier round. */
  readonly asking: number;
  /** Of each episode, those of earlier rounds first. */
  readonly titles: readonly Pick<EarlierEpisode, "title" | "asked">[];
  /** A model's text above the sections; "" if there is none. */
  readonly notes: string;
}

/** The sections of the scene's strategy in at most `room` tokens; their content counts as said. */
export function buildSections(
  scene: Scene,
  said: Said,
  room: number,
): { key: SectionKey; lines: string[] }[] {
  const { options } = scene;
  const { countText, maxTokens } = options;
  const keys = sectionsOf(options.strategy).filter(
    (key) => maxTokens >= SMALL || key === "request" || key === "rules",
  );
  let left = room;
  return keys.flatMap((key) => {
    const share = VIEWS[options.strategy][key] ?? 0;
    const most = Math.min(left, Math.max(LEAST_SHARE, Math.floor(share * maxTokens)));
    const lines = most < LEAST_SECTION ? [] : sectionLines(key, scene, most);
    if (lines.length === 0) return [];
    left -= countText(`${lines.join("\n")}\n`);
    for (const line of lines.slice(1)) said.add(line);
    return { key, lines };
  });
}

/** The rows of each section: of lists the most important first, of logs in order of time. */
const ROWS: Readonly<Partial<Record<SectionKey, (scene: Scene) => readonly string[]>>> = {
  rules: allRules,
  tasks: taskRows,
  checks: checkRows,
  errors: errorRows,
  running: runningRows,
  repository: repositoryRows,
  nextSteps: stopRows,
  questions: ({ reading }) => reading.questions.map(oneLine),
  decisionLog: decisionRows,
  codeDelta: changeRows,
  steps: stepRows,
  requirements: requirementRows,
};
const LOGS: ReadonlySet<SectionKey> = new Set(["decisionLog", "codeDelta", "steps", "requirements"]);

/** Describes the end of the conversation; unchanged if nothing new was read. */
const OF_THE_END: ReadonlySet<SectionKey> = new Set(["running", "nextSteps", "questions"]);

/** One section in at most `room` tokens; empty without content or room. */
export function sectionLines(key: SectionKey, scene: Scene, room: number): string[] {
  const { earlier, options, notes, reading } = scene;
  if (key === "request") return requestLines(scene, room);
  const stands = OF_THE_END.has(key) && reading.messages.length === 0;
  const rows = stands ? earlier.rows(key) : (ROWS[key]?.(scene) ?? []);
  if (LOGS.has(key)) {
    // The newest rows are kept if not all fit.
    const all = new Set([...earlier.rows(key), ...rows]);
    const [heading, ...lines] = listLines(key, [...all].reverse(), room, options);
    return heading === undefined ? [] : [heading, ...lines.reverse()];
  }
  const list = (all: readonly string[]): string[] => listLines(key, all, room, options, notes);
  if (key !== "rules") return list(rows);
  const shown = new Set(list([...rows].sort((left, right) => strength(right) - strength(left))));
  const lines = list(rows.filter((rule) => shown.has(`- ${oneLine(rule)}`)));
  const missing = earlier.rulesLeftOut || lines.length - 1 < rows.length;
  return lines.length > 0 && missing ? [...lines, NOT_ALL] : lines;
}

/** A heading and as many leading rows as fit; rows already in the notes come last. */
function listLines(
  key: SectionKey,
  rows: readonly string[],
  room: number,
  { countText }: ComposeOptions,
  notes = "",
): string[] {
  const heading = `## ${HEADINGS[key]}`;
  let left = room - countText(`${heading}\n`);
  const taken = new Set<string>();
  for (const row of unsaidFirst(rows, notes)) {
    const cost = countText(`- ${oneLine(row)}\n`);
    // The last step explains those before it.
    if (cost > left && key === "nextSteps" && row.startsWith("last: ")) break;
    if (cost > left) continue;
    left -= cost;
    taken.add(row);
  }
  const lines = rows.filter((row) => taken.has(row)).map((row) => `- ${oneLine(row)}`);
  return lines.length === 0 ? [] : [heading, ...lines];
}

/** The whole request, or its most informative parts; `more` are parts that must be included. */
export function requestLines(scene: Scene, room: number, more: ReadonlySet<number> = new Set()): string[] {
  const { request, answered, options } = scene;
  if (request.trim() === "") return [];
  const heading = `## ${HEADINGS[answered ? "answered" : "request"]}`;
  const whole = [heading, ...quoteLines(request.trim())];
  if (options.countText(whole.join("\n")) <= room) return whole;
  const left = room - options.countText(`${heading}\n${leftOut(1)}\n`);
  // Its beginning and its questions come first.
  const items = typedPieces(request).map((piece, order) => ({
    ...piece,
    weight: piece.weight > WEIGHTS.typedLine ? 9 * piece.weight : piece.weight,
    episode: 0,
    order,
    source: 0,
  }));
  const selection = runAtOnce(
    createSelection(items, new Map(), runAtOnce(createSaid(items)), options.countText),
  );
  runAtOnce(selection.fill(left));
  const { taken } = selection;
  if (taken.length === 0) {
    const clipped = clipToTokens(oneLine(request), left - 3, options.countText);
    return clipped === "" ? [] : [heading, `> ${clipped}`];
  }
  while (taken.length > 1 && options.countText(withGaps(taken, items).join("\n")) > left) taken.pop();
  const orders = new Set([...taken.map(({ order }) => order), ...more]);
  const told = items.filter(({ order }) => orders.has(order));
  const note = told.length < items.length ? [leftOut(1 - lengthOf(told) / lengthOf(items))] : [];
  return [heading, ...withGaps(told, items), ...note];
}

function lengthOf(items: readonly Item[]): number {
  return items.reduce((sum, { text }) => sum + text.length, 0);
}

function leftOut(share: number): string {
  return `(About ${Math.ceil(100 * share)} % of it is left out; … shows where.)`;
}

/** Parts of a text in order; ` …` marks omissions. */
function withGaps(taken: readonly Item[], { length }: readonly Item[]): string[] {
  const end = { kind: "request", order: length } as const;
  const sorted = [...taken].sort((left, right) => left.order - right.order);
  return sorted.flatMap((item, at) => quoteLines(`${item.text}${gapAfter(item, sorted[at + 1] ?? end)}`));
}

const LASTING =
  /rest of (?:this|the) (?:session|conversation|chat)|important constraint|from now on|for every|in all|every time|whenever/i;
const ABSOLUTE = /\b(?:never|always|every|each|any|all|must)\b/i;

/** How explicitly a rule claims to last: if not all rules fit, the most explicit stay. */
function strength(rule: string): number {
  if (LASTING.test(rule)) return 2;
  return ABSOLUTE.test(rule) ? 1 : 0;
}

/** A one-sentence request states its rule itself. */
function allRules({ reading, earlier, request }: Scene): string[] {
  const older = earlier.rows("rules").map((text) => ({ text }));
  const { rules, lifts } = reading;
  const all: readonly Standing[] =
    older.length === 0 ? rules : runAtOnce(standing<Standing>([...rules, ...lifts, ...older]));
  const asked = oneLine(request);
  return all.flatMap(({ text, lifts }) => (text === asked || lifts === true ? [] : [text]));
}

/** What was typed before the current request while the assistant worked, and the plan. */
function taskRows({ reading: { plan, requests, lastAnswer }, earlier }: Scene): readonly string[] {
  const goesOn = lastAnswer === undefined;
  const newest = requests.at(-1)?.text ?? "";
  const typed = requests.filter(({ message, stays }) => message > (lastAnswer ?? -1) && stays !== "whole");
  const waiting = [goesOn && !earlier.answered ? earlier.request : "", ...typed.map(({ text }) => text)];
  const asked = waiting.flatMap((text) =>
    newest === "" || text === newest || isBareReply(text) || text === ""
      ? []
      : [`${ASKED} ${clipLine(text, MAX_ASKED)}`],
  );
  const before = earlier.rows("tasks").filter((row) => goesOn || !row.startsWith(ASKED));
  const listed = (tasks: readonly Task[]): string[] =>
    tasks.map(({ status, text }) => (status === "" ? text : `[${status}] ${text}`));
  const [open, done] =
    plan === undefined
      ? [before, []]
      : [
          [...listed(openTasks(plan)), ...before.filter((row) => row.startsWith(ASKED))],
          listed(plan.filter(isFinished)),
        ];
  return [...new Set([...open, ...asked, ...done])];
}

const ASKED = "[asked; no closing answer recorded]";
const MAX_ASKED = 300;

const MAX_CHECKS = 6;

function checkRows({ reading, earlier, shorten }: Scene): string[] {
  const rows = reading.verification
    .filter(({ stays }) => !stays)
    .map((step) => {
      const failing = step.outcome.failing.filter((name) => !step.outcome.detail.includes(name));
      const names = failing.length === 0 ? "" : `, failing: ${failing.join(", ")}`;
      const did = step.action.command === undefined ? step.action.words : keyOf(step);
      return `\`${clipEnd(oneLine(shorten(did)), 140)}\`: ${outcomeWords(step.outcome)}${names}`;
    });
  const known = new Set(rows.map(commandOf));
  return [...rows, ...earlier.rows("checks").filter((row) => !known.has(commandOf(row)))].slice(
    0,
    MAX_CHECKS,
  );
}

function commandOf(row: string): string {
  return row.slice(0, row.indexOf("`: "));
}

function errorRows({ reading, earlier, shorten }: Scene): string[] {
  const passed = new Set(
    reading.steps
      .filter(({ outcome }) => outcome.state === "passed")
      .map((step) => clipLine(keyOf(step), 100)),
  );
  const older = earlier
    .rows("errors")
    .filter((row) => !passed.has(/.* \(from `(.*)`\)$/.exec(row)?.[1] ?? ""));
  const own = reading.openErrors.map(({ text, from }) =>
    from === "" ? text : `${text} (from ${from === BY_USER ? from : `\`${from}\``})`,
  );
  return [...own.map(shorten), ...older];
}

/** What is running, including what ran at the end of the previous round and was not reported as ended. */
function runningRows({ reading: { steps, notices }, earlier, shorten }: Scene): string[] {
  return findRunning(steps, notices, earlier.rows("running")).map(shorten);
}

/** The repository's state; that of an earlier round holds until newer evidence. */
function repositoryRows({ reading, earlier, shorten }: Scene): string[] {
  const { branch, commit, rewritten, pushed, changed } = reading.repository;
  const before = (start: RegExp): string | undefined =>
    earlier.rows("repository").find((row) => start.test(row));
  const lastCommit = rewritten ? undefined : before(/^last commit /);
  const rows = [
    branch === "" ? before(/^branch /) : `branch ${branch}`,
    commit === ""
      ? lastCommit?.replace(/no push seen since$/, pushed ? "pushed" : "$&")
      : `last commit ${commit}, ${pushed ? "pushed" : "no push seen since"}`,
  ].filter((row) => row !== undefined);
  if (rows.length === 0) return [];
  const own = changed.map(shorten);
  // A new commit ends the list of an earlier round.
  const listed = commit === "" ? (before(CHANGED)?.replace(CHANGED, "").split(", ") ?? []) : [];
  const files = [...listed.filter((file) => !own.includes(file)), ...own].slice(-CHANGED_AFTER);
  return files.length === 0 ? rows : [...rows, `changed, not committed as far as shown: ${files.join(", ")}`];
}

const CHANGED = /^changed[^:]{0,60}: /;
const CHANGED_AFTER = 12;

const LAST_STEPS = 3;
/** Maximum characters of the assistant's last words. */
const LAST_WORDS = 500;

/** What was said, announced and done last; work that was answered has stopped nowhere. */
function stopRows({ reading, shorten, asking }: Scene): string[] {
  const words = reading.lastWords.map((text) => clipEnd(shorten(text), LAST_WORDS));
  const announced = reading.nextSteps
    .map((text) => shorten(oneLine(text)))
    .filter((text) => !words.some((said) => said.includes(text)) && !text.endsWith(":"))
    .map((text) => `announced: ${text}`);
  if (reading.answered) return announced;
  const said = words.map((text) => `said: ${text}`).reverse();
  const steps = reading.steps.filter(({ action, message }) => action.kind !== "plan" && message > asking);
  // A step that stays in the list is newer than those before it: work did not stop at these.
  const last = steps.slice(steps.findLastIndex(({ stays }) => stays) + 1).slice(-LAST_STEPS);
  const [newest = [], ...older] = said.map((text) => [text]);
  const [end = [], ...before] = last.reverse().map((step, index) => {
    const did = clipLine(shorten(step.action.words), 200);
    return [`${index === 0 ? "last" : "before"}: ${did}${endOf(step, shorten)}`];
  });
  return [...newest, ...end, ...older.flat(), ...before.flat(), ...announced];
}

/** What came of a step: its outcome, and what a tool of the host returned. */
function endOf({ action, outcome, result }: Step, shorten: (text: string) => string): string {
  const returned = action.kind === "other" && outcome.detail === "" ? (result?.text ?? "") : "";
  const [first] = foundPieces(returned.slice(0, 2_000), shorten);
  const ended = [outcomeWords(outcome), clipLine(first?.text ?? "", 160)].filter((text) => text !== "");
  return ended.length === 0 ? "" : `: ${ended.join(", ")}`;
}

const BEFORE_REASON = /^[\s\S]{20,}?(?=\b(?:because|since|so that|in order to|due to)\b)/i;

function decisionRows({ reading: { decisions, steps } }: Scene): string[] {
  return decisions.map(({ id, text, message: place }) => {
    const [said] = BEFORE_REASON.exec(text) ?? [text];
    const before = steps.filter(({ message }) => message < place).slice(-3);
    const here = steps.filter(({ message }) => message === place);
    const [inputs, outputs] = [before, here].map((all) => {
      const names = new Set(all.map(({ action }) => clipEnd(action.words, 120)));
      return [...names].slice(0, 3).join(", ");
    });
    return `[${id}] ${said.trim()} :: ${text.slice(said.length)} :: ${inputs} :: ${outputs}`;
  });
}

function changeRows({ reading, shorten }: Scene): string[] {
  const remarks = reading.episodes.flatMap(({ entries }) =>
    entries.flatMap((entry) => (entry.kind === "assistant" ? [entry.speech] : [])),
  );
  return filesChanged(reading.steps, shorten).map((story) => {
    const why = remarks.findLast(({ message }) => message <= story.step.message)?.text;
    const words = story.what.length === 0 ? `${story.path}: ${story.effect}` : changeWords(story);
    return `${shorten(words)}${why === undefined ? "" : ` (${clipLine(why, 200)})`}`;
  });
}

function stepRows({ reading, shorten }: Scene): string[] {
  return reading.steps
    .filter(({ stays }) => !stays)
    .map(({ id, action, outcome }) => {
      const ended =
        outcome.state === "unknown" ? outcome.detail || NOT_RECORDED : `${outcome.state} ${outcome.detail}`;
      return `[${id}] ${shorten(clipEnd(action.words, 200))} -> ${clipLine(ended, 160)}`;
    });
}

function requirementRows({ reading: { requests } }: Scene): string[] {
  return requests
    .filter(({ stays, text }) => stays !== "whole" && !isBareReply(text))
    .map(({ id, text }) => `[${id}] ${clipLine(text, 500)}`);
}
