/** Test runners, compilers, linters and git: the lines by which each reports its outcome. */

import { programsOf } from "./commands.ts";
import { clipEnd, oneLine } from "./text.ts";

/** Maximum reported error lines, and names of failures. */
export const MOST_ERRORS = 5;
export const MOST_FAILING = 10;

/** The report of one runner. */
export interface Closing {
  readonly runner: string;
  readonly state: "passed" | "failed";
  readonly detail: string;
  readonly failing: readonly string[];
  readonly errors: readonly string[];
  readonly verifies: boolean;
  /** The runner's closing line, or where its output was truncated. */
  readonly at: number;
  readonly cutOff: boolean;
}

interface Runner {
  /** The command required to trust its lines; if omitted, the lines suffice. */
  readonly only?: RegExp;
  readonly passes?: RegExp;
  readonly fails?: RegExp;
  /** Closing lines of either outcome, with the number of failures. */
  readonly counts?: RegExp;
  /** True if its lines count only at the end of the output. */
  readonly last?: boolean;
  /** A line required before them. */
  readonly after?: RegExp;
  /** Lines that name a failing test or file. */
  readonly names?: RegExp;
  readonly tells?: RegExp;
  /** Those reported first. */
  readonly first?: RegExp;
  /** True for lines that precede a truncated closing line: they count if no runner closed. */
  readonly cutOff?: boolean;
}

const CHECKS: Readonly<Record<string, Runner>> = {
  jest: {
    fails: /^Test Suites:\s{1,6}\d+ failed\b.*/,
    counts: /^Tests:\s{1,12}(?:\d+ \w+, ){0,4}\d+ total$/,
    names: /^\s{0,6}● (?!Console\b)(.+ › .+|[^›]+)$|^FAIL\s{1,2}(\S+\.\w+)/,
    tells: /^\s{4,8}(?:\w*Error: .+|expect\(.+|Expected.*:.+|Received.*:.+)/,
  },
  vitest: {
    fails: /^No test files found, exiting with code 1/,
    counts:
      /^\s{0,10}Tests\s{2}(?:\d+ \w+(?: \| )?){1,5} ?\(\d+\)$|^\s{0,10}Test Files\s{2}(?:\d+ \w+(?: \| )?){1,5} ?\(\d+\)$/,
    names: /^\s{0,2}FAIL\s{2}(?:\|\S+\| )?(.+?)(?: \[.+\])?$/,
    tells: /^(?:\w*Error: .+|\s{0,4}→ .+)/,
  },
  mocha: {
    fails: /^\s{2,8}[1-9]\d* failing$/,
    counts: /^\s{2,8}\d+ passing(?: \(.+\))?$/,
    names: /^\s{2,6}\d+\) (.+)$/,
    tells: /^\s{4,12}\w*(?:Error|Exception)\b.*: .+/,
  },
  node: {
    counts: /^(?:#|ℹ) (?:pass|fail) \d+$/,
    names: /^\s{0,12}(?:not ok \d+ - (.+?)(?: # .*)?|✖ (?!failing tests)(.+?)(?: \([\d.]+m?s\))?)$/,
    tells: /^\s{2,12}error: .+/,
  },
  bun: {
    only: /\bbun\b/,
    counts: /^\s{0,4}\d+ (?:pass|fail)$/,
    names: /^\(fail\) (.+?)(?: \[.+\])?$/,
  },
  deno: {
    counts: /^(?:ok|FAILED) \| \d+ passed.* \| \d+ failed\b.*$/,
    names: /^(\S.*?) => \S+:\d+:\d+$/,
    tells: /^error: \S.+/,
  },
  pytest: {
    fails: /^(?:=+ )?no tests ran in .+/,
    counts:
      /^=+ (?:\d+ \w+(?: \w+)?(?:, )?){1,7} in [\d.]+s.*=+$|^(?:\d+ (?:failed|passed|skipped|errors?|warnings?|xfailed|xpassed|deselected)(?:, )?){1,7} in [\d.]+s(?: \(.+\))?$/,
    names: /^(?:FAILED|ERROR) ([\w./-]+\.py(?:::\S+)?)/,
    tells: /^E {3,40}\S.*/,
  },
  unittest: {
    passes: /^OK(?: \((?:skipped|expected)[^()]*\))?$/,
    fails: /^FAILED \((?:failures|errors|unexpected|skipped)[^()]*\)$/,
    names: /^(?:FAIL|ERROR): (\S+(?: \([\w.]+\))?)/,
    tells: /^(?:\w+\.)*\w*(?:Error|Exception): .+/,
  },
  moatless: {
    counts: /^\d+ passed\. \d+ failed\. \d+ errors?\.$/,
  },
  "go test": {
    passes: /^ok\s{2,8}\S+\s{1,8}(?:[\d.]+s|\(cached\)).*$|^PASS$/,
    fails: /^FAIL(?:\t\S+(?:\t.+| \[.+\]))?$/,
    names: /^\s{0,12}--- FAIL: (\S+)|^FAIL\t(\S+) \[.+\]$/,
    // Test logs resemble assertions: only lines that compare or complain count.
    tells:
      /^\s{0,12}--- FAIL: .+|^\S+\.go:\d+:\d+: .+|^panic: .+|^\s{2,12}\w+_test\.go:\d+: (?=.{0,300}\b(?:got|want|expected|unexpected|should(?:n't)? \w+|must|mismatch|failed|error|missing|invalid|differ\w*|nil|not)\b|.{0,300}(?:!=|==)).+|^FAIL\t\S+\t[\d.]+s$/,
    first: /^\s{0,12}--- FAIL: |^\S+\.go:\d+:\d+: |^panic: /,
  },
  "golangci-lint": {
    passes: /^(?:\[[\w:-]+\] )?0 issues\.$/,
    fails: /^(?:\[[\w:-]+\] )?[1-9]\d* issues?:$/,
    tells: /^(?:\[[\w:-]+\] )?\S+\.go:\d+:\d+: .+/,
  },
  "go build": {
    only: /\bgo (?:build|vet|run|install|test)\b/,
    fails: /^\.{0,2}[\w./-]+\.go:\d+:\d+: .+|^vet: .+/,
    tells: /^\.{0,2}[\w./-]+\.go:\d+:\d+: .+/,
  },
  "cargo test": {
    passes: /^test result: ok\. .+/,
    fails: /^test result: FAILED\. .+/,
    names: /^test (\S+) \.\.\. FAILED$/,
    tells: /^(?:thread '.+' panicked at .+|assertion .+ failed.*)/,
  },
  cargo: {
    passes: /^\s{2,8}Finished (?:`?\w+`? ?(?:profile|\[)|dev|release|test).+/,
    fails: /^error: could not compile .+|^error: (?:test failed|\d+ targets? failed).+/,
    tells: /^error(?:\[E\d+\])?: .+/,
  },
  maven: {
    passes: /^\[INFO\] BUILD SUCCESS$/,
    fails: /^\[(?:INFO|ERROR)\] BUILD FAILURE$/,
    names: /^\[ERROR\]\s{1,6}(?:\w+\.)*(\w+\.\w+):\d+/,
    tells: /^\[ERROR\] (?!Tests run:|To see|Re-run|For more|->|\s*$).+/,
  },
  gradle: {
    passes: /^BUILD SUCCESSFUL in .+/,
    fails: /^BUILD FAILED(?: in .+)?$/,
    names: /^(\w[\w.]* > .+) FAILED$/,
    tells: /^(?:e: |> |\S+\.(?:java|kt):\d+: error: ).+/,
  },
  make: {
    fails: /^g?make(?:\[\d+\])?: \*\*\* .+/,
    tells: /^g?make(?:\[\d+\])?: \*\*\* .+|^\S+:\d+:\d+: (?:fatal )?error: .+/,
  },
  gcc: {
    fails: /^\S+\.(?:c|cc|cpp|cxx|h|hpp|m|mm):\d+:\d+: (?:fatal )?error: .+|^collect2: error: .+/,
    tells: /^\S+:\d+:\d+: (?:fatal )?error: .+/,
  },
  tsc: {
    only: /tsc|type|build|compile|test|check|lint|^$|npm|yarn|bun|make|mise/,
    passes: /^(?:\[.+\] )?Found 0 errors\..*/,
    fails:
      /^.{1,300}\(\d+,\d+\): error TS\d+: .+|^\S.{0,300}:\d+:\d+ - error TS\d+: .+|^error TS\d+: .+|^(?:\[.+\] )?Found [1-9]\d* errors?(?: in .+|\..*)?$/,
    names: /^(\S.{0,300}?)(?:\(\d+,\d+\)|:\d+:\d+ -):? error TS/,
    tells: /.{0,300}error TS\d+: .+/,
  },
  eslint: {
    passes: /^✖ \d+ problems? \(0 errors, \d+ warnings?\)$/,
    fails: /^✖ \d+ problems? \([1-9]\d* errors?, \d+ warnings?\)$/,
    tells: /^\s{2}\d+:\d+\s{2,6}error\s{2}.+/,
  },
  biome: {
    only: /biome|lint|check|format|ci\b|fix/,
    passes: /^(?:Checked|Formatted) \d+ files? in .+/,
    fails: /^Found [1-9]\d* errors?\.$/,
    tells:
      /^(?:\S+:\d+:\d+ (?:lint|parse|assist)\S* .+|\S+ (?:format|organizeImports|lint\S*|assist\S*) ━+|\s{2}× (?!Some errors were emitted).+)/,
  },
  prettier: {
    passes: /^All matched files use Prettier code style!$/,
    fails: /^\[warn\] Code style issues .+|^\[error\] \S+: SyntaxError.+/,
    tells: /^\[(?:warn|error)\] .+/,
  },
  dotnet: {
    passes: /^Build succeeded\.$/,
    fails: /^Build FAILED\.$/,
    counts: /^(?:Passed|Failed)!\s{1,3}- Failed:\s{1,6}\d+, .+/,
    names: /^\s{2}Failed (\S+)/,
    tells: /^.{1,300}: error \w+\d+: .+|^\s{2,6}Assert\..+/,
  },
  rspec: {
    counts: /^\d+ examples?, \d+ failures?(?:, .+)?$/,
    names: /^rspec (\.?\/?\S+)/,
    tells: /^\s{5,9}(?:Failure\/Error: .+|expected:? .+|got:? .+)/,
  },
  phpunit: {
    passes: /^OK \(\d+ tests?, \d+ assertions?\)$/,
    fails: /^(?:FAILURES|ERRORS)!$/,
    counts: /^Tests: \d+, Assertions: \d+(?:, .+)?\.$/,
    names: /^\d+\) (\S+::\S+)/,
    tells: /^(?:Failed asserting .+|\S*(?:Error|Exception): .+)/,
  },
  ruff: {
    only: /ruff|lint|check|pre-commit|make|tox|nox/,
    passes: /^All checks passed!$/,
    fails: /^Found [1-9]\d* errors?(?:\.| \(\d+ fixed, [1-9]\d* remaining\)\.)$/,
    tells: /^\S+:\d+:\d+: [A-Z]+\d+ .+|^[A-Z]{1,4}\d{3,4} (?:\[\*\] )?.+/,
  },
  mypy: {
    passes: /^Success: no issues found in .+/,
    fails: /^Found \d+ errors? in \d+ files?.*/,
    names: /^(\S+\.pyi?):\d+(?::\d+)?: error: /,
    tells: /^\S+:\d+(?::\d+)?: error: .+/,
  },
  swift: {
    passes:
      /^(?:✔ )?Test run with \d+ tests? .*passed .+|^(?:Build complete!.*|\*\* (?:BUILD|TEST) SUCCEEDED \*\*)$/,
    fails: /^(?:✘ )?Test run with \d+ tests? .*failed .+|^\*\* (?:BUILD|TEST) FAILED \*\*$/,
    counts: /^\s{0,4}(?:\S+ )?Executed \d+ tests?, with \d+ failures? .+/,
    names: /^Test Case '(?:-\[)?(.+?)\]?' failed/,
    tells: /^\S+\.swift:\d+:(?:\d+:)? error: .+/,
  },
  ctest: {
    passes: /^100% tests passed, 0 tests failed out of \d+$/,
    fails: /^\d+% tests passed, [1-9]\d* tests? failed out of \d+$/,
    names: /^\s{1,8}\d+ - (\S+) \(.+\)$/,
  },
  "pre-commit": {
    passes: /^[^.]{1,80}\.{3,}Passed$/,
    fails: /^.{1,80}\.{3,}Failed$/,
    names: /^(.{1,80}?)\.{3,}Failed$/,
  },
  mise: {
    fails: /^\[\S+\] ERROR task failed$/,
  },
  docker: {
    only: /docker|podman/,
    passes: /^(?:Successfully (?:built|tagged) .+|#\d+ naming to .+ done)$/,
    fails: /^ERROR: failed to (?:solve|build).*/,
    tells: /^ERROR: .+|^ > \[.+/,
  },
  vite: {
    only: /vite|build/,
    passes: /^✓ built in [\d.]+m?s$/,
    fails: /^(?:x|✗) Build failed in .+|^error during build:$/,
    tells: /^(?:\[vite\S*\] .+|\w*Error: .+)/,
  },
  audit: {
    only: /\baudit\b/,
    passes:
      /^(?:found 0 vulnerabilities|No (?:[\w/,-]{1,40} ){0,4}(?:vulnerabilities|advisories|issues) found\.?)$/i,
    fails: /^(?:[1-9]\d* vulnerabilities \(.*|Severity: .*)\b(?:high|critical)\b.*$/,
    tells: /^(?:Severity: .+|[1-9]\d* vulnerabilities \(.+\))$/,
  },
  "own tests": {
    only: /test|spec|check/i,
    passes: /^(?:[✓✔✅] )?All (?:\d+ )?tests? passed(?:!|\.| \(\d+\))?$/,
    counts: /^(?:Tests?|Results?|Summary): \d+ passed, \d+ failed\.?$/,
  },
  "go test part": {
    cutOff: true,
    only: /\bgo test\b|test/,
    fails: /^--- FAIL: \S+ \([\d.]+s\)$/,
    names: /^\s{0,12}--- FAIL: (\S+)/,
    tells: /^\s{0,12}--- FAIL: .+/,
  },
};

const TOOLS: Readonly<Record<string, Runner>> = {
  npm: {
    only: /\b(?:npm|pnpm|yarn|bun|npx)\b/,
    passes:
      /^(?:added|removed|changed|up to date).{0,120}(?:packages?\b|audited).*|^Done in [\d.]+m?s(?: using .+)?\.?$/,
    fails:
      /^npm (?:ERR!|error) (?!A complete log|\s*$).+|^\s?(?:ERR_PNPM_\w+|ELIFECYCLE)\s{1,3}.+|^error Command failed with exit code \d+\.$|^error: script ".+" exited with code \d+/,
    tells:
      /^npm (?:ERR!|error) (?!A complete log|path |command |workspace |location |errno |code ELIFECYCLE|Lifecycle|\s*$).+|^\s?ERR_PNPM_.+/,
  },
  "git commit": {
    only: /\bgit\b/,
    passes: /^\[\S+(?: [\w-]+)?(?: \(root-commit\))? [0-9a-f]{7,40}\] .+/,
  },
  "git index": {
    // Not if the command also runs `git status`, which prints the same lines.
    only: /^(?![\s\S]*\bgit\b.{0,100}\bstatus\b)[\s\S]*\bgit\b.{0,200}\bcommit\b/,
    fails: /^(?:nothing to commit|no changes added to commit|nothing added to commit).*/,
  },
  "git add": {
    only: /\bgit\b.{0,100}\badd\b/,
    passes: /^Changes to be committed:$/,
  },
  "git fetch": {
    only: /\bgit\b.{0,100}\b(?:fetch|pull)\b/,
    after: /^From \S+/,
    passes:
      /^ \* branch\s{1,80}\S+\s{1,80}-> FETCH_HEAD$|^\s{1,3}[*+ ]?\s{0,3}(?:\[new (?:branch|tag)\]|[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40})\s{1,80}\S+\s{1,80}-> \S+.*/,
  },
  "git push": {
    only: /\bgit\b/,
    passes:
      /^\s{1,3}[*+ -]?\s{0,3}(?:\[new (?:branch|tag)\]|[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40})\s{1,80}\S+ -> \S+.*|^Everything up-to-date$/,
    fails: /^\s! \[(?:remote )?rejected\].+|^error: failed to push .+/,
  },
  "git merge": {
    only: /\bgit\b/,
    passes: /^Successfully rebased and updated .+|^(?:Fast-forward|Already up to date\.|Merge made by .+)$/,
    fails: /^CONFLICT \(.+|^(?:Automatic merge failed|error: could not apply|Auto-merging failed).*/,
    names: /^CONFLICT \(.+?\): .*?(?:in|:) (\S+)$/,
    tells: /^CONFLICT .+/,
  },
  "git switch": {
    only: /\bgit\b/,
    passes: /^Switched to (?:a new )?branch '.+'$|^Already on '.+'$/,
  },
  git: {
    last: true,
    only: /\bgit\b/,
    fails: /^fatal: .+/,
    tells: /^fatal: .+/,
  },
  gh: {
    only: /\bgh\b/,
    passes: /^https:\/\/\S+\/(?:pull|issues|releases\/tag)\/\S+$/,
    fails: /^(?:GraphQL: .+|gh: .+\(HTTP \d+\))$/,
  },
  python: {
    last: true,
    after: /^Traceback \(most recent call last\)/,
    only: /python|\.py\b|pytest|^$|uv |poetry/,
    fails: /^(?:\w+\.){0,8}\w*(?:Error|Exception|Interrupt|Exit): ?.*/,
    tells: /^(?:\w+\.){0,8}\w*(?:Error|Exception): ?.*/,
  },
  shell: {
    last: true,
    fails:
      /^(?:\/?(?:usr\/)?(?:bin\/)?)?(?:ba|z|da)?sh: (?:line )?(?:\d+: )?\S+: (?:command )?not found$|^zsh:\d+: command not found: \S+$|^(?:\S+: line \d+: )?\S+: command not found$/,
  },
  "node crash": {
    only: /node|npx|tsx|npm|pnpm|yarn/,
    // Older versions name no version, only where the error was thrown.
    fails: /^Node\.js v\d+\.\d+\.\d+$|^(?:node:)?internal\/[\w/.-]{1,100}:\d{1,6}$/,
    tells: /^(?:\w*Error(?: \[\w+\])?|\[\w+\]): .+/,
  },
  "command line": {
    cutOff: true,
    last: true,
    after: /^Usage:/,
    fails: /^(?:Error: |error: |failed to |unknown (?:command|flag|option)|required flag|invalid argument).+/,
    tells: /^(?:Error: |error: |failed to |unknown (?:command|flag|option)|required flag|invalid argument).+/,
  },
};

/** The runners whose closing lines appear, in that order. */
export function runnersIn(lines: readonly string[], command: string): Closing[] {
  const typed = programsOf(command)
    .map(({ words }) => words.join(" "))
    .join("\n")
    .slice(0, 4000);
  const closed = (runners: Readonly<Record<string, Runner>>, verifies: boolean): Closing[] =>
    Object.entries(runners).flatMap(([name, runner]) =>
      runner.only?.test(typed) === false ? [] : (closingOf(name, runner, verifies, lines) ?? []),
    );
  const all = [...closed(CHECKS, true), ...closed(TOOLS, false)];
  const whole = all.filter(({ cutOff }) => !cutOff);
  return (whole.length > 0 ? whole : all).sort((a, b) => a.at - b.at);
}

function closingOf(
  name: string,
  runner: Runner,
  verifies: boolean,
  lines: readonly string[],
): Closing | undefined {
  let state: Closing["state"] | undefined;
  let at = -1;
  const details = new Set<string>();
  lines.forEach((line, index) => {
    const verdict = verdictOf(runner, line);
    if (verdict === undefined || !isBelieved(runner, lines, index)) return;
    // One failed package fails the run.
    if (state === "failed" && verdict === "passed") return;
    if (state !== verdict) details.clear();
    state = verdict;
    at = index;
    details.add(oneLine(line.replace(/={3,}/g, "")));
  });
  if (state === undefined) return undefined;
  const bad = state === "failed";
  const failing = bad ? namesIn(lines, runner) : [];
  const errors = bad ? toldIn(lines, runner) : [];
  const detail = detailOf(name, [...details], errors);
  return { runner: name, state, failing, verifies, at, errors, detail, cutOff: runner.cutOff === true };
}

const COUNT =
  /\b(\d{1,9}) (?:tests? )?(?:failed|fail|failing|failures?|errors?)\b|\b(?:fail|Failures|Errors|Failed):?\s{1,6}(\d{1,9})\b/gi;

function verdictOf({ counts, fails, passes }: Runner, line: string): Closing["state"] | undefined {
  if (counts?.test(line) === true) {
    const numbers = [...line.matchAll(COUNT)].map(([, before, after]) => Number(before ?? after));
    return numbers.some((number) => number > 0) ? "failed" : "passed";
  }
  if (fails?.test(line) === true) return "failed";
  return passes?.test(line) === true ? "passed" : undefined;
}

function isBelieved({ after, last }: Runner, lines: readonly string[], index: number): boolean {
  if (last === true && !isLast(lines, index)) return false;
  return after === undefined || lines.slice(Math.max(0, index - 200), index).some((line) => after.test(line));
}

/** True for a line that is usually followed by nothing relevant. */
function isLast(lines: readonly string[], index: number): boolean {
  let after = 0;
  for (let at = index + 1; at < lines.length && after < 3; at += 1) if (lines[at]?.trim() !== "") after += 1;
  return after < 3;
}

/** Runners that print only errors. */
const ONLY_ERRORS = /^(?:tsc|go build|gcc)$/;
const MARKS = /^(?:\[[\w:-]+\]|Tests:?|Test Files|test result:|\[INFO\]|#|ℹ|✖) /;

function detailOf(name: string, lines: readonly string[], errors: readonly string[]): string {
  if (ONLY_ERRORS.test(name) && errors.length > 0 && !/Found/.test(lines.at(-1) ?? "")) {
    const count = lines.length > 1 ? `${lines.length} errors: ` : "";
    return `${count}${errors[0]}`;
  }
  if (lines.length > 0 && errors.length > 0 && /^(?:node crash|npm)$/.test(name)) return errors[0] ?? "";
  if (name === "go test") return packagesIn(lines);
  if (name === "git commit") return lines.map(commitIn).join(", ");
  if (name === "pre-commit")
    return lines.some((line) => line.endsWith("Failed")) ? "hooks failed" : "hooks passed";
  const plain = lines
    .slice(-2)
    .map((line) => line.replace(MARKS, "").replace(/ in [\d.]+m?s\b.*$|[.:]$/, ""));
  return told(lines.length > 2 ? (plain.at(-1) ?? "") : plain.join(", "));
}

function packagesIn(lines: readonly string[]): string {
  const closed = lines.filter((line) => /^(?:ok|FAIL)\s\S/.test(line));
  if (closed.length === 0) return "";
  const ran = closed.some((line) => !line.endsWith("[no tests to run]"));
  return `${closed.length} package${closed.length > 1 ? "s" : ""}${ran ? "" : ", no test ran"}`;
}

function commitIn(line: string): string {
  const [, branch, hash] = /^\[(.{1,200}?) ([0-9a-f]{7,40})\]/.exec(line) ?? [];
  return hash === undefined ? told(line) : `${hash} on ${branch}`;
}

function namesIn(lines: readonly string[], { names }: Runner): string[] {
  if (names === undefined) return [];
  const found = new Set<string>();
  for (const line of lines) {
    const [, first, second] = names.exec(line) ?? [];
    const name = first ?? second;
    if (name !== undefined && found.size < MOST_FAILING) found.add(clipEnd(oneLine(name), 160));
  }
  return [...found];
}

function toldIn(lines: readonly string[], { tells, first }: Runner): string[] {
  const telling = lines.filter((line) => tells?.test(line) === true);
  const loudest = telling.filter((line) => first?.test(line) === true);
  return [...new Set([...loudest, ...telling].map(told))].slice(0, MOST_ERRORS);
}

export function told(line: string): string {
  return clipEnd(oneLine(line), 240);
}
