// MiniSearch over the same texts: node --expose-gc minisearch.mjs MESSAGES QUERIES; prints its figures as JSON.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clockTime, heldMegabytes } from "../measure.mjs";
import { optional } from "../peers.mjs";
import { messages, plainText, queries, timeQueries } from "./corpus.mjs";

const { default: MiniSearch } = await optional("minisearch");

const [count, asked] = process.argv.slice(2).map(Number);
const documents = Array.from(messages(count), (message) => ({ id: message.id, text: plainText(message) }));
const options = { fields: ["text"], storeFields: ["text"] };
const file = join(mkdtempSync(join(tmpdir(), "minisearch-")), "index.json");
const build = await clockTime(() => {
  const index = new MiniSearch(options);
  index.addAll(documents);
  writeFileSync(file, JSON.stringify(index));
});
documents.length = 0;
const before = heldMegabytes();
let index;
const cold = await clockTime(() => {
  index = MiniSearch.loadJSON(readFileSync(file, "utf8"), options);
  return index.search("kalo").length;
});
const search = async (text) => index.search(text).slice(0, 10).length;
const warm = await timeQueries(queries(asked), search);
const held = heldMegabytes() - before;
const added = await clockTime(() => {
  for (let one = 0; one < 250; one++) index.add({ id: `new-${one}`, text: `new m${one}` });
  writeFileSync(file, JSON.stringify(index));
});
const indexMegabytes = statSync(file).size / 1e6;
rmSync(file);
console.log(
  JSON.stringify({
    buildMs: build.ms,
    coldMs: cold.ms,
    warm,
    addedMs: added.ms,
    heldMegabytes: held,
    indexMegabytes,
  }),
);
