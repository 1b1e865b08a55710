// A long research session of many rounds: hundreds of sources read in a small window. What left the prompt is found again
// in the archive. Needs no key.
import { CompactManager } from "compact-context";

const manager = new CompactManager({ model: "gpt-4o", maxContextTokens: 12_000 });
let rounds = 0;
manager.onCompaction(() => {
  rounds += 1;
});

const messages: object[] = [
  { role: "user", content: "Which of the harbours can take a ship of 90 ells? Quote your sources." },
];
for (let source = 1; source <= 300; source += 1) {
  const id = `fetch_${source}`;
  const args = JSON.stringify({ url: `https://harbours.example/${source}` });
  messages.push({
    role: "assistant",
    content: null,
    tool_calls: [{ id, type: "function", function: { name: "fetch_page", arguments: args } }],
  });
  messages.push({ role: "tool", tool_call_id: id, content: page(source) });
  await manager.preflight("harbours", messages);
}
await manager.flush();

const { totalTokens, maxContextTokens, summaryVersion } = manager.getState("harbours");
console.log(`${rounds} rounds, summary v${summaryVersion}, ${totalTokens} of ${maxContextTokens} tokens`);
const [hit] = await manager.recall("harbours").search('"harbour 17 has a berth"', { limit: 1 });
console.log(hit === undefined ? "nothing found" : hit.snippet);

function page(source: number): string {
  const weather = "The wind was fair and the tide book was kept by the second clerk. ".repeat(12);
  return `${weather}The harbour ${source} has a berth of ${60 + ((source * 7) % 60)} ells. ${weather}`;
}
