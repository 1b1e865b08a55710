import { describe, expect, it } from "vitest";
import type { Message, ToolCallPart } from "../../core/message.ts";
import { isBareReply, readAnswer, readSaid } from "./typed.ts";

const user = (text: string, meta?: Message["meta"]): Message => {
  const message: Message = { id: "m", role: "user", parts: [{ type: "text", text }] };
  return meta === undefined ? message : { ...message, meta };
};
const call = (name: string, args: unknown): ToolCallPart => ({
  type: "toolCall",
  id: "c",
  name,
  arguments: args,
});
const result = (text: string, isError = false): { text: string; isError: boolean } => ({ text, isError });

const REFUSED =
  "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file).";

describe("what was typed", () => {
  it.each([
    ["plain", "fix the reader", "fix the reader"],
    [
      "a plan given by the user",
      "Implement the following plan:\n\n# Plan\n\nDo it.",
      "Implement the following plan:\n\n# Plan\n\nDo it.",
    ],
    ["Claude Code reminder", "go\n<system-reminder>\nTodos are empty\n</system-reminder>", "go"],
    [
      "Claude Code command with words",
      "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>the last commit</command-args>",
      "/review the last commit",
    ],
    [
      "Claude Code steering command",
      "<command-name>/exit</command-name>\n<command-message>exit</command-message>\n<command-args></command-args>",
      "",
    ],
    ["Claude Code output", "<local-command-stdout>Bye!</local-command-stdout>", ""],
    ["Claude Code interruption", "[Request interrupted by user for tool use]", ""],
    [
      "Claude Code continuation",
      "This session is being continued from a previous conversation that ran out of context.\nAnalysis: never mind",
      "",
    ],
    ["Claude Code skill", "Base directory for this skill: /skills/x\n\n# X\n\nAlways do Y", ""],
    [
      "Claude Code plan note",
      "Implement the plan.\n\nIf you need specific details from before exiting plan mode (like code), read the full transcript at: /x.jsonl",
      "Implement the plan.",
    ],
    ["Codex context", "<environment_context>\n  <cwd>/x</cwd>\n</environment_context>", ""],
    [
      "Codex instructions",
      "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nAlways test\n</INSTRUCTIONS>",
      "",
    ],
    ["Codex skill", "<skill>\n<name>x</name>\nAlways\n</skill>", ""],
    ["Codex aborted", "<turn_aborted>\nThe user interrupted.\n</turn_aborted>", ""],
    [
      "Cline task",
      "<task>\nfix the reader\n</task>\n<environment_details>\n# Files\n</environment_details>",
      "fix the reader",
    ],
    ["Cline message", "<user_message>\nsmaller, please\n</user_message>", "smaller, please"],
    ["Cline feedback", "[attempt_completion] Result:\n<feedback>\nstill wrong\n</feedback>", "still wrong"],
    [
      "Cursor query",
      "<attached_files>\na\n</attached_files>\n<user_query>\nrename it\n</user_query>",
      "rename it",
    ],
    [
      "Cline refusal",
      "[execute_command for 'ls'] The user denied this operation and provided the following feedback:\n<feedback>\nnot now\n</feedback>\n<environment_details>\n# Files\n</environment_details>",
      "not now",
    ],
    [
      "Cursor rules",
      "<rules>\nThe rules section has a number of rules.\n</rules>\n<user_query>\nrename it\n</user_query>",
      "rename it",
    ],
    [
      "Copilot request",
      "<unheardOf>\nx\n</unheardOf>\n<userRequest>\nrename it\n</userRequest>\n<reminderInstructions>\ny\n</reminderInstructions>",
      "rename it",
    ],
    ["aider command", "/ask is it tested?  \n\n is it tested?", "/ask is it tested?"],
    ["aider steering", "/clear  \n\nadd a test", "add a test"],
    ["aider output", "Tokens: 4,017 sent, 407 received. Cost: $0.02", ""],
    [
      "OpenHands example",
      `Here's a running example\nUSER: old\n${"-".repeat(21)} NEW TASK DESCRIPTION ${"-".repeat(21)}\nprint hello\n${"-".repeat(21)} END OF NEW TASK DESCRIPTION ${"-".repeat(21)}\nfollow the format`,
      "print hello",
    ],
    ["OpenHands output", "EXECUTION RESULT of [terminal]:\nok", ""],
    [
      "SWE-agent issue",
      "We're currently solving the following issue within our repository. Here's the issue text:\nISSUE:\nRounding is wrong\n\nINSTRUCTIONS:\nNow, you're going to solve this",
      "Rounding is wrong",
    ],
    [
      "opencode review",
      `You are a code reviewer. Your job is to review code changes and provide feedback.\n\n---\n\nInput: main\n\n---\n${"x\n".repeat(20)}`,
      "/review main",
    ],
  ])("%s", (_, text, typed) => expect(readSaid(user(text))).toBe(typed));

  it("says nothing for what a host wrote", () => {
    expect(readSaid(user("hello", { synthetic: true }))).toBe("");
    expect(readSaid({ ...user("hello"), role: "assistant" })).toBe("");
  });

  it("tells pasted output from the sentences beside it", () => {
    const log = Array.from({ length: 9 }, (_, at) => `2026-01-02T03:04:0${at}Z INFO worker started`).join(
      "\n",
    );
    const said = readSaid(user(`why does it stop here?\n${log}\nplease find out`));
    expect(said).toBe("why does it stop here? …\nplease find out");
  });

  it.each([
    [
      "a stack trace",
      "TypeError: x is not a function\n    at a (src/a.js:1:2)\n    at b (src/b.js:3:4)\n    at c (src/c.js:5:6)",
    ],
    ["a diff", "diff --git a/x b/x\nindex 123456..abcdef 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@"],
    [
      "the console of a browser",
      "main.js:12 Warning: two parcels with one label\n    at div\n    at Shelf (http://localhost/main.js:7:3)\nweigh @ main.js:11888\nsend @ main.js:17Understand this error",
    ],
    ["JSON", '{\n"a": 1,\n"b": 2,\n"c": 3\n}'],
    ["a hunk of prose", "@@ -1,3 +1,4 @@\n One of them\n-- an item (old)\n+- an item (new)"],
    ["lines of code", 'const a = f(1);\nif (a > 3) {\n  show(a, "two or three words");\n}'],
    ["lines of a diff without its head", "-const a = 1;\n+const a = 2;\n-  show(a),\n+  tell(a),"],
    ["lines of a search", "12:import os;\n13:def f(x):\n14:    return g(x)\n15:x = f(1);"],
    ["styles", ".a {\n  margin: 0 auto;\n  color: red;\n}"],
    ["a long fence", `\`\`\`\n${"some words of output\n".repeat(40)}\`\`\``],
  ])("leaves out %s", (_, pasted) => expect(readSaid(user(`see:\n${pasted}`))).toBe("see: …"));

  it.each([
    "- Add a login page (React)\n- Add a logout button (top right)\n- Write tests (vitest, no snapshots)\n- Update the docs (README only)",
    "+ add dark mode,\n+ add a logout button,\n+ add a help page,\n+ add search (fuzzy)",
    "- renommer le module ;\n- corriger les imports ;\n- lancer les tests ;\n- écrire le changelog ;",
    "renommer le module (src/a.ts) ;\ncorriger imports ;\ntests ;\nchangelog ;",
    "- GET /orders/{id}\n- POST /orders/{id}\n- PUT /orders/{id}\n- DELETE /orders/{id}",
    "| plan | requests |\n|---|---|\n| free | 100 |\n| pro | 5000 |\n| team | 20000 |",
    "● rename it\n● test it (twice)\n● commit\n● push",
    "✓ login\n✗ the export is missing\n✓ logout\n✓ help",
    "1: rename it\n2: test it\n3: commit\n4: push",
    "$ npm i\n$ npm test\n$ npm run build\n$ npm publish",
    "> one\n> two\n> three\n> four",
    "if the cache is cold, warm it (use warm.ts),\nif the user is new, show the tour,\nwhile loading, show a spinner,\nreturn to the list,",
  ])("keeps what people type: %s", (list) => {
    const text = `Please do this:\n${list}\n\nThen commit.`;
    expect(readSaid(user(text))).toBe(text);
  });

  it.each([
    "Commit 1a2b3c4 broke the login. Bisect it, and never push without asking me.",
    "## Goal\nBuild a CSV export for orders.\n\n## Constraints\n- Never touch the payment code.",
    "Your output is invalid JSON: the last comma must go. Please send it again.",
    "UserPromptSubmit hooks do not fire on Windows. Find out why.",
    "Stop hook feedback is not shown, please fix that.",
    "The command completed but the file is still empty. Why?",
    "Diff since yesterday is too large to review. Split it into three commits.",
    "Added eslint to the chat package. Now make it pass.",
    "Removed lodash from the chat package, please update the lockfile.",
    "Applied edit to the wrong file. Undo it.",
    "No changes to display in the diff view? Fix it.",
    "# AGENTS.md instructions are out of date. Rewrite them.",
    "Summarize the task tool output above in three lines.",
    "<skill> tags are not read by our reader. Fix src/reader.ts.",
    "<summary> is not closed in the page. Fix it.",
    "<summary>We need a CSV export.</summary> Please build it.",
    "<rules>\nNever touch the payment code.\n</rules>\nRename Cart to Basket.",
    "<instructions>\nRename Cart to Basket.\n</instructions>",
    "The reader drops the text. This is what I feed it:\n<task>build</task>\nIt gives nothing. Fix src/xml.ts, and never add a dependency.",
    "This form is empty. Why?\n<answer>\n42\n</answer>",
    "<task>one</task>\nand\n<task>two</task>",
    "<task>build</task>\nis what the reader drops.",
  ])("is no notice of a host: %s", (text) => expect(readSaid(user(text))).toBe(text));

  it.each([
    "Commit c0982af feat: Modify scrape method\nCommit 455a87d style: Fix string formatting",
    "Applied edit to aider/scrape.py  \nCommit c0982af feat: Modify scrape method",
    "Added HISTORY.md to the chat.  \nUse /help <question> for help",
    "Removed tests/basic/test_main.py from the chat",
    "Diff since 191b248...  \n \n^C again to exit",
    "No changes to display since the last message.",
    "Summarize the task tool output above and continue with your task.",
    "System: Please continue.",
    "Operation stopped by hook: Warning: conflict",
    "UserPromptSubmit hook success: ok",
    "## Goal\nA CSV export\n\n## Constraints & Preferences\n- none\n\n## Progress\n### Done\n- the route",
    "<summary>\n1. Primary Request: a CSV export\n</summary>",
  ])("is a notice of a host: %s", (text) => expect(readSaid(user(text))).toBe(""));

  it("keeps a list above pasted output", () => {
    const trace =
      "TypeError: x is not a function\n    at a (src/a.js:1:2)\n    at b (src/b.js:3:4)\n    at c (src/c.js:5:6)";
    expect(readSaid(user(`- fix it (soon)\n- test it (twice)\n${trace}`))).toBe(
      "- fix it (soon)\n- test it (twice) …",
    );
    expect(readSaid(user(`${trace}\nWhy?`))).toBe("…\nWhy?");
    expect(readSaid(user(trace))).toBe("");
  });

  it("keeps remarks that each begin with their place", () => {
    const text =
      "auth.ts:42 rename this\nutils.py:7 goes\napi.ts:9 needs a test\ndb.ts:3 use a pool\nmain.go:1 too long";
    expect(readSaid(user(text))).toBe(text);
  });

  it("keeps a short piece of code", () => {
    const text = "rename this:\n```ts\nconst a = 1;\n```\nto b";
    expect(readSaid(user(text))).toBe(text);
  });
});

describe("answers to calls", () => {
  const plan = call("ExitPlanMode", { plan: "# Move the reader\n\nSteps" });
  it.each([
    [
      "refused with a reason",
      call("Bash", { command: "git push" }),
      result(`${REFUSED} To tell you how to proceed, the user said:\nnot to main`, true),
      { kind: "refusal", about: "Bash git push", text: "not to main" },
    ],
    [
      "refused without",
      call("Bash", { command: "git push" }),
      result(`${REFUSED} STOP what you are doing and wait for the user.`, true),
      { kind: "refusal", about: "Bash git push", text: "" },
    ],
    [
      "a plan refused",
      plan,
      result(`${REFUSED} To tell you how to proceed, the user said:\nsmaller steps`, true),
      { kind: "refusal", about: "plan: Move the reader", text: "smaller steps" },
    ],
    [
      "a plan approved",
      plan,
      result("User has approved your plan. You can now start coding."),
      { kind: "approval", about: "plan: Move the reader", text: "" },
    ],
    [
      "a question answered",
      call("AskUserQuestion", {}),
      result('User has answered your questions: "Which store?"="SQLite". You can now continue.'),
      { kind: "choice", about: "Which store?", text: "SQLite" },
    ],
    [
      "two questions answered",
      call("AskUserQuestion", {}),
      result('User has answered your questions: "A?"="x", "B?"="y". You can now continue.'),
      { kind: "choice", about: "", text: "A? → x\nB? → y" },
    ],
    [
      "Codex",
      call("request_user_input", { questions: [{ id: "s", question: "Which store?" }] }),
      result('{"answers":{"s":{"answers":["SQLite"]}}}'),
      { kind: "choice", about: "Which store?", text: "SQLite" },
    ],
    [
      "Cline",
      call("ask_followup_question", { question: "Which store?" }),
      result("<answer>\nSQLite\n</answer>"),
      { kind: "choice", about: "Which store?", text: "SQLite" },
    ],
    [
      "Cline denied",
      call("execute_command", { command: "rm x" }),
      result(
        "The user denied this operation and provided the following feedback:\n<feedback>\nkeep x\n</feedback>",
      ),
      { kind: "refusal", about: "execute_command rm x", text: "keep x" },
    ],
  ])("%s", (_, asked, answered, expected) => expect(readAnswer(asked, answered)).toEqual(expected));

  it("finds no words of a person in usual output", () => {
    expect(readAnswer(call("Bash", { command: "ls" }), result("a\nb"))).toBeUndefined();
    expect(readAnswer(call("Bash", { command: "ls" }), undefined)).toBeUndefined();
  });
});

describe("bare replies", () => {
  it.each([
    "yes",
    "2",
    "Go ahead",
    "ok do it",
    "C)",
    "run it",
    "yes, please do",
    "ja, mach das",
    "好的",
    "はい、お願いします",
    "oui vas-y",
    "sí, adelante",
    "sim, pode",
    "да, давай",
    "👍",
  ])("%s", (text) => expect(isBareReply(text)).toBe(true));
  it.each([
    "commit",
    "yes, but keep the old file",
    "use port 8080",
    "why?",
    "not now, fix the test first",
    "",
  ])("says something by itself: %s", (text) => expect(isBareReply(text)).toBe(false));
});

it("reads a megabyte of anything soon", () => {
  for (const piece of [
    "a",
    "\n",
    " ",
    "<task>",
    "<output>\n",
    "```\n",
    "{",
    "\t",
    "at x:1\n",
    '"a": 1,\n\n',
    "</x>",
    '"a"="',
    "\ud800",
  ]) {
    const text = piece.repeat(Math.ceil(1_000_000 / piece.length));
    const started = performance.now();
    readSaid(user(text));
    readAnswer(call("AskUserQuestion", { question: text }), result(text));
    readAnswer(call("Bash", { plan: text }), result(`${REFUSED} the user said: ${text}`));
    isBareReply(text);
    expect(performance.now() - started, JSON.stringify(piece)).toBeLessThan(3_000);
  }
});

it("tells what stands after a short fence", () => {
  const text = `Remove these lines:\n\`\`\`go\nstate.ID = ""\n\`\`\`\n\n${"The id is kept by the store.\n".repeat(40)}\n\`\`\`bash\nmake test\n\`\`\``;
  expect(readSaid(user(text))).toContain("The id is kept by the store.");
});

it("leaves out a log of commits", () => {
  const log =
    "* commit 73e26a3e28002a1a0b4e0b39e6ef5b70591b6871 (HEAD -> main)\n| Author: A B <a@example.com>\n| Date:   Sun Feb 15\n| \n|     Add a document\n|     \n|     With a body.\n* commit 8b56120cab78addc8744d58b2ac1357ca15186a0\n  Author: A B <a@example.com>\n  \n      initial commit";
  expect(readSaid(user(`still wrong, see\n${log}\nplease look`))).toBe("still wrong, see …\nplease look");
});
