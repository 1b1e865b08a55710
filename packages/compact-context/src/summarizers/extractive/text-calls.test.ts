import { describe, expect, it } from "vitest";
import type { Message } from "../../core/message.ts";
import { builtinSummarizer } from "./builtin.ts";
import { readConversation } from "./reading.ts";
import { readTextCalls, textResult } from "./text-calls.ts";

const says = (role: "user" | "assistant", text: string, id: string): Message => ({
  id,
  role,
  parts: [{ type: "text", text }],
});

describe("calls that are written into the text", () => {
  it.each([
    [
      "OpenHands",
      "I look around.\n\n<function=terminal>\n<parameter=command>\nls -la\n</parameter>\n</function>",
      { name: "terminal", arguments: { command: "ls -la" } },
    ],
    [
      "Claude",
      'I look around.\n<function_calls>\n<invoke name="bash">\n<parameter name="command">ls -la</parameter>\n</invoke>\n</function_calls>',
      { name: "bash", arguments: { command: "ls -la" } },
    ],
    [
      "Cline",
      "I look around.\n<execute_command>\n<command>ls -la</command>\n<requires_approval>false</requires_approval>\n</execute_command>",
      { name: "execute_command", arguments: { command: "ls -la", requires_approval: "false" } },
    ],
  ])("are read as %s writes them", (_, text, call) => {
    const read = readTextCalls(text, "m1");
    expect(read.calls).toEqual([{ type: "toolCall", id: "m1#0", ...call }]);
    expect(read.said).toBe("I look around.");
  });

  it.each([
    "The host sends `<function=terminal>` and waits.",
    "<function=terminal>\n<parameter=command>ls",
    "Use <read_file><path>a.ts</path></read_file> for that.",
  ])("are none where they are spoken of, or not closed: %s", (text) => {
    expect(readTextCalls(text, "m1")).toEqual({ calls: [], said: text });
  });

  it("tell what Cline says when it is done as the assistant's words", () => {
    const text = "<attempt_completion>\n<result>\nThe port is 4010 now.\n</result>\n</attempt_completion>";
    expect(readTextCalls(text, "m1")).toEqual({ calls: [], said: "The port is 4010 now." });
  });

  it("are answered in the user's place", () => {
    expect(textResult(says("user", "EXECUTION RESULT of [terminal]:\nok", "m2"))).toBe("ok");
    expect(textResult(says("user", "What is an EXECUTION RESULT of [x]:?", "m2"))).toBeUndefined();
  });

  it("stand in a summary in words, with their outcome", async () => {
    const { text } = await builtinSummarizer.summarize(
      [
        says("user", "Please make the tests of the parser pass.", "m1"),
        says(
          "assistant",
          "I run them.\n<function=terminal>\n<parameter=command>npm test</parameter>\n</function>",
          "m2",
        ),
        says(
          "user",
          "EXECUTION RESULT of [terminal]:\n 2 failed, 3 passed\n[Command finished with exit code 1]",
          "m3",
        ),
        says("assistant", "Two tests fail: parseDate and parseTime.", "m4"),
      ],
      { maxTokens: 600 },
    );
    expect(text).toContain("npm test");
    expect(text).toMatch(/npm test`?: failed/);
    expect(text).not.toContain("<parameter");
  });

  it("make no answer of the words before them", async () => {
    const step = (command: string, id: string): Message =>
      says(
        "assistant",
        `I look.\n<function=terminal>\n<parameter=command>${command}</parameter>\n</function>`,
        id,
      );
    const { lastAnswer } = readConversation([
      says("user", "Which port is open?", "m1"),
      step("ss -l", "m2"),
      says("user", "EXECUTION RESULT of [terminal]:\nall closed", "m3"),
      step("ss -a", "m4"),
    ]);
    expect(lastAnswer).toBeUndefined();
  });

  const block = (words: string, command: string, id: string): Message =>
    says("assistant", `${words}\n\n\`\`\`mswea_bash_command\n${command}\n\`\`\``, id);

  it("of mini-swe-agent are read with their output, which is no request", async () => {
    const { text } = await builtinSummarizer.summarize(
      [
        says("user", "Weigh the parcels by the gram.", "m1"),
        block("I run the tests.", "npm test", "m2"),
        says("user", "<returncode>1</returncode>\n<output>\n 2 failed, 3 passed\n</output>", "m3"),
        block("Done.", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff --cached", "m4"),
        says("user", "<returncode>0</returncode>\n<output>\n+    return grams\n</output>", "m5"),
      ],
      { maxTokens: 600 },
    );
    expect(text).toContain("Current request (user), answered\n> Weigh the parcels by the gram.\n");
    expect(text).toMatch(/I run the tests\.\nDid: ran `npm test`: failed/);
    expect(text).toContain("submitted");
    expect(text).not.toContain("mswea");
  });

  it("of mini-swe-agent were not run where a person speaks next, or nobody", () => {
    const asked = says("user", "Which tests are there?", "m1");
    const shown = block("I would run this:", "npm test", "m2");
    const list = [asked, shown, says("user", "No. Never run the tests unasked.", "m3")];
    const { steps, requests, rules } = readConversation(list);
    expect(steps).toEqual([]);
    expect(requests.map(({ text }) => text)).toEqual([
      "Which tests are there?",
      "No. Never run the tests unasked.",
    ]);
    expect(rules).not.toEqual([]);
    expect(readConversation([asked, block("", "ls", "m2")])).toMatchObject({ answered: true, steps: [] });
  });

  it("of mini-swe-agent are more than handed in where they do more", () => {
    const run = (behind: string): string => {
      const command = `echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT${behind}`;
      const printed = says("user", "<returncode>0</returncode>", "m2");
      return readConversation([block("Done.", command, "m1"), printed]).steps[0]?.action.words ?? "";
    };
    for (const behind of ["", " && cat patch.txt", " && git add -A && git diff --cached"])
      expect(run(behind)).toBe("submitted");
    expect(run(' && git add -A && git commit -m "Weigh"')).toBe('committed: "Weigh"');
    expect(run("; rm scale.py")).toContain("rm scale.py");
    expect(run(" && cat a && npm test")).toContain("npm test");
  });
});

describe("commands that a person runs in the chat", () => {
  const RAN = "/run pytest tests/test_a.py";
  const OUTPUT = [
    "==== test session starts ====",
    "rootdir: /srv/app\ntests/test_a.py F",
    "E   TypeError: no tuple\n==== 1 failed, 4 passed in 7.55s ====",
  ];
  const aider = (answer: string): Message[] => [
    says("user", "make scrape return a tuple", "m0"),
    says("user", RAN, "m1"),
    says("user", OUTPUT[0] ?? "", "m2"),
    says("assistant", OUTPUT[1] ?? "", "m3"),
    says("user", OUTPUT[2] ?? "", "m4"),
    says("user", "Add the output to the chat?", "m5"),
    says("assistant", `(y/n/instructions) ${answer}`, "m6"),
    says("user", OUTPUT.join("\n"), "m7"),
    says("assistant", "The mock returns None; I make it a pair.", "m8"),
  ];
  const told = async (messages: Message[]): Promise<string> =>
    (await builtinSummarizer.summarize(messages, { maxTokens: 1500 })).text;

  it("SUM-13 have their outcome, and what they printed is nobody's words", async () => {
    const text = await told(aider("is the mock wrong?"));
    expect(text).toContain("Did: ran `pytest tests/test_a.py`: failed 1 failed, 4 passed");
    expect(text).toContain("User: chose: is the mock wrong?");
    expect(text).toContain("Assistant: The mock returns None");
    expect(text).not.toContain("rootdir");
  });

  it("are read as aider hands them to its model", async () => {
    const text = await told([
      says(
        "user",
        "I ran this command:\n\npytest\n\nAnd got this output:\n\n==== 2 failed in 1.00s ====",
        "m1",
      ),
      says("assistant", "Two fail.", "m2"),
    ]);
    expect(text).toContain("Did: ran `pytest`: failed 2 failed");
  });

  it("are requests alone where nothing shows what they printed", async () => {
    const text = await told([says("user", RAN, "m1"), says("assistant", "I see no output.", "m2")]);
    expect(text).toContain(`> ${RAN}`);
    expect(text).toContain("I see no output.");
  });
});
