import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { generateConversation } from "../../../../test/support/generated-lists.ts";
import type { Message, Part } from "../core/message.ts";
import { toSteps } from "./create-codec.ts";

const scrambled = fc
  .record({
    seed: fc.nat(),
    moves: fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 6 }),
    lost: fc.array(fc.nat(), { maxLength: 2 }),
  })
  .map(({ seed, moves, lost }) => {
    const messages = generateConversation(seed, { turns: 3, reasoning: true });
    for (const [from, to] of moves) {
      const [moved] = messages.splice(from % messages.length, 1);
      if (moved !== undefined) messages.splice(to % messages.length, 0, moved);
    }
    for (const index of lost) messages.splice(index % messages.length, 1);
    return messages;
  });

function idsOf(messages: readonly Message[], type: "toolCall" | "toolResult"): string[] {
  return messages.flatMap((message) =>
    message.parts.flatMap((part) => (part.type === type ? [part.id] : [])),
  );
}

function answeredLater(messages: readonly Message[], id: string): boolean {
  const place = (type: "toolCall" | "toolResult") =>
    messages.findIndex((message) => message.parts.some((part) => part.type === type && part.id === id));
  return place("toolResult") > place("toolCall");
}

describe("toSteps", () => {
  it("keeps every call and result once, and each answered call right before its results", () => {
    fc.assert(
      fc.property(scrambled, (messages) => {
        const steps = toSteps(messages);
        const calls = steps.flatMap((step) => step.calls.map(({ id }) => id));
        const results = steps.flatMap((step) => step.results.map(({ id }) => id));
        expect(calls.toSorted()).toEqual(idsOf(messages, "toolCall").toSorted());
        expect(results.toSorted()).toEqual(idsOf(messages, "toolResult").toSorted());
        steps.forEach((step, index) => {
          if (step.role !== "assistant") return;
          const answered = step.calls.map(({ id }) => id).filter((id) => answeredLater(messages, id));
          const next = steps[index + 1];
          const following = next?.results.map(({ id }) => id) ?? [];
          expect(following.slice(0, answered.length)).toEqual(answered);
        });
      }),
    );
  });

  it("joins an assistant's items, but never one that carries a summary", () => {
    const says = (id: string, text: string, summaryVersion?: number): Message => ({
      id,
      role: "assistant",
      parts: [{ type: "text", text }],
      meta: summaryVersion === undefined ? undefined : { summaryVersion },
    });
    const texts = toSteps([says("1", "summary", 1), says("2", "a"), says("3", "b")]).map((step) =>
      step.content.map((part) => part.type === "text" && part.text),
    );
    expect(texts).toEqual([["summary"], ["a", "b"]]);
  });

  it("keeps a message without parts, and drops one of reasoning only", () => {
    const message = (parts: readonly Part[]): Message => ({ id: "1", role: "user", parts });
    expect(toSteps([message([])])).toHaveLength(1);
    expect(toSteps([message([{ type: "reasoning", text: "hm" }])])).toHaveLength(0);
  });
});
