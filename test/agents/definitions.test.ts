import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadSkills, loadSubAgents } from "../../packages/compact-context/src/agent/definitions.ts";
import { tempFolder } from "./harness.ts";

const file = (lines: readonly string[], body = "Do it well."): string =>
  ["---", ...lines, "---", body].join("\n");

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = tempFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

const placed = (
  folder: string,
  problems: readonly { readonly place?: string; readonly message: string }[],
): string[] => problems.map(({ place = "", message }) => `${place.replace(`${folder}/`, "")} ${message}`);

describe("a skill's bounds", () => {
  const skillWith = async (...lines: readonly string[]) =>
    loadSkills([folderWith({ "one.md": file(["name: one", "description: Does one thing.", ...lines]) })]);

  it.each(["allowed-tools: read write", "allowedTools: [read, write]", "allowed_tools: read, write"])(
    "AGT-2 %s is read in each spelling",
    async (line) => {
      const { found, problems } = await skillWith(line);
      expect(problems).toEqual([]);
      expect(found[0]?.allowedTools).toEqual(["read", "write"]);
    },
  );

  it.each([
    ["allowed-tools: Bash(git:*) read", /narrows a tool's arguments/],
    ["disallowed-tools: bash", /looks like a bound/],
    ["permissions: none", /looks like a bound/],
    ["allowed-tools: {read: true}", /a list of texts is expected/],
    ['paths: [""]', /^paths: an entry is empty$/],
  ])("AGT-2 with %s the skill is not used, and the problem is told", async (line, words) => {
    const { found, problems } = await skillWith(line);
    expect(found).toEqual([]);
    expect(problems.map(({ message }) => message).join()).toMatch(words);
  });

  it("AGT-2 a bound in two spellings is refused", async () => {
    const { found } = await skillWith("allowed-tools: read", "allowed_tools: [read, write]");
    expect(found).toEqual([]);
  });
});

describe("sub-agent definitions", () => {
  it("AGT-1 reads every field, and what is left out means isolated", async () => {
    const folder = folderWith({
      "reviewer.md": file([
        "name: reviewer",
        "description: Reviews a change.",
        "tools: [read, search]",
        "model: openai:gpt-5.4-mini",
        "contextMode: contextual",
        "memory: session",
        "paths: [src/**]",
        "thinkingLevel: low",
        "maxTurns: 12",
        "maxToolCalls: 30",
        "maxSeconds: 90",
      ]),
      "plain.md": file(["name: plain", "description: Answers."]),
      "notes.txt": "no definition",
    });
    const { found, problems } = await loadSubAgents([folder, join(folder, "missing")]);
    expect(problems).toEqual([]);
    expect(found.map(({ place, ...rest }) => rest)).toEqual([
      {
        name: "plain",
        description: "Answers.",
        prompt: "Do it well.",
        contextMode: "isolated",
        memory: "none",
        limits: {},
      },
      {
        name: "reviewer",
        description: "Reviews a change.",
        prompt: "Do it well.",
        tools: ["read", "search"],
        model: "openai:gpt-5.4-mini",
        contextMode: "contextual",
        memory: "session",
        paths: ["src/**"],
        thinkingLevel: "low",
        limits: { requests: 12, calls: 30, wallMs: 90_000 },
      },
    ]);
  });

  it("tells what is wrong with file and line, and leaves out what could not be held to its bounds", async () => {
    const folder = folderWith({
      "bad-mode.md": file(["name: bad", "description: x", "contextMode: contextul"]),
      "bad-paths.md": file(["name: bad2", "description: x", "", "paths: {a: 1}"]),
      "color.md": file(["name: color", "description: x", "color: red"]),
      "none.md": "Just text.",
      "open.md": "---\nname: x\n",
      "name.md": file(["name: ../up", "description: x"]),
      "seconds.md": file(["name: seconds", "description: x", "maxSeconds: 0"]),
    });
    const { found, problems } = await loadSubAgents([folder]);
    expect(found.map(({ name }) => name)).toEqual(["color"]);
    expect(placed(folder, problems)).toEqual([
      'bad-mode.md:4 contextMode: "contextul" is none of isolated, contextual',
      "bad-paths.md:5 paths: a list of texts is expected",
      "color.md:4 color: is no field that is known here",
      'name.md:2 name: "../up" is no name',
      expect.stringMatching(/^none.md:1 the file has no frontmatter/),
      expect.stringMatching(/^none.md:1 name: is missing/),
      expect.stringMatching(/^none.md:1 description/),
      expect.stringMatching(/^open.md:1 the frontmatter is not closed/),
      expect.stringMatching(/^open.md:1 name: is missing/),
      expect.stringMatching(/^open.md:1 description/),
      'seconds.md:4 maxSeconds: "0" is no number over 0, up to 86400',
    ]);
    expect(problems.every(({ hint }) => (hint ?? "") !== "")).toBe(true);
  });

  it("AGT-1 a contextual sub-agent that names no memory gets what is relevant", async () => {
    const folder = folderWith({
      "helper.md": file(["name: helper", "description: Helps.", "contextMode: contextual"]),
    });
    const { found, problems } = await loadSubAgents([folder]);
    expect(problems).toEqual([]);
    expect(found).toMatchObject([{ contextMode: "contextual", memory: "relevant" }]);
  });

  it("AGT-1 reads paths with braces, as a text and in broken YAML too", async () => {
    const folder = folderWith({
      "text.md": file(["name: text", "description: x", 'paths: "src/{a,b}/**, docs"']),
      "list.md": file(["name: list", "description: x", "paths: [src/{a,b}/**, docs]"]),
    });
    const { found } = await loadSubAgents([folder]);
    expect(found.map(({ paths }) => paths)).toEqual([
      ["src/{a,b}/**", "docs"],
      ["src/{a,b}/**", "docs"],
    ]);
  });

  it("AGT-1 reads bounds beside a broken line, and leaves out what declares bounds that stay hidden", async () => {
    const reader = ["name: reader", "description: Reads: all of it", "paths:", "  [src/**]", "tools:"];
    const folder = folderWith({
      "hidden.md": file([...reader, "  [read"]),
      "reader.md": file([...reader, "  [read]"]),
    });
    const { found, problems } = await loadSubAgents([folder]);
    expect(found).toMatchObject([
      {
        description: "Reads: all of it",
        paths: ["src/**"],
        tools: ["read"],
        place: join(folder, "reader.md"),
      },
    ]);
    expect(placed(folder, problems)).toEqual([
      expect.stringMatching(/^hidden.md:3 the frontmatter is no valid YAML/),
      "hidden.md:1 name: is missing",
      "hidden.md:1 description: is missing",
      expect.stringMatching(/^reader.md:3 the frontmatter is no valid YAML/),
    ]);
  });
});

describe("folders of definitions", () => {
  it("tells what cannot be read, and of two with one name which is not used", async () => {
    const folder = folderWith({
      "a.md": file(["name: twin", "description: The first."]),
      "b.md": file(["name: twin", "description: The second."]),
      "c.md/inner.txt": "a folder",
      "aliases.md": file(["name: &n aliases", "description: *n"]),
    });
    const { found, problems } = await loadSubAgents([
      folder,
      join(folder, "a.md"),
      join(folder, "no\0where"),
    ]);
    expect(found.map(({ description }) => description)).toEqual(["The second."]);
    expect(problems.map(({ code, place = "" }) => [code, place.replace(folder, "")])).toEqual([
      ["unreadable", "/aliases.md"],
      ["same-name", "/b.md"],
      ["unreadable", "/c.md"],
      ["unreadable", "/no\0where"],
    ]);
    expect(problems[1]?.message).toContain(`${join(folder, "a.md")} as well, which is not used`);
    expect(problems.every(({ hint }) => (hint ?? "") !== "")).toBe(true);
  });
});

describe("skill definitions", () => {
  it("AGT-2 reads every field of skills in files and in folders", async () => {
    const folder = folderWith({
      "release/SKILL.md": file([
        "name: release",
        "description: Makes a release.",
        "when_to_use: The user asks for a release.",
        "allowed_tools: [read, run]",
        "paths: [docs/**, CHANGELOG.md]",
        "memory_scope: session",
        "hooks:",
        "  before_prompt:",
        "    - call: branch",
        "  after_response:",
        "    - run: npm test",
        "      seconds: 60",
      ]),
      "brief.md": file(["name: brief", "description: Answers in one line."]),
      "assets/logo.svg": "<svg/>",
    });
    const { found, problems } = await loadSkills([folder]);
    expect(problems).toEqual([]);
    expect(found.map(({ name }) => name)).toEqual(["brief", "release"]);
    const place = `${join(folder, "release/SKILL.md")}:8`;
    expect(found[1]).toMatchObject({
      whenToUse: "The user asks for a release.",
      allowedTools: ["read", "run"],
      paths: ["docs/**", "CHANGELOG.md"],
      memoryScope: "session",
      hooks: [
        ["before_prompt", { call: "branch", seconds: 10, place }],
        ["after_response", { run: "npm test", seconds: 60, place }],
      ],
    });
  });

  it("AGT-2 rejects hooks that are wrong, each by itself, and never takes prose for a command", async () => {
    const folder = folderWith({
      "a.md": file([
        "name: a",
        "description: x",
        "hooks:",
        "  before_lunch: [call]",
        "  before_prompt:",
        "    - Please run the linter before you answer.",
        "    - run: npm test",
        "      call: both",
        "    - run: npm test",
        "      seconds: 9999",
        "    - good",
      ]),
    });
    const { found, problems } = await loadSkills([folder]);
    expect(found[0]?.hooks).toEqual([["before_prompt", expect.objectContaining({ call: "good" })]]);
    expect(placed(folder, problems)).toEqual([
      'a.md:4 hooks: there is no event "before_lunch"; it is not run',
      'a.md:4 hooks: before_prompt: "Please run the linter before you answer." is no name of a function; it is not run',
      "a.md:4 hooks: before_prompt: either a command (run) or a function (call) is expected; it is not run",
      "a.md:4 hooks: before_prompt: seconds must be over 0, up to 120; it is not run",
    ]);
  });

  it("AGT-2 reads YAML that is broken with its values in quotes, tells the line, and runs none of its hooks", async () => {
    const folder = folderWith({
      "colon.md": file([
        "name: colon",
        "description: Answers: always in one line",
        "allowed_tools:",
        "  - read",
        "hooks:",
        "  before_prompt:",
        "    - run: rm -rf /",
      ]),
      "unbound.md": file(["name: unbound", "description: Answers: x", "allowed_tools:", "  {read: 1"]),
    });
    const { found, problems } = await loadSkills([folder]);
    expect(found).toMatchObject([
      { name: "colon", description: "Answers: always in one line", allowedTools: ["read"], hooks: [] },
    ]);
    const told = placed(folder, problems);
    expect(told[0]).toMatch(/^colon.md:3 the frontmatter is no valid YAML/);
    expect(told[1]).toMatch(/^colon.md:6 hooks: .*none is run/);
    expect(told.at(-1)).toBe("unbound.md:1 description: is missing");
  });
});
