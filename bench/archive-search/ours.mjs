// The archive's own search over messages in one session: node --expose-gc ours.mjs MESSAGES DIST OUT
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { heldMegabytes, messages, queries, timed, timeQueries } from "./corpus.mjs";

const [count, dist, out] = [Number(process.argv[2]), process.argv[3], process.argv[4]];
const load = (path) => import(pathToFileURL(join(dist, path)).href);
const { createArchive } = await load("storage/archive.js");
const { createArchiveSearch } = await load("storage/archive-search.js");
const { createFsDriver } = await load("storage/drivers/fs.js");
const { createRedactor } = await load("redaction/redactor.js");

const STEP = 250;
const root = mkdtempSync(join(tmpdir(), "compact-search-"));
const driver = createFsDriver({ root });
const archive = createArchive(driver, { redact: createRedactor() });
let step = 0;
const batch = [];
for (const message of messages(count)) {
  batch.push(message);
  if (batch.length === STEP) await archive.saveTranscript("session", ++step, batch.splice(0));
}

const open = () => createArchiveSearch(driver, { nameOf: async (folder) => folder });
const before = heldMegabytes();
const built = open();
const build = await timed(() => built.refresh("session"));
const cold = open();
const first = await timed(() => cold.search("kalo", { sessionId: "session" }));
const texts = queries(300);
const search = (options) => async (text) => (await cold.search(text, options)).hits.length;
const warm = await timeQueries(texts, search({ sessionId: "session", limit: 10 }));
const phrase = await timeQueries(
  texts.slice(0, 60).map((text) => `"${text.split(" ").slice(0, 2).join(" ")}"`),
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
const added = await timed(() => cold.search("kalo", { sessionId: "session" }));
const folder = join(root, "session");
const sizeOf = (path) =>
  readdirSync(path, { withFileTypes: true }).reduce(
    (sum, entry) => sum + (entry.isFile() ? statSync(join(path, entry.name)).size : 0),
    0,
  );
const result = {
  buildSeconds: build.ms / 1000,
  coldMs: first.ms,
  warm,
  phrase,
  addedMs: added.ms,
  heldMegabytes: held,
  characters: cold.held(),
  transcriptMegabytes: sizeOf(folder) / 1e6,
  indexMegabytes: sizeOf(join(folder, "search")) / 1e6,
};
rmSync(root, { recursive: true });
writeFileSync(out, JSON.stringify(result));
