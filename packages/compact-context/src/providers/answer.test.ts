import { describe, expect, it } from "vitest";
import { TEXT_APIS } from "./bodies.ts";

describe("why a model stopped", () => {
  it.each([
    ["end_turn", "stop", "end"],
    ["max_tokens", "length", "length"],
    ["refusal", "content_filter", "refusal"],
    ["pause_turn", "tool_calls", "other"],
    ["constructor", "toString", "other"],
    ["__proto__", "__proto__", "other"],
  ])("%s and %s are %s", (anthropic, chat, stop) => {
    expect(TEXT_APIS.anthropic.read({ content: [], stop_reason: anthropic }).stop).toBe(stop);
    expect(TEXT_APIS.chat.read({ choices: [{ message: { content: "" }, finish_reason: chat }] }).stop).toBe(
      stop,
    );
  });
});
