// Records demo/session.json anew: `node scripts/record-demo.mjs COMMIT`. The assistant's words and choices are
// written in record-demo/story; every tool call is really made, in a copy of this repository at the commit, and what
// it gives is what is recorded. The story reads files and counts tests of the commit that it was written for: a step
// that does not turn out as it says ends the run, and nothing is written.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createSession } from "./record-demo/session.mjs";
import { story } from "./record-demo/story/index.mjs";
import { tools } from "./record-demo/tools.mjs";
import { createWorkspace } from "./record-demo/workspace.mjs";

const root = fileURLToPath(new URL("..", import.meta.url)).replace(/[\\/]$/, "");
const [commit] = process.argv.slice(2);
if (commit === undefined) {
  console.error("Name the commit that record-demo/story was written for.");
  process.exit(2);
}
const workspace = createWorkspace(root, commit);
process.on("exit", workspace.remove);

const session = createSession(workspace);
for (const chapter of story) await chapter(session);

const { system, messages } = session;
const lines = (values) => `[\n${values.map((value) => JSON.stringify(value)).join(",\n")}\n]`;
const text = `{
"model": "claude-sonnet-4-5",
"system": ${JSON.stringify(system)},
"tools": ${lines(tools)},
"messages": ${lines(messages)}
}
`;
writeFileSync(new URL("../packages/compact-context-cli/demo/session.json", import.meta.url), text);
console.log(`${messages.length} messages, ${session.calls()} calls, ${text.length} characters`);
