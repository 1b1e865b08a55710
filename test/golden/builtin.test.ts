import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { decode } from "../../packages/compact-context/src/codecs/formats.ts";
import type { Message } from "../../packages/compact-context/src/core/message.ts";
import type { SummaryStrategy } from "../../packages/compact-context/src/core/ports.ts";
import { builtinSummarizer } from "../../packages/compact-context/src/summarizers/extractive/builtin.ts";
import { HEADINGS, INTRODUCTION } from "../../packages/compact-context/src/summarizers/extractive/format.ts";
import { sectionsOf, VIEWS } from "../../packages/compact-context/src/summarizers/extractive/sections.ts";

const NAMES = Object.keys(VIEWS) as SummaryStrategy[];

/** What the built-in summarizer makes of the demo session; `npx vitest run test/golden -u` writes the files anew. */
describe("built-in summaries of the recorded session", () => {
  let messages: Message[];
  beforeAll(() => {
    const text = readFileSync(
      new URL("../../packages/compact-context-cli/demo/session.json", import.meta.url),
      "utf8",
    );
    messages = decode((JSON.parse(text) as { messages: unknown[] }).messages, "anthropic");
  });

  const summaryOf = async (strategy: SummaryStrategy, maxTokens: number): Promise<string> =>
    (await builtinSummarizer.summarize(messages, { strategy, maxTokens })).text;

  it.each(NAMES.flatMap((name) => [400, 2000].map((size) => [name, size] as const)))(
    "SUM-9 %s in %i tokens reads as it was read before",
    async (strategy, maxTokens) => {
      const text = await summaryOf(strategy, maxTokens);
      await expect(`${text}\n`).toMatchFileSnapshot(`builtin/${strategy}-${maxTokens}.md`);
    },
  );

  it.each(NAMES)("%s has its sections in the order of its view, the story last", async (strategy) => {
    const text = await summaryOf(strategy, 2000);
    const printed = text.split("\n").filter((line) => line.startsWith("## "));
    const planned = [...sectionsOf(strategy), "story" as const];
    const order = planned.flatMap((key) => [
      `## ${HEADINGS[key]}`,
      ...(key === "request" ? [`## ${HEADINGS.answered}`] : []),
    ]);
    const places = printed.map((heading) => order.indexOf(heading));
    expect(places).not.toContain(-1);
    expect(places).toEqual([...places].sort((left, right) => left - right));
    expect(printed.length).toBeGreaterThan(2);
  });

  it("SUM-4 decisions and steps stand in order of time, each with the id of the message that says it", async () => {
    const place = new Map(messages.map(({ id }, index) => [id, index]));
    for (const [strategy, key] of [
      ["decision_log", "decisionLog"],
      ["step_ledger", "steps"],
      ["requirements_ledger", "requirements"],
    ] as const) {
      const text = await summaryOf(strategy, 8000);
      const rows = (text.split(`## ${HEADINGS[key]}\n`)[1] ?? "").split("\n## ")[0]?.split("\n") ?? [];
      const places = rows.map((row) => place.get(/^- \[([^\]]+)\] /.exec(row)?.[1] ?? "") ?? -1);
      expect(places.length).toBeGreaterThan(0);
      expect(places).not.toContain(-1);
      expect(places).toEqual([...places].sort((left, right) => left - right));
    }
    expect(await summaryOf("task_state", 2000)).toContain(INTRODUCTION);
  });
});
