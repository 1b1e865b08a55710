import { describe, expect, it } from "vitest";
import { readAction } from "./actions.ts";
import { type Outcome, readOutcome } from "./outcomes.ts";

const act = (name: string, args: unknown) => readAction({ type: "toolCall", id: "1", name, arguments: args });
const shell = (command: string, text: string, isError = false): Outcome =>
  readOutcome(act("Bash", { command }), { text, isError });

type Row = readonly [
  command: string,
  output: string,
  state: Outcome["state"],
  detail: string,
  failing?: string[],
];

const RUNS: readonly Row[] = [
  [
    "npx jest",
    "PASS src/a.test.ts\n\nTest Suites: 2 passed, 2 total\nTests:       9 passed, 9 total\nTime:  1.2 s",
    "passed",
    "9 passed",
  ],
  [
    "mise run test:ci",
    "--- FAIL: TestWeigh (6.84s)\n    scale_test.go:9: unexpected weight",
    "failed",
    "--- FAIL: TestWeigh (6.84s)",
    ["TestWeigh"],
  ],
  [
    "npm test",
    "FAIL src/a.test.ts\n  ● reader › reads twice\n\n    expect(received).toBe(expected)\n\n    Expected: 2\n    Received: 1\n\nTest Suites: 1 failed, 2 passed, 3 total\nTests:       1 failed, 200 passed, 201 total",
    "failed",
    "1 failed, 200 passed",
    ["reader › reads twice"],
  ],
  [
    "npx vitest run",
    " Test Files  3 passed (3)\n      Tests  12 passed (12)\n   Duration  1s",
    "passed",
    "12 passed (12)",
  ],
  [
    "npx vitest run",
    " FAIL  src/a.test.ts > reader > reads\nAssertionError: expected 1 to be 2\n\n Test Files  1 failed | 2 passed (3)\n      Tests  1 failed | 11 passed (12)",
    "failed",
    "1 failed | 11 passed",
    ["src/a.test.ts > reader > reads"],
  ],
  [
    "npm test",
    "internal/modules/cjs/loader.js:883\n  throw err;\n  ^\n\nError: Cannot find module 'node:path'\nRequire stack:\n- /usr/lib/npm/lib/cli.js {\n  code: 'MODULE_NOT_FOUND'\n}",
    "failed",
    "Error: Cannot find module 'node:path'",
  ],
  ["npx mocha", "  12 passing (40ms)\n", "passed", "12 passing"],
  [
    "npx mocha",
    "  11 passing (40ms)\n  1 failing\n\n  1) reader\n       reads:\n     AssertionError: expected 1 to equal 2",
    "failed",
    "1 failing",
  ],
  ["node --test", "# tests 3\n# pass 3\n# fail 0", "passed", "fail 0"],
  [
    "node --test",
    "not ok 2 - reads twice\n# tests 3\n# pass 2\n# fail 1",
    "failed",
    "fail 1",
    ["reads twice"],
  ],
  ["pytest -q", "...........\n11 passed in 0.52s", "passed", "11 passed"],
  [
    "pytest",
    "E   AssertionError: assert 1 == 2\n=== short test summary info ===\nFAILED tests/test_a.py::test_reads - AssertionError\n======== 1 failed, 11 passed in 0.50s ========",
    "failed",
    "1 failed, 11 passed",
    ["tests/test_a.py::test_reads"],
  ],
  ["python -m unittest", "Ran 4 tests in 0.01s\n\nOK", "passed", "OK"],
  [
    "python -m unittest",
    "FAIL: test_reads (tests.A)\nAssertionError: 1 != 2\n\nRan 4 tests in 0.01s\n\nFAILED (failures=1)",
    "failed",
    "FAILED (failures=1)",
    ["test_reads (tests.A)"],
  ],
  [
    "go test ./...",
    "?   \texample.com/a\t[no test files]\nok  \texample.com/b\t0.31s\nok  \texample.com/c\t(cached)",
    "passed",
    "2 packages",
  ],
  [
    "go test ./...",
    "ok  \texample.com/c\t0.1s\n--- FAIL: TestRead (0.00s)\n    read_test.go:12: got 1, want 2\nFAIL\nFAIL\texample.com/b\t0.31s\nFAIL",
    "failed",
    "1 package",
    ["TestRead"],
  ],
  ["golangci-lint run", "0 issues.", "passed", "0 issues"],
  ["golangci-lint run", "a.go:3:1: unused variable (unused)\n1 issues:\n* unused: 1", "failed", "1 issues"],
  ["go build ./...", "# example.com/b\n./b.go:3:1: undefined: Foo", "failed", "./b.go:3:1: undefined: Foo"],
  [
    "cargo test",
    "test read::twice ... ok\n\ntest result: ok. 5 passed; 0 failed; 0 ignored",
    "passed",
    "5 passed; 0 failed",
  ],
  [
    "cargo test",
    "test read::twice ... FAILED\n\ntest result: FAILED. 4 passed; 1 failed; 0 ignored\n\nerror: test failed, to rerun pass `--lib`",
    "failed",
    "1 failed",
    ["read::twice"],
  ],
  [
    "cargo clippy",
    "    Finished `dev` profile [unoptimized + debuginfo] target(s) in 0.5s",
    "passed",
    "Finished",
  ],
  [
    "cargo build",
    'error[E0425]: cannot find value `x` in this scope\nerror: could not compile `app` (bin "app") due to 1 previous error',
    "failed",
    "could not compile",
  ],
  ["mvn -q test", "[INFO] Tests run: 5, Failures: 0\n[INFO] BUILD SUCCESS", "passed", "BUILD SUCCESS"],
  [
    "mvn test",
    "[ERROR]   ReaderTest.reads:12 expected 2\n[INFO] BUILD FAILURE",
    "failed",
    "BUILD FAILURE",
    ["ReaderTest.reads"],
  ],
  ["./gradlew test", "BUILD SUCCESSFUL in 3s", "passed", "BUILD SUCCESSFUL"],
  [
    "./gradlew test",
    "ReaderTest > reads() FAILED\n\nBUILD FAILED in 3s",
    "failed",
    "BUILD FAILED",
    ["ReaderTest > reads()"],
  ],
  [
    "make all",
    "a.c:3:1: error: expected ';'\nmake: *** [Makefile:4: all] Error 1",
    "failed",
    "a.c:3:1: error",
  ],
  [
    "npx tsc --noEmit",
    "src/a.ts(3,1): error TS2345: Argument of type 'string' is wrong.",
    "failed",
    "TS2345",
    ["src/a.ts"],
  ],
  ["npx tsc --noEmit", "", "passed", "no output"],
  [
    "npx eslint .",
    "/src/a.ts\n  3:1  error  'x' is unused  no-unused-vars\n\n✖ 1 problem (1 error, 0 warnings)",
    "failed",
    "1 problem (1 error",
  ],
  ["npx eslint .", "✖ 2 problems (0 errors, 2 warnings)", "passed", "0 errors, 2 warnings"],
  ["npx biome check", "Checked 12 files in 5ms. No fixes applied.", "passed", "Checked 12 files"],
  [
    "npx biome check",
    "Checked 12 files in 5ms. No fixes applied.\nFound 2 errors.",
    "failed",
    "Found 2 errors",
  ],
  [
    "npx prettier --check .",
    "Checking formatting...\nAll matched files use Prettier code style!",
    "passed",
    "Prettier",
  ],
  [
    "npx prettier --check .",
    "[warn] src/a.ts\n[warn] Code style issues found in the above file. Run Prettier with --write to fix.",
    "failed",
    "Code style issues",
  ],
  ["npm install", "added 12 packages, and audited 13 packages in 2s", "passed", "added 12 packages"],
  ["npm install nope", "npm ERR! code E404\nnpm ERR! 404 Not Found - nope", "failed", "E404"],
  ["pnpm install", "Done in 1.2s", "passed", "Done"],
  [
    "dotnet test",
    "Passed!  - Failed:     0, Passed:     5, Skipped:     0, Total:     5",
    "passed",
    "Passed:",
  ],
  [
    "dotnet test",
    "  Failed ReaderTests.Reads [3 ms]\nFailed!  - Failed:     1, Passed:     4, Skipped:     0, Total:     5",
    "failed",
    "Failed: 1",
    ["ReaderTests.Reads"],
  ],
  ["bundle exec rspec", "5 examples, 0 failures", "passed", "5 examples"],
  [
    "bundle exec rspec",
    "5 examples, 1 failure\n\nrspec ./spec/reader_spec.rb:3 # reads",
    "failed",
    "1 failure",
    ["./spec/reader_spec.rb:3"],
  ],
  ["vendor/bin/phpunit", "OK (5 tests, 9 assertions)", "passed", "5 tests"],
  [
    "vendor/bin/phpunit",
    "1) ReaderTest::testReads\nFailed asserting that 1 is 2.\n\nFAILURES!\nTests: 5, Assertions: 9, Failures: 1.",
    "failed",
    "Failures: 1",
    ["ReaderTest::testReads"],
  ],
  ["ruff check .", "All checks passed!", "passed", "All checks passed"],
  ["ruff check .", "a.py:1:1: F401 `os` imported but unused\nFound 1 error.", "failed", "Found 1 error"],
  ["mypy .", "Success: no issues found in 3 source files", "passed", "Success"],
  [
    "mypy .",
    'a.py:3: error: Name "x" is not defined\nFound 1 error in 1 file (checked 3 source files)',
    "failed",
    "Found 1 error",
    ["a.py"],
  ],
  [
    "swift test",
    "\t Executed 5 tests, with 0 failures (0 unexpected) in 0.1 (0.1) seconds",
    "passed",
    "5 tests",
  ],
  [
    "swift test",
    "Test Case 'ReaderTests.testReads' failed (0.1 seconds).\n\t Executed 5 tests, with 1 failure (0 unexpected) in 0.1 seconds",
    "failed",
    "1 failure",
    ["ReaderTests.testReads"],
  ],
  ["ctest", "100% tests passed, 0 tests failed out of 5", "passed", "100% tests passed"],
  [
    "ctest",
    "80% tests passed, 1 tests failed out of 5\n\nThe following tests FAILED:\n\t  3 - reads (Failed)",
    "failed",
    "1 tests failed",
    ["reads"],
  ],
  ["pre-commit run -a", "trim whitespace.......................Passed", "passed", "hooks passed"],
  [
    "pre-commit run -a",
    "trim whitespace.......................Passed\nlint..................................Failed\n- hook id: lint",
    "failed",
    "hooks failed",
    ["lint"],
  ],
  ["docker build .", "#7 naming to docker.io/library/app done", "passed", "naming to"],
  [
    "docker build .",
    'ERROR: failed to solve: process "/bin/sh -c npm ci" did not complete successfully: exit code: 1',
    "failed",
    "failed to solve",
  ],
  ["git commit -m x", "[main 1a2b3c4] fix: read twice\n 1 file changed", "passed", "1a2b3c4 on main"],
  ["git commit -m x", "On branch main\nnothing to commit, working tree clean", "failed", "nothing to commit"],
  ["git push", "To github.com:a/b.git\n   1a2b3c4..5d6e7f8  main -> main", "passed", "main -> main"],
  [
    "git push",
    "To github.com:a/b.git\n ! [rejected]        main -> main (fetch first)\nerror: failed to push some refs",
    "failed",
    "rejected",
  ],
  [
    "git rebase main",
    "CONFLICT (content): Merge conflict in src/a.ts\nerror: could not apply 1a2b3c4",
    "failed",
    "could not apply",
    ["src/a.ts"],
  ],
  ["git rebase main", "Successfully rebased and updated refs/heads/x.", "passed", "Successfully rebased"],
  ["bun run typecheck", "$ tsc --noEmit", "passed", "no output"],
  ["npm run build", "transforming...\n✓ built in 534ms", "passed", "built"],
  ["bun test", " 12 pass\n 0 fail\nRan 12 tests across 2 files.", "passed", "0 fail"],
  ["rtk test bun run test", "OUTPUT (last 2 lines):\n   12 pass\n   0 fail", "passed", "12 pass"],
  [
    "npm run build && bun test",
    "make: *** [weights] Error 2\n 12 pass\n 0 fail\nRan 12 tests across 2 files.",
    "passed",
    "0 fail",
  ],
  ["cd app && \\\n  CI=1 \\\n  npx mocha", "  12 passing (40ms)\n", "passed", "12 passing"],
];

describe("readOutcome of runners", () => {
  it.each(RUNS.map((run) => ({ run })))(
    "$run.0: $run.1",
    ({ run: [command, output, state, detail, failing = []] }) => {
      const outcome = shell(command, output);
      expect(outcome.state).toBe(state);
      expect(outcome.detail).toContain(detail);
      expect(outcome.failing).toEqual(expect.arrayContaining(failing));
      if (!/^(?:git|npm install|pnpm install|docker)/.test(command)) expect(outcome.verifies).toBe(true);
    },
  );

  it.each<readonly [string, string, boolean, Outcome["state"], string]>([
    ["Claude Code", "Exit code 1\nsomething broke", true, "failed", "exit 1: something broke"],
    [
      "Codex",
      "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nhi",
      false,
      "passed",
      "",
    ],
    [
      "Codex, still running",
      "Chunk ID: 1\nWall time: 0.1 seconds\nProcess running with session ID 7\nOutput:\n",
      false,
      "unknown",
      "still running",
    ],
    [
      "Codex, as JSON",
      '{"output":"bad thing\\n","metadata":{"exit_code":2,"duration_seconds":0.1}}',
      false,
      "failed",
      "exit 2: bad thing",
    ],
    [
      "Gemini CLI",
      "Command: x\nDirectory: (root)\nOutput: (empty)\nError: (none)\nExit Code: 1\nSignal: 0",
      false,
      "failed",
      "exit 1",
    ],
    ["a shell's last line", "bad thing\nexit code 1", false, "failed", "exit 1: bad thing"],
    ["OpenHands", "hi\n[Command finished with exit code 0]", false, "passed", ""],
    ["pi", "bad thing\n\nCommand exited with code 3", true, "failed", "exit 3: bad thing"],
    [
      "mini-swe-agent",
      "<returncode>1</returncode>\n<output>\nbad thing\n</output>",
      false,
      "failed",
      "exit 1: bad thing",
    ],
    ["Copilot CLI", "bad thing\n<exited with exit code 4>", false, "failed", "exit 4"],
    [
      "JSON with both streams",
      '{"exit_code":1,"stdout":"compiling","stderr":"Error: bad thing"}',
      true,
      "failed",
      "exit 1: Error: bad thing",
    ],
    ["JSON that printed nothing", '{"exitCode":5,"reason":"bad thing"}', false, "failed", "bad thing"],
    ["JSON below other lines", 'bad thing\n{"ok":false,"exit_code": 2,"took":1}', false, "failed", "exit 2"],
    ["a timeout", "Command timed out after 2m 0s", true, "failed", "timed out"],
  ])("reads the exit code of %s", (_host, text, isError, state, detail) => {
    const outcome = shell("./deploy", text, isError);
    expect(outcome.state).toBe(state);
    expect(outcome.detail).toContain(detail);
  });
});

describe("readOutcome without evidence", () => {
  it.each([
    ["cat notes.md", "error handling is described below\nFAIL is a word"],
    ["grep -rn FAIL src", "src/a.ts:3: FAIL\nFAIL\texample.com/b\t0.1s"],
    ["cat test.log", "Tests:       1 failed, 200 passed, 201 total"],
    ["./deploy", "0 errors, 3 notes\nretrying failed uploads: none"],
    ["./deploy", ""],
    ["npm run build", "> app@1.0.0 build\n> vite build"],
    ["git init && git commit -m x && git status", 'no changes added to commit (use "git add")'],
    ["npm test | grep passed", "Process exited with code 0\nsomething passed"],
  ])("says nothing of %s", (command, output) => {
    expect(shell(command, output).state).toBe("unknown");
  });

  it.each<readonly [string, Outcome["state"]]>([
    ["./scripts/check-licenses.sh; git status --short", "unknown"],
    ["make lint-docs\nls docs", "unknown"],
    ["npm run lint; npm run build", "unknown"],
    ["if [ -d post ]; then npm run lint; git status; fi", "unknown"],
    ["./deploy; git status", "unknown"],
    ["set -e\nmake lint-docs\nls docs", "passed"],
    ["make lint-docs && ls docs", "passed"],
    ["make lint-docs || exit 1\nls docs && make build", "passed"],
    ["rm -rf out; make build", "passed"],
    ["cd post; make build", "passed"],
    ["if [ -d post ]; then make build; fi", "passed"],
    ["git status; ls", "passed"],
    ["cat > a.txt <<EOF\nmake lint\nEOF\nmake build", "passed"],
  ])("takes an exit code only for the steps that it tells of: %s", (command, state) => {
    const text = "Process exited with code 0\nOutput:\nmissing in 3 files";
    expect(shell(command, text).state).toBe(state);
  });

  it("tells that no test of a package ran", () => {
    const none = "testing: warning: no tests to run\nPASS\nok  \texample.com/a\t0.01s [no tests to run]";
    const detailOf = (text: string): string => shell("go test -run Weigh ./...", text).detail;
    expect(detailOf(none)).toBe("1 package, no test ran");
    expect(detailOf(`${none}\nok  \texample.com/b\t0.31s`)).toBe("2 packages");
  });

  it("believes the runner, not what its tests print", () => {
    const text =
      "stdout | a.test.ts\n--- FAIL: TestX (0.0s)\nFAIL\nlogged: 3 failed\n\n Test Files  1 passed (1)\n      Tests  4 passed (4)";
    expect(shell("npx vitest run", text)).toMatchObject({ state: "passed", failing: [] });
  });

  it("believes the runner, not the exit code of the pipe", () => {
    const text = "Process exited with code 0\nOutput:\n1 failed, 11 passed in 0.5s";
    expect(shell("pytest -q | tail -1", text)).toMatchObject({
      state: "failed",
      detail: "1 failed, 11 passed",
    });
  });

  it("knows a search that found nothing, a refusal and a missing result", () => {
    expect(shell("git branch -vv | rg gone", "Process exited with code 1\nOutput:\n")).toMatchObject({
      state: "unknown",
      detail: "exit 1: no match",
    });
    const refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
    expect(shell("npm test", refusal, true)).toMatchObject({
      state: "unknown",
      detail: "refused by the user",
      verifies: true,
    });
    expect(readOutcome(act("Bash", { command: "npm test" }), undefined).state).toBe("unknown");
  });
});

describe("readOutcome of other tools", () => {
  it.each<readonly [string, unknown, string, boolean, Outcome["state"]]>([
    [
      "Edit",
      { file_path: "a.ts", old_string: "a", new_string: "b" },
      "The file a.ts has been updated successfully.",
      false,
      "passed",
    ],
    [
      "Edit",
      { file_path: "a.ts", old_string: "a", new_string: "b" },
      "<tool_use_error>String to replace not found in file.</tool_use_error>",
      true,
      "failed",
    ],
    [
      "apply_patch",
      "*** Begin Patch\n*** Update File: a.ts\n@@\n-a\n+b\n*** End Patch",
      "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM a.ts",
      false,
      "passed",
    ],
    [
      "editor",
      { path: "a.ts", old_text: "a", new_text: "b" },
      '{"query":"edit:a.ts","result":"Edited a.ts","success":true}',
      false,
      "passed",
    ],
    ["Edit", { file_path: "a.ts", old_string: "a", new_string: "b" }, "1 const error = 1;", false, "unknown"],
    ["Read", { file_path: "a.ts" }, "Error: this is the first line of the file", false, "unknown"],
    ["Read", { file_path: "a.ts" }, "File does not exist.", true, "failed"],
    ["Grep", { pattern: "x" }, "No files found", false, "passed"],
    ["book_flight", { id: "A1" }, "Error: no such seat", false, "failed"],
    ["book_flight", { id: "A1" }, '{"id": "A1", "status": "booked"}', false, "passed"],
  ])("%s %j", (name, args, text, isError, state) => {
    expect(readOutcome(act(name, args), { text, isError }).state).toBe(state);
  });

  it("stays linear on hostile output", () => {
    const start = performance.now();
    for (const text of [
      "= ".repeat(100_000),
      "a".repeat(300_000),
      "1 failed, ".repeat(30_000),
      "FAIL\n".repeat(60_000),
      "● ".repeat(100_000),
    ]) {
      shell("npm test", text);
    }
    expect(performance.now() - start).toBeLessThan(4000);
  });
});

describe("more runners", () => {
  const run = (command: string, text: string) =>
    readOutcome({ kind: "run", files: [], command, words: command }, { text, isError: false });

  it("names a failing Go test before what it asserts, and leaves out what it logs", () => {
    const text = [
      "--- FAIL: TestParcel (0.02s)",
      "    parcel_test.go:10: Phase 1: two parcels",
      "    parcel_test.go:20: weight = 3, want 2",
      "        \tError:      \tNot equal: ",
      "        \tMessages:   \tthe weight is kept",
      "FAIL",
      "FAIL\texample.com/post\t0.4s",
    ].join("\n");
    expect(run("go test ./post", text)).toMatchObject({
      state: "failed",
      errors: [
        "--- FAIL: TestParcel (0.02s)",
        "parcel_test.go:20: weight = 3, want 2",
        "FAIL example.com/post 0.4s",
      ],
    });
  });

  it("reads a formatter that a task runner repeats and that says nothing", () => {
    expect(run("mise run fmt", "[fmt] $ gofmt -w .")).toMatchObject({ state: "passed" });
    expect(run("mise run fmt", "[fmt] $ ./own-format.sh")).toMatchObject({ state: "unknown" });
    expect(run("git add src/a.go", "")).toMatchObject({ state: "passed" });
  });

  it("reads a fetch, staged files and an audit", () => {
    const fetched = "From example.com:post/cli\n * branch              main -> FETCH_HEAD";
    expect(run("git fetch origin main", fetched)).toMatchObject({ state: "passed" });
    expect(run("git add -A && git status", "On branch main\nChanges to be committed:\n")).toMatchObject({
      state: "passed",
    });
    expect(run("pnpm audit", "7 vulnerabilities found\nSeverity: 4 moderate | 3 high")).toMatchObject({
      state: "failed",
      errors: ["Severity: 4 moderate | 3 high"],
    });
    expect(run("pnpm audit", "No known vulnerabilities found")).toMatchObject({ state: "passed" });
  });

  it("takes the failing test from a filtered output, and the complaint below the usage of a program", () => {
    expect(run("go test ./... | grep -A 5 TestA", "--- FAIL: TestA (0.01s)\n    more")).toMatchObject({
      state: "failed",
    });
    expect(run("./post send", "Usage:\n  post send [flags]\n\nfailed to send: no address")).toMatchObject({
      state: "failed",
      errors: ["failed to send: no address"],
    });
  });

  it("believes a tool that returns the record that it changed", () => {
    const cancel = (words: string, text: string) =>
      readOutcome({ kind: "other", files: [], words, command: undefined }, { text, isError: false });
    expect(cancel("cancel_order: order_id X1", '{"order_id":"X1","items":[]}')).toMatchObject({
      state: "passed",
    });
    expect(cancel("cancel_order: order_id X1", '{"order_id":"X1","error":""}')).toMatchObject({
      state: "unknown",
    });
    expect(cancel("get_order: order_id X1", '{"order_id":"X1"}')).toMatchObject({ state: "unknown" });
  });

  it("takes the words behind a chain of successes for its success", () => {
    expect(run('bash -n weigh.sh && echo "Syntax OK"', "Syntax OK")).toMatchObject({
      state: "passed",
      verifies: true,
    });
    expect(run('bash -n weigh.sh; echo "Syntax OK"', "Syntax OK")).toMatchObject({ state: "unknown" });
    expect(run('make all && echo "built"', "cc -o a a.c")).toMatchObject({ state: "unknown" });
  });

  it("names the first complaint of a linter that names no failing file", () => {
    const detail = "scale.go:7:2: declared and not used: gram (typecheck)";
    expect(run("golangci-lint run", `${detail}\n1 issues:\n* typecheck: 1`).detail).toContain(detail);
  });
});
