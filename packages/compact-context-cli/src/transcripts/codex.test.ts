import { messageText } from "compact-context/internal/core/message";
import { describe, expect, it } from "vitest";
import { readTranscript } from "./read.ts";

const PORTS = { newId: () => "id", now: () => "2026-02-02T00:00:00.000Z" };
const line = (type: string, payload: unknown): string =>
  `${JSON.stringify({ timestamp: "2026-01-01T00:00:00.000Z", type, payload })}\n`;
const item = (payload: unknown): string => line("response_item", payload);
const said = (role: string, text: string): string =>
  item({
    type: "message",
    role,
    content: [{ type: role === "assistant" ? "output_text" : "input_text", text }],
  });
const tokens = (input: number): string =>
  line("event_msg", {
    type: "token_count",
    info: { last_token_usage: { input_tokens: input, cached_input_tokens: 1, output_tokens: 7 } },
  });

const HEAD =
  line("session_meta", { id: "s", cwd: "/work", base_instructions: { text: "You are Codex." } }) +
  line("turn_context", { model: "gpt-5.5" });
const TURN =
  said("developer", "permissions") +
  said("user", "fix it") +
  item({ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "AAAA" }) +
  item({ type: "function_call", name: "exec", arguments: "{}", call_id: "c1" }) +
  item({ type: "function_call_output", call_id: "c1", output: "ok" }) +
  tokens(100);

describe("Codex rollouts", () => {
  it("give items, the instructions beside them, and usage at the first item of the answer", async () => {
    const transcript = await readTranscript(HEAD + TURN + said("assistant", "fixed") + tokens(120));
    expect(transcript.messages.map((message) => message.role)).toEqual([
      "developer",
      "user",
      "assistant",
      "assistant",
      "tool",
      "assistant",
    ]);
    expect(transcript).toMatchObject({
      system: "You are Codex.",
      model: "gpt-5.5",
      cwd: "/work",
      sessionId: "s",
      list: "openai-responses",
    });
    expect(transcript.usage.map((one) => [one.index, one.promptTokens])).toEqual([
      [2, 100],
      [5, 120],
    ]);
    expect(transcript.leftOut).toEqual({ turn_context: 1, "event_msg token_count": 2 });
  });

  it("go on with the replacement after a compaction, its sealed item untouched", async () => {
    const sealed = { type: "compaction", encrypted_content: "BBBB" };
    const kept = { type: "message", role: "user", content: [{ type: "input_text", text: "fix it" }] };
    const compacted = line("compacted", { message: "", replacement_history: [kept, sealed] });
    const transcript = await readTranscript(HEAD + TURN + compacted + said("assistant", "fixed"));
    expect(transcript.messages.map((message) => message.native)).toEqual([
      kept,
      sealed,
      expect.objectContaining({ role: "assistant" }),
    ]);
    expect(transcript.compactions).toEqual([{ at: 5, kind: "opaque", tokensBefore: 100 }]);
    expect(transcript.segments[1]?.carried).toBe(2);
  });

  it("of older versions go on with what people said and the summary", async () => {
    const transcript = await readTranscript(HEAD + TURN + line("compacted", { message: "it was fixed" }));
    expect(transcript.messages.map(messageText)).toEqual(["permissions", "fix it", "it was fixed"]);
    expect(transcript.compactions[0]?.kind).toBe("summary");
  });

  it("leave out items that no provider would take, and keep the usage with its answer", async () => {
    const odd = item({ type: "message", role: "narrator", content: [] });
    const transcript = await readTranscript(HEAD + odd + TURN);
    expect(transcript.problems.map((problem) => problem.place)).toEqual(["response_item[0]"]);
    expect(transcript.leftOut["unreadable message"]).toBe(1);
    expect(transcript.messages).toHaveLength(5);
    expect(transcript.usage.map((one) => one.index)).toEqual([2]);
  });

  it("take back the turns that were rolled back", async () => {
    const rollback = line("event_msg", { type: "thread_rolled_back", num_turns: 1 });
    const transcript = await readTranscript(
      HEAD +
        TURN +
        said("user", "no, wrong") +
        said("assistant", "sorry") +
        rollback +
        said("user", "better"),
    );
    expect(transcript.messages.map(messageText).filter(Boolean)).toEqual(["permissions", "fix it", "better"]);
    expect(transcript.leftOut["abandoned branch"]).toBe(2);
  });

  it("take back turns that a compaction had carried over", async () => {
    const kept = { type: "message", role: "user", content: [{ type: "input_text", text: "fix it" }] };
    const sealed = { type: "compaction", encrypted_content: "BBBB" };
    const compacted = line("compacted", { message: "", replacement_history: [kept, sealed] });
    const rollback = line("event_msg", { type: "thread_rolled_back", num_turns: 1 });
    const transcript = await readTranscript(HEAD + TURN + compacted + rollback + said("user", "better"));
    expect(transcript.messages.map(messageText)).toEqual(["better"]);
    expect(transcript.segments.map((segment) => [segment.messages.length, segment.carried])).toEqual([
      [5, 0],
      [1, 0],
    ]);
  });

  it("are compacted by one line that holds summary and kept items", async () => {
    const transcript = await readTranscript(HEAD + TURN);
    const [developer, user, , call, output] = transcript.messages;
    const summary = {
      id: "s",
      role: "assistant" as const,
      parts: [{ type: "text" as const, text: "so far" }],
    };
    const written = transcript.write(
      {
        messages: [developer!, user!, summary, call!, output!],
        summary: "so far",
        tokensBefore: 9,
      },
      PORTS,
    );
    expect(written.mode).toBe("append");
    expect(JSON.parse([...written.chunks].join(""))).toEqual({
      timestamp: PORTS.now(),
      type: "compacted",
      payload: {
        message: "so far",
        replacement_history: [
          developer?.native,
          user?.native,
          { type: "message", role: "user", content: [{ type: "input_text", text: "so far" }] },
          call?.native,
          output?.native,
        ],
      },
    });
  });
});
