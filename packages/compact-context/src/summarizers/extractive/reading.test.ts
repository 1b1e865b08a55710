import { describe, expect, it } from "vitest";
import type { Message } from "../../core/message.ts";
import { readConversation } from "./reading.ts";

const user = (text: string): Message => ({ id: text, role: "user", parts: [{ type: "text", text }] });
const says = (text: string): Message => ({ id: text, role: "assistant", parts: [{ type: "text", text }] });

let calls = 0;
/** A call with its result. */
function ran(name: string, args: Record<string, unknown>, text: string, isError = false): Message[] {
  calls += 1;
  const id = `call${calls}`;
  return [
    { id: `${id}a`, role: "assistant", parts: [{ type: "toolCall", id, name, arguments: args }] },
    {
      id: `${id}b`,
      role: "tool",
      parts: [{ type: "toolResult", id, name, content: text, isError }],
    },
  ];
}
const shell = (command: string, text: string, isError = false) => ran("Bash", { command }, text, isError);
const openIn = (...messages: Message[]) => readConversation(messages).openErrors.map(({ text }) => text);

describe("open errors", () => {
  const failing = "--- FAIL: TestParcel (0.02s)\nFAIL\nFAIL\texample.com/post\t0.4s";

  it("are the last failures of checks", () => {
    expect(openIn(user("go"), ...shell("go test ./post", failing))).toContain("--- FAIL: TestParcel (0.02s)");
  });

  it("close with a wider run", () => {
    const wide = shell("make ci", "ok  \texample.com/post\t0.4s");
    expect(openIn(user("go"), ...shell("go test ./post", failing), ...wide)).toEqual([]);
  });

  it("of a build close with tests that pass, not with a linter", () => {
    const broken = shell("go build ./...", "post/a.go:3:1: undefined: Weigh", true);
    const lint = shell("golangci-lint run", "0 issues.");
    const tests = shell("go test ./...", "ok  \texample.com/post\t0.4s");
    expect(openIn(user("go"), ...broken, ...lint)).toEqual(["post/a.go:3:1: undefined: Weigh"]);
    expect(openIn(user("go"), ...broken, ...lint, ...tests)).toEqual([]);
  });

  it("of some tests stay while others pass", () => {
    const some = shell("go test -run TestLetter ./post", "ok  \texample.com/post\t0.4s");
    expect(openIn(user("go"), ...shell("go test -run TestParcel ./post", failing), ...some)).not.toEqual([]);
  });

  it("are no calls that only looked for something", () => {
    const missing = ran(
      "Read",
      { file_path: "/x" },
      "<tool_use_error>File does not exist.</tool_use_error>",
      true,
    );
    expect(openIn(user("go"), ...missing, ...shell("ls /y", "ls: /y: No such file", true))).toEqual([]);
  });

  it("of a command that checks nothing stay open where it only ran again, or was answered", () => {
    const broken = [user("go"), ...shell("node weigh.mjs", "ParcelError: no scale found", true)];
    expect(openIn(...broken, ...shell("node weigh.mjs | tail -3", "no scale"))).not.toEqual([]);
    expect(openIn(...broken, ...shell("node weigh.mjs", "running in background with ID: w1"))).not.toEqual(
      [],
    );
    expect(openIn(...broken, says("There is no scale. Shall I look for another?"))).not.toEqual([]);
  });

  it("of a commit close with the next one that is made", () => {
    const refused = shell('git commit -m "Release"', "husky - pre-commit script failed (code 2)", true);
    const made = shell(
      'git add . && git commit -m "Release"',
      "[main 45ffe0a] Release\n 2 files changed, 3 insertions(+)",
    );
    expect(openIn(user("go"), ...refused)).toEqual(["husky - pre-commit script failed (code 2)"]);
    expect(openIn(user("go"), ...refused, ...made)).toEqual([]);
  });

  it("of a chain close with the check that failed in it", () => {
    const chain = shell("npm run lint && npm test", 'error: script "lint" exited with code 1', true);
    const lint = shell("npx biome lint .", "Checked 280 files in 61ms. No fixes applied.");
    expect(openIn(user("go"), ...chain)).not.toEqual([]);
    expect(openIn(user("go"), ...chain, ...lint)).toEqual([]);
  });

  it("are no commands that were written wrongly", () => {
    const quotes = shell("curl -s example.com | jq '.a", "zsh:1: unmatched '", true);
    const filter = shell(
      "ship list | jq '.a + 1'",
      "jq: error (at <stdin>:8): string and number cannot be added",
      true,
    );
    const runner = shell("wrap bun run test", "error: unrecognized subcommand 'bun'", true);
    expect(openIn(user("go"), ...quotes, ...filter, ...runner)).toEqual([]);
  });

  it("are failures of tests that a user pastes", () => {
    expect(openIn(user("I ran it:\n--- FAIL: TestParcel (0.02s)"))).toEqual(["--- FAIL: TestParcel (0.02s)"]);
  });

  it("are told once, with what they say", () => {
    const pasted = "I get the following error:\nTypeError: x is no function\nTypeError: x is no function";
    expect(openIn(user(pasted))).toEqual(["TypeError: x is no function"]);
  });

  it("are what users report, also where they are polite", () => {
    const reported = [user("The upload does not work."), says("Shall I look at the scale?")];
    for (const polite of ["Yes, thanks.", "Thanks for looking into it.", "Nice. It stops all the same."])
      expect(openIn(...reported, user(polite))).not.toEqual([]);
  });

  it("are what users report until it is said to be solved", () => {
    const report = user("The upload does not work.");
    const fix = [...shell("npm test", "Tests  3 passed (3)"), says("Fixed: the upload works now.")];
    expect(openIn(report)).toEqual(["The upload does not work."]);
    expect(openIn(report, ...fix)).toEqual([]);
    expect(openIn(report, ...fix, user("still not right"))).toContain("The upload does not work.");
  });
});

describe("rules", () => {
  it("come from the reason of a refusal", () => {
    const refused = shell(
      "git commit -m design",
      "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\ndon't check in designs",
      true,
    );
    const { rules } = readConversation([user("write a design"), ...refused]);
    expect(rules.map(({ text }) => text)).toEqual(["don't check in designs"]);
  });
});

describe("next steps", () => {
  const steps = (...messages: Message[]) => readConversation(messages).nextSteps;
  const edit = ran(
    "Edit",
    { file_path: "/x", old_string: "a", new_string: "b" },
    "The file /x has been updated.",
  );

  it("are what a closing message leaves open", () => {
    expect(
      steps(user("go"), says("All is written.\nCurrent changes (not committed yet):\n- `src/a.ts`")),
    ).toEqual(["Current changes (not committed yet):"]);
  });

  it("are what is under way, and what was left before the user spoke", () => {
    const left = says("Only the parser remains.");
    expect(
      steps(user("go"), left, user("merge main first"), says("I'll merge main into the branch."), ...edit),
    ).toEqual(["Only the parser remains.", "I'll merge main into the branch."]);
  });

  it("are still to be done where something else was committed", () => {
    const commit = shell('git commit -am "Weigh"', "[main 4f0c2aa] Weigh\n 1 file changed");
    const told = steps(user("go"), says("Next I will merge main into the branch."), ...commit);
    expect(told).toEqual(["Next I will merge main into the branch."]);
  });

  it("are no looks", () => {
    expect(steps(user("go"), says("Let me check the parser."), ...edit)).toEqual([]);
  });
});

it("reads no thoughts that are tagged in a text as what was said", () => {
  const said = (text: string) =>
    readConversation([user("go"), says(text)]).episodes.flatMap(({ entries }) =>
      entries.map((entry) => (entry.kind === "assistant" ? entry.speech.text : entry.kind)),
    );
  for (const tag of ["think", "thinking"])
    expect(said(`<${tag}>\nI might use Redis.\n</${tag}>\nWe use Postgres.`)).toEqual(["We use Postgres."]);
  expect(said("I look.\n<think>\nPerhaps Redis.\n</think>\nWe use Postgres.")).toEqual([
    "I look.\nWe use Postgres.",
  ]);
  expect(said("<thinking>Hm.</thinking>")).toEqual([]);
  expect(said("<think>\nIs it\n<think about it> or not?\n</think>\nWe use Postgres.")).toEqual([
    "We use Postgres.",
  ]);
  const prose = "<think> opens a thought and </think> closes it.";
  expect(said(`Two tags.\n${prose}`).join(" ")).toContain("opens a thought");
  expect(said("<thinking> is a tag.")).toEqual(["<thinking> is a tag."]);
});

describe("work that was handed in", () => {
  const work = [user("Weigh the parcels by the gram."), says("Let me run the script.")];
  const handIn = (text: string, isError = false) =>
    ran("finish", { message: "Parcels are weighed by the gram." }, text, isError);

  it("is answered, and nothing of it is still announced", () => {
    const { answered, nextSteps, lastWords, lastAnswer } = readConversation([...work, ...handIn("Done.")]);
    expect({ answered, nextSteps, lastWords }).toEqual({ answered: true, nextSteps: [], lastWords: [] });
    expect(lastAnswer).toBe(2);
  });

  it("goes on where that was not accepted, or nothing shows that it was", () => {
    const refused = ["The user denied this operation.", "Wrong weight, try again", '{"status":"invalid"}'];
    for (const list of [
      handIn("Error: not yet", true),
      handIn("").slice(0, 1),
      ...refused.map((text) => handIn(text)),
    ])
      expect(readConversation([...work, ...list])).toMatchObject({ answered: false, lastAnswer: undefined });
  });
});

describe("last words", () => {
  const look = ran("Read", { file_path: "/x" }, "export const a = 1;");
  const thinks = (text: string): Message => ({ ...says(""), parts: [{ type: "reasoning", text }] });
  const words = (...messages: Message[]) => readConversation(messages).lastWords;

  it("are the last two thoughts and texts of work that goes on", () => {
    const found = thinks("Line 12 joins the wrong folder: the same mistake.");
    const given = [
      user("go"),
      says("Let me look at the parser."),
      found,
      says("Let me see who calls it:"),
      ...look,
    ];
    expect(words(...given)).toEqual([
      "Line 12 joins the wrong folder: the same mistake.",
      "Let me see who calls it:",
    ]);
  });

  it("are none where the request was answered or is new", () => {
    expect(words(user("go"), ...look, says("All of it is done."))).toEqual([]);
    expect(words(user("go"), says("No response requested."), ...look)).toEqual([]);
    expect(words(user("go"), says("Let me look at the parser."), ...look, user("stop"))).toEqual([]);
  });
});

it("takes the task list as a tool shows it last", () => {
  const made = ran("TaskCreate", { subject: "Weigh" }, "Task #1 created successfully: Weigh");
  const shown = ran("TaskList", {}, "#1 [completed] Weigh\n#2 [pending] Send");
  expect(readConversation([user("go"), ...made, ...shown]).plan).toEqual([
    { text: "Weigh", status: "completed" },
    { text: "Send", status: "pending" },
  ]);
});

it("tells the option that a bare reply picks", () => {
  const { decisions } = readConversation([
    user("which store?"),
    says("Options:\n- **A) One file**\n- **B) One file a parcel**\n\nWhich one?"),
    user("B)"),
  ]);
  expect(decisions.map(({ text }) => text)).toContain("**B) One file a parcel**");
});

describe("what a person reports", () => {
  const report = user("The login does not work on my machine.");

  it.each(["Thanks, login works now.", "The login is fixed.", "Never mind, that was my VPN."])(
    "is solved by their own words: %s",
    (words) => {
      expect(openIn(report, says("I look at it."), user(words), says("Good."))).toEqual([]);
    },
  );

  it.each([
    "The login works now, but not on Windows.",
    "Does the login work now?",
    "The login page is gone.",
    "The login works on my colleague's machine.",
    "The export works now, thanks to you, and all of its forty cases are green.",
  ])("stays open after: %s", (words) => {
    expect(openIn(report, says("I look at it."), user(words), says("Good."))).toContain(
      "The login does not work on my machine.",
    );
  });
});

it("a task list that was refused, or failed, is no plan", () => {
  const todo = (status: string) => ({ todos: [{ content: "Write notes", status }] });
  const refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
  const messages = [
    user("go"),
    ...ran("TodoWrite", todo("pending"), "Todos have been modified successfully."),
    ...ran("TodoWrite", todo("completed"), refusal, true),
    ...ran(
      "TodoWrite",
      todo("completed"),
      "<tool_use_error>InputValidationError: todos</tool_use_error>",
      true,
    ),
  ];
  expect(readConversation(messages).plan).toEqual([{ text: "Write notes", status: "pending" }]);
});

it("words that lift a rule end it", () => {
  const lifted = [user("Never push to main."), says("ok"), user("You can push to main again."), says("ok")];
  expect(readConversation(lifted).rules).toEqual([]);
});
