// What the root import weighs: one bundle of it as Node loads it, minified and gzipped, the vocabularies aside, which are
// read at the first count. `npm run check -- size`.
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";

const MOST_KB = 350;
const library = fileURLToPath(new URL("../packages/compact-context/", import.meta.url));

const bundle = await rolldown({
  input: `${library}dist/index.js`,
  platform: "node",
  resolve: { conditionNames: ["node-addons", "module-sync", "node", "import", "default"] },
  // Loaded when it is first needed, so it is no part of the first load.
  external: [/storage\/fs\/driver\.js$/, /node-post\.js$/, /^yaml$/],
});
const { output } = await bundle.generate({ format: "esm", minify: true });
await bundle.close();

const [entry] = output;
const kilobytes = gzipSync(entry.code).length / 1000;
console.log(`the root import: ${kilobytes.toFixed(0)} KB gzipped`);
if (kilobytes > MOST_KB) {
  console.error(`At most ${MOST_KB} KB. What is not needed at once is loaded when it is.`);
  process.exit(1);
}
