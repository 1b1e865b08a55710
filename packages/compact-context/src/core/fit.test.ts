import { describe, expect, it } from "vitest";
import { planCompaction } from "../compact.ts";

const words = (seed: number, count: number): string =>
  Array.from({ length: count }, (_, index) => `word${(seed * 31 + index * 7) % 997}`).join(" ");

const long = (ask: string): { role: string; content: string }[] => [
  ...Array.from({ length: 60 }, (_, turn) => [
    { role: "user", content: `question ${turn} ${words(turn, 150)}` },
    { role: "assistant", content: `answer ${turn} ${words(turn + 500, 150)}` },
  ]).flat(),
  { role: "user", content: ask },
  { role: "assistant", content: `a plan ${words(7, 300)}` },
];

describe("where little of a list can remain", () => {
  const plan = (maxTokens: number, onOverflow: "elide" | "error", ask = "and now the tests?") =>
    planCompaction(long(ask), { maxTokens, onOverflow, format: "openai-chat" });

  it("the summary has more than half of a limit under 5 % of the list, and the newest ask stays whole", () => {
    const tight = plan(1500, "elide");
    expect(tight.tokensBefore * 0.05).toBeGreaterThan(1500);
    expect(tight.summaryTokens).toBeGreaterThan(750);
    expect(tight.entries.at(-2)).toMatchObject({ role: "user", action: "keep" });
  });

  it("whoever did not ask for cuts keeps the newest turn whole", () => {
    const whole = plan(1500, "error");
    expect(whole.summaryTokens).toBeLessThan(750);
    expect(whole.entries.slice(-2).map(({ action }) => action)).toEqual(["keep", "keep"]);
  });

  it("above 5 % the newest words come first", () => {
    const roomy = plan(6000, "elide");
    expect(roomy.entries.slice(-2).map(({ action }) => action)).toEqual(["keep", "keep"]);
  });

  it("an ask that is too long for its part is cut before the summary is", () => {
    const cut = plan(1500, "elide", `look at ${words(3, 1000)}`);
    expect(cut.entries.at(-2)?.action).toBe("elide");
    expect(cut.summaryTokens).toBeGreaterThan(600);
  });
});
