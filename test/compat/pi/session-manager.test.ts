import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { isUserSpeech } from "../../../packages/compact-context/src/core/units.ts";
import { readTranscript } from "../../../packages/compact-context-cli/src/transcripts/read.ts";
import type {
  CompactedSession,
  Transcript,
} from "../../../packages/compact-context-cli/src/transcripts/transcript.ts";
import {
  compactSimply,
  fileText,
  manifest,
  ports,
  present,
  read,
  SUMMARY,
  textOf,
} from "../../transcripts/sessions.ts";

interface Manager {
  buildSessionContext(): { messages: { role: string; summary?: string }[] };
  appendMessage(message: unknown): string;
  appendCompaction(summary: string, firstKeptEntryId: string, tokensBefore: number): string;
  branch(entryId: string): void;
  getEntries(): unknown[];
  getHeader(): unknown;
}

/** pi itself, where it is installed: it is far too large to be a dependency. */
async function loadPi(): Promise<
  { open(path: string): Manager; inMemory(cwd: string): Manager } | undefined
> {
  const name = "@mariozechner/pi-coding-agent";
  try {
    const module = (await import(name)) as {
      SessionManager: { open(path: string): Manager; inMemory(cwd: string): Manager };
    };
    return module.SessionManager;
  } catch {
    return undefined;
  }
}

const pi = await loadPi();
const directory = mkdtempSync(join(tmpdir(), "compact-pi-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function reopen(name: string, text: string): Manager {
  const path = join(directory, name);
  writeFileSync(path, text);
  return pi!.open(path);
}

function nativesAfterSummary(compacted: CompactedSession): unknown[] {
  const position = compacted.messages.findIndex((message) => message.meta?.summaryVersion !== undefined);
  return compacted.messages.slice(position + 1).map((message) => message.native);
}

function cleared(compacted: CompactedSession): CompactedSession {
  const index = compacted.messages.findIndex((message) => message.role === "tool");
  const target = compacted.messages[index]!;
  const parts = target.parts.map((part) =>
    part.type === "toolResult" ? { ...part, content: "[cleared]" } : part,
  );
  return { ...compacted, messages: compacted.messages.with(index, { ...target, parts, edited: true }) };
}

/** A tree with an abandoned branch, made by pi itself. */
function treeText(): string {
  const manager = pi!.inMemory("/tmp");
  const user = (text: string): unknown => ({ role: "user", content: [{ type: "text", text }], timestamp: 1 });
  const answer = (content: unknown[]): unknown => ({
    role: "assistant",
    content,
    api: "anthropic-messages",
    provider: "anthropic",
    model: "claude-sonnet-4-5",
    usage: { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15 },
    stopReason: "stop",
    timestamp: 2,
  });
  manager.appendMessage(user("build the parser"));
  const fork = manager.appendMessage(answer([{ type: "text", text: "shall I begin?" }]));
  manager.appendMessage(user("a way not taken"));
  manager.branch(fork);
  for (let step = 0; step < 6; step += 1) {
    manager.appendMessage(user(`step ${step}`));
    manager.appendMessage(
      answer([{ type: "toolCall", id: `call-${step}`, name: "read", arguments: { path: `${step}.ts` } }]),
    );
    manager.appendMessage({
      role: "toolResult",
      toolCallId: `call-${step}`,
      toolName: "read",
      content: [{ type: "text", text: `content ${step}` }],
      isError: false,
      timestamp: 3,
    });
    manager.appendMessage(answer([{ type: "text", text: `done ${step}` }]));
  }
  return [manager.getHeader(), ...manager.getEntries()].map((entry) => `${JSON.stringify(entry)}\n`).join("");
}

describe.skipIf(pi === undefined)("pi's own session manager", () => {
  const recorded = manifest.find((entry) => entry.format === "pi")?.file ?? "";

  async function check(name: string, text: string, transcript: Transcript): Promise<void> {
    const compacted = compactSimply(transcript.messages);
    const pointed = reopen(`${name}.jsonl`, fileText(text, transcript.write(compacted, ports())));
    const [summary, ...kept] = pointed.buildSessionContext().messages;
    expect(summary?.role).toBe("compactionSummary");
    expect(summary?.summary?.startsWith(SUMMARY)).toBe(true);
    expect(kept).toEqual(nativesAfterSummary(compacted));

    const edited = cleared(compacted);
    const copied = reopen(`${name}-copied.jsonl`, fileText(text, transcript.write(edited, ports())));
    const [, ...copies] = copied.buildSessionContext().messages;
    expect(copies).toHaveLength(nativesAfterSummary(edited).length);
    expect(JSON.stringify(copies)).toContain("[cleared]");
  }

  it.skipIf(!present)("resumes a recorded version 1 file with summary and kept messages", async () => {
    await check("v1", textOf(recorded), await read(recorded));
  });

  it("resumes a tree of its own with summary and kept messages", async () => {
    const text = treeText();
    const transcript = await readTranscript(text);
    const context = reopen("before.jsonl", text).buildSessionContext().messages;
    expect(transcript.messages.map((message) => message.native)).toEqual(context);
    expect(transcript.leftOut).toEqual({ "abandoned branch": 1 });
    expect(transcript.messages.filter(isUserSpeech)).toHaveLength(7);
    await check("tree", text, transcript);
  });

  it("is read as it reads itself after a compaction of its own", async () => {
    const path = join(directory, "own.jsonl");
    writeFileSync(path, treeText());
    const manager = pi!.open(path);
    const entries = manager.getEntries() as { id: string; type: string }[];
    manager.appendCompaction("pi's summary", entries[entries.length - 4]!.id, 99);
    manager.appendMessage({ role: "user", content: "go on", timestamp: 4 });
    const text = [manager.getHeader(), ...manager.getEntries()]
      .map((entry) => JSON.stringify(entry))
      .join("\n");
    const transcript = await readTranscript(text);
    expect(transcript.messages.map((message) => message.native)).toEqual(
      manager.buildSessionContext().messages,
    );
    expect(transcript.compactions).toEqual([{ at: 26, kind: "summary", tokensBefore: 99 }]);
  });
});
