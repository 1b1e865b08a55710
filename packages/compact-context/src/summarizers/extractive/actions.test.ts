import { describe, expect, it } from "vitest";
import { readAction } from "./actions.ts";
import { commandKey, isLookingCommand } from "./commands.ts";

const act = (name: string, args: unknown) => readAction({ type: "toolCall", id: "1", name, arguments: args });
const words = (name: string, args: unknown): string => act(name, args).words;

describe("readAction of tools", () => {
  it.each<readonly [string, unknown, string, string]>([
    ["Bash", { command: "cd /app && npm test 2>&1 | tail -20" }, "run", "ran `npm test`"],
    ["exec_command", { cmd: "ls -la", workdir: "/app" }, "run", "ran `ls -la`"],
    ["shell", { command: ["bash", "-lc", "cargo build"] }, "run", "ran `cargo build`"],
    ["execute_command", '{"command":"make"}', "run", "ran `make`"],
    ["write_stdin", { session_id: 7, chars: "" }, "run", "waited for session 7"],
    ["Read", { file_path: "a.ts", offset: 10, limit: 5 }, "read", "read a.ts (lines 10–14)"],
    ["read_many_files", { paths: ["a.ts", "b.ts"] }, "read", "read a.ts, b.ts"],
    ["Grep", { pattern: "foo", path: "src/" }, "search", "searched for `foo` in src/"],
    ["Glob", { pattern: "**/*.ts" }, "search", "searched for files `**/*.ts`"],
    ["list_directory", { path: "src" }, "search", "listed src"],
    [
      "TodoWrite",
      {
        todos: [
          { content: "A", status: "completed" },
          { content: "B", status: "in_progress" },
        ],
      },
      "plan",
      "updated the plan: 1 of 2 done; in progress: B",
    ],
    ["update_plan", { plan: [{ step: "A", status: "pending" }] }, "plan", "updated the plan: 0 of 1 done"],
    ["TaskCreate", { subject: "Write tests", description: "…" }, "plan", 'added task "Write tests"'],
    ["TaskUpdate", { taskId: "1", status: "in_progress" }, "plan", "task 1 is in progress"],
    [
      "AskUserQuestion",
      { questions: [{ question: "Which one?" }, { question: "Why?" }] },
      "ask",
      "asked the user: Which one? / Why?",
    ],
    ["ExitPlanMode", { plan: "# Split the reader\n\n1. …" }, "plan", "proposed a plan: Split the reader"],
    [
      "Task",
      { subagent_type: "explorer", description: "Find callers", prompt: "…" },
      "agent",
      "started agent (explorer): Find callers",
    ],
    ["WebFetch", { url: "https://example.com/a", prompt: "…" }, "web", "fetched https://example.com/a"],
    ["web_search", { query: "node test runner" }, "web", 'searched the web for "node test runner"'],
    ["attempt_completion", { result: "All done." }, "message", "finished: All done."],
    [
      "str_replace_editor",
      { command: "create", path: "a.py", file_text: "def run():\n    pass" },
      "edit",
      "created a.py with run()",
    ],
    ["FindFunction", { function_name: "parse" }, "search", "searched for `parse`"],
    ["shell", "edit 1:3\nx = 1 + 2\nend_of_edit", "edit", "edited lines 1–3 of the open file: `x = 1 + 2`"],
    [
      "cancel_reservation",
      { reservation_id: "4WQ150" },
      "other",
      "cancel_reservation: reservation_id 4WQ150",
    ],
    [
      "book",
      { flights: [{ number: "HAT1", date: "2024-05-20" }], paid: { amount: 5 } },
      "other",
      "book: flights HAT1 2024-05-20, paid 5",
    ],
    ["mcp__linear__get_issue", { id: "ENT-1" }, "other", "linear get_issue: id ENT-1"],
  ])("%s %j", (name, args, kind, expected) => {
    expect(act(name, args)).toMatchObject({ kind, words: expected });
  });

  it("keeps the whole command and never throws", () => {
    expect(act("Bash", { command: "cd x && npm test" }).command).toBe("cd x && npm test");
    for (const args of [undefined, null, 5, "", "{", [], { file_path: 5 }, { todos: "x" }]) {
      for (const name of ["Bash", "Edit", "Write", "TodoWrite", "apply_patch", "unknown"])
        expect(words(name, args)).not.toBe("");
    }
  });
});

describe("readAction of commands", () => {
  it.each([
    ["git add a.ts && git commit -m 'fix: read twice'", 'committed: "fix: read twice"'],
    [
      'git commit -am "$(cat <<\'EOF\'\nfeat: "two" readers\n\nBody\nEOF\n)"',
      'committed: "feat: "two" readers"',
    ],
    ["git commit -F - <<EOF\nfix: one\nEOF", 'committed: "fix: one"'],
    ["git commit --amend --no-edit", "amended the last commit"],
    ["git push -u origin main", "ran `git push -u origin main`"],
    ['gh pr create --title "Read twice" --body x', 'ran `gh pr create --title "Read twice" --body x`'],
    ["git checkout -b fix/a", "ran `git checkout -b fix/a`"],
    ["git switch main", "ran `git switch main`"],
    ["npm test && git commit -m done", 'ran `npm test`; committed: "done"'],
    ["cat > src/a.py <<'EOF'\ndef run():\n    pass\nEOF", "wrote src/a.py with run()"],
    ["rm src/a.py", "ran `rm src/a.py`"],
  ])("%s", (command, expected) => {
    expect(words("Bash", { command })).toBe(expected);
  });

  it("tells the files of a command", () => {
    const files = (command: string) =>
      act("Bash", { command }).files.map(({ path, effect }) => `${effect} ${path}`);
    expect(files("cat a.ts b.ts | head")).toEqual(["read a.ts", "read b.ts"]);
    expect(files("sed -i 's/a/b/' src/a.ts")).toEqual(["edited src/a.ts"]);
    expect(files("mv a.ts b.ts && rm c.ts")).toEqual(["deleted a.ts", "created b.ts", "deleted c.ts"]);
    expect(files("npm test > /dev/null 2>&1")).toEqual([]);
  });

  it("reads a command over several lines, and an escaped quote within quotes", () => {
    const command = "mkdir -p out && \\\n  LIMIT=31 && \\\n  node weigh.mjs \\\n    --all";
    expect(words("Bash", { command })).toBe("ran `mkdir -p out && node weigh.mjs --all`");
    expect(words("Bash", { command: "echo a\\\\\nnpx tsc" })).toBe("ran `npx tsc`");
    const body = 'body=$\'## Weigh\\n- It\\\'s by the gram; "no" ounces\' && gh api -X PATCH -f body="$body"';
    expect(words("Bash", { command: body })).toBe('ran `gh api -X PATCH -f body="$body"`');
  });

  it("reads two runs of a program the same", () => {
    const key = commandKey("npm test");
    for (const run of [
      "cd /app && npm test",
      "CI=1 npm test 2>&1 | tail -5",
      "npm test; echo $?",
      "timeout 60 npm test || true",
      "# try\nnpm test > /tmp/log 2>&1",
    ]) {
      expect(commandKey(run)).toBe(key);
    }
    expect(commandKey('grep "a | tail" x.ts')).toBe('grep "a | tail" x.ts');
  });

  it("knows commands that only look", () => {
    for (const command of [
      "ls",
      "cat a | grep b",
      "cd x && git -C y status",
      "git log --oneline | head",
      "find . -name a",
      "sed -n 1,5p a",
      "git branch -vv",
      "node --version",
    ]) {
      expect(isLookingCommand(command), command).toBe(true);
    }
    for (const command of [
      "npm test",
      "find . -delete",
      "sed -i s/a/b/ x",
      "cat a > b",
      "git branch -D x",
      "git push",
      "ls && rm x",
      "",
      "gh api x -X POST",
    ]) {
      expect(isLookingCommand(command), command).toBe(false);
    }
  });
});

describe("readAction of edits", () => {
  const what = (path: string, before: string, after: string): string | undefined =>
    act("Edit", { file_path: path, old_string: before, new_string: after }).files[0]?.what;

  it.each([
    [
      "a.ts",
      "export function parse(text: string) {\n  return 1;\n}",
      "export function read(text: string) {\n  return 1;\n}",
      "renamed parse() to read()",
    ],
    [
      "a.ts",
      "const a = 1;",
      "const a = 1;\n\nexport class Cache {\n  get(key: string): string {\n    return key;\n  }\n}",
      "added class Cache",
    ],
    [
      "a.ts",
      "function a() {\n  const x = 1;\n  run(x);\n}",
      "function a() {\n  const x = 2;\n  run(x);\n}",
      "changed a(): `const x = 1;` → `const x = 2;`",
    ],
    ["a.py", "def a():\n    pass\n\ndef b():\n    pass", "def a():\n    pass", "removed b()"],
    [
      "a.go",
      "func (s *Server) Run() {\n\tx()\n}",
      "func (s *Server) Run() {\n\ty()\n\tz()\n}",
      "changed Run()",
    ],
    ["a.rs", "pub struct A;", "pub struct A;\npub enum Kind {\n    One,\n}", "added enum Kind"],
    [
      "A.java",
      "class A {\n}",
      "class A {\n  public static int size(List<String> x) {\n    return 1;\n  }\n}",
      "added size()",
    ],
    ["a.test.ts", "", 'it("reads twice", () => {\n  expect(1).toBe(1);\n});', 'added test "reads twice"'],
    [
      "a.yaml",
      "retries: 1\ntimeout: 5",
      "retries: 1\ntimeout: 30",
      "changed timeout: `timeout: 5` → `timeout: 30`",
    ],
    ["a.json", '{\n  "a": 1\n}', '{\n  "a": 1,\n  "b": 2\n}', "added b"],
    ["a.md", "# One\n\ntext", "# One\n\ntext\n\n## Two\n```sh\n# no heading\n```", 'added heading "Two"'],
    ["a.sql", "", "CREATE TABLE users (id int);", "added `CREATE TABLE users (id int);`"],
    ["a.txt", "size 4 here", "size 3 here", "`size 4 here` → `size 3 here`"],
  ])("%s", (path, before, after, expected) => {
    expect(what(path, before, after)).toContain(expected);
  });

  it("reads patches, moves and search blocks", () => {
    const patch =
      "*** Begin Patch\n*** Update File: src/a.py\n*** Move to: src/b.py\n@@ def run():\n-    x = 1\n+    x = 2\n*** Add File: c.md\n+# Title\n*** Delete File: d.ts\n*** End Patch";
    expect(act("apply_patch", patch).files).toEqual([
      {
        path: "src/a.py",
        effect: "edited",
        what: "moved to src/b.py; changed run(): `x = 1` → `x = 2`",
        added: ["x = 2"],
      },
      { path: "c.md", effect: "created", what: 'heading "Title"', added: [] },
      { path: "d.ts", effect: "deleted", what: "", added: [] },
    ]);
    expect(act("exec_command", { cmd: `apply_patch <<'EOF'\n${patch}\nEOF` }).files).toHaveLength(3);
    const diff = "------- SEARCH\nconst a = 1;\n=======\nconst a = 2;\n+++++++ REPLACE";
    expect(act("replace_in_file", { path: "a.txt", diff }).files[0]?.what).toBe(
      "`const a = 1;` → `const a = 2;`",
    );
    const edits = [{ old_string: "a b", new_string: "a c" }];
    expect(act("MultiEdit", { file_path: "a.txt", edits }).words).toBe("edited a.txt: `a b` → `a c`");
  });

  it("reads unified diffs, and the format of Codex without its frame", () => {
    const diff =
      "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,3 +1,3 @@ def run():\n-    x = 1\n+    x = 2\n--- a/old.py\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-def old():\n--- /dev/null\n+++ b/c.md\n@@ -0,0 +1,1 @@\n+# Title";
    expect(act("apply_patch", { patch: diff }).files).toEqual([
      { path: "src/a.py", effect: "edited", what: "changed run(): `x = 1` → `x = 2`", added: ["x = 2"] },
      { path: "old.py", effect: "deleted", what: "removed old()", added: [] },
      { path: "c.md", effect: "created", what: 'heading "Title"', added: [] },
    ]);
    const bare = "*** Update File: src/a.py\n@@ def run():\n-    x = 1\n+    x = 2";
    expect(act("apply_patch", { input: bare }).words).toBe(
      "edited src/a.py: changed run(): `x = 1` → `x = 2`",
    );
  });

  it("keeps the lines of a replacement that look like the line between both", () => {
    const diff = "<<<<<<< SEARCH\nold\n=======\nTitle\n=====\nnew words\n>>>>>>> REPLACE";
    const [change] = act("replace_in_file", { path: "a.txt", diff }).files;
    expect(change?.added).toEqual(["Title", "=====", "new words"]);
  });

  it("stays linear on hostile text", () => {
    const timeOf = (times: number): number => {
      const start = process.cpuUsage();
      for (const piece of ["(", "a ", "$(", "'\"", "public ", "<<E\n", "a<", "{\n", "`"]) {
        const text = piece.repeat(times);
        act("Bash", { command: text });
        act("Edit", { file_path: "a.ts", old_string: text, new_string: `${text}x` });
      }
      return process.cpuUsage(start).user;
    };
    timeOf(1_000);
    const short = Math.min(timeOf(15_000), timeOf(15_000), timeOf(15_000));
    // Eight times the text: about 8 where it is linear, 64 where it is not.
    expect(Math.min(timeOf(120_000), timeOf(120_000))).toBeLessThan(32 * short);
  });
});
