import { argumentsValue, type ToolCallPart } from "../../core/message.ts";
import { isObject } from "../../errors.ts";
import { type Action, idOf, textOf } from "./actions.ts";
import { commandKey, isLookingCommand, worksElsewhere } from "./commands.ts";
import { type CallResult, NOT_RECORDED, type Outcome, tookEffect } from "./outcomes.ts";
import { leadOf, mayMeet, type Place } from "./places.ts";
import { clipLine, oneLine, parsedJson, quotedCode } from "./text.ts";
import { discardedBy, headAfter, isAmong } from "./undoing.ts";

// The state that a conversation's calls lead to: verified, broken, running, committed and still to do.

export interface Step {
  readonly message: number;
  readonly id: string;
  readonly call: ToolCallPart;
  readonly action: Action;
  readonly place: Place;
  readonly outcome: Outcome;
  readonly result: CallResult | undefined;
  /** Call and result stay in the list, next to the summary. */
  readonly stays: boolean;
  /** The call stays in the list, but its output was cleared. */
  readonly emptied: boolean;
}

/** What a call without a result asked for: nothing shows that it was done. */
export function asRequested(action: Action): Action {
  const { kind, command, words } = action;
  if (command !== undefined)
    return { ...action, files: [], words: `started ${quotedCode(clipLine(command, 160))}` };
  return kind === "edit" ? { ...action, files: [], words: `asked for: ${words}` } : action;
}

/** A failure without evidence of a fix. */
export interface OpenError {
  readonly text: string;
  /** The command or tool that reported it. */
  readonly from: string;
}

/**
 * The last run of each verifying command, newest first, without failures that a later run shows to be fixed, and without
 * what passed in other choices of tests than the newest.
 */
export function lastVerification(steps: readonly Step[]): Step[] {
  const runs = new Map<string, Step>();
  for (const step of steps) {
    if (!step.outcome.verifies) continue;
    const key = keyOf(step);
    runs.delete(key);
    runs.set(key, step);
  }
  const newest = unsettled([...runs.values()], steps).reverse();
  const chosen = new Set<string>();
  return newest.filter((step) => {
    const given = keyOf(step).replace(MANNER, "");
    const all = given.replace(CHOICE, "");
    if (all === given) return true;
    const again = chosen.has(all) && step.outcome.state === "passed";
    chosen.add(all);
    return !again;
  });
}

/** What a run chooses of the tests of a command. */
const CHOICE = / (?:-run|-k|-t|--grep|--testNamePattern)[ =](?:"[^"]*"|'[^']*'|\S+)(?= |$)/g;
/** How a run prints its tests, and how often it makes them. */
const MANNER = / (?:-v|-vv|-count=\d+|--verbose)(?= |$)/g;

/** The runs without those failures that a later passing run shows to be fixed. */
function unsettled(runs: readonly Step[], steps: readonly Step[]): Step[] {
  if (runs.every(({ outcome }) => outcome.state !== "failed")) return [...runs];
  const places = new Map(steps.map((step, at) => [step, at]));
  const passed = steps.flatMap((step, at) => {
    if (step.outcome.state !== "passed") return [];
    const kinds = CONCLUDES.test(step.action.command ?? "") ? ["git", ...kindsOf(step)] : kindsOf(step);
    return [{ step, at, kinds, choice: choiceOf(step) }];
  });
  return runs.filter((step) => {
    const kind = step.outcome.state === "failed" ? kindOfFailure(step) : undefined;
    if (kind === undefined) return true;
    const from = places.get(step) ?? 0;
    const failed = { step, choice: choiceOf(step) };
    return !passed.some((run) => run.at > from && run.kinds.includes(kind) && settles(run, kind, failed));
  });
}

/** A run and the words by which it chooses its tests. */
interface Run {
  readonly step: Step;
  readonly choice: readonly string[];
}

/** Steps with the same key did the same thing. */
export function keyOf({ action, call, place }: Step): string {
  if (action.command === undefined) return `${call.name} ${action.words}`;
  return `${leadOf(place)}${commandKey(action.command)}`;
}

export type Family = "build" | "types" | "lint" | "audit" | "test";

/** Kinds of checks, by command. A full run covers the whole kind; passing tests imply a build. */
const FAMILIES: Readonly<Record<Family, RegExp>> = {
  build: /build|compile|assemble|\b(?:c?make|ninja|gradlew?|mvnw?)\b/,
  types: /tsc|tsgo|typecheck|type-check|mypy|pyright/,
  lint: /lint|biome|clippy|ruff|flake8|vet\b|fmt|format/,
  audit: /audit/,
  test: /test|spec|jest|mocha|\bava\b|playwright|cypress|e2e/,
};

export function familiesIn(text: string): Family[] {
  return (Object.keys(FAMILIES) as Family[]).filter((family) => FAMILIES[family].test(text));
}

const WHOLE = /(?:^|[\s:])(?:ci|check|verify|validate|all|precommit|pre-commit)(?=$|[\s:])/;
/** A partial test run. */
const CHOSEN =
  /(?:^|\s)(?:-run|-k|-t|--grep|--filter|-m(?! (?:pytest|unittest)\b)|--testNamePattern|--test-name-pattern|--only)\b|::|\.(?:test|spec)\.\w|_test\.\w|test_\w+\.py/;
/** Words behind the `--` of a package manager's script, which choose some of its tests. */
const CHOICE_OF_SCRIPT =
  /\b(?:npm|pnpm|yarn|bun|cargo)(?: run)? \S{0,40}test\S{0,40} (?:[^;&|\n]{0,80} )?-- ([^;&|\n-][^;&|\n]{0,200})$/;
const CONFLICT = /\bCONFLICT\b|^Automatic merge|\[(?:remote )?rejected\]|failed to push/;
const CONCLUDES = /\bgit\b.{0,100}\b(?:commit|push|(?:merge|rebase|cherry-pick) --(?:continue|abort|skip))\b/;

/** Error messages for a mistyped command. */
const MISUSE =
  /^(?:jq: |\(eval\):|(?:zsh|bash|sh)(?:: line)?[: ]\d)|\bsyntax error near\b|\b(?:no such file|not found|unknown (?:option|command|flag|argument)|unrecognized|invalid (?:option|argument)|usage:|does not exist|not a directory|ambiguous argument|pathspec)\b/i;
/** Same for a check, whose own failures may say that something was not found. */
const NO_SUCH_CHECK = /\b(?:unrecognized|unknown|unexpected) (?:sub)?(?:command|option|argument|flag)\b/i;
/**
 * For commands that check nothing, only failures among this many last calls are open: work continued without
 * them.
 */
const LATE = 25;

/** The failures in the newest run of each kind of check, newest first. */
export function findOpenErrors(steps: readonly Step[]): OpenError[] {
  const failed = new Map<string, { readonly kind: string; readonly step: Step }>();
  for (const step of steps) {
    const kind = step.outcome.state === "failed" ? kindOfFailure(step) : undefined;
    if (kind === undefined) continue;
    const kinds = new Set([kind, ...kindsOf(step)]);
    for (const [other, { kind: its, step: one }] of failed)
      if (kinds.has(its) && (its === "git" || mayMeet(one, step))) failed.delete(other);
    failed.set(`${leadOf(step.place)}${kind}`, { kind, step });
  }
  const late = new Set(steps.slice(-LATE));
  const counts = (step: Step): boolean =>
    !step.stays && !isMisuse(step) && (step.outcome.verifies || isConflict(step) || late.has(step));
  const newest = [...failed.values()].map(({ step }) => step).filter(counts);
  return unsettled(newest, steps).reverse().flatMap(openLines);
}

/** What a failure is one of: of several checks in a row, the one named by the failure lines, otherwise the first. */
function kindOfFailure(step: Step): string | undefined {
  if (isConflict(step) || (!step.outcome.verifies && CONCLUDES.test(step.action.command ?? ""))) return "git";
  const kinds = kindsOf(step);
  const named = familiesIn(linesOfFailure(step).join("\n")).filter((family) => kinds.includes(family));
  return named.length === 1 ? named[0] : kinds[0];
}

function isConflict(step: Step): boolean {
  return linesOfFailure(step).some((line) => CONFLICT.test(line));
}

function isMisuse(step: Step): boolean {
  const told = step.outcome.verifies ? NO_SUCH_CHECK : MISUSE;
  return linesOfFailure(step).some((line) => told.test(line));
}

/** A step's kinds of checks, its own first; for a command that checks nothing, the command itself. */
function kindsOf(step: Step): readonly string[] {
  const { command = "", kind } = step.action;
  const key = keyOf(step);
  if (!step.outcome.verifies) return kind === "run" && !isLookingCommand(command) ? [key] : [];
  if (WHOLE.test(command)) return [key, ...Object.keys(FAMILIES)];
  const own = familiesIn(command);
  if (own.includes("test")) return [...new Set(["test", ...own, "build"])];
  return own.length > 0 ? own : [key];
}

/** Whether a passing run shows a failure of that kind to be fixed: a partial run covers only the same run. */
function settles(run: Run, kind: string, failed: Run): boolean {
  if (kind !== "git" && !mayMeet(run.step, failed.step)) return false;
  if (kind !== "test") return true;
  const { choice, step } = run;
  const { command = "" } = step.action;
  const isWhole = failed.choice.length === 0;
  const isOther = choice.length > 0 && (isWhole || failed.choice.some((word) => !choice.includes(word)));
  const isPart = CHOSEN.test(command) && keyOf(failed.step) !== keyOf(step);
  if (!isOther && !isPart) return true;
  // A run of the very test that failed, by its name or by a part of it.
  return linesOfFailure(failed.step).some(
    (line) =>
      (line.match(/[\w./-]{6,}/g) ?? []).some((name) => command.includes(name)) ||
      choice.some((part) => part.length > 3 && line.includes(part)),
  );
}

/** The words by which a run of a package manager's script chooses its tests. */
function choiceOf({ action: { command = "" } }: Step): string[] {
  const [, words = ""] = CHOICE_OF_SCRIPT.exec(command.trim()) ?? [];
  return words
    .split(/\s+/)
    .map((word) => word.replace(/^["']?(?:\.\/)?|["']$/g, ""))
    .filter((word) => !["", ".", "run"].includes(word));
}

function linesOfFailure({ outcome: { errors, detail } }: Step): readonly string[] {
  const told = (errors.length > 0 ? errors : [detail]).filter((text) => text !== "");
  const named = told.filter((text) => !/^(?:FAIL|ok)\s+\S+\s+[\d.]+s$/.test(text));
  return named.length > 0 ? named : told;
}

function openLines(step: Step): OpenError[] {
  const from = step.action.command === undefined ? step.call.name : clipLine(keyOf(step), 100);
  return linesOfFailure(step).map((text) => ({ text: oneLine(text), from }));
}

// ---- running processes

/** The names that hosts give to background processes. */
const STARTED =
  /(?:running in (?:the )?background with ID:?|backgrounded[^\n]{0,40} ID:?|session ID|agentId:|task_id:?|<task[-_]id>)\s{0,2}([\w-]{2,60})/i;
const TASK_ID = /<task[-_]id>\s{0,2}([\w-]{2,60})/i;
const RUNNING = /\bstill running$/;
const LAUNCHED = /^Async agent launched\b|\brunning in (?:the )?background\b/i;
const STATUS = /<status>(\w+)<\/status>|\(status: (\w+)\)/i;
const OVER = /^(?:completed|failed|killed|stopped|cancelled)$/i;
const ENDED = /Process exited with code|\b(?:exited|finished|completed) with (?:exit )?code\b/i;

const ROW_ID = / \(id (\S+)\)$/;

/** Sub-agents and commands that started without evidence of ending, oldest first; `before` are those of the round before. */
export function findRunning(
  steps: readonly Step[],
  notices: readonly string[],
  before: readonly string[],
): string[] {
  const running = new Map(
    before.flatMap((row) => (ROW_ID.exec(row)?.slice(1) ?? []).map((id): [string, string] => [id, row])),
  );
  const nameOf = ({ action }: Step): string => clipLine(action.words, 200);
  for (const step of steps) {
    const args = argumentsValue(step.call);
    const named = isObject(args) ? idOf(args) : "";
    const head = step.result?.text.slice(0, 4_000) ?? "";
    const known = running.has(named);
    if (!known && !isStarted(step, head)) continue;
    if (hasEnded(step, head)) running.delete(named);
    else if (!known) {
      const id = STARTED.exec(head)?.[1] ?? step.call.id;
      running.set(id, `${nameOf(step)} (id ${id})`);
    }
  }
  for (const id of endedIn(notices, running)) running.delete(id);
  const last = steps.at(-1)?.message;
  const unanswered = steps.filter(({ message, result, stays, action: { kind } }) => {
    return result === undefined && !stays && message === last && (kind === "agent" || kind === "run");
  });
  return [...running.values(), ...unanswered.map((step) => `${nameOf(step)}; ${NOT_RECORDED}`)];
}

/** What notices of the host tell to have ended, of what is known to run. */
function endedIn(notices: readonly string[], running: ReadonlyMap<string, string>): string[] {
  return notices.filter(tellsEnd).flatMap((notice) => {
    const words = notice.slice(0, 4_000).split(/[^\w-]+/);
    return TASK_ID.exec(notice)?.[1] ?? words.find((word) => running.has(word)) ?? [];
  });
}

/** A status that the host tells decides alone: a program may print that one of its processes ended. */
function tellsEnd(head: string): boolean {
  const [, status, told = status] = STATUS.exec(head) ?? [];
  return told === undefined ? ENDED.test(head) : OVER.test(told);
}

function hasEnded({ call, result }: Step, head: string): boolean {
  if (tellsEnd(head)) return true;
  return /kill|stop|cancel/i.test(call.name) && result?.isError !== true && !/still running/i.test(head);
}

/** True for a sub-agent in the background: its result says only that it began. */
export function isLaunched({ result }: Step): boolean {
  return /^Async agent launched\b/.test(result?.text ?? "");
}

function isStarted({ action, outcome }: Step, head: string): boolean {
  return RUNNING.test(outcome.detail) || (action.kind !== "read" && LAUNCHED.test(head.slice(0, 200)));
}

// ---- the repository

const ON_BRANCH =
  /^(?:(?:On branch |Switched to (?:a new )?branch '|Already on ')([^\s']{1,120})|\[(\S{1,120}) (?:\(root-commit\) )?[0-9a-f]{7,40}\] )/gm;
const SHOWS_BRANCH = /^(?:cd \S+ && )?git(?: -C \S+)? (?:branch --show-current|rev-parse --abbrev-ref HEAD)$/;
const COMMITTED = /^\[(\S{1,120}) (?:\(root-commit\) )?([0-9a-f]{7,40})\] (.{1,140})/m;
const PUSH = /\bgit\b(?: -C \S+)? push\b/;
const COMMIT = /\bgit\b(?: -C \S+)? (?:commit|revert|cherry-pick|merge)\b/;
const UP_TO_DATE = /^Your branch is up to date with '[^'/]+\/([^']+)'/m;
/** It prints nothing when all went well. */
const QUIET_COMMIT =
  /\bgit\b(?: -C \S+)? commit\b[^;&|]{0,400} (?:-q|-qm|--quiet)\b|\bcommit -(?:q|qa?m|aqm)\b/;
const NOT_COMMITTED =
  /nothing (?:added )?to commit|no changes added|^(?:fatal|error): |\bhook\b|script failed/im;
/** Git's messages for a successful and a failed push. */
const PUSHED =
  /^\s*(?:\+?\s?[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40}|\* \[new (?:branch|tag)\])\s+\S+\s+-> |everything up-to-date/im;
const NOT_PUSHED = /\[(?:remote )?rejected\]|^(?:error|fatal): /m;

/** A note in the folder for them is in no repository. */
const NOTE = /^(?:\/private)?\/tmp\/[^/]+$/;

/** The repository's state as commands showed it; what none showed is empty. */
export interface Repository {
  readonly branch: string;
  /** The last commit: its id and its title, and its branch where another one was taken since. */
  readonly commit: string;
  /** True if commits were taken back, so that the last one is not known. */
  readonly rewritten: boolean;
  /** True if a push was seen after it. */
  readonly pushed: boolean;
  /** Files changed since, those changed last at the end. */
  readonly changed: readonly string[];
}

function branchIn(command: string, printed: string): string | undefined {
  if (SHOWS_BRANCH.test(command)) return /^(?!HEAD$)[\w./-]{1,120}$/.exec(printed.trim())?.[0];
  const names = [...printed.matchAll(ON_BRANCH)].map(([, name, committed]) =>
    COMMIT.test(command) ? (name ?? committed) : name,
  );
  return names.findLast((name) => name !== undefined);
}

const QUOTES = /"[^"]*"|'[^']*'/g;

/** The commit that a command made: id and title, or the title alone where it was told to print nothing. */
function commitIn({ command = "", words }: Action, { state }: Outcome, printed: string): string | undefined {
  if (!COMMIT.test(command)) return undefined;
  const [, , id, title = ""] = COMMITTED.exec(printed) ?? [];
  if (id !== undefined) return `${id} "${oneLine(title)}"`;
  const quiet = QUIET_COMMIT.test(command.replace(QUOTES, '""')) && !command.includes("||");
  return quiet && state !== "failed" && !NOT_COMMITTED.test(printed)
    ? /(?:^|; )(?:committed|amended the last commit): (".*")/.exec(words)?.[1]
    : undefined;
}

function headIn(command: string, { state }: Outcome, printed: string): string | undefined {
  return state === "failed" ? undefined : headAfter(command, printed);
}

function hasArrived(command: string, { state }: Outcome, printed: string): boolean {
  return PUSH.test(command) && state !== "failed" && PUSHED.test(printed) && !NOT_PUSHED.test(printed);
}

export function readRepository(steps: readonly Step[]): Repository {
  let branch = "";
  let commit = "";
  let at = -1;
  /** The branch of the commit. */
  let on = "";
  let pushed = false;
  let rewritten = false;
  steps.forEach(({ action, outcome, result }, index) => {
    const { command = "" } = action;
    if (!/\bgit\b/.test(command) || result === undefined || worksElsewhere(command)) return;
    branch = branchIn(command, result.text) ?? branch;
    const made = commitIn(action, outcome, result.text) ?? headIn(command, outcome, result.text);
    if (made !== undefined) {
      commit = made;
      rewritten = made === "";
      on = branch;
      if (made !== "") at = index;
      pushed = false;
    }
    const known = UP_TO_DATE.exec(result.text)?.[1];
    if (known === on && known === branch && !COMMIT.test(command)) pushed = true;
    if (hasArrived(command, outcome, result.text)) pushed = true;
  });
  const since = changedIn(steps.slice(at + 1));
  const whole = since.filter((path) => path.startsWith("/")).map((path) => path.split("/"));
  const parts = new Set(whole.flatMap((names) => names.map((_, from) => names.slice(from).join("/"))));
  const elsewhere = commit !== "" && on !== "" && on !== branch ? ` on ${on}` : "";
  return {
    branch,
    commit: `${commit}${elsewhere}`,
    rewritten,
    pushed,
    changed: [...new Set(since)].filter(
      (path) => path.startsWith("/") || !path.includes("/") || !parts.has(path),
    ),
  };
}

/** The files that steps changed and did not restore. */
function changedIn(steps: readonly Step[]): string[] {
  let changed: string[] = [];
  for (const { action, outcome } of steps) {
    if (!tookEffect(outcome)) continue;
    const files = action.files.filter(({ effect, path }) => effect !== "read" && !NOTE.test(path));
    changed.push(...files.map(({ path }) => path));
    const discarded = discardedBy(action.command ?? "");
    if (discarded.length > 0) changed = changed.filter((path) => !isAmong(path, discarded));
  }
  return changed;
}

// ---- task lists

export function openTasks(plan: readonly Task[] | undefined): Task[] {
  return (plan ?? []).filter((task) => !isFinished(task));
}

export interface Task {
  readonly text: string;
  /** The tool's status, such as `in_progress`; empty if there is none. */
  readonly status: string;
}

const FINISHED = /^(?:completed?|done|finished|closed)$/i;
const DROPPED = /^(?:cancell?ed|deleted|skipped)$/i;
const TOOL = /todo|plan|task/i;
const TEXT_KEYS = ["content", "step", "subject", "title", "description", "task", "text"];
const CREATED = /#(\w{1,20})/;
const MAX_TASK = 200;

/** True if the status means that the work is done. */
export function isFinished({ status }: Task): boolean {
  return FINISHED.test(status);
}

/**
 * The newest task list, finished items included; undefined if no call maintains one. Reads whole lists
 * (TodoWrite, update_plan) and single steps (TaskCreate, TaskUpdate); a newer list replaces all earlier ones.
 */
export function readPlan(steps: readonly Step[]): Task[] | undefined {
  let items: Map<string, Task> | undefined;
  for (const { call, result, outcome } of steps) {
    if (!TOOL.test(call.name) || !tookEffect(outcome)) continue;
    const value = argumentsValue(call);
    const text = result?.text ?? "";
    items = shownTasks(text) ?? listOf(value) ?? applyStep(items, value, text);
  }
  return items === undefined ? undefined : [...items.values()].filter((task) => !DROPPED.test(task.status));
}

const SHOWN = /^#(\w{1,20}) \[(\w{1,20})\] (\S.{0,400})$/;

/**
 * The list as a tool prints it, `#3 [pending] Weigh the parcels` per line; undefined for any other result.
 */
function shownTasks(result: string): Map<string, Task> | undefined {
  const tasks = new Map<string, Task>();
  for (const line of result.slice(0, 40_000).trim().split("\n")) {
    const [, id, status = "", text = ""] = SHOWN.exec(line.trim()) ?? [];
    if (id === undefined) return undefined;
    tasks.set(id, { text: clipLine(text, MAX_TASK), status });
  }
  return tasks;
}

function listOf(value: unknown): Map<string, Task> | undefined {
  if (!isObject(value)) return undefined;
  for (const entry of Object.values(value)) {
    const list = typeof entry === "string" && entry.startsWith("[") ? parsedJson(entry) : entry;
    if (!Array.isArray(list)) continue;
    const tasks = (list as unknown[]).flatMap(taskOf);
    if (tasks.length === list.length) return new Map(tasks.map((task, at) => [`list:${at}`, task]));
  }
  return undefined;
}

function taskOf(value: unknown): Task[] {
  if (!isObject(value) || typeof value.status !== "string") return [];
  const text = textOf(value, TEXT_KEYS);
  return text === undefined ? [] : [{ text: clipLine(text, MAX_TASK), status: value.status }];
}

/** One update of the list: a task is added or changes status. */
function applyStep(
  items: Map<string, Task> | undefined,
  value: unknown,
  result: string,
): Map<string, Task> | undefined {
  if (!isObject(value)) return items;
  const id = value.taskId ?? value.task_id;
  const status = typeof value.status === "string" ? value.status : undefined;
  if (typeof id === "string" || typeof id === "number") {
    const known = items?.get(String(id));
    return known === undefined || status === undefined ? items : items?.set(String(id), { ...known, status });
  }
  const text = typeof value.subject === "string" ? textOf(value, TEXT_KEYS) : undefined;
  const created = CREATED.exec(result.slice(0, 300))?.[1];
  if (text === undefined || created === undefined) return items;
  return (items ?? new Map<string, Task>()).set(created, {
    text: clipLine(text, MAX_TASK),
    status: status ?? "pending",
  });
}
