import { expect, it } from "vitest";
import { compact } from "../compact.ts";

it("a target that is missed anyway still leaves a summary that tells something", async () => {
  const words = (count: number): string => Array.from({ length: count }, (_, i) => `word${i}`).join(" ");
  const messages = [
    { role: "system", content: words(900) },
    ...[5433, 6544, 7655, 8766].flatMap((port) => [
      {
        role: "user",
        content: `Move the service on port ${port} into a package of its own, with its tests.`,
      },
      { role: "assistant", content: words(1000) },
    ]),
    { role: "user", content: "Now write its tests." },
    { role: "assistant", content: "I begin with the tokenizer." },
  ];
  const { summary, report } = await compact(messages, { maxTokens: 60_000, targetTokens: 1_000 });
  for (const port of [5433, 6544, 7655, 8766]) expect(summary).toContain(`port ${port}`);
  // A tenth of the target, with the summary's frame.
  expect(report.summaryTokens).toBeLessThan(200);
  expect(report.tokensAfter).toBeLessThan(4_000);
});
