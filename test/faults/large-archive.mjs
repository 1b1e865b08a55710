// Saves one long transcript on disk, again, and reads it, and searches it when asked to, within the heap that Node was given.
// Usage: node --max-old-space-size=48 large-archive.mjs ROOT MEGABYTES [searched]
import { createRedactor } from "../../packages/compact-context/dist/redaction/redactor.js";
import { createArchive } from "../../packages/compact-context/dist/search/archive.js";
import { createFsDriver } from "../../packages/compact-context/dist/storage/fs/driver.js";

const [root, megabytes, how] = process.argv.slice(2);
// The text is there once and the file holds it in every message.
const text = "The quick brown fox jumps over the lazy dog.\n".repeat(23_302);
const messages = Array.from({ length: Number(megabytes) }, (_, n) => ({
  id: `m${n}`,
  role: n % 2 === 0 ? "user" : "assistant",
  parts: [
    { type: "text", text: `number${n}\n` },
    { type: "text", text },
  ],
}));
const archive = createArchive(createFsDriver({ root }), { redact: createRedactor() });
const took = {};
async function timed(name, work) {
  const start = performance.now();
  const result = await work();
  took[name] = Math.round(performance.now() - start);
  return result;
}

const saved = await timed("save", () => archive.saveTranscript("s", 1, messages));
const again = await timed("save again", () => archive.saveTranscript("s", 1, messages));
let [read, problems] = [0, 0];
await timed("read", async () => {
  for await (const entry of archive.streamTranscript("s", 1)) {
    if ("problem" in entry) problems += 1;
    else read += 1;
  }
});
const outcome = { step: again.step, ids: saved.ids.length, read, problems };
if (how === "searched") {
  const last = messages.length - 1;
  outcome.found = (await timed("find", () => archive.findMessage("s", `m${last}`)))?.n;
  outcome.hit = (await timed("search", () => archive.search(`number${last}`))).hits[0]?.n;
}
const peak = Math.round(process.resourceUsage().maxRSS / 1024);
console.log(JSON.stringify({ ...outcome, peak, took }));
