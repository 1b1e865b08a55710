import { expect, it } from "vitest";
import { summarizeMessages } from "../../packages/compact-context/src/index.ts";

/** One message is one token: the arithmetic can be done by hand. */
const countTokens = (messages: readonly unknown[]): number => messages.length;
const talk = (length: number): { id: string; role: string; content: string }[] =>
  Array.from({ length }, (_, index) => ({
    id: `m${index}`,
    role: index % 2 === 0 ? "user" : "assistant",
    content: `Said ${index}.`,
  }));

it("RUN-3 256 tokens are reserved for the summary where nothing else is said", async () => {
  const asked: number[] = [];
  const list = talk(600);
  const { messages, runningSummary } = await summarizeMessages(list, {
    model: {
      name: "scripted",
      generate: async ({ maxOutputTokens }) => {
        asked.push(maxOutputTokens);
        return { text: "Much was said.", stop: "end" };
      },
    },
    maxTokens: 400,
    countTokens,
  });
  const rest = messages.filter((message) => list.includes(message));
  expect(rest).toHaveLength(400 - 256);
  expect(runningSummary?.summarizedMessageIds).toHaveLength(600 - rest.length);
  expect(asked).toEqual([256]);
});
