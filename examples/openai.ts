// OpenAI's own client, compacting before each call. OPENAI_API_KEY and OPENAI_BASE_URL say whom it talks to.
import { CompactManager } from "compact-context";
import { compactOpenAi } from "compact-context/adapters/openai";
import OpenAI from "openai";

const manager = new CompactManager({ model: "gpt-4o", maxContextTokens: 8_000 });
manager.onCompaction(({ report }) => console.log(`${report.tokensBefore} -> ${report.tokensAfter} tokens`));
const client = compactOpenAi(new OpenAI(), { manager, sessionId: "demo" });

const messages: OpenAI.ChatCompletionMessageParam[] = [];
for (let turn = 0; turn < 80; turn += 1) {
  messages.push({ role: "user", content: `Question ${turn}: ${"what does this line do? ".repeat(20)}` });
  const { choices } = await client.chat.completions.create({ model: "gpt-4o", messages });
  const [choice] = choices;
  if (choice !== undefined) messages.push(choice.message);
}
await manager.flush();
console.log(`the app holds ${messages.length} messages, ${manager.getState("demo").messageCount} are sent`);
