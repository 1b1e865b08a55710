import { describe, expect, it } from "vitest";
import type { Message } from "../../packages/compact-context/src/core/message.ts";
import { readTranscript } from "../../packages/compact-context-cli/src/transcripts/read.ts";
import type {
  CompactedSession,
  Transcript,
} from "../../packages/compact-context-cli/src/transcripts/transcript.ts";
import {
  compactSimply,
  essence,
  fileText,
  manifest,
  ports,
  present,
  read,
  recordings,
  SUMMARY,
  textOf,
} from "./sessions.ts";

const files = [...manifest.map((entry) => entry.file), ...recordings];

async function roundTrip(
  file: string,
  transcript: Transcript,
  compacted: CompactedSession,
): Promise<Transcript> {
  const written = transcript.write(compacted, ports());
  return readTranscript(fileText(textOf(file), written), { name: file });
}

/** What a tool of this format is able to hold of the compacted list. */
function expected(transcript: Transcript, { messages }: CompactedSession): unknown[] {
  const position = messages.findIndex((message) => message.meta?.summaryVersion !== undefined);
  const summary = messages[position]!;
  const asUser: Message = { ...summary, role: "user" };
  const before = messages.slice(0, position);
  const after = messages.slice(position + 1);
  if (transcript.format === "claude-code") return essence([asUser, ...before, ...after]);
  if (["codex", "moatless"].includes(transcript.format)) return essence([...before, asUser, ...after]);
  if (transcript.format === "aider") return essence([...before, indented(summary), ...after]);
  return essence(messages);
}

/** Aider tells speakers apart by how a line begins, so lines of the summary that begin like another's are indented. */
function indented(summary: Message): Message {
  const text = SUMMARY.replace(/^(?=> |#### )/gm, " ");
  return { ...summary, parts: [{ type: "text", text }] };
}

/** The messages with the oldest kept tool result emptied, as clearing does. */
function withClearedResult(compacted: CompactedSession): CompactedSession | undefined {
  const index = compacted.messages.findIndex((message) =>
    message.parts.some((part) => part.type === "toolResult"),
  );
  const target = compacted.messages[index];
  if (target === undefined) return undefined;
  const parts = target.parts.map((part) =>
    part.type === "toolResult" ? { ...part, content: "[cleared]" } : part,
  );
  return { ...compacted, messages: compacted.messages.with(index, { ...target, parts, edited: true }) };
}

describe.skipIf(!present)("writing back", () => {
  it.each(files.filter((file) => !file.startsWith("pi-")))(
    "%s reads back as the compacted list",
    async (file) => {
      const transcript = await read(file);
      const compacted = compactSimply(transcript.messages);
      const again = await roundTrip(file, transcript, compacted);
      const streamed = file.includes("supervisor-stream");
      if (!streamed) expect(again.format).toBe(transcript.format);
      expect(essence(again.messages)).toEqual(expected(transcript, compacted));
      expect(again.problems).toEqual([]);
      expect(again.messages.filter((message) => message.meta?.summaryVersion === 1)).toHaveLength(1);
    },
  );

  it.each(files.filter((file) => !file.startsWith("pi-")))(
    "%s keeps a cleared result cleared",
    async (file) => {
      const transcript = await read(file);
      const compacted = withClearedResult(compactSimply(transcript.messages));
      if (compacted === undefined) return;
      const again = await roundTrip(file, transcript, compacted);
      expect(essence(again.messages)).toEqual(expected(transcript, compacted));
    },
  );

  it.each(files)("%s is unchanged but for the list when nothing is compacted", async (file) => {
    const transcript = await read(file);
    const written = transcript.write({ messages: transcript.messages, tokensBefore: 1 }, ports());
    if (written.mode === "append") return;
    const text = fileText("", written);
    if (file.endsWith(".md"))
      expect(essence((await readTranscript(text)).messages)).toEqual(essence(transcript.messages));
    else if (!file.includes("supervisor-stream")) expect(JSON.parse(text)).toEqual(JSON.parse(textOf(file)));
  });

  it.each(manifest.filter((entry) => entry.format === "pi").map((entry) => entry.file))(
    "%s reads back as summary and kept end, told what is kept before",
    async (file) => {
      const transcript = await read(file);
      const compacted = compactSimply(transcript.messages);
      const again = await roundTrip(file, transcript, compacted);
      const [summary, ...rest] = again.messages;
      expect(essence(rest)).toEqual(essence(compacted.messages.slice(2)));
      expect(JSON.stringify(summary?.parts)).toContain(JSON.stringify(SUMMARY).slice(1, -1));
      const first = compacted.messages[0]?.parts[0];
      expect(JSON.stringify(summary?.parts)).toContain(first?.type === "text" ? first.text : "?");
      expect(again.segments.at(-1)?.carried).toBe(again.messages.length);

      const cleared = withClearedResult(compacted)!;
      const copied = await roundTrip(file, transcript, cleared);
      expect(essence(copied.messages.slice(1))).toEqual(essence(cleared.messages.slice(2)));
      expect(copied.segments.at(-1)?.carried).toBe(copied.messages.length);
    },
  );

  it.each(manifest.filter((entry) => entry.format === "claude-code").map((entry) => entry.file))(
    "%s can be compacted again after it was written",
    async (file) => {
      const transcript = await read(file);
      const written = fileText(textOf(file), transcript.write(compactSimply(transcript.messages), ports()));
      const once = await readTranscript(written);
      const again = compactSimply(
        once.messages.filter((message) => message.meta?.summaryVersion === undefined),
      );
      const twice = await readTranscript(
        fileText(written, once.write(again, { ...ports(), newId: secondIds() })),
      );
      expect(twice.segments).toHaveLength(transcript.segments.length + 2);
      expect(twice.segments.at(-1)?.carried).toBe(twice.messages.length);
      const fresh = (one: Transcript): unknown[] =>
        essence(one.segments.flatMap((segment) => segment.messages.slice(segment.carried)));
      expect(fresh(twice)).toEqual(fresh(transcript));
    },
  );
});

function secondIds(): () => string {
  let count = 0;
  return () => {
    count += 1;
    return `second-${count}`;
  };
}
