// The archive's own search over messages in one session: node --expose-gc ours.mjs MESSAGES QUERIES; prints its figures as JSON.
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRedactor } from "../../packages/compact-context/dist/redaction/redactor.js";
import { createArchive } from "../../packages/compact-context/dist/search/archive.js";
import { createFsDriver } from "../../packages/compact-context/dist/storage/fs/driver.js";
import { clockTime, heldMegabytes } from "../measure.mjs";
import { messages, queries, timeQueries } from "./corpus.mjs";

const [count, asked] = process.argv.slice(2).map(Number);
const STEP = 250;
const root = mkdtempSync(join(tmpdir(), "compact-search-"));
const driver = createFsDriver({ root });
const open = () => createArchive(driver, { redact: createRedactor() });
const archive = open();
let step = 0;
const batch = [];
for (const message of messages(count)) {
  batch.push(message);
  if (batch.length === STEP) await archive.saveTranscript("session", ++step, batch.splice(0));
}

const before = heldMegabytes();
const built = open();
const build = await clockTime(() => built.findMessage("session", "none"));
const cold = open();
const first = await clockTime(() => cold.search("kalo", { sessionId: "session" }));
const texts = queries(asked);
const search = (options) => async (text) => (await cold.search(text, options)).hits.length;
const warm = await timeQueries(texts, search({ sessionId: "session", limit: 10 }));
const phrase = await timeQueries(
  texts.slice(0, Math.ceil(asked / 10)).map((text) => `"${text.split(" ").slice(0, 2).join(" ")}"`),
  search({ sessionId: "session", limit: 10 }),
);
const held = heldMegabytes() - before;
await archive.saveTranscript(
  "session",
  ++step,
  [...messages(STEP)].map((message) => ({
    ...message,
    id: `new-${message.id}`,
    parts: [{ type: "text", text: `new ${message.id}` }],
  })),
);
const added = await clockTime(() => cold.search("kalo", { sessionId: "session" }));
const folder = join(root, "session");
const sizeOf = (path) =>
  readdirSync(path, { withFileTypes: true }).reduce(
    (sum, entry) => sum + (entry.isFile() ? statSync(join(path, entry.name)).size : 0),
    0,
  );
const figures = {
  buildMs: build.ms,
  coldMs: first.ms,
  warm,
  phrase,
  addedMs: added.ms,
  heldMegabytes: held,
  indexMegabytes: sizeOf(join(folder, "search")) / 1e6,
};
rmSync(root, { recursive: true });
console.log(JSON.stringify(figures));
