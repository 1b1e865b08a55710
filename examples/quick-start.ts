// The quick start of the README: a session that keeps growing, checked before every model call. Needs no key.
import { CompactManager } from "compact-context";

const manager = new CompactManager({ model: "gpt-4o", maxContextTokens: 8_000 });
manager.onCompaction(({ report }) =>
  console.log(
    `compacted: ${report.tokensBefore} -> ${report.tokensAfter} tokens, archive ${report.archive?.location}`,
  ),
);

const messages: { role: string; content: string }[] = [
  { role: "system", content: "You are a careful reviewer." },
];
for (let turn = 1; turn <= 60; turn += 1) {
  messages.push({ role: "user", content: `Question ${turn}: ${"what does this line do? ".repeat(20)}` });
  const { messages: prompt } = await manager.preflight("review-42", messages);
  messages.push(await answer(prompt, turn));
}
await manager.flush();

/** Stands for the model: a real one gets `prompt`. */
async function answer(prompt: readonly unknown[], turn: number): Promise<{ role: string; content: string }> {
  return {
    role: "assistant",
    content: `Answer ${turn}, after ${prompt.length} messages. ${"It adds two. ".repeat(20)}`,
  };
}
