import { messageText, toolCalls, toolResults } from "compact-context/internal/core/message";
import { describe, expect, it } from "vitest";
import { readTranscript } from "./read.ts";
import type { CompactedSession, Transcript, WritePorts } from "./transcript.ts";

const SESSION = { userType: "external", cwd: "/work", sessionId: "s1", version: "2.1.0", gitBranch: "main" };

interface Fields {
  [key: string]: unknown;
}

function record(uuid: string, parentUuid: string | null, fields: Fields): Fields {
  return {
    parentUuid,
    isSidechain: false,
    ...SESSION,
    uuid,
    timestamp: `2026-01-01T00:00:00.${uuid}Z`,
    ...fields,
  };
}
const user = (uuid: string, parent: string | null, content: unknown, extra: Fields = {}): Fields =>
  record(uuid, parent, { type: "user", message: { role: "user", content }, ...extra });
const answer = (uuid: string, parent: string | null, id: string, block: Fields): Fields =>
  record(uuid, parent, {
    type: "assistant",
    message: {
      id,
      model: "claude-opus-4-6",
      type: "message",
      role: "assistant",
      content: [block],
      usage: { input_tokens: 10, cache_read_input_tokens: 90, output_tokens: 5 },
    },
  });
const call = (id: string): Fields => ({ type: "tool_use", id, name: "Read", input: { path: id } });
const result = (id: string): Fields[] => [
  { type: "tool_result", tool_use_id: id, content: `content of ${id}` },
];
const text = (words: string): Fields => ({ type: "text", text: words });

const file = (records: Fields[]): string => records.map((one) => `${JSON.stringify(one)}\n`).join("");

function ports(): WritePorts {
  let count = 0;
  return {
    newId: () => {
      count += 1;
      return `new-${count}`;
    },
    now: () => "2026-02-02T00:00:00.000Z",
  };
}

function outline(transcript: Transcript): string[] {
  return transcript.messages.map((message) => {
    const calls = toolCalls(message).map((one) => `call ${one.id}`);
    const results = toolResults(message).map((one) => `result ${one.id}`);
    return [messageText(message), ...calls, ...results].filter(Boolean).join(", ");
  });
}

const PARALLEL = [
  user("001", null, "look at both"),
  answer("002", "001", "msg_1", text("reading")),
  answer("003", "002", "msg_1", call("t1")),
  user("004", "003", result("t1"), { toolUseResult: { file: "a copy" } }),
  answer("005", "003", "msg_1", call("t2")),
  user("006", "005", result("t2")),
  answer("007", "006", "msg_2", text("both read")),
];

describe("Claude Code sessions", () => {
  it("join the lines of one answer and put all its results after it", async () => {
    const transcript = await readTranscript(file(PARALLEL));
    expect(outline(transcript)).toEqual([
      "look at both",
      "reading, call t1, call t2",
      "result t1, result t2",
      "both read",
    ]);
    expect(transcript.leftOut).toEqual({});
    expect(transcript).toMatchObject({
      model: "claude-opus-4-6",
      cwd: "/work",
      sessionId: "s1",
      list: "anthropic",
    });
    expect(transcript.usage.map(({ index, promptTokens }) => [index, promptTokens])).toEqual([
      [1, 100],
      [3, 100],
    ]);
  });

  it("keep no structured copies of results in memory", async () => {
    const transcript = await readTranscript(file(PARALLEL));
    expect(JSON.stringify(transcript)).not.toContain("a copy");
  });

  it("follow the branch that was taken after going back, and count the other", async () => {
    const transcript = await readTranscript(
      file([
        ...PARALLEL,
        user("008", "007", "go left"),
        answer("009", "008", "msg_3", text("left")),
        user("010", "007", "go right"),
      ]),
    );
    expect(outline(transcript).slice(3)).toEqual(["both read", "go right"]);
    expect(transcript.leftOut).toEqual({ "abandoned branch": 2 });
  });

  it("leave out sidechains, errors of the API and records without context, and count them", async () => {
    const transcript = await readTranscript(
      file([
        user("001", null, "hello"),
        { ...user("002", null, "sub-agent"), isSidechain: true },
        record("003", "001", { type: "progress", data: {} }),
        { ...answer("004", "003", "msg_e", text("API Error: 500")), isApiErrorMessage: true },
        record("005", "004", { type: "system", subtype: "turn_duration" }),
        { type: "file-history-snapshot", messageId: "m", snapshot: {} },
        { type: "summary", summary: "A title", leafUuid: "005" },
        answer("006", "005", "msg_1", text("hi")),
      ]),
    );
    expect(outline(transcript)).toEqual(["hello", "hi"]);
    expect(transcript.title).toBe("A title");
    expect(transcript.leftOut).toEqual({
      sidechain: 1,
      progress: 1,
      "API error": 1,
      "system turn_duration": 1,
      "file-history-snapshot": 1,
      summary: 1,
    });
  });

  it("keep what was injected, marked as synthetic", async () => {
    const transcript = await readTranscript(
      file([user("001", null, "reminder", { isMeta: true }), user("002", "001", "typed")]),
    );
    expect(transcript.messages.map((message) => message.meta?.synthetic)).toEqual([true, undefined]);
  });

  it("whose parent record is missing go on from the record before, and say so", async () => {
    const transcript = await readTranscript(file([user("001", null, "one"), user("003", "002", "two")]));
    expect(outline(transcript)).toEqual(["one", "two"]);
    expect(transcript.problems[0]?.message).toContain("follows 002");
  });

  it("streamed by the command line follow one another, sub-agents aside", async () => {
    const streamed = (
      uuid: string,
      role: string,
      content: unknown,
      parent: string | null = null,
    ): Fields => ({
      type: role,
      uuid,
      session_id: "s",
      parent_tool_use_id: parent,
      message: { role, content },
    });
    const transcript = await readTranscript(
      file([
        streamed("1", "user", "hello"),
        streamed("2", "assistant", [call("t1")]),
        streamed("3", "user", "the sub-agent's task", "t1"),
        streamed("4", "user", result("t1")),
        streamed("5", "assistant", [text("done")]),
      ]),
    );
    expect(outline(transcript)).toEqual(["hello", "call t1", "result t1", "done"]);
    expect(transcript.leftOut).toEqual({ sidechain: 1 });
  });

  it("begin anew after a compaction of Claude Code's own", async () => {
    const boundary = record("008", null, {
      type: "system",
      subtype: "compact_boundary",
      logicalParentUuid: "007",
      compactMetadata: { trigger: "auto", preTokens: 167000 },
    });
    const summary = user("009", "008", "what happened so far", {
      isCompactSummary: true,
      isVisibleInTranscriptOnly: true,
    });
    const transcript = await readTranscript(
      file([...PARALLEL, boundary, summary, answer("010", "009", "msg_9", text("going on"))]),
    );
    expect(outline(transcript)).toEqual(["what happened so far", "going on"]);
    expect(transcript.compactions).toEqual([{ at: 4, kind: "summary", tokensBefore: 167000 }]);
    expect(transcript.segments.map((segment) => [segment.messages.length, segment.carried])).toEqual([
      [4, 0],
      [2, 1],
    ]);
  });
});

describe("compacted Claude Code sessions", () => {
  async function compacted(): Promise<{ transcript: Transcript; session: CompactedSession }> {
    const transcript = await readTranscript(file(PARALLEL));
    const [first, ...rest] = transcript.messages;
    const summary = {
      id: "s",
      role: "assistant" as const,
      parts: [{ type: "text" as const, text: "<COMPACT-SUMMARY v1>\nso far" }],
      meta: { summaryVersion: 1 },
    };
    return {
      transcript,
      session: {
        messages: [first!, summary, ...rest],
        summary: summary.parts[0]!.text,
        tokensBefore: 1234,
      },
    };
  }

  it("append a boundary, the summary and copies of what is kept, chained and one block a line", async () => {
    const { transcript, session } = await compacted();
    const written = transcript.write(session, ports());
    expect(written.mode).toBe("append");
    const records = [...written.chunks].map((line) => JSON.parse(line) as Fields & { message?: Fields });
    expect(records[0]).toEqual({
      parentUuid: null,
      logicalParentUuid: "007",
      isSidechain: false,
      ...SESSION,
      type: "system",
      subtype: "compact_boundary",
      content: "Conversation compacted",
      isMeta: false,
      level: "info",
      compactMetadata: { trigger: "manual", preTokens: 1234 },
      uuid: records[0]?.uuid,
      timestamp: "2026-02-02T00:00:00.000Z",
    });
    expect(records[1]).toMatchObject({
      type: "user",
      isCompactSummary: true,
      isVisibleInTranscriptOnly: true,
      parentUuid: records[0]?.uuid,
    });
    const kinds = records
      .slice(2)
      .map((one) => [
        one.type,
        Array.isArray(one.message?.content) ? (one.message.content[0] as Fields).type : "string",
      ]);
    expect(kinds).toEqual([
      ["user", "string"],
      ["assistant", "text"],
      ["assistant", "tool_use"],
      ["assistant", "tool_use"],
      ["user", "tool_result"],
      ["user", "tool_result"],
      ["assistant", "text"],
    ]);
    expect(records.slice(1).map((one) => one.parentUuid)).toEqual(
      records.slice(0, -1).map((one) => one.uuid),
    );
    expect(new Set(records.map((one) => one.uuid)).size).toBe(records.length);
    expect(records[3]?.message?.usage).toMatchObject({ input_tokens: 0, cache_read_input_tokens: 0 });
  });

  it("begin on a line of their own when the file does not end with a newline", async () => {
    const { session } = await compacted();
    const open = file(PARALLEL).trimEnd();
    const transcript = await readTranscript(open);
    const again = await readTranscript(open + [...transcript.write(session, ports()).chunks].join(""));
    expect(again.problems).toEqual([]);
    expect(again.messages[0]?.meta).toMatchObject({ summaryVersion: 1, synthetic: true });
    expect(again.segments.at(-1)?.carried).toBe(5);
    expect(again.usage.filter((one) => one.segment === 1)).toEqual([]);
  });
});
