// MiniSearch over the same texts: node --expose-gc minisearch.mjs MESSAGES - OUT
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import MiniSearch from "minisearch";
import { heldMegabytes, messages, plainText, queries, timed, timeQueries } from "./corpus.mjs";

const [count, out] = [Number(process.argv[2]), process.argv[4]];
const documents = Array.from(messages(count), (message) => ({ id: message.id, text: plainText(message) }));
const options = { fields: ["text"], storeFields: ["text"] };
const file = join(mkdtempSync(join(tmpdir(), "minisearch-")), "index.json");
const build = await timed(() => {
  const index = new MiniSearch(options);
  index.addAll(documents);
  writeFileSync(file, JSON.stringify(index));
});
documents.length = 0;
const before = heldMegabytes();
let index;
const cold = await timed(() => {
  index = MiniSearch.loadJSON(readFileSync(file, "utf8"), options);
  return index.search("kalo").length;
});
const search = async (text) => index.search(text).slice(0, 10).length;
const warm = await timeQueries(queries(300), search);
const held = heldMegabytes() - before;
const added = await timed(() => {
  for (let one = 0; one < 250; one++) index.add({ id: `new-${one}`, text: `new m${one}` });
  writeFileSync(file, JSON.stringify(index));
});
const indexMegabytes = statSync(file).size / 1e6;
rmSync(file);
writeFileSync(
  out,
  JSON.stringify({
    buildSeconds: build.ms / 1000,
    coldMs: cold.ms,
    warm,
    addedMs: added.ms,
    heldMegabytes: held,
    indexMegabytes,
  }),
);
