import type { Message } from "compact-context";
import { messageText } from "compact-context/internal/core/message";
import { describe, expect, it } from "vitest";
import { readTranscript } from "./read.ts";
import type { CompactedSession, Transcript } from "./transcript.ts";

const PORTS = { newId: () => "new", now: () => "2026-02-02T00:00:00.000Z" };
const STAMP = "2026-01-01T00:00:00.000Z";
const lines = (records: readonly unknown[]): string =>
  records.map((one) => `${JSON.stringify(one)}\n`).join("");
const user = (text: string): object => ({ role: "user", content: [{ type: "text", text }], timestamp: 1 });
const V1 = { type: "session", id: "s", timestamp: STAMP, cwd: "/work", modelId: "m" };
const V3 = { ...V1, version: 3 };
const flat = (text: string): object => ({ type: "message", timestamp: STAMP, message: user(text) });
const node = (id: string, parentId: string | null, extra: object = {}): object => ({
  type: "message",
  id,
  parentId,
  timestamp: STAMP,
  message: user(id),
  ...extra,
});

const texts = (transcript: Transcript): string[] => transcript.messages.map(messageText);
const summary: Message = {
  id: "s",
  role: "assistant",
  parts: [{ type: "text", text: "so far" }],
  meta: { summaryVersion: 1 },
};

function written(transcript: Transcript, messages: readonly Message[]): Record<string, unknown>[] {
  const session: CompactedSession = {
    messages,
    summary: "so far",
    tokensBefore: 50,
  };
  return [...transcript.write(session, PORTS).chunks].map(
    (line) => JSON.parse(line) as Record<string, unknown>,
  );
}

describe("pi sessions", () => {
  it("of version 1 are lists, and a compaction counts entries as pi does: lines it cannot read are none", async () => {
    const file = `${lines([V1, flat("a")])}{"broken\n${lines([flat("b"), flat("c"), { type: "compaction", timestamp: STAMP, summary: "old", firstKeptEntryIndex: 3, tokensBefore: 77 }, flat("d")])}`;
    const transcript = await readTranscript(file);
    expect(texts(transcript).slice(1)).toEqual(["c", "d"]);
    expect(transcript.messages[0]?.native).toMatchObject({
      role: "compactionSummary",
      summary: "old",
      tokensBefore: 77,
    });
    expect(transcript.compactions).toEqual([{ at: 3, kind: "summary", tokensBefore: 77 }]);
    expect(transcript.segments[1]?.carried).toBe(2);
  });

  it("of later versions are trees: the newest entry's branch is live", async () => {
    const transcript = await readTranscript(
      lines([V3, node("a", null), node("b", "a"), node("x", "b"), node("c", "b")]),
    );
    expect(texts(transcript)).toEqual(["a", "b", "c"]);
    expect(transcript.leftOut).toEqual({ "abandoned branch": 1 });
  });

  it("keep custom messages and branch summaries, and leave out what the model is not shown", async () => {
    const transcript = await readTranscript(
      lines([
        V3,
        node("a", null),
        {
          type: "custom_message",
          id: "b",
          parentId: "a",
          timestamp: STAMP,
          customType: "note",
          content: "remember",
          display: true,
        },
        {
          type: "branch_summary",
          id: "c",
          parentId: "b",
          timestamp: STAMP,
          fromId: "x",
          summary: "went left",
        },
        node("d", "c", {
          message: {
            role: "bashExecution",
            command: "ls",
            output: "",
            exitCode: 0,
            cancelled: false,
            truncated: false,
            excludeFromContext: true,
            timestamp: 2,
          },
        }),
        { type: "label", id: "e", parentId: "d", timestamp: STAMP, targetId: "a", label: "start" },
      ]),
    );
    expect(transcript.messages).toHaveLength(3);
    expect(texts(transcript)[1]).toBe("remember");
    expect(texts(transcript)[2]).toContain("went left");
    expect(transcript.leftOut).toEqual({ "bashExecution kept from the model": 1, label: 1 });
  });

  it("are compacted by one entry that points at the kept end", async () => {
    const v1 = await readTranscript(lines([V1, flat("a"), flat("b"), flat("c")]));
    const [first, , last] = v1.messages;
    const [entry, ...others] = written(v1, [first!, summary, last!]);
    expect(others).toEqual([]);
    expect(entry).toMatchObject({ type: "compaction", firstKeptEntryIndex: 3, tokensBefore: 50 });
    expect(entry?.summary).toBe("so far\n\n## Kept word for word from before the summary\n\n### user\n\na");

    const v3 = await readTranscript(lines([V3, node("a", null), node("b", "a")]));
    expect(written(v3, [summary, v3.messages[1]!])).toEqual([
      expect.objectContaining({ firstKeptEntryId: "b", parentId: "b", id: "new" }),
    ]);
  });

  it("get copies where the kept messages are not the end of the file as it stands", async () => {
    const v1 = await readTranscript(lines([V1, flat("a"), flat("b"), flat("c")]));
    const [, middle, last] = v1.messages;
    const edited: Message = { ...last!, parts: [{ type: "text", text: "changed" }], edited: true };
    for (const kept of [[middle!], [middle!, edited]]) {
      const records = written(v1, [summary, ...kept]);
      expect(records).toHaveLength(1 + kept.length);
      expect(records[0]).toMatchObject({ firstKeptEntryIndex: 5, details: { copies: kept.length } });
      const again = await readTranscript(lines([V1, flat("a"), flat("b"), flat("c"), ...records]));
      expect(texts(again).slice(1)).toEqual(kept.map(messageText));
      expect(again.segments[1]?.carried).toBe(1 + kept.length);
    }
  });

  it("tell calls and results that are kept before the summary", async () => {
    const answer = {
      role: "assistant",
      content: [{ type: "toolCall", id: "c", name: "read", arguments: { path: "a" } }],
      timestamp: 1,
    };
    const output = {
      role: "toolResult",
      toolCallId: "c",
      toolName: "read",
      content: [
        { type: "text", text: "no such file" },
        { type: "image", data: "AAAA", mimeType: "image/png" },
      ],
      isError: true,
      timestamp: 1,
    };
    const of = (message: object): object => ({ type: "message", timestamp: STAMP, message });
    const v1 = await readTranscript(lines([V1, of(answer), of(output), flat("c")]));
    const [call, result, last] = v1.messages;
    const [entry] = written(v1, [call!, result!, summary, last!]);
    expect(entry?.summary).toContain('[call read] {"path":"a"}');
    expect(entry?.summary).toContain("[result, error] no such file");
  });

  it("say what is kept before the summary even when no summary was made", async () => {
    const v1 = await readTranscript(lines([V1, flat("a"), flat("b")]));
    const [entry] = [...v1.write({ messages: [v1.messages[1]!], tokensBefore: 1 }, PORTS).chunks];
    expect(JSON.parse(entry ?? "")).toMatchObject({
      firstKeptEntryIndex: 2,
      summary: expect.stringContaining("remain in this session file"),
    });
  });
});
