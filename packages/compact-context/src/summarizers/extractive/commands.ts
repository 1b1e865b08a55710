/** What a shell command does: its parts, the files it touches, and its description. */

import { created, type FileChange, untold } from "./edits.ts";
import { clipEnd, clipLine, oneLine, quotedCode } from "./text.ts";

/** One program run of a script. */
export interface Step {
  /** The operator in front of the step: `&&`, `||`, `;`, `|`, `&`; empty for the first. */
  readonly joiner: string;
  /** Program and arguments without quotes; assignments, wrappers and redirections are omitted. */
  readonly words: readonly string[];
  /** Same as typed, with assignments and wrappers. */
  readonly text: string;
  /** Same without them. */
  readonly program: string;
  readonly redirects: readonly Redirect[];
  readonly here: string | undefined;
}

interface Redirect {
  readonly operator: string;
  readonly target: string;
}

const LONGEST = 20_000;
/** An operator, or a word with all that is quoted in it. */
const TOKEN =
  /(\d?>{1,2}(?:&\d?)?|&>{1,2}|<{1,3}|&&|\|\||\|&|[|;&\n])|(?:"(?:[^"\\]|\\[\s\S])*"|\$'(?:[^'\\]|\\[\s\S])*'|'[^']*'|\$\((?:[^()]|\([^()]*\))*\)|\\[\s\S]|[^\s|;&<>\\])+/g;
const HERE = /<<-?\s{0,3}(["']?)(\w{1,40})\1/;
const MARK = "\u0001";
const ASSIGNMENT = /^[A-Za-z_]\w{0,60}=/;
const listed = (words: string): ReadonlySet<string> => new Set(words.split(" "));
const WRAPPERS = listed("time nohup command exec rtk env sudo then do else !");

/** The steps of a script in order; only the first 20,000 characters are read. */
export function readSteps(command: string): Step[] {
  const { script, bodies } = liftHereDocuments(command.slice(0, LONGEST));
  const steps: Step[] = [];
  let joiner = "";
  let tokens: string[] = [];
  const close = (next: string): void => {
    const step = stepOf(joiner, tokens, bodies);
    if (step !== undefined) steps.push(step);
    joiner = step === undefined && steps.length === 0 ? "" : next;
    tokens = [];
  };
  let inComment = false;
  for (const [token, operator] of script.replace(/(?<!\\)((?:\\\\)*)\\\n[ \t]*/g, "$1 ").matchAll(TOKEN)) {
    if (token === "\n") inComment = false;
    else if (token.startsWith("#")) inComment = true;
    if (inComment) continue;
    if (operator !== undefined && /^(?:&&|\|\||\|&?|[;&\n])$/.test(operator))
      close(operator === "\n" ? ";" : operator.replace("|&", "|"));
    else tokens.push(token);
  }
  close("");
  return steps;
}

/** The script without here-documents; a mark with a number stands where each one was opened. */
function liftHereDocuments(command: string): { script: string; bodies: string[] } {
  const lines: string[] = [];
  const bodies: string[] = [];
  let end: string | undefined;
  let body: string[] = [];
  for (const line of command.split("\n")) {
    if (end !== undefined && line.trim() !== end) {
      body.push(line);
      continue;
    }
    if (end !== undefined) {
      bodies.push(body.join("\n"));
      end = undefined;
      continue;
    }
    const opening = HERE.exec(line);
    lines.push(opening === null ? line : line.replace(opening[0], `${MARK}${bodies.length}${MARK}`));
    end = opening?.[2];
    body = [];
  }
  if (end !== undefined) bodies.push(body.join("\n"));
  return { script: lines.join("\n"), bodies };
}

function stepOf(joiner: string, tokens: readonly string[], bodies: readonly string[]): Step | undefined {
  const typed: string[] = [];
  const redirects: Redirect[] = [];
  let here: string | undefined;
  let operator: string | undefined;
  for (const token of tokens) {
    if (token.startsWith(MARK) && token.endsWith(MARK)) here = bodies[Number(token.slice(1, -1))];
    else if (operator !== undefined) {
      redirects.push({ operator, target: unquoted(token) });
      operator = undefined;
    } else if (/^\d?>{1,2}&\d$/.test(token)) redirects.push({ operator: token, target: "" });
    else if (/^(?:\d?>{1,2}|&>{1,2}|<{1,3})&?$/.test(token)) operator = token;
    else {
      if (token.includes(MARK)) here = bodies[Number(token.split(MARK)[1])];
      typed.push(withoutMarks(token));
    }
  }
  const words = typed.slice(programStart(typed));
  if (words.length === 0) return undefined;
  return {
    joiner,
    words: words.map(unquoted),
    text: typed.join(" "),
    program: words.join(" "),
    redirects,
    here,
  };
}

function programStart(words: readonly string[]): number {
  let at = 0;
  while (at < words.length) {
    const word = words[at] ?? "";
    if (word === "timeout" || (word === "rtk" && /^(?:test|err) ./.test(words.slice(at + 1).join(" "))))
      at += 2;
    else if (ASSIGNMENT.test(word) || WRAPPERS.has(word) || word === "(" || word === "{") at += 1;
    else break;
  }
  return at;
}

/** A here-document within a word, as in `"$(cat <<EOF …)"`. */
function withoutMarks(word: string): string {
  return word
    .split(MARK)
    .filter((_, index) => index % 2 === 0)
    .join("<<…");
}

function unquoted(word: string): string {
  const quote = word.charAt(0);
  if (word.length > 1 && (quote === '"' || quote === "'") && word.endsWith(quote)) return word.slice(1, -1);
  return word.replace(/^(--?[\w-]{1,40}=)(["'])([\s\S]*)\2$/, "$1$3");
}

// ---- two runs of the same program

const PLUMBING = listed(
  "tail head grep egrep rg tee cat sed less more wc sort uniq awk cut jq tr column xargs",
);
const SETTING_UP = listed("cd pushd popd export set source . unset shopt ulimit umask");

/** The steps of a command that do its work, without `cd`, settings, output filters and printing. */
export function programsOf(command: string): Step[] {
  return workingSteps(readSteps(command));
}

function workingSteps(steps: readonly Step[]): Step[] {
  const working = steps.filter(({ joiner, words }) => {
    const program = words[0] ?? "";
    if (joiner === "|" && PLUMBING.has(program)) return false;
    if (joiner === "||" && /^(?:true|echo|:)$/.test(program)) return false;
    return !SETTING_UP.has(program);
  });
  const telling = working.filter(
    ({ words }) => !/^(?:echo|printf|sleep|wait|true|:|done|fi)$/.test(words[0] ?? ""),
  );
  return telling.length > 0 ? telling : working;
}

/**
 * A command without leading cd, env assignments and plumbing (`| tail`, `2>&1`), so that two runs of the same
 * program compare equal.
 */
export function commandKey(command: string): string {
  const steps = programsOf(command);
  return oneLine(steps.map(({ joiner, program }, at) => (at === 0 ? "" : spaced(joiner)) + program).join(""));
}

/** The folders that a command goes to before its work, and the variables that it sets for that. */
export function settingsOf(command: string): { folders: string[]; variables: string[] } {
  const folders: string[] = [];
  for (const { words, text, program } of readSteps(command)) {
    if (words[0] === "cd" || words[0] === "pushd") folders.push(words[1] ?? "");
    else if (!SETTING_UP.has(words[0] ?? "")) {
      const before = text.slice(0, text.length - program.length);
      return { folders, variables: before.match(VARIABLE) ?? [] };
    }
  }
  return { folders, variables: [] };
}

const VARIABLE = /(?<!\S)[A-Za-z_]\w{0,60}=(?:"[^"]*"|'[^']*'|[^\s"'])*/g;

function spaced(joiner: string): string {
  return joiner === ";" ? "; " : ` ${joiner} `;
}

// ---- looking around

const LOOKERS = listed(
  "ls ll cat head tail grep egrep fgrep rg ag ack pwd echo printf which type whereis wc tree stat file du df env printenv date whoami uname hostname id sort uniq cut awk gawk jq yq less more bat nl diff cmp xxd hexdump od strings realpath readlink basename dirname sleep true fd open goto scroll_up scroll_down search_file search_dir find_file ps top free md5sum sha256sum column tr view",
);
const GIT_LOOKING =
  /^(?:status|log|diff|show|blame|ls-files|ls-tree|ls-remote|rev-parse|rev-list|describe|reflog|cat-file|shortlog|grep|merge-base|for-each-ref|name-rev|show-ref|show-branch|count-objects|check-ignore|whatchanged|diff-tree|var|version)$/;
const LOOKING_STEP =
  /^(?:git (?:branch|tag|remote|stash list|worktree list|config (?:--get|--list|-l)\b|notes (?:list|show)|submodule status)(?: (?:-[avrl]{1,3}|--?(?:all|list|merged|no-merged|show-current|contains|verbose|sort\S{0,40}|format\S{0,80})|get-url|show)\b.{0,300})?|gh \w{2,12} (?:view|list|diff|checks|status)\b.{0,2000}|gh api (?!.{0,2000}(?:-X|--method|-f|-F|--field|--raw-field|--input)\b).{0,2000}|(?:docker|podman) (?:ps|logs|images|inspect)\b.{0,500}|kubectl (?:get|describe|logs)\b.{0,500}|(?:npm|pnpm|yarn) (?:ls|list|view|info|why|outdated)\b.{0,500}|pip3? (?:list|show|freeze)\b.{0,200}|go (?:env|version|list|doc)\b.{0,500}|golangci-lint linters|\S{1,100} (?:--version|-v|-V|--help|-h|version|help))$/;

/** True for read-only commands (ls, cat, grep, git status, git log …). */
export function isLookingCommand(command: string): boolean {
  const steps = readSteps(command).filter(({ words }) => !SETTING_UP.has(words[0] ?? ""));
  return steps.length > 0 && steps.every(isLooking);
}

const SEARCHERS = listed("grep egrep rg ag ack find fd search_file search_dir find_file");

/** True if a step searches, rather than filtering another's output. */
export function isSearch(steps: readonly Step[]): boolean {
  return steps.some(({ words, joiner }) => joiner !== "|" && SEARCHERS.has(words[0] ?? ""));
}

/** True for a program that reads only. */
export function isLooking(step: Step): boolean {
  if (step.redirects.some((redirect) => isWriting(redirect))) return false;
  const words = gitWords(step.words);
  const [program = "", second = ""] = words;
  if (program === "find") return !words.some((word) => /^-(?:delete|exec|execdir|ok)$/.test(word));
  if (program === "sed")
    return !words.some((word) => /^-[a-zA-Z]{0,5}i/.test(word) || word.startsWith("--in-place"));
  if (program === "xargs") return words.slice(1).some((word) => LOOKERS.has(word));
  if (program === "git" && GIT_LOOKING.test(second)) return true;
  return LOOKERS.has(program) || LOOKING_STEP.test(words.join(" ").slice(0, 2500));
}

function isWriting({ operator, target }: Redirect): boolean {
  return operator.includes(">") && target !== "" && !target.startsWith("/dev/");
}

/** `git -C dir status` is `git status`. */
function gitWords(words: readonly string[]): readonly string[] {
  if (words[0] !== "git") return words;
  let at = 1;
  while (at < words.length && words[at]?.startsWith("-") === true)
    at += /^-[Cc]$/.test(words[at] ?? "") ? 2 : 1;
  return ["git", ...words.slice(at)];
}

const GOES = /(?:^|[;&(\n]\s{0,4})cd ["']?([/$~]\S*)/g;
const TEMPORARY = /^(?:\/private)?\/(?:tmp|var\/folders)(?:\/|$)|^\$/;

/** True for a script that makes a repository for tries: its commits are none of the project's. */
export function worksElsewhere(command: string): boolean {
  const last = [...command.matchAll(GOES)].at(-1)?.[1] ?? "";
  return TEMPORARY.test(last) && /\b(?:git init|mktemp)\b/.test(command);
}

// ---- files

const READERS = listed("cat head tail less more bat open nl view");
const NAME = /^[\w@.+~/-]*[\w~]$/;

/**
 * Files that a command clearly reads or writes: redirections, `tee`, `sed -i`, `cat`, `rm`, `mv`, `touch`.
 */
export function filesOfSteps(steps: readonly Step[]): FileChange[] {
  return steps.flatMap((step) => {
    const targets = step.redirects.filter((redirect) => isWriting(redirect) && isFile(redirect.target));
    const content = step.words[0] === "cat" ? step.here : undefined;
    const written = targets.map(({ operator, target }) => ({
      ...created(target, content),
      effect: operator.includes(">>") ? ("edited" as const) : ("created" as const),
    }));
    return [...written, ...argumentFiles(step, written.length > 0)];
  });
}

function argumentFiles({ words, here }: Step, writes: boolean): FileChange[] {
  const effect = effectOf(words);
  if (effect === undefined || (effect === "read" && writes)) return [];
  const program = words[0] ?? "";
  const names = words.slice(1).filter((word) => !word.startsWith("-") && isFile(word));
  if (program === "tee") return names.map((path) => created(path, here));
  const moves = effect === "created" && (program === "mv" || program === "git");
  const told = program === "sed" ? names.slice(-1) : names;
  return told.map((path, index) => untold(path, moves && index === 0 ? "deleted" : effect));
}

function effectOf(words: readonly string[]): FileChange["effect"] | undefined {
  const [program = "", second = ""] = gitWords(words);
  if (READERS.has(program)) return "read";
  if (program === "sed") return words.some((word) => /^-[a-zA-Z]{0,5}i/.test(word)) ? "edited" : "read";
  if (program === "tee" || program === "touch" || program === "create") return "created";
  if (program === "mv" || (program === "git" && second === "mv")) return "created";
  return program === "rm" || (program === "git" && second === "rm") ? "deleted" : undefined;
}

function isFile(word: string): boolean {
  if (word.length > 300 || word.startsWith("/dev/") || !NAME.test(word) || !/[A-Za-z]/.test(word))
    return false;
  return word.includes("/") || /\.[A-Za-z]\w{0,9}$/.test(word) || /^(?:Makefile|Dockerfile)$/.test(word);
}

// ---- words

/** The command in words: ran `npm test`; committed: "fix: read twice". Empty for one that only writes a file. */
export function wordsOfCommand(command: string): string {
  const phrases: string[] = [];
  let run = "";
  const flush = (): void => {
    if (run !== "") phrases.push(`ran ${quotedCode(run)}`);
    run = "";
  };
  const steps = programsOf(command);
  const commits = steps.some((step) => step.words[0] === "git" && gitWords(step.words)[1] === "commit");
  for (const step of steps) {
    const told = wordsOfCommit(step);
    if (told !== undefined) {
      flush();
      phrases.push(told);
    } else if (!isWrittenFile(step) && !(commits && gitWords(step.words)[1] === "add")) {
      const text = clipLine(step.text, 160) + scriptOf(step);
      run = run === "" ? text : `${run}${spaced(step.joiner)}${text}`;
    }
  }
  flush();
  if (phrases.length > 0 || steps.some(isWrittenFile)) return phrases.join("; ");
  return `ran ${quotedCode(clipLine(command, 160))}`;
}

/** True for `cat > file <<EOF` and `echo … > file`: the file is the whole effect. */
function isWrittenFile({ words, redirects }: Step): boolean {
  return (
    /^(?:cat|echo|printf)$/.test(words[0] ?? "") &&
    redirects.some((one) => isWriting(one) && isFile(one.target))
  );
}

function scriptOf({ here }: Step): string {
  return here === undefined ? "" : ` <<(${here.split("\n").length} lines)`;
}

/** A commit by its message, which may stand in a here-document. */
function wordsOfCommit({ words: typed, here }: Step): string | undefined {
  const words = gitWords(typed);
  if (words[0] !== "git" || words[1] !== "commit") return undefined;
  const at = words.findIndex((word) => /^(?:-[a-z]{0,4}m|--message)$/.test(word));
  const given = at < 0 ? words.find((word) => word.startsWith("--message="))?.slice(10) : words[at + 1];
  const message = here !== undefined && (given === undefined || given.includes("$(")) ? here : given;
  const line = /\S.*/.exec(message ?? "")?.[0].trim();
  const verb = words.includes("--amend") ? "amended the last commit" : "committed";
  return line === undefined ? verb : `${verb}: "${clipEnd(line, 140)}"`;
}

// ---- details for outcomes

/** Words that close a block, whose exit code is that of the last step in it. */
const CLOSERS = /^(?:fi|done|esac|[)}])$/;
const STOPS = /^(?:exit|return)$/;

/**
 * True if the exit code is not the work's: the command ends with a pipe, `|| true` or `; echo`, or in front of its last
 * `;` is a check, or the only step that does more than look.
 */
export function readsThroughPipe(command: string, checks: (step: Step) => boolean): boolean {
  const steps = readSteps(command).filter(({ words }) => !CLOSERS.test(words[0] ?? ""));
  const last = steps.at(-1);
  if (last === undefined || /\bset -[a-z]{0,5}o? ?pipefail\b/.test(command)) return false;
  if (last.joiner === "|" || last.joiner === "||" || last.joiner === "&") return true;
  const end = steps.findLastIndex(({ joiner }) => joiner === ";");
  if (end < 0 || /\bset -(?:[a-z]{0,5}e|o errexit\b)/.test(command)) return false;
  const shows = (step: Step): boolean =>
    isLooking(step) || SETTING_UP.has(step.words[0] ?? "") || /^(?:echo|:)$/.test(step.words[0] ?? "");
  if (steps.slice(end).every(shows) && (end === 0 || !steps.slice(0, end).every(shows))) return true;
  return steps.slice(0, end).some((step, at) => checks(step) && !STOPS.test(steps[at + 1]?.words[0] ?? ""));
}

const SILENT =
  /^(?:(?:npx |pnpm (?:exec )?|yarn |bunx |\.\/node_modules\/\.bin\/)?(?:tsc|eslint|vue-tsc)\b|go (?:build|vet)\b|gofmt -l|shellcheck\b|flake8\b|(?:ba|z)?sh -n\b|node --check\b|python3? -m (?:py_compile|compileall -q)\b)/;

/** True for a checker that is silent on success and whose output is neither filtered nor discarded. */
export function outputIsSilent(command: string): boolean {
  const steps = readSteps(command);
  const isHidden = steps.some(
    ({ joiner, words: [program = ""], redirects }) =>
      joiner === "||" ||
      (joiner === "|" && !/^(?:head|tail|cat|tee)$/.test(program)) ||
      redirects.some(({ operator, target }) => operator.includes(">") && target !== ""),
  );
  const working = workingSteps(steps);
  return !isHidden && working.length > 0 && working.every(({ program }) => SILENT.test(program));
}
