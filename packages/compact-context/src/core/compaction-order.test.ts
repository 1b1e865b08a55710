import { expect, it } from "vitest";
import { CompactManager } from "../create-manager.ts";
import type { Message } from "./message.ts";
import type { SummarizeOptions } from "./ports.ts";

const step = (index: number): object[] => [
  {
    id: `call${index}`,
    role: "assistant",
    content: [{ type: "tool_use", id: `t${index}`, name: "read", input: {} }],
  },
  {
    id: `result${index}`,
    role: "user",
    content: [{ type: "tool_result", tool_use_id: `t${index}`, content: `${index} ${"text ".repeat(200)}` }],
  },
];

/** A provider that compacts all but the newest call with its result. */
const provider = {
  name: "provider",
  usesLivePrefix: true,
  async summarize(messages: readonly Message[], { live, countText = () => 0 }: SummarizeOptions) {
    const covers = (live?.messages.length ?? 0) - 2;
    const entry = { role: "assistant", content: [{ type: "compaction", content: "before" }] };
    const made = { summarizer: "provider", messagesRead: messages.length };
    return { ...made, text: "before", tokens: countText("before"), opening: { entry, covers } };
  },
};

it("RUN-2 what a provider's compaction moved behind it is summarized and handed to a memory in the order of the conversation", async () => {
  const discarded: string[][] = [];
  const manager = new CompactManager(
    {
      maxContextTokens: 4000,
      policy: { keepRecentTurns: 1, keepToolIoPairs: 1, clearToolResults: false },
      storage: { kind: "memory" },
    },
    {
      summarizer: provider,
      memoryFlushHook: async (messages) => void discarded.push(messages.map(({ id }) => id)),
    },
  );
  const list: object[] = [{ id: "ask", role: "user", content: "Read all files." }];
  for (let index = 0; index < 8; index++) list.push(...step(index));
  const first = await manager.manualCompact("s", list, { format: "anthropic" });
  // The provider reads the ask again behind its compaction, after what it has not compacted.
  expect(first.messages.slice(1, 4)).toEqual([list.at(-2), list.at(-1), list[0]]);
  list.push(
    { id: "answer", role: "assistant", content: "Done." },
    { id: "next", role: "user", content: "Thanks." },
  );
  const second = await manager.manualCompact("s", list, { format: "anthropic" });
  expect(second.report.compacted).toBe(true);
  await manager.flush();
  const left = ["ask", "call7", "result7", "answer"];
  expect(manager.getRunningSummary("s")?.summarizedMessageIds.slice(-left.length)).toEqual(left);
  expect(discarded.at(-1)).toEqual(left);
});
