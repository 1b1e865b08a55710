import { describe, expect, it } from "vitest";
import type { Message, MessageMeta, Part, Role } from "./message.ts";
import { isUserSpeech, latestUserMessage, turnStarts } from "./units.ts";

const say = (role: Role, text: string, meta?: MessageMeta): Message => ({
  id: text,
  role,
  parts: [{ type: "text", text }],
  meta,
});
const result: Part = { type: "toolResult", id: "a", content: "done" };

describe("turns", () => {
  it("begins a turn with each user message that follows an answer", () => {
    const list = [
      say("system", "s"),
      say("user", "1"),
      say("assistant", "a"),
      say("user", "2"),
      say("user", "2b"),
      say("assistant", "b"),
      say("user", "3"),
    ];
    expect(turnStarts(list)).toEqual([1, 3, 6]);
    expect(latestUserMessage(list)).toBe(6);
  });

  it("does not take programs, summaries or tool results for a person", () => {
    const injected = say("user", "reminder", { synthetic: true });
    const summary = say("user", "summary", { summaryVersion: 1 });
    const results: Message = { id: "r", role: "user", parts: [result] };
    expect([injected, summary, results].map(isUserSpeech)).toEqual([false, false, false]);
    expect(turnStarts([say("user", "1"), say("assistant", "a"), injected, results, summary])).toEqual([0]);
  });

  it("leaves user text that travels with a result in the turn of its call", () => {
    const mixed: Message = { id: "r", role: "user", parts: [result, { type: "text", text: "and stop" }] };
    const list = [say("user", "1"), say("assistant", "a"), mixed];
    expect(turnStarts(list)).toEqual([0]);
    expect(latestUserMessage(list)).toBe(2);
  });
});
