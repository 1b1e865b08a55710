import { describe, expect, it } from "vitest";
import { compact } from "../compact.ts";
import type { CompactConfigInput } from "../config/settings.ts";
import { CompactManager } from "../create-manager.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import { builtinSummarizer } from "../summarizers/extractive/builtin.ts";
import { type Message, messageText } from "./message.ts";
import type { Summarizer } from "./ports.ts";
import { isProjectInstructions } from "./units.ts";

const agents = (rules: string): string =>
  `# AGENTS.md instructions for /home/me/project\n\n<INSTRUCTIONS>\n${rules}\n</INSTRUCTIONS>`;
const environment = "<environment_context>\n  <cwd>/home/me/project</cwd>\n</environment_context>";
const claude =
  "<system-reminder>\nAs you answer the user's questions, you can use the following context:\n# claudeMd\nCodebase and user instructions are shown below.\nUse tabs.\n</system-reminder>";
const skill = "<skill>\n<name>review</name>\n<path>/skills/review/SKILL.md</path>\nLook twice.\n</skill>";

const user = (...texts: string[]): Message => ({
  id: "u",
  role: "user",
  parts: texts.map((text) => ({ type: "text", text })),
});

describe("isProjectInstructions", () => {
  it.each([
    ["Codex's AGENTS.md", user(agents("Use tabs."))],
    ["Codex's AGENTS.md with the environment", user(agents("Use tabs."), environment)],
    ["Codex's AGENTS.md as earlier versions wrote it", user("<user_instructions>\nx\n</user_instructions>")],
    ["Claude Code's CLAUDE.md", user(claude)],
    ["a skill of Codex", user(skill)],
  ])("recognises %s", (_, message) => {
    expect(isProjectInstructions(message)).toBe(true);
  });

  it.each([
    ["instructions with what a person typed", user(agents("Use tabs."), "now fix the build")],
    ["a skill with what a person typed", user(skill, "now fix the build")],
    ["instructions behind what a person typed", user("look at this:", agents("Use tabs."))],
    ["instructions as long as a document", user(agents("tabs ".repeat(8_000)))],
    ["instructions without an end", user(agents("x").replace("</INSTRUCTIONS>", ""))],
    ["instructions that the assistant wrote", { ...user(agents("x")), role: "assistant" as const }],
    ["another reminder", user("<system-reminder>\nThe file changed.\n</system-reminder>")],
    ["the environment alone", user(environment)],
  ])("leaves out %s", (_, message) => {
    expect(isProjectInstructions(message)).toBe(false);
  });
});

type Chat = { role: string; content: string };
const turns = (from: number, to: number): Chat[] =>
  Array.from({ length: to - from }, (_, index) => [
    { role: "user", content: `question ${from + index} ${"word ".repeat(60)}` },
    { role: "assistant", content: `answer ${from + index} ${"text ".repeat(60)}` },
  ]).flat();
const rules = (count: number): Chat => ({
  role: "user",
  content: agents("Use tabs, never spaces. ".repeat(count)),
});

function setUp(config: CompactConfigInput = {}) {
  const read: Message[] = [];
  const summarizer: Summarizer = {
    ...builtinSummarizer,
    summarize: (messages, options) => {
      read.push(...messages, ...(options.context?.list ?? []));
      return builtinSummarizer.summarize(messages, options);
    },
  };
  const storage = createMemoryDriver();
  const settings = { maxContextTokens: 8000, ...config };
  const open = (): CompactManager => new CompactManager(settings, { storage, summarizer });
  const sawRules = (): boolean => read.some((message) => messageText(message).includes("never spaces"));
  return { open, manager: open(), sawRules };
}

describe("project instructions in a list", () => {
  const system = { role: "system", content: "be brief" };

  it("are pinned: they stay whole, before the summary, and no summarizer reads them", async () => {
    const { open, manager, sawRules } = setUp();
    const list = [system, rules(50), ...turns(0, 60)];
    const first = await manager.preflight("s", list);
    expect(first.report).toMatchObject({ compacted: true, layers: { after: { pinned: { messages: 2 } } } });
    expect(first.report.plan?.entries[1]).toMatchObject({
      layer: "pinned",
      reason: "the project's instructions",
    });
    expect(first.messages.slice(0, 2)).toEqual(list.slice(0, 2));
    expect(JSON.stringify(first.messages[2])).toContain("COMPACT-SUMMARY v1");
    const more = turns(60, 62);
    const fromRaw = await manager.preflight("s", structuredClone([...list, ...more]));
    const fromOutput = await open().preflight("s", structuredClone([...first.messages, ...more]));
    expect(fromRaw.messages).toEqual([...first.messages, ...more]);
    expect(fromOutput.messages).toEqual(fromRaw.messages);
    const later = await manager.preflight("s", [...list, ...turns(60, 110)]);
    expect(later.report).toMatchObject({ compacted: true, summaryVersion: 2 });
    expect(later.messages.slice(0, 2)).toEqual(list.slice(0, 2));
    expect(sawRules()).toBe(false);
  });

  it("are ordinary messages where they take more than a quarter of the budget, and stay gone", async () => {
    const { open, manager, sawRules } = setUp();
    const list = [system, rules(350), ...turns(0, 50)];
    const first = await manager.preflight("s", list);
    expect(first.report).toMatchObject({ compacted: true, layers: { after: { pinned: { messages: 1 } } } });
    expect(JSON.stringify(first.messages)).not.toContain("never spaces. Use tabs");
    expect(sawRules()).toBe(true);
    const again = await open().preflight("s", [...list, ...turns(50, 51)], { maxOutputTokens: 100 });
    expect(again.messages).toEqual([...first.messages, ...turns(50, 51)]);
  });

  it("FIT-6 never cause a refusal: what the keep counts keep at least goes first", async () => {
    const ask = { role: "user", content: "word ".repeat(1400) };
    const policy = { hardCapBuffer: 100 };
    const list = [rules(60), ...turns(0, 10), ask];
    const result = await compact(list, { maxTokens: 1650, policy });
    expect(result.messages.at(-1)).toEqual(ask);
    expect(result.messages).not.toContainEqual(rules(60));
    const roomy = await compact(list, { maxTokens: 2400, policy });
    expect(roomy.messages).toContainEqual(rules(60));
  });
});
