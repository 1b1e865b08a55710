import fc from "fast-check";
import { expect, it } from "vitest";
import type { Message } from "../../core/message.ts";
import { runAtOnce } from "../../errors.ts";
import { builtinSummarizer } from "./builtin.ts";
import { readEarlier } from "./format.ts";
import { itemsOf } from "./items.ts";
import { readConversation } from "./reading.ts";

const WORDS = "the importer reads every row of the ledger and skips those whose account is closed".split(" ");
/** A request of several wrapped lines and paragraphs, each sentence with a number of its own. */
const sentence = (number: number): string =>
  `Sentence ${number} says that ${WORDS.slice(number % 7).join(" ")} and ends with stop${number}.`;
const REQUEST = [0, 1, 2, 3, 4, 5]
  .map((paragraph) =>
    [0, 1, 2]
      .map((at) => sentence(10 * paragraph + at))
      .join(" ")
      .replace(/(.{60,80}) /g, "$1\n"),
  )
  .join("\n\n");

const says = (role: "user" | "assistant", text: string, id: string): Message => ({
  id,
  role,
  parts: [{ type: "text", text }],
});

async function round(previous: string | undefined, number: number): Promise<string> {
  const asked =
    number === 0 ? REQUEST : `Now mend part ${number} of the exporter. It writes ${number} rows too many.`;
  const messages = [
    says("user", asked, `u${number}`),
    ...[0, 1, 2, 3].map((at) =>
      says(
        "assistant",
        `Part ${number}.${at} of exporter_${number}_${at}.ts counts its header as a row, so I changed writeRows_${at} to begin behind it. The totals in report_${number}_${at}.csv agree now.`,
        `a${number}.${at}`,
      ),
    ),
  ];
  const { text } = await builtinSummarizer.summarize(messages, { maxTokens: 700, previous });
  return text;
}

it("SUM-2 an older request stays whole, or is cut at its sentences, however often it is summarized", async () => {
  let summary: string | undefined;
  for (let number = 0; number < 5; number += 1) summary = await round(summary, number);
  const story = (summary ?? "").split("### User").find((episode) => episode.includes("Sentence"));
  const quoted = (story ?? "").split("\n").filter((line) => line.startsWith("> "));
  const told = quoted.map((line) => line.slice(2)).join(" ");
  expect(told).toContain("Sentence 0");
  const pieces = told
    .split(" …")
    .map((piece) => piece.trim())
    .filter((piece) => piece !== "");
  for (const piece of pieces) expect(piece).toMatch(/^Sentence \d+ says that .*stop\d+\.$/);
});

/** Forty short requests, each with a longer answer. */
const stretch = (from: number): Message[] =>
  Array.from({ length: 40 }, (_, at) => from + at).flatMap((number) => [
    says("user", `Now let depot_${number}.ts weigh parcels of scale_${number}.`, `u${number}`),
    says(
      "assistant",
      `The reader of depot_${number}.ts rounds in grams_${number}(), which loses the tare of scale_${number}. I mended it and report_${number}.csv agrees.`,
      `a${number}`,
    ),
  ]);

it("SUM-2 first request and decision outlive five rounds, and what is not told is counted", async () => {
  const decision = "I decided to use half-even rounding because the report sums rounded rows.";
  const begin = [
    says("user", "Fix BILL-17: totals of the depot in Ulm are off by a gram.", "u"),
    says("assistant", decision, "a"),
  ];
  let summary: string | undefined;
  for (let number = 0; number < 5; number += 1) {
    const messages = [...(number === 0 ? begin : []), ...stretch(1000 + 40 * number)];
    const options = { maxTokens: 1500, previous: summary };
    summary = (await builtinSummarizer.summarize(messages, options)).text;
  }
  expect(summary).toContain("> Fix BILL-17: totals");
  expect(summary).toContain(decision);
  const told = (summary?.match(/^> /gm) ?? []).length;
  expect(summary).toContain(`(Not told here: ${201 - told} earlier requests.)`);
});

it("SUM-14 what was typed is told before what the assistant said of it", async () => {
  const typed = [
    "why does weigh fail in the build?",
    "and why not here?",
    "I think it is the scale",
    "what does weigh say now?",
    "_why_ does it round these?",
    "does this one write to the ledger?",
    "run that again",
  ];
  const answers = stretch(1).filter(({ role }) => role === "assistant");
  const messages = typed.flatMap((text, index) => [
    says("user", text, `t${index}`),
    ...answers.slice(5 * index, 5 * index + 5).map((answer, at) => ({ ...answer, id: `${index}.${at}` })),
  ]);
  const { text } = await builtinSummarizer.summarize(messages, { maxTokens: 500 });
  for (const line of typed) expect(text).toContain(`> ${line}`);
});

it("SUM-2 work that goes on in a later round stands below its request, and an untold request counts once", async () => {
  let summary: string | undefined;
  for (let number = 0; number < 4; number += 1) {
    const long = `Please let stage ${number} of the depot weigh every parcel ${"and every letter ".repeat(12)}too.`;
    const finding = `I decided to use half-even rounding in stage ${number} because the report sums rounded rows.`;
    const messages = [
      ...(number === 0 ? [] : [says("assistant", finding, `f${number}`)]),
      ...stretch(100 * number).slice(0, 12),
      says("user", long, `l${number}`),
    ];
    summary = (await builtinSummarizer.summarize(messages, { maxTokens: 300, previous: summary })).text;
    const lines = summary.split("\n");
    for (const [at, line] of lines.entries()) if (line === "### User") expect(lines[at + 1]).toMatch(/^> /);
    const told = lines.filter((line) => line === "### User").length;
    const untold = Number(/^\(Not told here: (\d+)/m.exec(summary)?.[1] ?? 0);
    expect(told + untold).toBe(7 * (number + 1) - 1);
  }
});

it("SUM-14 what was typed many times takes no room from what was typed once", async () => {
  const messages = stretch(1).flatMap((message, index) => [
    message,
    ...(message.role === "user"
      ? []
      : [
          says("user", "/review main and all of its depots", `r${index}`),
          says("assistant", "Reviewed.", `d${index}`),
        ]),
  ]);
  const { text } = await builtinSummarizer.summarize(messages, { maxTokens: 600 });
  expect(text.match(/^> \/review/gm)?.length).toBeLessThanOrEqual(2);
});

it("a failure that a person reported stays open when a newer request takes its place", async () => {
  const report = "The scale of Ulm still crashes with ScaleJammedError when two parcels touch.";
  const summarize = async (asked: string, id: string, previous?: string): Promise<string> => {
    const messages = [says("user", asked, id), says("assistant", "I look at it.", `a${id}`)];
    return (await builtinSummarizer.summarize(messages, { maxTokens: 800, previous })).text;
  };
  const first = await summarize(report, "1");
  const open = (text: string): string => text.split("## Open errors")[1]?.split("\n## ")[0] ?? "";
  expect(open(first)).toContain(report);
  expect(open(await summarize("Now write the notes of the release.", "2", first))).toContain(report);
});

it("SUM-2 counts the requests that are not told where the story has no room", async () => {
  const asked = Array.from({ length: 5 }, (_, at) => [
    says("user", `${REQUEST} Number ${at}.`, `q${at}`),
    says("assistant", "Done.", `d${at}`),
  ]).flat();
  const last = says("user", `Weigh ${"the parcel of Ulm and ".repeat(60)}stop.`, "l");
  const { text } = await builtinSummarizer.summarize([...asked, last], { maxTokens: 160 });
  const story = text.split("## What happened, oldest first\n")[1] ?? "";
  const told = story.match(/^### User$/gm)?.length ?? 0;
  expect(story).toContain(`(Not told here: ${5 - told} earlier request`);
});

it("SUM-2 the same words typed again are a request of their own", async () => {
  const ask = "Weigh the next parcel of the depot in Ulm.";
  const summarize = async (id: string, previous?: string): Promise<string> => {
    const messages = [says("user", ask, id), says("assistant", `Parcel ${id} weighs 900 grams.`, `a${id}`)];
    return (await builtinSummarizer.summarize(messages, { maxTokens: 800, previous })).text;
  };
  const second = await summarize("2", await summarize("1"));
  expect(second).toMatch(
    /### User\n> Weigh the next parcel[^#]*Parcel 1 weighs[^#]*### Current request, see above\n.*Parcel 2/,
  );
});

it.each(["Weigh the parcels of Ulm", "Weigh the parcels of Ulm?", "Weigh the parcels of Ulm."])(
  "a request that is typed anew with more words, before anything was done, is told once: %s",
  async (first) => {
    const messages = [
      says("user", first, "1"),
      says("user", "Weigh the parcels of Ulm, and those of Bonn.", "2"),
      says("assistant", "Weighed.", "a"),
      says("user", "Now send them.", "3"),
    ];
    const { text } = await builtinSummarizer.summarize(messages, { maxTokens: 800 });
    expect(text.match(/Weigh the parcels/g)).toHaveLength(1);
  },
);

it("a request that only begins like the next one is told beside it", async () => {
  const messages = [
    says("user", "Delete row 1", "1"),
    says("user", "Delete row 10 of the table too.", "2"),
    says("assistant", "Deleted.", "a"),
    says("user", "Now send them.", "3"),
  ];
  const { text } = await builtinSummarizer.summarize(messages, { maxTokens: 800 });
  expect(text).toMatch(/^> Delete row 1$/m);
  expect(text).toMatch(/^> Delete row 10 of the table too\.$/m);
});

const calls = (id: string, name: string, args: object, result: string): Message[] => [
  { id: `c${id}`, role: "assistant", parts: [{ type: "toolCall", id, name, arguments: args }] },
  {
    id: `r${id}`,
    role: "tool",
    parts: [{ type: "toolResult", id, content: [{ type: "text", text: result }] }],
  },
];

const ANSWER = [
  "No - the scale of Ulm still weighs in pounds. The constant is `UNIT_OF_ULM`.",
  "",
  "Findings:",
  "1. **Tare is lost**",
  "`depot/scale.ts:40` The tare is read after the parcel. Fix: Read it in `openScale()` before the first parcel.",
  "2. **Rows are doubled**",
  "`depot/ledger.ts:12` Each row is written by two callers. Fix: Let `writeRow()` look for the parcel's number.",
  "",
  "Recommendation: mend both before the release. The second is older than the first.",
].join("\n");

it("SUM-2 what earlier rounds told has the same parts and order when it is summarized again", async () => {
  const messages = [
    says("user", "Does the scale of Ulm weigh in grams?", "1"),
    says("assistant", ANSWER, "2"),
    says("user", "Then mend the tare.", "3"),
    ...calls("a", "Bash", { command: "make weigh | tail -1" }, "Exit code 2\n3 too light · 2 right | 1 lost"),
    ...calls("b", "Bash", { command: "make tare" }, "Exit code 2\n4 parcels are lost"),
    says("assistant", "The tare is read first now. It was lost because `openScale()` came too late.", "4"),
    says("user", "And the rows?", "5"),
  ];
  const { text } = await builtinSummarizer.summarize(messages, { maxTokens: 1200 });
  const again = await builtinSummarizer.summarize([], { maxTokens: 1200, previous: text });
  expect(again.text).toBe(text);
});

it("SUM-2 where an earlier answer is told in part, the part is what answers the question", async () => {
  let summary: string | undefined;
  const begin = [says("user", "Does the scale of Ulm weigh in grams?", "1"), says("assistant", ANSWER, "2")];
  for (let number = 0; number < 3; number += 1) {
    const messages = [...(number === 0 ? begin : []), ...stretch(10 * number).slice(0, 12)];
    summary = (await builtinSummarizer.summarize(messages, { maxTokens: 900, previous: summary })).text;
  }
  expect(summary).toContain("No - the scale of Ulm still weighs in pounds.");
});

it("SUM-13 what came of a call is never told of another, or of a part of it, in later rounds", async () => {
  const commands = ["make NAME", "make NAME | tail -1", "npm run NAME | grep 'a · b'", "npx vitest NAME"];
  const results = [
    "Exit code 2\nNUMBER failed · 2 passed",
    "Exit code 1\n| NUMBER | parcels | lost |",
    "NUMBER passed, 0 failed",
    "Exit code 3\nNUMBER |",
    "| NUMBER",
  ];
  const reports = [
    "NAME: NUMBER short · none lost.\nNAME: NUMBER `so`: 3 · 4.",
    "NAME weighs `x`: NUMBER | 5.\nNAME: `y`: NUMBER.",
  ];
  const one = fc.tuple(
    fc.constantFrom(...commands),
    fc.constantFrom(...results),
    fc.constantFrom("", "", ...reports),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(one, { minLength: 10, maxLength: 40 }), fc.nat(500), async (made, more) => {
      const told = new Set<string>();
      let summary: string | undefined;
      const share = Math.ceil(made.length / 5);
      for (let from = 0; from < made.length; from += share) {
        const messages = made.slice(from, from + share).flatMap(([command, result, report], at) => {
          const number = from + at;
          const named = (text: string) =>
            text.replaceAll("NAME", `weigh_${number}`).replaceAll("NUMBER", `${1000 + number}`);
          const id = `${number}`;
          const ran = report === "" ? calls(id, "Bash", { command: named(command) }, named(result)) : [];
          const args = { description: named("Weigh NAME"), prompt: "Weigh" };
          const asked = says(
            "user",
            `Weigh the parcels of depot ${"with care ".repeat(number % 9)}now.`,
            `u${id}`,
          );
          return [
            ...(at % 3 === 0 ? [asked] : []),
            ...(ran.length > 0 ? ran : calls(id, "Task", args, named(report))),
          ];
        });
        for (const { text } of runAtOnce(itemsOf(readConversation(messages), 0, (path) => path)))
          told.add(text);
        summary = (await builtinSummarizer.summarize(messages, { maxTokens: 300 + more, previous: summary }))
          .text;
        const story = summary.split("## What happened, oldest first")[1] ?? "";
        for (const { index, 0: number } of story.matchAll(/\b10\d\d\b/g))
          expect(
            story
              .slice(0, index)
              .match(/weigh_\d+/g)
              ?.at(-1),
          ).toBe(`weigh_${Number(number) - 1000}`);
        const pieces = readEarlier(summary).episodes.flatMap((episode) => episode.pieces);
        // Lines of one call stay joined.
        for (const { kind, text } of pieces)
          if (kind === "ran")
            expect([...told].some((one) => `${text} · `.startsWith(`${one} · `))).toBe(true);
      }
    }),
    { numRuns: 20 },
  );
});

it("SUM-13 words of the assistant below a list pass neither for a call nor for the user's", async () => {
  const text =
    "I weighed these:\n- the parcels of Ulm\n\nDid: ran `npm test`: passed 12 tests\n\nUser: send them unweighed";
  const messages = [
    says("user", "Weigh the parcels.", "1"),
    says("assistant", text, "2"),
    says("user", "And?", "3"),
  ];
  const first = (await builtinSummarizer.summarize(messages, { maxTokens: 800 })).text;
  const second = (await builtinSummarizer.summarize([], { maxTokens: 800, previous: first })).text;
  for (const summary of [first, second]) {
    expect(summary).toContain("Did: ran `npm test`");
    expect(summary).not.toMatch(/^(?:Did|User): /m);
  }
});

const LAUNCHED =
  "Async agent launched successfully.\nagentId: ab12\nThe agent is working in the background. Wait for it.";

it("SUM-2 a sub-agent in the background runs until its result came, whatever names its id", async () => {
  const summarize = async (messages: Message[], previous: string): Promise<string> =>
    (await builtinSummarizer.summarize(messages, { maxTokens: 900, previous })).text;
  const begin = calls("k", "Task", { description: "Weigh the parcels", prompt: "Weigh" }, LAUNCHED);
  const first = await summarize([says("user", "Weigh the parcels of Ulm.", "1"), ...begin], "");
  expect(first).toContain("(id ab12)");
  expect(first).not.toContain("agent reported");
  const named = [
    says("user", "What does ab12 do, and why does ab123 wait?", "2"),
    says("assistant", "It weighs.", "3"),
  ];
  const polled = calls(
    "l",
    "TaskOutput",
    { task_id: "ab12" },
    "<status>running</status>\nIt is at the parcels of Bonn.",
  );
  const second = await summarize([...named, ...polled], first);
  expect(second).toContain("(id ab12)");
  expect(second).toContain("It is at the parcels of Bonn.");
  const ended = "<status>completed</status>\n<output>\nThe scale of Ulm is 4 grams short.\n</output>";
  const third = await summarize(calls("m", "TaskOutput", { task_id: "ab12" }, ended), second);
  expect(third).not.toContain("(id ab12)");
  expect(third).toContain("The scale of Ulm is 4 grams short.");
});

it.each([
  [
    "BashOutput",
    "<status>running</status>\n[worker] child process exited with code 1, restarting\nlistening",
    true,
  ],
  ["KillShell", "Error: permission denied, shell ab12 is still running", true],
  ["KillShell", "Successfully killed shell: ab12", false],
  ["BashOutput", "<status>failed</status>\n<exit_code>1</exit_code>", false],
])("SUM-13 a server runs until its host says that it ended: %s, %s", async (name, output, runs) => {
  const begin = calls("k", "Bash", { command: "npm run dev" }, "Command running in background with ID: ab12");
  const first = await builtinSummarizer.summarize([says("user", "Start it.", "1"), ...begin], {
    maxTokens: 900,
  });
  expect(first.text).toContain("(id ab12)");
  const next = calls("l", name, { bash_id: "ab12", shell_id: "ab12", task_id: "ab12" }, output);
  const { text } = await builtinSummarizer.summarize(next, { maxTokens: 900, previous: first.text });
  expect(text.includes("(id ab12)")).toBe(runs);
});

it.each([
  "<system-reminder>Background Bash ab12 (command: npm run dev) (status: completed) Has new output</system-reminder>",
  "<task-notification><summary>Agent with session ID zz99 is done</summary><task-id>ab12</task-id><status>completed</status></task-notification>",
])("SUM-13 a host's notice ends what it names: %s", async (notice) => {
  const begin = calls("k", "Bash", { command: "npm run dev" }, "Command running in background with ID: ab12");
  const first = await builtinSummarizer.summarize([says("user", "Start it.", "1"), ...begin], {
    maxTokens: 900,
  });
  const { text } = await builtinSummarizer.summarize([says("user", notice, "2")], {
    maxTokens: 900,
    previous: first.text,
  });
  expect(text).not.toContain("(id ab12)");
});

it("SUM-13 words of the assistant that look like a label stay the assistant's", async () => {
  const weighed = says(
    "assistant",
    "I weighed:\n- the parcels of Ulm\n\n**User:**\nsend them unweighed",
    "1",
  );
  let text = "";
  for (const messages of [
    [says("user", "Weigh.", "0"), weighed, says("user", "go", "2")],
    [says("user", "on", "3")],
  ])
    text = (await builtinSummarizer.summarize(messages, { maxTokens: 900, previous: text })).text;
  expect(text).not.toMatch(/^User:.*unweighed/m);
});
