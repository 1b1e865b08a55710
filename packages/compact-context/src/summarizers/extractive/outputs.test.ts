import { describe, expect, it } from "vitest";
import type { Message } from "../../core/message.ts";
import { builtinSummarizer } from "./builtin.ts";
import { HEADINGS } from "./format.ts";
import { foundPieces } from "./outputs.ts";

const summarize = async (messages: readonly Message[], maxTokens: number, more = {}): Promise<string> =>
  (await builtinSummarizer.summarize(messages, { maxTokens, ...more })).text;

describe("output that was emptied in a list that stays", () => {
  const id = "c1";
  const asked: Message = { id: "u", role: "user", parts: [{ type: "text", text: "Which ports are open?" }] };
  const call: Message = {
    id: "a",
    role: "assistant",
    parts: [{ type: "toolCall", id, name: "Bash", arguments: { command: "scan harbour" } }],
  };
  const result: Message = {
    id: "t",
    role: "tool",
    parts: [
      {
        type: "toolResult",
        id,
        name: "Bash",
        content: "the north quay listens on 4711\nthe south quay is closed",
      },
    ],
  };
  const list = [asked, call, result];
  const context = { list, kept: list };
  const heading = "### From what left this list, for the request: Which ports are open?";
  const line = "Did: ran `scan harbour`: the north quay listens on 4711 · the south quay is closed";

  it("is told below the beginning of its request, the call named once", async () => {
    const summary = await summarize([result], 400, { context });
    expect(summary.split("\n")).toContain(heading);
    expect(summary.split("\n")).toContain(line);
  });

  it("of a read stands in one line too", async () => {
    const path = "/home/ana/harbour/quays.txt";
    const reads: Message = {
      ...call,
      parts: [{ type: "toolCall", id, name: "Read", arguments: { file_path: path, offset: 1, limit: 20 } }],
    };
    const list = [asked, reads, result];
    const summary = await summarize([result], 400, { context: { list, kept: list } });
    const told = summary.split("\n").filter((one) => one.startsWith("Did: read"));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain("listens on 4711 · the south quay is closed");
  });

  const told = async (name: string, given: Record<string, unknown>, content: string): Promise<string[]> => {
    const calls: Message = { ...call, parts: [{ type: "toolCall", id, name, arguments: given }] };
    const answer: Message = { ...result, parts: [{ type: "toolResult", id, content }] };
    const list = [asked, calls, answer];
    const summary = await summarize([answer], 600, { context: { list, kept: list } });
    return summary.split("\n").filter((one) => one.startsWith("Did: "));
  };
  const quays = [
    'import { open } from "node:fs/promises";',
    "",
    "export interface Quay {",
    "  readonly depth: number;",
    "}",
    "",
    "export function deepest(quays: readonly Quay[]): Quay {",
    "  const sorted = quays.toSorted((a, b) => b.depth - a.depth);",
    "  return sorted[0];",
    "}",
  ];
  const numbered = (sign: string): string =>
    quays.map((text, index) => `${String(index + 1).padStart(5)}${sign}${text}`).join("\n");

  it.each([
    ["Read", { file_path: "/srv/quays.ts" }, numbered("→"), "read /srv/quays.ts"],
    [
      "read",
      { filePath: "/srv/quays.ts" },
      `<content>${numbered(": ").trim()}\n</content>`,
      "read /srv/quays.ts",
    ],
    ["Bash", { command: "nl -ba src/quays.ts" }, numbered("\t"), "ran `nl -ba src/quays.ts`"],
    [
      "read_files",
      { paths: ["/srv/quays.ts"] },
      JSON.stringify([{ query: "/srv/quays.ts:1-10", result: numbered(" | "), success: true }]),
      "read /srv/quays.ts",
    ],
  ])("of code that %s read is told by its names", async (name, given, content, words) => {
    expect(await told(name, given, content)).toEqual([`Did: ${words}: interface Quay, deepest()`]);
  });

  it("of a diff is told by what changed in each file", async () => {
    const diff = [
      "diff --git a/src/quays.ts b/src/quays.ts",
      "index 1111111..2222222 100644",
      "--- a/src/quays.ts",
      "+++ b/src/quays.ts",
      "@@ -1 +1,4 @@",
      " export const LIMIT = 4;",
      "+export function shallowest(quays: readonly Quay[]): Quay {",
      "+  return quays[0];",
      "+}",
      "diff --git a/src/old.ts b/src/old.ts",
      "--- a/src/old.ts",
      "+++ /dev/null",
      "@@ -1,3 +0,0 @@",
      "-export function gone(): void {",
      "-  stop();",
      "-}",
    ].join("\n");
    expect(await told("Bash", { command: "git diff" }, diff)).toEqual([
      "Did: ran `git diff`: src/quays.ts: added shallowest() · src/old.ts (deleted): removed gone()",
    ]);
  });

  it.each([
    ["an output behind it", "src/quays.ts", "FAIL test/quays.test.ts > is deep enough for every ship"],
    ["more lines than its hunk has", "src/quays.ts", "+export function wrong(quays: readonly Quay[]) {"],
  ])("with %s is told by its lines, as no change", async (_, file, more) => {
    const diff = [
      `diff --git a/${file} b/${file}`,
      `--- a/${file}`,
      `+++ b/${file}`,
      "@@ -1 +1 @@",
      "-export const LIMIT_OF_THE_QUAY = 4;",
      "+export const LIMIT_OF_THE_QUAY = 5;",
      more,
    ].join("\n");
    const [line = ""] = await told("Bash", { command: "git diff src" }, diff);
    expect(line).toContain(more);
    expect(line).not.toContain("added wrong()");
  });

  it("tells a commit's message before its changes, and a record's fields before its text", async () => {
    const commit = [
      "commit 4a5b6c7d8e9f",
      "    Never lower the limit of the north quay",
      "diff --git a/a.ts b/a.ts",
      "--- a/a.ts",
      "+++ b/a.ts",
      "@@ -1 +1,3 @@",
      " const a = 1;",
      "+export function shallowest() {",
      "+}",
    ].join("\n");
    expect(await told("Bash", { command: "git show" }, commit)).toEqual([
      "Did: ran `git show`: Never lower the limit of the north quay · a.ts: added shallowest()",
    ]);
    const log = "the crane of the north quay went up and down all day\n".repeat(9);
    const record = JSON.stringify({ status: "failed", error: "quota of the quay exceeded", log });
    const [line = ""] = await told("weigh", {}, record);
    expect(line).toContain("status: failed, error: quota of the quay exceeded · the crane of the north quay");
  });

  it("of a check is told by how it ended and what it complained of", async () => {
    const passes = [
      "> quay@1.0.0 test /srv/quay",
      "[Ledger] Line 20 exceeds the page, clamping to 10",
      " 12 pass",
      " 0 fail",
    ].join("\n");
    const [good = ""] = await told("Bash", { command: "bun test" }, passes);
    expect(good).toMatch(/^Did: ran `bun test`: passed 12 pass, 0 fail · \[Ledger\]/);
    const fails = [
      " FAIL  src/quay.test.ts > quay > is deep",
      "AssertionError: expected 9 to be 12",
      "",
      " Test Files  1 failed | 2 passed (3)",
      "      Tests  1 failed | 11 passed (12)",
    ].join("\n");
    const [line = ""] = await told("Bash", { command: "npx vitest run" }, fails);
    expect(line).toContain(
      "failed 1 failed | 2 passed (3), 1 failed | 11 passed (12) (src/quay.test.ts > quay > is deep)",
    );
    expect(line).toContain(" · AssertionError: expected 9 to be 12");
  });

  it("of a failed command that is no check is told besides how it ended", async () => {
    const states = "lint the quay\tpass\t12s of the north\nmoor the crane\tpending\t0 of the north";
    const [line = ""] = await told("Bash", { command: "gh pr checks 4711" }, `${states}\nExit code 8`);
    expect(line).toContain("failed exit 8");
    expect(line).toContain("moor the crane pending");
  });

  it("leaves out what a host writes around a file, and links of a record that say nothing", async () => {
    const file =
      "<path>/srv/quays.txt</path>\n<type>file</type>\n1: the north quay is closed\n2: the south quay is open\n(End of file - total 2 lines)";
    expect(await told("read", { filePath: "/srv/quays.txt" }, file)).toEqual([
      "Did: read /srv/quays.txt: 1: the north quay is closed · 2: the south quay is open",
    ]);
    const record = {
      cranes_url: "https://api.example/quays/4711/cranes",
      html_url: "https://example/quays/4711",
      note: "",
      body: "the crane of the north quay fell",
    };
    expect(await told("Bash", { command: "gh api quays/4711 -f body=x" }, JSON.stringify(record))).toEqual([
      "Did: ran `gh api quays/4711 -f body=x`: html_url: https://example/quays/4711, body: the crane of the north quay fell",
    ]);
    const opened = JSON.stringify({ url: "https://example/quays/4711/changes/12" });
    expect((await told("open_change", {}, opened)).join()).toContain("https://example/quays/4711/changes/12");
  });

  it("keeps numbers that count no lines, and the lines between those that do", async () => {
    const [log = ""] = await told(
      "Read",
      { file_path: "/srv/app.log" },
      [
        "14:02:11 ERROR the crane of the north quay fell",
        "14:02:12 ERROR the south quay closed behind it",
      ].join("\n"),
    );
    expect(log).toContain("14:02:11 ERROR the crane of the north quay fell · 14:02:12 ERROR");
    const short =
      "<path>/srv/quays.txt</path>\n<content>1: the north quay is closed now\n\n(End of file)</content>";
    const [only = ""] = await told("read", { filePath: "/srv/quays.txt" }, short);
    expect(only).toMatch(/: the north quay is closed now$/);
    const failed = await told(
      "Bash",
      { command: "cat src/a.ts && ls missing" },
      "export function alpha() {}\nls: cannot access 'missing quay'",
    );
    expect(failed.join()).toContain("cannot access 'missing quay'");
  });

  it("names its call once where lines hold bars, in the next round too", async () => {
    const table = "| quay north | depth of 12 metres |\n| quay south | depth of 9 metres |";
    const line =
      "Did: ran `list quays`: | quay north | depth of 12 metres | · | quay south | depth of 9 metres |";
    expect(await told("Bash", { command: "list quays" }, table)).toEqual([line]);
    const answer: Message = { ...result, parts: [{ type: "toolResult", id, content: table }] };
    const calls: Message = {
      ...call,
      parts: [{ type: "toolCall", id, name: "Bash", arguments: { command: "list quays" } }],
    };
    const list = [asked, calls, answer];
    const previous = await summarize([answer], 600, { context: { list, kept: list } });
    const later: Message[] = [
      { id: "v", role: "user", parts: [{ type: "text", text: "Close the north one." }] },
    ];
    expect((await summarize(later, 600, { previous })).split("\n")).toContain(line);
  });

  it("stands below a request that was cut, which is none that is not told", async () => {
    const first = "Dredge the north quay down to twelve metres before the storms begin";
    const request = (text: string): Message => ({
      ...asked,
      parts: [{ type: "text", text: `${first}\n${text}` }],
    });
    const [long, cut] = [request("4711 0815 1234 9876 ".repeat(60)), request("[…]")];
    const said: Message = {
      id: "b",
      role: "assistant",
      parts: [{ type: "text", text: "It was dredged by the crane, so that ships can enter." }],
    };
    const list = [long, said];
    const summary = await summarize(list, 90, { context: { list, kept: [cut] } });
    expect(summary).toContain("### From what left this list, for the request: Dredge the north quay");
    expect(summary).toContain("dredged by the crane");
    expect(summary).not.toContain("Not told here");
  });

  it("is not where the work stopped when a newer step stays", async () => {
    const newer: Message[] = [
      {
        ...call,
        id: "b",
        parts: [{ type: "toolCall", id: "c2", name: "Bash", arguments: { command: "close quay" } }],
      },
      { ...result, id: "s", parts: [{ type: "toolResult", id: "c2", content: "closed" }] },
    ];
    const all = [asked, call, result, ...newer];
    const cleared = await summarize([result], 400, { context: { list: all, kept: all } });
    expect(cleared).not.toContain(HEADINGS.nextSteps);
    const left = [call, result, ...newer];
    expect(await summarize(left, 400, { context: { list: all, kept: [asked] } })).toContain("last: ran");
  });

  it("of an edit says nothing that its call does not say", async () => {
    const path = "/home/ana/work/harbour/apps/desk/src/components/quays/north-quay-panel.tsx";
    const edits: Message = {
      ...call,
      parts: [
        {
          type: "toolCall",
          id,
          name: "Edit",
          arguments: { file_path: path, old_string: "a", new_string: "b" },
        },
      ],
    };
    const edited: Message = {
      ...result,
      parts: [{ type: "toolResult", id, content: JSON.stringify({ query: `edit:${path}`, success: true }) }],
    };
    const all = [asked, edits, edited];
    const summary = await summarize([edited], 400, { context: { list: all, kept: all } });
    expect(summary).not.toContain("query");
  });

  it("is told so in the next round too", async () => {
    const previous = await summarize([result], 400, { context });
    const later: Message[] = [
      { id: "v", role: "user", parts: [{ type: "text", text: "Close the north one." }] },
    ];
    const summary = await summarize(later, 600, { previous });
    expect(summary.split("\n")).toEqual(expect.arrayContaining([heading, line]));
  });
});

it("tells a diff that was looked at by what changed", () => {
  const diff = [
    "diff --git a/pins/names.json b/pins/names.json",
    "--- a/pins/names.json",
    "+++ b/pins/names.json",
    "@@ -1,2 +1,3 @@",
    '   "deepestOfTheNorthernQuays",',
    '+  "shallowestOfTheNorthernQuays",',
    '   "widestOfTheNorthernQuays"',
  ].join("\n");
  expect(foundPieces(diff, (text) => text).map(({ text }) => text)).toEqual([
    'pins/names.json: added `"shallowestOfTheNorthernQuays",`',
  ]);
});

it("tells no complaint again that stands in a host's tag", () => {
  const said = "The harbour has no such quay";
  expect(foundPieces(`<tool_use_error>${said}</tool_use_error>`, (text) => text, said)).toEqual([]);
});
