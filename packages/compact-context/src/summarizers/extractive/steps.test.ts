import { describe, expect, it } from "vitest";
import type { Message } from "../../core/message.ts";
import { builtinSummarizer } from "./builtin.ts";
import { VIEWS } from "./sections.ts";

let next = 0;

/** A call of the shell or another tool, with what came of it. */
function step(name: string, args: object, result: string): Message[] {
  next += 1;
  const id = `call${next}`;
  return [
    { id: `a${next}`, role: "assistant", parts: [{ type: "toolCall", id, name, arguments: args }] },
    { id: `t${next}`, role: "tool", parts: [{ type: "toolResult", id, name, content: result }] },
  ];
}

const bash = (command: string, result: string): Message[] => step("Bash", { command }, result);
const asked: Message = {
  id: "u",
  role: "user",
  parts: [{ type: "text", text: "Weigh the parcels and release it." }],
};

async function summaryOf(
  steps: readonly Message[],
  strategy?: keyof typeof VIEWS,
  previous?: string,
): Promise<string> {
  const options = { maxTokens: 1_500, strategy, previous };
  const { text } = await builtinSummarizer.summarize([asked, ...steps], options);
  return text;
}

/** The lines of a section by the beginning of its heading; undefined where there is none. */
function section(summary: string, heading: string): string | undefined {
  return summary
    .split(/^## /m)
    .find((part) => part.startsWith(heading))
    ?.trim();
}

describe("a failure of chosen tests", () => {
  const FAILED = "Tests: 1 failed, 3 passed, 4 total";
  const PASSED = "Tests: 4 passed, 4 total";
  const errorsAfter = async (failed: string, passed: string, printed = FAILED): Promise<string | undefined> =>
    section(await summaryOf([...bash(failed, printed), ...bash(passed, PASSED)]), "Open errors");

  it.each([
    ["npm test -- crane", "npm test -- berth"],
    ["npm test", "npm test -- berth"],
    ["npm test -- crane", "npm test -- cranes"],
  ])("stays open: %s, then %s", async (failed, passed) => {
    expect(await errorsAfter(failed, passed)).toContain("1 failed");
  });

  it.each([
    ["npm test -- crane", "npm test"],
    ["npm test -- crane", "npm test -- crane 2>&1 | tail -5"],
    ["npm test -- crane", "npm test -- crane berth"],
    ["npm test", "npm test -- crane", `FAIL src/crane.test.ts\n${FAILED}`],
  ])("is settled: %s, then %s", async (failed, passed, printed?: string) => {
    expect(await errorsAfter(failed, passed, printed)).toBeUndefined();
  });
});

describe("what is still running", () => {
  const started = bash(
    "npm run serve",
    "Command running in background with ID: b7f2. Output is being written to: /tmp/b7f2",
  );

  it("tells a command that was started in the background, by its id", async () => {
    expect(section(await summaryOf(started), "Still running")).toContain("b7f2");
  });

  it.each(Object.keys(VIEWS) as (keyof typeof VIEWS)[])("tells it in the view %s", async (strategy) => {
    expect(section(await summaryOf(started, strategy), "Still running")).toContain("b7f2");
  });

  it("tells nothing of one that was stopped, or whose end was noticed", async () => {
    const stopped = [...started, ...step("KillShell", { shell_id: "b7f2" }, "Shell b7f2 killed")];
    expect(section(await summaryOf(stopped), "Still running")).toBeUndefined();
    const seen = [
      ...started,
      ...step("BashOutput", { bash_id: "b7f2" }, "<status>completed</status>\n<exit_code>0</exit_code>"),
    ];
    expect(section(await summaryOf(seen), "Still running")).toBeUndefined();
  });

  it("tells a sub-agent that nothing shows to have ended", async () => {
    const launched = step(
      "Task",
      { description: "Read the scales", prompt: "Read them." },
      "Async agent launched successfully.\nagentId: a91c",
    );
    expect(section(await summaryOf(launched), "Still running")).toContain("a91c");
  });
});

describe("an output behind the word of its host", () => {
  const gemini = (command: string, output: string, code: number): Message[] =>
    step(
      "run_shell_command",
      { command },
      `Command: ${command}\nDirectory: (root)\nOutput: ${output}\nError: (none)\nExit Code: ${code}\nSignal: 0`,
    );

  it("tells its first line", async () => {
    const told = await summaryOf([
      ...gemini("git commit -am 'Weigh'", "[scales/small 1a2b3c4] Weigh\n 1 file changed", 0),
      ...gemini("node deploy.js", "Error: no credentials for the crane", 1),
    ]);
    expect(section(told, "Open errors")).toContain("no credentials for the crane (from");
    expect(section(told, "Repository")).toContain('last commit 1a2b3c4 "Weigh"');
    expect(await summaryOf(gemini("node deploy.js", "(empty)", 1))).not.toContain("(empty)");
  });
});

describe("a call without a result", () => {
  const [commit] = bash('git commit -m "Weigh parcels by the gram"', "");
  const [edit] = step("Edit", { file_path: "/repo/src/scale.ts", old_string: "a", new_string: "b" }, "");

  it.each(Object.keys(VIEWS) as (keyof typeof VIEWS)[])(
    "is told as started, not as done: %s",
    async (strategy) => {
      const summary = await summaryOf([commit as Message], strategy);
      expect(section(summary, "Still running")).toMatch(
        /- started `git commit -m .*`; outcome not recorded$/,
      );
      expect(summary).not.toContain("committed");
    },
  );

  it("changes no file", async () => {
    const summary = await summaryOf([edit as Message]);
    expect(summary).toContain("last: asked for: edited ");
    expect(summary).not.toContain("Changed");
  });

  it("takes the place of the same check's older outcome", async () => {
    const [again] = bash("npm test", "");
    const summary = await summaryOf([...bash("npm test", "12 passed, 0 failed"), again as Message]);
    expect(section(summary, "Last checks")).toContain("`npm test`: outcome not recorded");
  });
});

describe("where the repository stands", () => {
  const committed = bash(
    'git commit -m "Weigh parcels by the gram"',
    "[release/2 4f0c2aa] Weigh parcels by the gram\n 2 files changed",
  );

  it("tells branch and commit, and that no push was seen", async () => {
    const told = section(await summaryOf(committed), "Repository");
    expect(told).toContain("branch release/2");
    expect(told).toContain('last commit 4f0c2aa "Weigh parcels by the gram", no push seen since');
  });

  it("tells the branch of the last commit where another one was taken since", async () => {
    const back = [...committed, ...bash("git switch scales", "Switched to branch 'scales'")];
    const told = section(await summaryOf(back), "Repository");
    expect(told).toContain(
      'branch scales\n- last commit 4f0c2aa "Weigh parcels by the gram" on release/2, no push',
    );
    expect(section(await summaryOf([]), "Repository")).toBeUndefined();
  });

  it("tells a push, and what changed after the commit", async () => {
    const pushed = [...committed, ...bash("git push", "   11aa22b..4f0c2aa  release/2 -> release/2")];
    expect(section(await summaryOf(pushed), "Repository")).toContain(", pushed");
    const edit = step(
      "Edit",
      { file_path: "/repo/src/scale.ts", old_string: "a", new_string: "b" },
      "The file has been updated.",
    );
    expect(section(await summaryOf([...pushed, ...edit]), "Repository")).toMatch(
      /changed, not committed as far as shown: \S*scale\.ts/,
    );
  });

  it("tells a changed file once, and no note in the folder for notes", async () => {
    const write = (file_path: string): Message[] =>
      step("Write", { file_path, content: "x" }, "File created");
    const told = section(
      await summaryOf([
        ...committed,
        ...write("/repo/src/scale.ts"),
        ...bash("echo x > src/scale.ts", ""),
        ...write("/tmp/body.md"),
        ...write("/tmp/repo/ramp.ts"),
        ...write("src/index.ts"),
        ...write("apps/post/src/index.ts"),
      ]),
      "Repository",
    );
    expect(told?.match(/scale\.ts/g)).toHaveLength(1);
    expect(told).toContain("ramp.ts");
    expect(told?.match(/index\.ts/g)).toHaveLength(2);
    expect(told).not.toMatch(/body\.md/);
  });

  it("carries its state on: a commit ends the list of changed files, a push is told, an edit joins the list", async () => {
    const edit = (path: string): Message[] =>
      step("Edit", { file_path: path, old_string: "a", new_string: "b" }, "The file has been updated.");
    const first = await summaryOf([
      ...bash("git status", "On branch release/2"),
      ...edit("/repo/src/scale.ts"),
    ]);
    const second = await summaryOf(edit("/repo/src/ledger.ts"), "task_state", first);
    expect(section(second, "Repository")).toMatch(/as far as shown: \S*scale\.ts, \S*ledger\.ts$/m);
    const third = await summaryOf(committed, "task_state", second);
    expect(section(third, "Repository")).not.toContain("not committed");
    const fourth = await summaryOf(
      bash("git push", "   11aa22b..4f0c2aa  release/2 -> release/2"),
      "task_state",
      third,
    );
    expect(section(fourth, "Repository")).toContain('"Weigh parcels by the gram", pushed');
  });

  it("follows a switch to another branch", async () => {
    const switched = [...committed, ...bash("git switch main", "Switched to branch 'main'")];
    expect(section(await summaryOf(switched), "Repository")).toContain("branch main\n");
    const shown = [...switched, ...bash("git branch --show-current", "scales/small")];
    expect(section(await summaryOf(shown), "Repository")).toContain("branch scales/small\n");
  });

  it("reads a commit that prints nothing: its files are committed unless it complained", async () => {
    const edit = step(
      "Edit",
      { file_path: "/repo/src/scale.ts", old_string: "a", new_string: "b" },
      "The file has been updated.",
    );
    const quiet = (result: string): Message[] => [
      ...committed,
      ...edit,
      ...bash('git add -A && git commit -q -m "Weigh letters too"', result),
    ];
    const told = section(await summaryOf(quiet("")), "Repository");
    expect(told).toContain('last commit "Weigh letters too", no push seen since');
    expect(told).not.toContain("scale.ts");
    const refused = section(await summaryOf(quiet("nothing to commit, working tree clean")), "Repository");
    expect(refused).toContain("scale.ts");
  });

  const upToDate = (name: string): string =>
    `On branch ${name}\nYour branch is up to date with 'origin/${name}'.`;

  it("tells a push that only the status shows, if it is the commit's own branch and the status is newer", async () => {
    const rows = async (...more: Message[]): Promise<string | undefined> =>
      section(await summaryOf([...committed, ...more]), "Repository");
    expect(await rows(...bash("git status", upToDate("release/2")))).toContain('gram", pushed');
    expect(await rows(...bash("git checkout main", upToDate("main")))).toContain("no push seen since");
    const again = bash(
      'git status && git commit -m "Weigh twice"',
      `${upToDate("release/2")}\n[release/2 5f0c2ab] Weigh twice`,
    );
    expect(await rows(...again)).toContain('"Weigh twice", no push seen since');
  });

  it("takes no mention of a quiet commit for one, and the last of several branches", async () => {
    const rows = async (command: string, output = ""): Promise<string | undefined> =>
      section(await summaryOf([...committed, ...bash(command, output)]), "Repository");
    for (const command of [
      'grep -rn "git commit -q" docs',
      "git commit --amend --no-edit -q",
      '(git diff --cached --quiet || git commit -q -m "Maybe")',
    ])
      expect(await rows(command), command).toContain('last commit 4f0c2aa "Weigh parcels by the gram"');
    expect(await rows('git commit -qm "Weigh more"', "husky - pre-commit script failed (code 1)")).toContain(
      "4f0c2aa",
    );
    expect(
      await rows(
        "git checkout main && git pull && git checkout -b next",
        "Switched to branch 'main'\nSwitched to a new branch 'next'",
      ),
    ).toContain("branch next");
    expect(await rows("pwd && git branch --show-current", "/home/ulm/depot\nrelease/2")).toContain(
      "branch release/2",
    );
    expect(await rows("git rev-parse --abbrev-ref HEAD", "HEAD")).toContain("branch release/2");
  });

  const edit = (path: string): Message[] =>
    step("Edit", { file_path: path, old_string: "a", new_string: "b" }, "The file has been updated.");

  it("tells the commit that a revert made, and where a reset ended", async () => {
    const reverted = [
      ...committed,
      ...bash("git revert --no-edit HEAD", '[release/2 9f8e7d6] Revert "Weigh parcels"\n 1 file changed'),
      ...bash("git push", "   11aa22b..9f8e7d6  release/2 -> release/2"),
    ];
    expect(section(await summaryOf(reverted), "Repository")).toContain('last commit 9f8e7d6 "Revert');
    const reset = [
      ...committed,
      ...edit("/repo/src/scale.ts"),
      ...bash("git reset --hard HEAD~1", "HEAD is now at 0000aaa Start"),
    ];
    const told = section(await summaryOf(reset), "Repository");
    expect(told).toContain('last commit 0000aaa "Start"');
    expect(told).not.toContain("scale.ts");
  });

  it("tells no last commit where it was taken back, also not that of an earlier round", async () => {
    const undone = bash("git reset --soft HEAD~1 && git status --short", "M  src/scale.ts");
    expect(section(await summaryOf([...committed, ...undone]), "Repository")).not.toContain("last commit");
    const first = await summaryOf(committed);
    expect(section(await summaryOf(undone, "task_state", first), "Repository")).not.toContain("last commit");
    const unstaged = [...committed, ...bash("git reset HEAD src/scale.ts", "")];
    expect(section(await summaryOf(unstaged), "Repository")).toContain("last commit 4f0c2aa");
  });

  it.each(["git checkout -- src/scale.ts", "git restore src/", "git checkout . && git status"])(
    "tells no file as changed that was restored: %s",
    async (command) => {
      const told = await summaryOf([...committed, ...edit("/repo/src/scale.ts"), ...bash(command, "")]);
      expect(section(told, "Repository")).not.toContain("scale.ts");
    },
  );

  it("takes no commit of a repository that was made for a try", async () => {
    const tried = bash(
      'cd /tmp && mkdir scales && cd scales && git init && echo a > file.txt && git add . && git commit -m "try"',
      "[main (root-commit) 77aa881] try\n 1 file changed",
    );
    const told = await summaryOf([...committed, ...tried]);
    expect(section(told, "Repository")).toContain("last commit 4f0c2aa");
  });

  it("tells nothing of a push that failed, and nothing at all where no command showed it", async () => {
    const failed = [
      ...committed,
      ...bash("git push", "! [rejected] release/2 -> release/2 (fetch first)\nExit code 1"),
    ];
    expect(section(await summaryOf(failed), "Repository")).toContain("no push seen since");
    expect(section(await summaryOf(bash("ls", "a.ts")), "Repository")).toBeUndefined();
  });
});

describe("a check in two places", () => {
  const FAILED = "Exit code 1\nTests: 2 failed, 40 passed, 42 total";
  const PASSED = "Tests: 12 passed, 12 total";
  const checks = async (...steps: Message[]): Promise<string> =>
    section(await summaryOf(steps), "Last checks")?.replace(/^.*\n\n?/, "") ?? "";
  const inFolder = (workdir: string, result: string): Message[] =>
    step("exec_command", { cmd: "npm test", workdir }, result);

  it("is two checks, named by their folders", async () => {
    const twice = [
      ...bash("cd packages/api && npm test", FAILED),
      ...bash("cd packages/web && npm test", PASSED),
    ];
    expect(await checks(...twice)).toBe(
      "- `cd packages/web && npm test`: passed 12 passed, 12 total\n- `cd packages/api && npm test`: failed exit 1: 2 failed, 40 passed, 42 total",
    );
    const told = await summaryOf(twice);
    expect(section(told, "Open errors")).toContain("(from `cd packages/api && npm test`)");
    expect(told).toContain("ran `npm test` in packages/web: passed");
    expect(await checks(...inFolder("/app/api", FAILED), ...inFolder("/app/web", PASSED))).toMatch(
      /`cd web && npm test`: passed.*\n- `cd api && npm test`: failed/,
    );
  });

  it("is two checks, named by a variable with two values", async () => {
    const built = await checks(
      ...bash("CI=1 GOOS=windows go build ./...", "Exit code 1\nsrc/tty.go:14:9: undefined: unix.Get"),
      ...bash("CI=1 GOOS=linux go build ./...", ""),
    );
    expect(built).toMatch(/`GOOS=linux go build .*passed.*\n- `GOOS=windows go build .*failed/);
  });

  it.each([
    ["cd /repo && npm test", "npm test"],
    ["cd /repo/api && npm test", "cd /repo/api/. && CI=1 npm test"],
    ["npm test", "cd /repo && npm test"],
    ["cd packages/api && npm test", "cd ./packages/api/ && npm test"],
    ["cd packages/api && npm test", "npm test"],
  ])("is settled by the same one: %s, then %s", async (failed, passed) => {
    const told = await summaryOf([...bash(failed, FAILED), ...bash(passed, PASSED)]);
    expect(section(told, "Open errors")).toBeUndefined();
    expect(section(told, "Last checks")).not.toContain("2 failed");
  });

  it("fails in both where both fail, and is open in none where both passed since", async () => {
    const both = [...inFolder("/app/api", FAILED), ...inFolder("/app/web", FAILED)];
    expect(section(await summaryOf(both), "Open errors")).toMatch(
      /cd api &&[\s\S]*cd web &&|cd web &&[\s\S]*cd api &&/,
    );
    const since = [...both, ...inFolder("/app/web", PASSED), ...inFolder("/app/api", PASSED)];
    expect(section(await summaryOf(since), "Open errors")).toBeUndefined();
  });
});

describe("the last checks", () => {
  const passes = "ok  \texample.com/post\t0.4s";

  it("tell the newest choice of tests that passed, and each one that failed", async () => {
    const told = section(
      await summaryOf([
        ...bash("go test ./post -run TestLetter -v", passes),
        ...bash("go test ./post -run TestRound", "--- FAIL: TestRound (0.0s)\nFAIL\texample.com/post\t0.1s"),
        ...bash('go test ./post -run "TestParcel|TestCrate"', passes),
      ]),
      "Last checks",
    );
    expect(told).toContain("TestParcel|TestCrate");
    expect(told).toContain("-run TestRound");
    expect(told).not.toContain("TestLetter");
    expect(told).toContain("passed 1 package\n");
  });

  it("tell a check as failed where its own tests say that an option is unknown", async () => {
    const broken =
      " FAIL  src/cli.test.ts > weighs\nError: unknown option '--gram'\n Tests  1 failed | 2 passed (3)";
    const list = [...bash("npx vitest run", " Tests  3 passed (3)"), ...bash("npx vitest run", broken)];
    expect(section(await summaryOf(list), "Last checks")).toContain("failed 1 failed | 2 passed (3)");
    const linters = bash("make linters", "scale.py: line too long\nExit Code: 2");
    expect(section(await summaryOf(linters), "Last checks")).toContain("`make linters`: failed");
  });

  it("tell an edit that was tested by what it did, and no list of linters", async () => {
    expect(
      section(await summaryOf(bash("golangci-lint linters", "gofmt: on")), "Last checks"),
    ).toBeUndefined();
    const edited = step(
      "EditActionArguments",
      { path: "scale.py", old_string: "a", new_string: "b" },
      "The file scale.py has been edited.\n12 passed. 0 failed. 0 errors.",
    );
    expect(section(await summaryOf(edited), "Last checks")).toContain(
      "- `edited scale.py: `a` → `b``: passed",
    );
  });

  it("know checks by other starters, and take no help for one", async () => {
    const told = section(
      await summaryOf([
        ...bash("deno test", "ok | 5 passed | 0 failed (12ms)"),
        ...bash("golangci-lint run --help", "Usage: golangci-lint run"),
      ]),
      "Last checks",
    );
    expect(told).toContain("`deno test`: passed ok | 5 passed | 0 failed");
    expect(told).not.toContain("--help");
  });
});

describe("the story", () => {
  it("tells a sub-agent's words as its report, not as what was done", async () => {
    const report =
      "<task_type>local_agent</task_type>\nDelete the old scale.\nThe crane needs no change.\nagentId: a91c (to resume)\n<usage>total_tokens: 9</usage>";
    const told = await summaryOf(step("Task", { description: "Read the scales", prompt: "Read." }, report));
    expect(told).toContain("agent reported: Delete the old scale. · The crane needs no change.");
    expect(told).not.toMatch(/a91c|total_tokens|local_agent/);
  });

  it("tells files that were read in a row as one, also when that is read again", async () => {
    const read = (file: string, more: object = {}): Message[] =>
      step("Read", { file_path: file, ...more }, "const grams = 1;");
    const said: Message = { id: "s", role: "assistant", parts: [{ type: "text", text: "Now the crane." }] };
    const steps = [
      ...read("a.ts"),
      ...read("b.ts", { offset: 20, limit: 9 }),
      said,
      ...read("c.ts"),
      ...read("d.ts"),
    ];
    const told = await summaryOf(steps);
    expect(told).toContain("\nLooked at: read a.ts, b.ts (lines 20–28)\n");
    expect(await summaryOf(bash("make", "done"), undefined, told)).toContain("read a.ts, b.ts (lines 20–28)");
  });

  it("tells what was searched, not the lines that were found", async () => {
    const told = await summaryOf([
      ...step("Grep", { pattern: "quayside" }, "src/crane.ts:12: const quayside = openQuaysideTable(port);"),
      ...bash("rg berth src", "src/berth.ts:7: export function berthForVessel(vessel: Vessel) {"),
    ]);
    expect(told).toMatch(/Looked at: .*quayside.* \| ran `rg berth src`/);
    expect(told).not.toMatch(/openQuaysideTable|berthForVessel/);
  });

  it("tells a refused call once, in the words of the refusal", async () => {
    const refusal =
      "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nleave the old scale alone";
    const told = await summaryOf([
      ...step("Edit", { file_path: "/repo/src/scale.ts", old_string: "a", new_string: "b" }, refusal),
      ...bash("ls", "scale.ts"),
    ]);
    expect(told.split("What happened")[1]).toContain(
      "User: refused a call, saying: leave the old scale alone",
    );
    expect(told).not.toMatch(/Found: The user doesn't want|Did: edited/);
  });

  it("tells no refused call as where it stopped without the one that was made after it", async () => {
    const refusal = "The user doesn't want to proceed with this tool use.";
    const refused = step("create_ticket", { title: "Weigh by the gram" }, refusal);
    const made = step(
      "create_ticket",
      { title: `Weigh by the gram ${"and more ".repeat(20)}`, team: "Ulm" },
      "{}",
    );
    for (const maxTokens of [260, 400, 700, 1_500]) {
      const { text } = await builtinSummarizer.summarize([asked, ...refused, ...made], { maxTokens });
      const stopped = section(text, "Where it stopped") ?? "";
      if (stopped.includes("refused")) expect(stopped).toContain("and more");
    }
  });

  it("keeps the first words of the answer to a question in little room", async () => {
    const says = (role: "user" | "assistant", text: string, id: string): Message => ({
      id,
      role,
      parts: [{ type: "text", text }],
    });
    const talk = [0, 1, 2, 3, 4, 5].flatMap((at) => [
      says("user", `Does scale ${at} write to the old ledger?`, `q${at}`),
      says(
        "assistant",
        `No - scale ${at} writes to the ledger:\n\nSo either the crane of Bonn_${at} because of RampError_${at} is slow, or gate_${at}.ts and ramp_${at}.ts disagree.`,
        `a${at}`,
      ),
    ]);
    const { text } = await builtinSummarizer.summarize([...talk, says("user", "Go home.", "l")], {
      maxTokens: 420,
    });
    for (const at of [0, 1, 2, 3, 4, 5]) expect(text).toContain(`No - scale ${at} writes to the ledger`);
  });

  it("tells short code behind the words that introduce it", async () => {
    const words = (code: string): Message => ({
      id: "w",
      role: "assistant",
      parts: [
        { type: "text", text: `Fixed. The change:\n\n\`\`\`ts\n${code}\n\`\`\`\n\nAll parcels are weighed.` },
      ],
    });
    expect(await summaryOf([words("const MOST_GRAMS = 31_500;")])).toContain(
      "The change: `const MOST_GRAMS = 31_500;`",
    );
    expect(await summaryOf([words("weigh();\n".repeat(9))])).not.toContain("weigh();");
    const twice = "Run:\n```\nnpm run stop\n```\nWait. Then again.\nRun:\n```\nnpm run wipe\n```\nDone.";
    const told = await summaryOf([{ id: "w", role: "assistant", parts: [{ type: "text", text: twice }] }]);
    expect(told).toMatch(/Run: `npm run stop`[\s\S]*Run: `npm run wipe`/);
  });

  it("names the line that an edit added, also among lines that were only aligned anew", async () => {
    const told = await summaryOf(
      step(
        "Edit",
        {
          file_path: "/repo/scale.go",
          old_string: '\tGrams int `json:"grams"`',
          new_string: `\tGrams   int    \`json:"grams"\`\n\tStation string \`json:"station"\` // ${"where it was weighed ".repeat(5)}`,
        },
        "The file has been updated.",
      ),
    );
    expect(told).toMatch(/Changed: .*scale\.go: added "Station string/);
  });
});
