import { isObject } from "../../errors.ts";
import type { Action } from "./actions.ts";
import { isLooking, outputIsSilent, programsOf, readSteps, readsThroughPipe, type Step } from "./commands.ts";
import { type Closing, MOST_ERRORS, MOST_FAILING, runnersIn, told } from "./runners.ts";
import { clipEnd, parsedJson } from "./text.ts";
import { REFUSED } from "./typed.ts";

/** The outcome of a call, from evidence only. */
export interface Outcome {
  readonly state: "passed" | "failed" | "unknown";
  /** In words: `3 failed, 200 passed (TestA, TestB)`, `exit 1: error TS2345 …`; empty if unknown. */
  readonly detail: string;
  /** The most informative failure lines, at most 5. */
  readonly errors: readonly string[];
  /** Names of failing tests or files, at most 10. */
  readonly failing: readonly string[];
  /** True if the command ran a test, build or similar check. */
  readonly verifies: boolean;
}

export interface CallResult {
  readonly text: string;
  readonly isError: boolean;
}

const READ_HEAD = 40_000;
const READ_TAIL = 80_000;
const READ_OF_LINE = 600;

/** The outcome of a call. Passed or failed is only stated if the host, a runner or the tool says so. */
export function readOutcome(action: Action, result: CallResult | undefined): Outcome {
  const verifies = action.command !== undefined && verifiesBy(action.command);
  if (result === undefined)
    return { ...UNKNOWN, detail: action.command === undefined ? "" : NOT_RECORDED, verifies };
  const lines = linesOf(result.text);
  const stopped = stoppedBy(lines);
  if (stopped !== undefined) return { ...UNKNOWN, detail: stopped, verifies };
  return action.kind === "run" || (action.command !== undefined && action.kind !== "edit")
    ? outcomeOfCommand(action.command ?? "", lines, result)
    : outcomeOfTool(action, lines, result);
}

export const NOT_RECORDED = "outcome not recorded";
export const REFUSAL = "refused by the user";
const CANCELLATION = "cancelled";

/** False for calls that failed, were refused by the user or cancelled by the host. */
export function tookEffect({ state, detail }: Outcome): boolean {
  return state !== "failed" && detail !== REFUSAL && detail !== CANCELLATION;
}

/** A command's outcome in words; for one that verifies nothing, only what is known. */
export function outcomeWords({ state, detail, verifies }: Outcome): string {
  if (state === "passed" && detail.startsWith("found ")) return detail;
  if (state !== "unknown") return [state, detail].filter((text) => text !== "").join(" ");
  if (!verifies || detail === NOT_RECORDED || /^refused\b/.test(detail)) return detail;
  return detail === "" ? NOT_RECORDED : `${NOT_RECORDED}: ${detail}`;
}

const UNKNOWN: Outcome = { state: "unknown", detail: "", errors: [], failing: [], verifies: false };

function passed(detail: string, verifies = false): Outcome {
  return { ...UNKNOWN, state: "passed", detail, verifies };
}

function failed(detail: string, errors: readonly string[] = [], verifies = false): Outcome {
  return { ...UNKNOWN, state: "failed", detail, errors, verifies };
}

// ESC and the parameters of a terminal color.
const COLOUR = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]{0,20}[A-Za-z]`, "g");

function linesOf(text: string): string[] {
  const read =
    text.length > READ_HEAD + READ_TAIL ? `${text.slice(0, READ_HEAD)}\n… ${text.slice(-READ_TAIL)}` : text;
  return read
    .replace(COLOUR, "")
    .split(/\r?\n|\r/)
    .map((line) => line.slice(0, READ_OF_LINE).trimEnd());
}

// ---- host reports

const CANCELLED =
  /^(?:<tool_use_error>)?\s{0,4}(?:Cancelled: parallel tool call|Sibling tool call errored|Tool execution (?:was )?(?:aborted|cancelled)|aborted by user)/i;
const STILL_RUNNING =
  /^(?:Process running with session ID|Command (?:is )?running in (?:the )?background|Command was manually backgrounded|<status>running<\/status>)/;

const ABORTED = /^(?:Command|Operation) aborted\b/i;

function stoppedBy(lines: readonly string[]): string | undefined {
  const first = lines.find((line) => line.trim() !== "") ?? "";
  if (REFUSED.test(first)) return REFUSAL;
  if (CANCELLED.test(first)) return CANCELLATION;
  if (lines.slice(-3).some((line) => ABORTED.test(line.trim()))) return "aborted";
  return lines.slice(0, 12).some((line) => STILL_RUNNING.test(line.trim())) ? "still running" : undefined;
}

/** How hosts report an exit code, by place: the first line, the first six, the last ten, JSON among these. */
const EXITS = {
  first: /^(?:Error: )?Exit code:? (-?\d{1,10})$/i,
  head: /^(?:Process exited with code |<(?:exit_?code|returncode)>\s?|\{?\s{0,4}"?(?:exit_code|exitCode|returncode)"?: ?)(-?\d{1,10})(?:\s?<\/.*|,)?$/i,
  tail: /^(?:Exit Code:? |\[?(?:The )?command (?:completed|finished|exited|failed) with (?:exit )?code:? |<(?:exit_?code|returncode)>\s?|[[<(](?:exited with )?exit(?: code|:)?:? )(-?\d{1,10})(?:\.?\]?|\s?<\/.*|[)>])$/i,
  json: /"(?:exit_code|exitCode)": ?(-?\d{1,10})[,}]/,
} as const;
const TIMED_OUT =
  /^(?:Command|command|Process|The command|Error: Command|\[The command).{0,60}\btimed out\b.{0,120}/;
/** Lines that a host puts around an output. */
export const HOST_LINE: RegExp =
  /^(?:Chunk ID: |Wall time: |Process exited with |Original token count: |Warning: truncated output|Output:(?: \(empty\))?$|Total output lines: |Exit code:? -?\d|Command: |Directory: |Error: \(none\)|Exit Code: |Signal: |Background PIDs: |Process Group PGID: |Command exited with code|Shell cwd was reset|\[(?:The c|C)ommand (?:completed|finished)|\[Current working directory|\[Python interpreter|\(Open file: |\(Current directory: |bash-\$|<\/?(?:returncode|output|stdout|stderr|exit_?code|error)>)/i;

/** Gemini CLI writes an output behind this word, in the same line. */
const SAME_LINE = /^((?:Command: [\s\S]{0,20000}?\nDirectory: .*\n)?Output:) (?!\(empty\)(?:\n|$))/;

/** A result whose output begins on a line of its own. */
export function readResult(text: string, isError: boolean): CallResult {
  return { text: text.replace(SAME_LINE, "$1\n"), isError };
}

function exitCode(lines: readonly string[]): number | undefined {
  const spoken = lines.filter((line) => line.trim() !== "").map((line) => line.trim());
  const codeIn = (pattern: RegExp, place: readonly string[]): string | undefined =>
    place.map((line) => pattern.exec(line)?.[1]).find((code) => code !== undefined);
  const code =
    codeIn(EXITS.first, spoken.slice(0, 1)) ??
    codeIn(EXITS.head, spoken.slice(0, 6)) ??
    codeIn(EXITS.tail, spoken.slice(-10)) ??
    codeIn(EXITS.json, spoken.slice(-10));
  return code === undefined ? undefined : Number(code);
}

/** The output and the exit code of a result that is JSON, as older tools of Codex wrap them. */
function unwrapJson(text: string): { code: number; lines: string[] } | undefined {
  const value = text.startsWith("{") ? parsed(text) : undefined;
  if (!isObject(value)) return undefined;
  const code = isObject(value.metadata) ? value.metadata.exit_code : (value.exit_code ?? value.exitCode);
  if (typeof code !== "number") return undefined;
  const printed = [value.output, value.stdout, value.stderr].filter((said) => typeof said === "string");
  return { code, lines: linesOf(printed.length === 0 ? text : printed.join("\n")) };
}

function parsed(text: string): unknown {
  return text.length > READ_HEAD ? undefined : parsedJson(text);
}

// ---- edits and other tools

const DONE =
  /^(?:Todos have been modified successfully|Updated task|Task #\d{1,6} created successfully|Plan updated|The file .{1,400} (?:has been (?:updated|edited|created|written|overwritten|modified)|was (?:updated|edited|created)|created successfully)|File (?:created|written|updated|edited|saved) (?:successfully|at)|Successfully (?:created|wrote|written|overwrote|replaced|edited|updated|modified|applied|deleted|removed|inserted)|Success\. Updated the following files|Edit applied|Wrote (?:file|\d)|Applied \d{1,4} edits?|Patch applied|Content (?:has been )?successfully|Done!$|File successfully|\[File updated|\[File: .{1,300} \(\d{1,7} lines total\)\]|Text replaced\. )/i;
const EDIT_FAILED =
  /^(?:<tool_use_error>|<error>|Error\b|Failed\b|apply_patch verification failed|Invalid\b|No (?:replacement|changes?|match|edits?)\b.{0,40}\b(?:performed|made|found|applied)|Could not|Cannot|Ran into \[Errno|String to replace not found|Found multiple|The (?:string|search|old_str)\b.{0,200}\bnot\b|old_?(?:string|text|str)\b.{0,60}\bnot found|Permission denied|Your proposed edit has introduced|Tool \S{1,60} execution failed|verification failed|ENOENT|Oops)/i;

function failedBy(line: string): Outcome {
  const words = told(line.replace(/<\/?(?:tool_use_error|error)>/g, ""));
  return failed(words, words === "" ? [] : [words]);
}

/** What `success` or `error` says in a result that is JSON. */
function jsonVerdict(text: string): boolean | undefined {
  if (!/^\s{0,9}[[{]/.test(text)) return undefined;
  const value = parsed(text);
  const one: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
  if (!isObject(one)) return undefined;
  if (typeof one.success === "boolean") return one.success;
  return typeof one.error === "string" && one.error !== "" ? false : undefined;
}

const FAILED = /^(?:<tool_use_error>|Error(?::|\b.{0,60}:)\s|Entity not found)/;
const NOTHING_FOUND =
  /^(?:No (?:files|matches|results|match)(?: were)? found|Found 0 |0 (?:matches|results))/i;
const FOUND =
  /^Found (?:\d{1,7} (?:total )?(?:files?|match(?:es)?|results?|code sections?|occurrences?|lines?)|(?:at least )?\d{1,7} match\w{0,2}.{0,80})/i;

function outcomeOfTool(action: Action, lines: readonly string[], { text, isError }: CallResult): Outcome {
  const said = lines.map((line) => line.trim()).filter((line) => line !== "" && !HOST_LINE.test(line));
  const first = said[0] ?? "";
  const { kind } = action;
  if (kind === "read" && !isError) return UNKNOWN;
  if (kind === "search" && !isError) return outcomeOfSearch(first);
  const verdict = jsonVerdict(text);
  const code = kind === "edit" ? exitCode(lines) : undefined;
  const complains = (kind === "edit" ? EDIT_FAILED : FAILED).test(first);
  if (isError || verdict === false || complains || (code ?? 0) !== 0) return failedBy(first);
  const done = DONE.test(first) || verdict === true || code === 0 || returnsRecord(action, text);
  if (!done) return UNKNOWN;
  // Some editors run the tests of changed files.
  const [tested] = kind === "edit" ? runnersIn(said.slice(-40), "").slice(-1) : [];
  return tested === undefined ? passed("") : ofRunners([tested], true);
}

function outcomeOfSearch(first: string): Outcome {
  if (NOTHING_FOUND.test(first)) return passed("found nothing");
  const found = FOUND.exec(first)?.[0];
  return found === undefined ? UNKNOWN : passed(told(found).toLowerCase());
}

const CHANGES =
  /^(?:book|cancel|create|update|modify|change|add|remove|delete|send|submit|order|pay|refund|return|exchange|schedule|assign|close|save|set|post|publish|register|transfer)(?![a-z])|[ _](?:book|cancel|create|update|modify|add|delete|send|submit|save|assign|close)_[a-z]/i;

/** True for a tool that changes something and returns the current record. */
function returnsRecord({ kind, words }: Action, text: string): boolean {
  if (kind !== "other" || !CHANGES.test(words.slice(0, 100)) || !/^\s{0,9}\{/.test(text)) return false;
  const value = parsed(text);
  if (!isObject(value) || "error" in value || "errors" in value || value.isError === true) return false;
  return Object.keys(value).some((key) => /^(?:id|identifier)$|_id$|[a-z]Id$/.test(key));
}

// ---- commands

const VERIFYING =
  /(?:^|[:/_.-])(?:tests?|specs?|checks?|typecheck|type-check|lint|linter|build|compile|verify|validate|ci|e2e|vitest|jest|mocha|ava|pytest|unittest|tox|nox|tsc|vue-tsc|eslint|biome|oxlint|prettier|stylelint|ruff|flake8|pylint|mypy|pyright|black|golangci-lint|gotestsum|vet|clippy|nextest|rspec|rubocop|minitest|phpunit|phpstan|pest|ctest|cmake|make|ninja|gradlew?|mvnw?|msbuild|xcodebuild|swiftlint|ktlint|shellcheck|pre-commit|playwright|cypress|bazel|py_compile|runtests|audit|hadolint|actionlint|gofmt|rustfmt)(?=$|[:._-])/i;
/** Programs that run what their arguments name. */
const STARTERS =
  /^(?:npm|pnpm|yarn|bun|bunx|npx|pnpx|deno|node|tsx|mise|just|task|rake|bundle|cargo|go|dotnet|swift|uv|uvx|poetry|pipenv|pdm|hatch|rye|python[\d.]*|bash|sh|zsh|ruby|php|composer|mix|sbt|lein|turbo|nx|lerna|docker|podman|docker-compose|xvfb-run|perl|rtk|moon)$/;
const INSTALLS = /^(?:i|install|add|remove|update|version|--version|-v|--help|-h)$/;

/** True where a program of the command tests, builds or checks; looking at files of that name is none. */
function verifiesBy(command: string): boolean {
  return programsOf(command).some(checks);
}

function checks(step: Step): boolean {
  const [program = "", first = ""] = step.words;
  if (isLooking(step) || INSTALLS.test(first) || step.words.includes("--help")) return false;
  const name = program.slice(program.lastIndexOf("/") + 1).slice(0, 100);
  if (first === "-n" && /^(?:ba|z|da)?sh$/.test(name)) return true;
  if (!STARTERS.test(name)) return VERIFYING.test(name) && !/^(?:test|\[)$/.test(name);
  const given = step.words.slice(1).filter((word) => !word.startsWith("/") || /\.\w{1,4}$/.test(word));
  return given.slice(0, 5).some((word) => VERIFYING.test(word.slice(-100)));
}

function outcomeOfCommand(command: string, given: readonly string[], { text, isError }: CallResult): Outcome {
  const wrapped = unwrapJson(text);
  const code = wrapped?.code ?? exitCode(given);
  const output = (wrapped?.lines ?? given).filter((line) => !HOST_LINE.test(line.trim()));
  const programs = programsOf(command);
  const looks = programs.length > 0 && programs.every(isLooking);
  const found = looks ? [] : runnersIn(output, command);
  const verifies = verifiesBy(command) || found.some((one) => one.verifies);
  const broken = code === undefined ? isError : code !== 0;
  const late = [...given.slice(0, 3), ...given.slice(-4)].find((line) => TIMED_OUT.test(line.trim()));
  if (late !== undefined && (isError || code !== 0)) return failed(told(late), [], verifies);
  if (broken) return failedCommand(command, code, output, found, verifies);
  const deciding = found.filter((one) => decides(one, found));
  if (deciding.length > 0) return ofRunners(deciding, verifies);
  const echoed = echoedCommand(output);
  if (echoed !== undefined && isQuiet(echoed) && !readsThroughPipe(command, checks))
    return passed("no output", verifies);
  if (code === undefined && reachedEnd(command, output)) return passed("", verifies);
  return ofSilence(command, code, isSilent(output), verifies);
}

/** The outcome of a command without a closing runner. */
function ofSilence(command: string, code: number | undefined, silent: boolean, verifies: boolean): Outcome {
  if (silent && isQuiet(command)) return passed("no output", verifies);
  if (code === 0 && !readsThroughPipe(command, checks)) return passed("", verifies);
  return { ...UNKNOWN, detail: silent && code === undefined ? "no output" : "", verifies };
}

/** True where all steps had to succeed for the words that were printed at the end: `make && echo built`. */
function reachedEnd(command: string, output: readonly string[]): boolean {
  const [start, ...rest] = readSteps(command);
  const last = rest.at(-1);
  const words = last?.words.slice(1).join(" ") ?? "";
  return (
    start?.words[0] !== "!" &&
    last?.words[0] === "echo" &&
    rest.every(({ joiner }) => joiner === "&&") &&
    output.includes(words) &&
    words !== ""
  );
}

const ECHO = /^(?:\[[\w:.-]{1,60}\] )?[$>] /;
/** Commands that are silent on success but check nothing. */
const QUIET = /^(?:gofmt -\w|goimports -w|go mod tidy|git (?:add|mv|rm|restore|tag)\b)/;

/** True for a command that is silent on success. */
function isQuiet(command: string): boolean {
  if (outputIsSilent(command)) return true;
  if (/[|<>]|&\s|\$\(/.test(command)) return false;
  const programs = programsOf(command);
  return programs.length > 0 && programs.every(({ words }) => QUIET.test(words.join(" ").slice(0, 200)));
}

/** The command that npm, bun or mise repeats before they run it, where nothing else was printed. */
function echoedCommand(output: readonly string[]): string | undefined {
  const said = output.filter((line) => line.trim() !== "");
  return said.length <= 3 && said.every((line) => ECHO.test(line))
    ? said.at(-1)?.replace(ECHO, "")
    : undefined;
}

const SAYS_NOTHING =
  /^\s*(?:\(?(?:no output|Bash completed with no output|empty|Output: \(empty\)|.{0,40}\bdid not produce any output\.?)\)?)?$/i;

function isSilent(output: readonly string[]): boolean {
  return output.every((line) => SAYS_NOTHING.test(line));
}

function failedCommand(
  command: string,
  code: number | undefined,
  output: readonly string[],
  found: readonly Closing[],
  verifies: boolean,
): Outcome {
  const bad = found.filter((one) => one.state === "failed");
  // grep exits with 1 if there is no match.
  const searched = /^(?:[efz]?grep|rg|ag|ack|test|\[)$/.test(readSteps(command).at(-1)?.words[0] ?? "");
  if (code === 1 && bad.length === 0 && searched && isSilent(output)) {
    return { ...UNKNOWN, detail: "exit 1: no match", verifies };
  }
  const errors = bad.length > 0 ? errorsIn(output, bad) : complaintsIn(output, command);
  const failing = failingOf(bad);
  const passedToo = found.filter((one) => one.state === "passed").map((one) => one.detail);
  const reason = bad.length > 0 ? countsOf(bad, failing) : (errors[0] ?? passedToo.join("; "));
  const detail = [code === undefined ? "" : `exit ${code}`, reason].filter((part) => part !== "").join(": ");
  return { state: "failed", detail: clipEnd(detail, 300), errors, failing, verifies };
}

/** What is wrong, in the words of the output; what a command shows of files is no complaint of its own. */
function complaintsIn(output: readonly string[], command: string): string[] {
  const programs = programsOf(command);
  if (programs.length === 0 || !programs.every(isLooking)) {
    const errors = errorsIn(output, []);
    const last = told(output.findLast((line) => /\w/.test(line)) ?? "");
    return errors.length > 0 || last === "" ? errors : [last];
  }
  const names = programs.map(({ words }) => (words[0] === "git" ? "fatal" : (words[0] ?? "")));
  const own = output.filter(
    (line) =>
      names.some((name) => line.startsWith(`${name}:`)) ||
      /^(?:\S{1,40}: line \d|zsh:\d|\(eval\))/.test(line),
  );
  return [...new Set(own.map(told))].slice(0, MOST_ERRORS);
}

// ---- several runners

/**
 * True for a runner that tells how the command ended. What a test prints looks like the lines of another runner: those
 * count only up to the runner that closed last, unless that one only wraps others.
 */
function decides(one: Closing, all: readonly Closing[]): boolean {
  const last = all.at(-1);
  if (last === undefined || one === last) return true;
  return one.state === "passed" || WRAPPERS.has(last.runner) || !last.verifies;
}

const WRAPPERS: ReadonlySet<string> = new Set(["make", "mise", "npm", "nx", "docker", "cargo"]);

function ofRunners(found: readonly Closing[], verifies: boolean): Outcome {
  const bad = found.filter((one) => one.state === "failed");
  if (bad.length === 0) return passed(joinedDetails(found), verifies);
  const failing = failingOf(bad);
  return { state: "failed", detail: countsOf(bad, failing), errors: errorsIn([], bad), failing, verifies };
}

function failingOf(bad: readonly Closing[]): string[] {
  return [...new Set(bad.flatMap((one) => one.failing))].slice(0, MOST_FAILING);
}

const TOOK = / \([\d.]+ ?m?s\)$/;

function countsOf(bad: readonly Closing[], failing: readonly string[]): string {
  const telling = bad.filter(({ runner }) => !WRAPPERS.has(runner));
  const details = joinedDetails(telling.length > 0 ? telling : bad);
  const [first = ""] = errorsIn([], bad);
  const named = new Set(details.split(/[:;] /).map((part) => part.replace(TOOK, "")));
  const unnamed = failing.filter((name) => !named.has(name));
  const names =
    unnamed.length > 0
      ? ` (${unnamed.slice(0, 4).join(", ")}${unnamed.length > 4 ? " …" : ""})`
      : first === "" || details.includes(first)
        ? ""
        : `: ${first}`;
  return clipEnd(`${details}${names}`, 300);
}

function joinedDetails(found: readonly Closing[]): string {
  return clipEnd([...new Set(found.map(({ detail }) => detail))].slice(-3).join("; "), 240);
}

// ---- failure lines

const LOUD =
  /^\s{0,20}(?!Error Trace:)(?:(?:[\w.]{0,80}(?:Error|Exception)|error|fatal|panic)(?:\[\w{1,20}\])?: \S|(?:Error|ERROR|FATAL|E)\b[: ] ?\S|CONFLICT )/;
const PLACED =
  /^\S{1,200}:\d{1,7}(?::\d{1,7})?:? .{0,40}\b(?:error|undefined|cannot|not|expected|unexpected|invalid)\b/i;
const COMPLAINS =
  /\b(?:not found|No such file|Permission denied|cannot|could not|unable to|denied|refused|unrecognized|unknown (?:option|command|subcommand)|usage:)\b/i;

/** The errors reported by runners; otherwise error-like lines, most severe kind first. */
function errorsIn(output: readonly string[], bad: readonly Closing[]): string[] {
  const said = bad.flatMap(({ errors }) => errors);
  if (said.length > 0) return [...new Set(said)].slice(0, MOST_ERRORS);
  for (const pattern of [LOUD, PLACED, COMPLAINS]) {
    const lines = output.filter((line) => pattern.test(line)).map(told);
    if (lines.length > 0) return [...new Set(lines)].slice(0, MOST_ERRORS);
  }
  return [];
}
