import { describe, expect, it } from "vitest";
import { SummarizationNode } from "../adapters/langgraph/index.ts";
import type { Summarizer } from "../core/ports.ts";
import { CompactManager } from "../create-manager.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import { formatTools, type RecallTool, recallTools } from "./index.ts";

const turns = (count: number): { role: string; content: string }[] =>
  Array.from({ length: count }, (_, index) => [
    { role: "user", content: `question ${index} ${"tide ".repeat(60)}` },
    { role: "assistant", content: `answer ${index} ${"rope ".repeat(60)}` },
  ]).flat();

const compactTool = (source: Parameters<typeof recallTools>[0]): RecallTool =>
  recallTools(source, "s", { compact: true }).at(-1) as RecallTool;

describe("the tool with which a model compacts", () => {
  it("makes the next preflight compact with its note, and says no until there is reason again", async () => {
    const instructions: (string | undefined)[] = [];
    const summarizer: Summarizer = {
      name: "noted",
      async summarize(_messages, { instruction }) {
        instructions.push(instruction);
        return { text: "## Goal\n- all of it", tokens: 8, summarizer: "noted", messagesRead: 1 };
      },
    };
    const manager = new CompactManager(
      { maxContextTokens: 8000, policy: { hardCapBuffer: 200 } },
      { storage: createMemoryDriver(), summarizer },
    );
    const run = (args: unknown): Promise<string> => compactTool(manager).execute(args);
    expect(await run({})).toMatch(/^Not needed: the conversation is small/);
    const list = turns(40);
    await manager.preflight("s", list);
    expect(await run('{"keep": "port 5433"}')).toMatch(/before your next step/);
    const { report, messages } = await manager.preflight("s", list);
    expect(report).toMatchObject({ compacted: true, reason: "requested" });
    expect(instructions).toEqual(["port 5433"]);
    await manager.preflight("s", [...messages, ...turns(30)]);
    expect(await run({})).toBe("Not now: it was compacted a few steps ago. Ask again after 9 steps.");
    expect(await run("[")).toMatch(/^Error: /);
  });

  it("has the shapes of the recall tools", () => {
    const tool = compactTool(new CompactManager({}, { storage: createMemoryDriver() }));
    expect(formatTools([tool], "openai-chat")[0]?.function.name).toBe("compact_context");
    expect(formatTools([tool], "anthropic")[0]?.input_schema.properties).toHaveProperty("keep");
    const node = SummarizationNode({ maxTokens: 1000, storage: createMemoryDriver() });
    expect(() => compactTool(node)).toThrow(/requestCompaction/);
  });
});
