import { describe, expect, it } from "vitest";
import type {
  SummaryStrategy,
  TextModel,
  TextModelRequest,
} from "../../packages/compact-context/src/core/ports.ts";
import { createModelSummarizer } from "../../packages/compact-context/src/summarizers/llm/create.ts";
import { HONEST_NOTES, loginSession } from "../summaries/conversations.ts";

const STRATEGIES: readonly SummaryStrategy[] = [
  "task_state",
  "decision_log",
  "code_delta",
  "brief",
  "step_ledger",
  "requirements_ledger",
];

/** A model that answers what it was recorded with. */
function recorded(answer: string): { model: TextModel; requests: TextModelRequest[] } {
  const requests: TextModelRequest[] = [];
  const generate = async (request: TextModelRequest) => {
    const { signal: _, ...rest } = request;
    requests.push(rest);
    return { text: answer, stop: "end" as const };
  };
  return { requests, model: { name: "recorded", window: 100_000, generate } };
}

describe("SUM-10 recorded requests and what was made of their answers", () => {
  it.each(STRATEGIES)("SUM-10 %s: the first round, and the update of it", async (strategy) => {
    const { model, requests } = recorded(HONEST_NOTES);
    const options = { model, seed: 42 };
    const first = await createModelSummarizer(options).summarize(loginSession(2), {
      maxTokens: 900,
      strategy,
    });
    const update = recorded(`${HONEST_NOTES}\n- The profile page is next.`);
    const second = await createModelSummarizer({ ...options, model: update.model }).summarize(
      [{ id: "n", role: "user", parts: [{ type: "text", text: "Then the profile page." }] }],
      { maxTokens: 900, strategy, previous: first.text, instruction: "Look after the branch." },
    );
    const shown = [...requests, ...update.requests]
      .map(({ messages, ...rest }) =>
        [JSON.stringify(rest), ...messages.map(({ role, content }) => `--- ${role}\n${content}`)].join("\n"),
      )
      .join("\n=== request\n");
    await expect(
      `=== request\n${shown}\n=== summary\n${first.text}\n=== summary\n${second.text}\n`,
    ).toMatchFileSnapshot(`summaries/${strategy}.txt`);
  });

  it("a change of a prompt's words changes its version", async () => {
    const { EXAMPLE_RECORDS, SHAPES } = await import(
      "../../packages/compact-context/src/summarizers/llm/prompts.ts"
    );
    const { contentHash } = await import("../../packages/compact-context/src/core/message.ts");
    const hashes = Object.values(SHAPES).map(({ prompt, form, notes }) => {
      const text = [form, EXAMPLE_RECORDS, notes].join("\n");
      return `${prompt} ${contentHash({ role: "user", parts: [{ type: "text", text }] })}`;
    });
    await expect(`${hashes.join("\n")}\n`).toMatchFileSnapshot("summaries/versions.txt");
  });
});
