import { describe, expect, it } from "vitest";
import type { Message } from "../../packages/compact-context/src/core/message.ts";
import type { Transcript } from "../../packages/compact-context-cli/src/transcripts/transcript.ts";
import { type ManifestEntry, manifest, present, read, recordings } from "./sessions.ts";

/** Everything said in the session, copies carried over by its own compactions left out. */
function historyOf(transcript: Transcript): Message[] {
  return transcript.segments.flatMap((segment) => segment.messages.slice(segment.carried));
}

/**
 * The manifest counts a system prompt beside the list, every tool result and Codex' runs of items as messages of
 * their own, and neither empty messages nor what Claude Code injects itself.
 */
function manifestMessages(transcript: Transcript): number {
  let count = transcript.system !== undefined && transcript.format !== "cline" ? 1 : 0;
  count += transcript.leftOut["notice info"] ?? 0;
  let inAnswer = false;
  for (const message of historyOf(transcript)) {
    const injected = transcript.format === "claude-code" && message.meta?.synthetic === true;
    if (injected || message.parts.length === 0) continue;
    const results = message.parts.filter((part) => part.type === "toolResult").length;
    const joins = transcript.format === "codex" && message.role === "assistant" && inAnswer;
    inAnswer = message.role === "assistant";
    if (joins) continue;
    count += Math.max(
      results,
      message.parts.some((part) => part.type === "text" || part.type !== "toolResult")
        ? results + 1
        : results,
    );
  }
  return count + (transcript.format === "claude-code" ? transcript.compactions.length : 0);
}

function countsOf(transcript: Transcript): Partial<ManifestEntry> {
  const history = historyOf(transcript);
  const parts = history.flatMap((message) => message.parts);
  const results = parts.filter((part) => part.type === "toolResult");
  const answered = new Set(results.map((result) => result.id));
  const calls = parts.filter((part) => part.type === "toolCall");
  const inner = results.flatMap((result) => (typeof result.content === "string" ? [] : result.content));
  return {
    messages: manifestMessages(transcript),
    tool_calls: calls.length,
    tool_errors: results.filter((result) => result.isError === true).length,
    images: [...parts, ...inner].filter((part) => part.type === "media").length,
    calls_without_result: calls.filter((call) => !answered.has(call.id)).length,
    compactions: transcript.compactions.length,
    bad_lines: transcript.problems.length,
  };
}

describe.skipIf(!present)("recorded sessions", () => {
  it.each(manifest.map((entry) => [entry.file, entry] as const))(
    "%s is read as the manifest says",
    async (file, entry) => {
      const transcript = await read(file);
      expect(transcript.format).toBe(entry.format);
      const counts = countsOf(transcript);
      const expected = Object.fromEntries(
        Object.keys(counts).map((key) => [key, entry[key as keyof ManifestEntry]]),
      );
      expect(counts).toEqual(expected);
    },
  );

  it.each(recordings)("%s is read as langchain", async (file) => {
    const transcript = await read(file);
    expect(transcript.format).toBe("langchain");
    expect(
      historyOf(transcript)
        .flatMap((message) => message.parts)
        .filter((part) => part.type === "toolCall"),
    ).toHaveLength(2);
  });

  it("gives usage records the index of the answer they belong to", async () => {
    for (const { file } of manifest) {
      const transcript = await read(file);
      for (const record of transcript.usage) {
        expect(transcript.segments[record.segment]?.messages[record.index]?.role).toBe("assistant");
      }
    }
  });

  it("gives every message of a session an id of its own", async () => {
    for (const { file } of manifest) {
      const { segments } = await read(file);
      for (const { messages } of segments)
        expect(new Set(messages.map((message) => message.id)).size).toBe(messages.length);
    }
  });
});
