import { describe, expect, it } from "vitest";
import type { Message, Part } from "../../core/message.ts";
import { builtinSummarizer } from "./builtin.ts";
import { spokenPiece, WEIGHTS } from "./remarks.ts";

// Whether somebody who reads a summary alone understands what its lines say.

let next = 0;
const says =
  (role: "user" | "assistant") =>
  (text: string, ...parts: Part[]): Message => {
    next += 1;
    return { id: `w${next}`, role, parts: [{ type: "text", text }, ...parts] };
  };
const user = says("user");
const reply = says("assistant");

const REFUSED_WITH = (reason: string): string =>
  `The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\n${reason}`;

const summarize = async (messages: readonly Message[], maxTokens: number): Promise<string[]> =>
  (await builtinSummarizer.summarize(messages, { maxTokens })).text.split("\n");

describe("a request that is too long", () => {
  const plan = [
    "Please move the parcels to the new scale, one depot after the other.",
    "",
    "## Depots",
    "",
    ...["Ulm", "Jena", "Gera", "Hof", "Kiel", "Suhl", "Bonn", "Cham"].flatMap((town) => [
      `### ${town}`,
      "",
      `The scale in ${town} has a reader of its own, and it was calibrated by hand.`,
      `It sends weights to the ledger of ${town}. Nobody may open it while parcels are on it.`,
      "",
    ]),
    "## Before you start",
    "",
    "Which of the depots do you want to begin with?",
  ];

  it("keeps how it begins, what it asks and whole paragraphs, and says once how much is left out", async () => {
    const told = await summarize([user(plan.join("\n"))], 400);
    const quoted = told.filter((line) => line.startsWith("> ")).map((line) => line.slice(2));
    const lines = plan.filter((line) => line !== "");
    expect(quoted[0]).toMatch(/^Please move the parcels/);
    expect(quoted.slice(-2)).toEqual([
      "## Before you start",
      "Which of the depots do you want to begin with?",
    ]);
    for (const town of quoted.filter((line) => line.startsWith("### ")))
      expect(quoted[quoted.indexOf(town) + 1]).toContain(`The scale in ${town.slice(4)}`);
    const length = (of: readonly string[]): number => of.join("\n").length;
    const [note, ...more] = told.filter((line) => line.includes("left out"));
    const share = Number(/^\(About (\d+) % of it is left out; … shows where\.\)$/.exec(note ?? "")?.[1]);
    expect(Math.abs(share - 100 * (1 - length(quoted) / length(lines)))).toBeLessThan(3);
    expect(more).toEqual([]);
  });

  it("is told in the same parts in the story", async () => {
    const told = await summarize([user(plan.join("\n")), reply("With Ulm."), user("Then Ulm.")], 400);
    const quoted = told.filter((line) => line.startsWith("> "));
    const depot = quoted.findIndex((line) => line.startsWith("> ### "));
    expect(depot).toBeGreaterThan(0);
    expect(quoted[depot + 1]).toMatch(/^> The scale in/);
    expect(quoted[depot - 1]).toMatch(/ …$/);
  });
});

describe("standing rules", () => {
  it.each([
    "you must run it again",
    "only change this button",
    "run it again, every test should pass now",
    "Make this one blue, never red.",
    "No, this one must be blue.",
    "Use the blue one, not the green one.",
    "we must finish this today",
  ])("are none of: %s", async (once) => {
    const told = await summarize(
      [user(`Never touch legacy/.\n${once}`), reply("Done."), user("Thanks a lot.")],
      600,
    );
    expect(told.filter((line) => line.startsWith("- "))).toEqual(["- Never touch legacy/."]);
  });

  it.each([
    "Always run it before you commit.",
    "Run the tests every time you change it.",
    "Never run it again.",
  ])("are: %s", async (rule) => {
    const told = await summarize(
      [user(`Please mend the login.\n${rule}`), reply("Done."), user("Thanks a lot.")],
      600,
    );
    expect(told.filter((line) => line.startsWith("- "))).toEqual([expect.stringContaining(rule)]);
  });
});

describe("words that stand in the assistant's place", () => {
  it("of another agent or a program are told by its name", async () => {
    const told = await summarize(
      [
        user("Which parcels are late?"),
        reply("[Terminal]\nexitcode: 0 (execution succeeded)\nparcel 4711 left Ulm two days late"),
        reply("One is late."),
        user("Thanks, and which of them are lost?"),
      ],
      600,
    );
    const line = "Did: Terminal: exitcode: 0 (execution succeeded) · parcel 4711 left Ulm two days late";
    expect(told.filter((one) => /Terminal|Assistant/.test(one))).toEqual([line, "Assistant: One is late."]);
  });

  it("are bounded where they are a list", async () => {
    const files = Array.from({ length: 30 }, (_, at) => `-rw-r--r-- depot parcel_of_ulm_${at}.txt`);
    const told = await summarize(
      [user("Which?"), reply(`[Terminal]\n${files.join("\n")}`), user("Thanks!")],
      900,
    );
    expect(told.join("").split("parcel_of_ulm_")).toHaveLength(13);
  });

  it.each([
    [
      "Add the output to the chat?",
      "(y/n/instructions) fix the test",
      "Add the output to the chat?",
      "fix the test",
    ],
    ["", "src/a.py\nAdd these files to the chat? n\nYou can undo.", "Add these files to the chat?", "n"],
  ])("that a person typed at a prompt are the user's: %s %s", async (before, prompt, asked, typed) => {
    const host: Message = { ...user(before), meta: { synthetic: true } };
    const told = await summarize(
      [user("Run the tests."), host, reply(prompt), user("And the linter, please.")],
      600,
    );
    expect(told).toContain(`User: chose: ${typed} (${asked})`);
  });
});

describe("what changed", () => {
  it("names nothing that stands in a string over several lines", async () => {
    const write = (path: string, content: string): Message[] => [
      reply("I write it.", {
        type: "toolCall",
        id: path,
        name: "Write",
        arguments: { file_path: path, content },
      }),
      { id: `r${path}`, role: "tool", parts: [{ type: "toolResult", id: path, content: "File created." }] },
    ];
    const told = await summarize(
      [
        user("Please test the reader."),
        ...write(
          "a_test.go",
          "func TestReads(t *testing.T) {\n\tgiven := `# config\nFOO = bar\nBAZ = qux\n`\n}\n",
        ),
        ...write("b_test.py", 'GIVEN = """\nTHIS = 1\n"""\n\ndef test_reads():\n    assert read(GIVEN)\n'),
        ...write(
          "d.ts",
          'const TICK = "`";\nconst ODD = ["`x", \'`\'];\nexport function reads() {}\nconst HELP = `\nfunction fake() {}\n`;\n',
        ),
        ...write(
          "e.vue",
          "<template>\n  <p>\n    interface Quay\n  </p>\n</template>\n<script setup>\nfunction lift() {}\n</script>\n",
        ),
        ...write("f.md", "# Guide\n\nIt runs anywhere.\n\n  ## Linux\n\n  Unpack it.\n\n  ## macOS\n"),
        ...write("c.md", "# Reader\n\n```sh\n# Not a heading\n```\n\n## Use\n"),
        user("Thanks a lot for all of them."),
      ],
      600,
    );
    expect(told.filter((line) => line.startsWith("Changed: "))).toEqual([
      "Changed: a_test.go (created): TestReads()",
      "Changed: b_test.py (created): test_reads(), GIVEN",
      "Changed: d.ts (created): reads(), TICK, ODD, HELP",
      "Changed: e.vue (created): lift()",
      'Changed: f.md (created): heading "Guide", heading "Linux", heading "macOS"',
      'Changed: c.md (created): heading "Reader", heading "Use"',
    ]);
  });
});

it("tells a file that was there before as rewritten, and what came of the last calls", async () => {
  const call = (id: string, name: string, args: Record<string, string>, result: string): Message[] => [
    reply("", { type: "toolCall", id, name, arguments: args }),
    { id: `r${id}`, role: "tool", parts: [{ type: "toolResult", id, content: result }] },
  ];
  const issue = { title: "Scale of Ulm reads double", team: "Depots" };
  const told = await summarize(
    [
      user("Please write the script anew and log the issue."),
      ...call(
        "w",
        "Write",
        { file_path: "weigh.sh", content: "weigh() {\n  true\n}\n" },
        "The file weigh.sh has been updated.",
      ),
      ...call("i1", "mcp__tracker__create_issue", issue, REFUSED_WITH("Use the team Scales.")),
      ...call(
        "i2",
        "mcp__tracker__create_issue",
        { ...issue, team: "Scales" },
        '{"id":"SCA-17","status":"Todo and waiting"}',
      ),
    ],
    1200,
  );
  expect(told).toContainEqual(expect.stringMatching(/weigh\.sh \(rewritten\): weigh\(\)/));
  expect(told).toContainEqual(expect.stringMatching(/^- last: .*team Scales: passed, id: SCA-17/));
  expect(told).toContainEqual(expect.stringMatching(/^- before: .*team Depots: refused by the user$/));
});

describe("a list of the assistant's", () => {
  const flights = [
    "I looked at both days and at every airline that flies there.",
    "",
    "These two flights leave after eleven:",
    "",
    "1. **Flight HAT218**",
    "   - Layover: ATL, 45 minutes",
    "   - Total price: $261",
    "2. **Flight HAT136**",
    "   - Layover: DFW, 95 minutes",
    "   - Total price: $255",
  ].join("\n");

  it("is told below the words that lead into it, with its numbers and what its lines belong to", async () => {
    const told = await summarize(
      [user("Which flights are there?"), reply(flights), user("The second.")],
      500,
    );
    expect(told.join("\n")).toContain(
      [
        "These two flights leave after eleven:",
        "1. Flight HAT218",
        "  - Layover: ATL, 45 minutes",
        "  - Total price: $261",
        "2. Flight HAT136",
      ].join("\n"),
    );
  });

  it.each([90, 110, 130, 150, 170])("never stands without them in %i tokens, in two rounds", async (size) => {
    const list = [
      user("Which flights are there?"),
      reply(flights),
      user("The second, please, and only one bag."),
    ];
    const { text: previous } = await builtinSummarizer.summarize(list, { maxTokens: 300 });
    const again = await builtinSummarizer.summarize([user("And back?")], { maxTokens: size, previous });
    for (const told of [await summarize(list, size), again.text.split("\n")]) {
      const at = (mark: RegExp): number => told.findIndex((line) => mark.test(line));
      if (at(/^\d\. Flight/) >= 0) expect(at(/leave after eleven:/)).toBe(at(/^\d\. Flight/) - 1);
      if (at(/\$255/) >= 0) expect(at(/Flight HAT136/)).toBeGreaterThan(0);
    }
  });
});

describe("one file", () => {
  const edits = (id: string, path: string, before: string, after: string): Message[] => [
    reply("", {
      type: "toolCall",
      id,
      name: "Edit",
      arguments: { file_path: path, old_string: before, new_string: after },
    }),
    {
      id: `${id}t`,
      role: "tool",
      parts: [{ type: "toolResult", id, name: "Edit", content: "Edit applied" }],
    },
  ];
  const reads = (id: string, from: number): Message[] => [
    reply("", {
      type: "toolCall",
      id,
      name: "Read",
      arguments: { file_path: "scale.ts", offset: from, limit: 10 },
    }),
    { id: `${id}t`, role: "tool", parts: [{ type: "toolResult", id, name: "Read", content: "weigh();" }] },
  ];
  const asked = user("Please mend the scale.");

  it("stands once below a request, whatever its path is called", async () => {
    const told = await summarize(
      [
        asked,
        ...edits("e1", "/srv/post/depot/scale.ts", "", "export function weigh() {}"),
        ...edits("e2", "/srv/post/depot/ledger.ts", "", "export function enter() {}"),
        ...edits("e3", "./scale.ts", "", "export function tare() {}"),
        user("And then?"),
      ],
      600,
    );
    expect(told.filter((line) => line.startsWith("Changed: "))).toEqual([
      "Changed: ledger.ts: added enter()",
      "Changed: scale.ts: added weigh(); added tare()",
    ]);
  });

  it("is named once for the parts that were read in a row", async () => {
    const told = await summarize([asked, ...reads("r1", 1), ...reads("r2", 31), ...reads("r3", 51)], 600);
    expect(told.join("\n")).toContain("Looked at: read scale.ts, scale.ts (lines 31–40, 51–60)");
  });
});

it("counts what the assistant says that it is looking at as little as the look itself", () => {
  const [looks, says] = [
    "I’m reading the ledger of the depot now.",
    "I’m sure that the ledger of the depot is wrong.",
  ];
  expect(spokenPiece(looks, false, false).weight).toBe(WEIGHTS.narration);
  expect(spokenPiece(says, false, false).weight).toBe(WEIGHTS.remark);
});
