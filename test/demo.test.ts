import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { decode } from "../packages/compact-context/src/codecs/formats.ts";
import { countTokens } from "../packages/compact-context/src/compact.ts";
import {
  argumentsText,
  type Message,
  messageText,
  toolCalls,
  toolResults,
} from "../packages/compact-context/src/core/message.ts";
import { latestUserMessage, turnStarts } from "../packages/compact-context/src/core/units.ts";
import { CompactManager } from "../packages/compact-context/src/create-manager.ts";
import { findMalformations } from "../packages/compact-context/src/lint/generic.ts";
import { knownModels } from "../packages/compact-context/src/tokens/models.ts";
import { readTranscript } from "../packages/compact-context-cli/src/transcripts/read.ts";

interface Block {
  readonly type: string;
  readonly id?: string;
  readonly tool_use_id?: string;
}

interface Session {
  readonly model: string;
  readonly system: string;
  readonly tools: readonly { readonly name: string }[];
  readonly messages: readonly { readonly role: string; readonly content: string | readonly Block[] }[];
}

const FORMER_NAME = "explainTrigger";

describe("the demo session", () => {
  let text: string;
  let session: Session;
  let messages: Message[];
  beforeAll(() => {
    text = readFileSync(
      new URL("../packages/compact-context-cli/demo/session.json", import.meta.url),
      "utf8",
    );
    session = JSON.parse(text) as Session;
    messages = decode(session.messages, "anthropic");
  });

  const blockIds = (index: number, type: string, id: "id" | "tool_use_id"): (string | undefined)[] => {
    const content = session.messages[index]?.content;
    if (content === undefined || typeof content === "string") return [];
    return content.filter((block) => block.type === type).map((block) => block[id]);
  };
  const firstOf = (said: RegExp): number =>
    messages.findIndex((message) => message.role === "user" && said.test(messageText(message)));

  it("is a request to a known model in the format of Anthropic Messages", async () => {
    expect((await readTranscript(JSON.stringify(session.messages))).format).toBe("anthropic");
    expect(knownModels().map((model) => model.id)).toContain(session.model);
    const transcript = await readTranscript(text);
    expect(transcript.format).toBe("anthropic");
    expect(transcript.messages.length).toBeGreaterThanOrEqual(messages.length);
  });

  it("has 100,000 tokens or more", () => {
    const { tokens, breakdown } = countTokens(session.messages, {
      format: "anthropic",
      encoding: "o200k_base",
      system: session.system,
      tools: session.tools,
    });
    expect(tokens).toBeGreaterThanOrEqual(100_000);
    expect(breakdown.messages).toBeGreaterThanOrEqual(100_000);
  });

  it("is valid for the provider", () => {
    expect(findMalformations(messages)).toEqual([]);
    expect(session.messages[0]?.role).toBe("user");
    session.messages.forEach(({ role }, index) => {
      expect(role, `message ${index}`).toBe(index % 2 === 0 ? "user" : "assistant");
      if (role !== "assistant") return;
      const called = blockIds(index, "tool_use", "id");
      expect(blockIds(index + 1, "tool_result", "tool_use_id"), `after message ${index}`).toEqual(called);
    });
    const offered = new Set(session.tools.map((tool) => tool.name));
    const used = new Set(messages.flatMap(toolCalls).map((call) => call.name));
    expect([...used].filter((name) => !offered.has(name))).toEqual([]);
    expect(used.size).toBe(offered.size);
  });

  it("has turns, parallel calls and errors as real work has", () => {
    expect(turnStarts(messages).length).toBeGreaterThanOrEqual(10);
    expect(messages.filter((message) => toolCalls(message).length > 1).length).toBeGreaterThanOrEqual(20);
    const results = messages.flatMap(toolResults);
    expect(results.length).toBeGreaterThanOrEqual(100);
    const errors = results.filter((result) => result.isError).map((result) => String(result.content));
    for (const sign of ["error TS", "lint/", "AssertionError", "was not found", "must be unique"]) {
      expect(
        errors.some((error) => error.includes(sign)),
        sign,
      ).toBe(true);
    }
  });

  it("has ground rules at its beginning that the work kept to", () => {
    expect(messageText(messages[0]!)).toContain("Never touch package.json or package-lock.json");
    const changed = messages
      .flatMap(toolCalls)
      .filter((call) => ["edit_file", "write_file"].includes(call.name))
      .map((call) => (JSON.parse(argumentsText(call)) as { path: string }).path);
    expect(changed.length).toBeGreaterThan(10);
    expect(changed.filter((path) => path.startsWith("package"))).toEqual([]);
  });

  it("has a change of mind after which the former name is no longer written", () => {
    const change = firstOf(/I have changed my mind/);
    expect(change).toBeGreaterThan(messages.length / 3);
    expect(firstOf(new RegExp(FORMER_NAME))).toBeLessThan(change);
    const written = messages
      .slice(change + 1)
      .flatMap(toolCalls)
      .filter((call) => call.name === "write_file");
    expect(written.length).toBeGreaterThan(0);
    for (const call of written) expect(argumentsText(call)).not.toContain(FORMER_NAME);
    const search = messages
      .flatMap(toolCalls)
      .findLast((call) => call.name === "search" && argumentsText(call).includes(FORMER_NAME));
    const found = messages.flatMap(toolResults).find((result) => result.id === search?.id);
    expect(found?.content).toBe("No matches.");
  });

  it("ends with an ask that nobody has answered", () => {
    expect(latestUserMessage(messages)).toBe(messages.length - 1);
    expect(turnStarts(messages).at(-1)).toBe(messages.length - 1);
  });

  it("TST-4 is made at least two fifths smaller by a compaction on demand, its last ask kept as it is", async () => {
    const manager = new CompactManager({ model: session.model, storage: { kind: "memory" } });
    const { messages: left, report } = await manager.manualCompact("demo", session.messages, {
      system: session.system,
      tools: session.tools,
    });
    expect(report.tokensAfter).toBeLessThanOrEqual(report.tokensBefore * 0.6);
    expect(left.at(-1)).toBe(session.messages.at(-1));
  });

  it("names no place of a machine and no host", () => {
    expect(text.match(/.{0,40}\/(?:tmp|root|home|work|Users|private)\b(?!-).{0,40}/g)).toBeNull();
    expect(text.match(/.{0,40}(?:https?:\/\/|registry\.|npmjs).{0,40}/g)).toBeNull();
    expect(text).toContain("/workspace/compact-context");
  });
});
