// A coding session that outgrows its window, traced to Ariadne. Start Ariadne first and open its page; ARIADNE_URL says
// where it takes events (http://127.0.0.1:5175/ingest). Without one the session runs all the same, and says so.
import { CompactManager } from "compact-context";

const manager = new CompactManager({
  model: "gpt-4o",
  maxContextTokens: 16_000,
  policy: { strategy: "code_delta" },
  tracing: { ariadne: process.env.ARIADNE_URL ?? "http://127.0.0.1:5175/ingest" },
});

const messages: object[] = [
  { role: "system", content: "You are a careful programmer." },
  { role: "user", content: "Port every module under src/ to the new logger, never touch the tests." },
];
for (let step = 1; step <= 60; step += 1) {
  const path = `src/module-${step}.ts`;
  messages.push(call(`read_${step}`, "read_file", { path }));
  messages.push(result(`read_${step}`, source(step)));
  messages.push(call(`edit_${step}`, "edit_file", { path, old: "console.log", new: "logger.info" }));
  messages.push(result(`edit_${step}`, `${path}: 3 replacements`));
  const { report } = await manager.preflight("port-to-logger", messages);
  if (report.compacted) console.log(`step ${step}: ${report.tokensBefore} -> ${report.tokensAfter} tokens`);
}
await manager.flush();

function call(id: string, name: string, args: object): object {
  return {
    role: "assistant",
    content: null,
    tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(args) } }],
  };
}

function result(id: string, content: string): object {
  return { role: "tool", tool_call_id: id, content };
}

function source(step: number): string {
  const line = (index: number): string => `export const value${index} = compute(${step * index});`;
  return Array.from({ length: 60 }, (_, index) => line(index)).join("\n");
}
