// Anthropic's own client, compacting before each call. ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL say whom it talks to.
import Anthropic from "@anthropic-ai/sdk";
import { CompactManager } from "compact-context";
import { compactAnthropic } from "compact-context/adapters/anthropic";

const manager = new CompactManager({ model: "claude-sonnet-4-5", maxContextTokens: 8_000 });
manager.onCompaction(({ report }) => console.log(`${report.tokensBefore} -> ${report.tokensAfter} tokens`));
const client = compactAnthropic(new Anthropic(), { manager, sessionId: "demo" });

const messages: Anthropic.MessageParam[] = [];
for (let turn = 0; turn < 80; turn += 1) {
  messages.push({ role: "user", content: `Question ${turn}: ${"what does this line do? ".repeat(20)}` });
  const { role, content } = await client.messages.create({
    model: "claude-sonnet-4-5",
    max_tokens: 1_000,
    messages,
  });
  messages.push({ role, content });
}
await manager.flush();
console.log(`the app holds ${messages.length} messages, ${manager.getState("demo").messageCount} are sent`);
