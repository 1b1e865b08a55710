import fc from "fast-check";
import { expect, it } from "vitest";
import {
  type RunningSummary,
  summarizeMessages,
  type TextModelAnswer,
} from "../../packages/compact-context/src/index.ts";

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
  const rest = messages.filter((message) => list.some((one) => one === message));
  expect(rest).toHaveLength(400 - 256);
  expect(runningSummary?.summarizedMessageIds).toHaveLength(600 - rest.length);
  // The tags and the framing are within the reserve.
  expect(asked).toHaveLength(1);
  expect(asked[0]).toBeLessThanOrEqual(256);
});

/** As many tokens as words. */
const countWords = (messages: readonly unknown[]): number =>
  (messages as readonly { readonly content: string }[]).reduce(
    (total, { content }) => total + content.split(" ").length,
    0,
  );
const words = (count: number): string => Array.from({ length: count }, () => "word").join(" ");

it("RUN-3 no list is over maxTokens, whatever its system message and its summary take", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 8 }),
      fc.array(fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 8 }), { maxLength: 6 }),
      async (system, rounds) => {
        const list = system === 0 ? [] : [{ id: "s", role: "system", content: words(system) }];
        let runningSummary: RunningSummary | undefined;
        let answers = 0;
        const generate = async (): Promise<TextModelAnswer> => {
          answers += 1;
          return { text: `Words ${answers}.`, stop: "end" };
        };
        for (const size of rounds) {
          for (const count of size) {
            const role = list.length % 2 === 0 ? "user" : "assistant";
            list.push({ id: `m${list.length}`, role, content: words(count) });
          }
          const made = await summarizeMessages(list, {
            model: { name: "brief", generate },
            finalPrompt: "{summary}",
            maxTokens: 24,
            maxSummaryTokens: 8,
            countTokens: countWords,
            runningSummary,
          }).catch((error: { code: string }) => {
            expect(error.code).toBe("InsufficientBudget");
            return undefined;
          });
          if (made === undefined) return;
          expect(countWords(made.messages)).toBeLessThanOrEqual(24);
          runningSummary = made.runningSummary;
        }
      },
    ),
    { numRuns: 200 },
  );
});
