// Makes one call in a process of its own and prints which built files it needed, as JSON: `loaded` by the root import,
// and `files` and `functions` that ran from the making of the manager to the answer. What runs while a module is loaded
// is not counted, nor are generated files. Nothing is warmed up.
// Arguments: the workload, then the paths of dist/, of the root entry and of the entry of the memory storage.
import { Session } from "node:inspector/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** Rounds of a coding session: a question, a call of a tool, its result of about 320 tokens, an answer. */
function conversation(rounds) {
  return Array.from({ length: rounds }, (_, round) => {
    const path = `src/part-${round}.ts`;
    const call = { name: "read_file", arguments: JSON.stringify({ path }) };
    return [
      { role: "user", content: `Question ${round}: what does ${path} do?` },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: `c${round}`, type: "function", function: call }],
      },
      {
        role: "tool",
        tool_call_id: `c${round}`,
        content: `export const part${round} = ${round};\n`.repeat(40),
      },
      { role: "assistant", content: `It exports part${round}.` },
    ];
  }).flat();
}

/** A window of 20,000 tokens: 5 rounds are below the trigger, 100 are above it. */
const ROUNDS = { belowTrigger: 5, compaction: 100 };
const config = { model: "gpt-4o", maxContextTokens: 20_000 };

const [workload, dist, rootEntry, storageEntry] = process.argv.slice(2);
const distUrl = pathToFileURL(join(dist, "/")).href;
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

/** The built files that were active since the last look, each with how many of its functions ran. */
async function activeFiles() {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  return result
    .filter(({ url }) => url.startsWith(distUrl) && !url.endsWith(".generated.js"))
    .map(({ functions }) => functions.filter(hasRun).length);
}

/** The function without a name that starts a file is the module itself. */
function hasRun({ functionName, ranges: [{ startOffset, count }] }) {
  return count > 0 && !(functionName === "" && startOffset === 0);
}

const { CompactManager } = await import(pathToFileURL(rootEntry).href);
const loaded = (await activeFiles()).length;
const { createMemoryDriver } = await import(pathToFileURL(storageEntry).href);
const list = conversation(ROUNDS[workload]);

await activeFiles();
const manager = new CompactManager(config, { storage: createMemoryDriver() });
const { messages } = await manager.preflight("session", list);
const functions = (await activeFiles()).filter((count) => count > 0);

if ((messages !== list) !== (workload === "compaction")) {
  throw new Error(`the workload ${workload} gave back ${messages.length} of ${list.length} messages`);
}
const total = functions.reduce((sum, count) => sum + count, 0);
console.log(JSON.stringify({ loaded, files: functions.length, functions: total }));
