// A long session of an agent whose storage is that of the environment (COMPACT_STORAGE_*), without a model and without a
// key: what the model would be sent stays inside the window, and what left is found again. JSON lines on stdout.
import { CompactManager } from "compact-context";
import { loadConfig } from "compact-context/config";

const say = (message, more = {}) =>
  console.log(JSON.stringify({ time: new Date().toISOString(), level: "info", message, ...more }));

const { config } = loadConfig({ env: process.env });
const manager = new CompactManager({
  ...config,
  model: "gpt-4o",
  maxContextTokens: 8_000,
  policy: { ...config.policy, hardCapBuffer: 500 },
});
const session = process.env.SESSION ?? "deploy-example";
const calls = Number(process.env.CALLS ?? 60);

try {
  await run();
} catch (error) {
  say(error.message, { level: "error", code: error.code, hint: error.hint });
  process.exitCode = 1;
}

async function run() {
  let messages = [];
  for (let call = 0; call < calls; call += 1) {
    messages.push(
      { role: "user", content: `Task ${call}: check parcel P-${1000 + call} and note where it is.` },
      {
        role: "assistant",
        content: `Parcel P-${1000 + call} is at depot ${call % 7}. ${"It was scanned. ".repeat(40)}`,
      },
    );
    const { messages: sent, report } = await manager.preflight(session, messages);
    if (report.compacted)
      say("compacted", { tokens_before: report.tokensBefore, tokens_after: report.tokensAfter });
    messages = [...sent];
  }
  const found = await manager.recall(session).search("parcel P-1003");
  await manager.flush();
  say("done", { calls, messages: messages.length, found: found.length > 0 });
}
