// Builds the packages: packs the vocabularies when they are missing; compiles the library into dist/, for its types and
// for scripts, and lets its optional fields take `undefined`; bundles it into lib/, which is published; bundles the
// command, the page of `compact view` and what soaks take of test/support; last it puts pages, examples and the schema of
// compact.yaml into the library's package. `--if-needed` leaves a fresh build alone.
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { endianness } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundlePage } from "./bundle-page.mjs";
import { bundleCommand, bundleLibrary, bundleSupport } from "./bundle-program.mjs";
import { widenOptionals } from "./optional-types.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const library = join(root, "packages", "compact-context");
const command = join(root, "packages", "compact-context-cli");
const support = join(root, "test", "support");
const outputs = [...[library, command, support].map((folder) => join(folder, "dist")), join(library, "lib")];
const sources = [join(library, "src"), join(command, "src"), support];
const stamp = join(command, "dist", ".built");

/** Newest modification time, in ms, of the files below a folder, what was built aside. */
function newest(folder) {
  let time = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) time = Math.max(time, outputs.includes(path) ? 0 : newest(path));
    else if (entry.isFile()) time = Math.max(time, statSync(path).mtimeMs);
  }
  return time;
}

/** Writes the vocabularies as Node reads them, beside the module that does. */
async function storeVocabularies() {
  const built = (path) => import(pathToFileURL(join(library, "dist", "tokens", path)).href);
  const { storedTables } = await built("bpe/vocabulary.js");
  const { cl100kVocabulary, o200kVocabulary } = await built("encodings/embedded.js");
  const folder = join(library, "dist", "tokens", "encodings");
  for (const [name, load] of [
    ["cl100k-base", cl100kVocabulary],
    ["o200k-base", o200kVocabulary],
  ]) {
    const bytes = Buffer.from(storedTables(load()).buffer);
    writeFileSync(join(folder, `${name}.tables`), endianness() === "BE" ? bytes.swap32() : bytes);
  }
}

/** Pages that are about the repository itself. */
const OURS = /^(?:benchmarks|decisions|pictures|api|mutants|requirements|soak|labels)/;

/** Of links whose file is not in the package only the words stay, of pictures nothing. */
function unlink(path) {
  const text = readFileSync(path, "utf8");
  const packed = text.replace(
    /(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)#\s]+)[^)\s]*\)/g,
    (link, mark, words, target) =>
      existsSync(join(dirname(path), target)) ? link : mark === "!" ? "" : words,
  );
  if (packed !== text) writeFileSync(path, packed);
}

/** Puts into the library's package what its users read and run: pages, examples, the schema of compact.yaml. */
async function packPages() {
  for (const name of ["docs", "examples"]) {
    const filter = (path) => name !== "docs" || !OURS.test(relative(join(root, name), path));
    rmSync(join(library, name), { recursive: true, force: true });
    cpSync(join(root, name), join(library, name), { recursive: true, filter });
  }
  const pages = ["SECURITY.md", "OBSERVABILITY.md"];
  for (const name of pages) copyFileSync(join(root, name), join(library, name));
  const guides = readdirSync(join(library, "docs")).map((name) => join("docs", name));
  for (const page of [...pages, ...guides]) unlink(join(library, page));
  const { configSchema } = await import(pathToFileURL(join(library, "dist", "config", "schema.js")).href);
  writeFileSync(join(library, "compact.schema.json"), `${JSON.stringify(configSchema(), undefined, 2)}\n`);
}

const fresh =
  outputs.every((folder) => existsSync(folder)) &&
  existsSync(stamp) &&
  statSync(stamp).mtimeMs >= Math.max(...sources.map(newest));
if (!(process.argv.includes("--if-needed") && fresh)) {
  for (const folder of outputs) rmSync(folder, { recursive: true, force: true });
  const run = (...args) => execFileSync(process.execPath, args, { cwd: root, stdio: "inherit" });
  run(join(root, "scripts", "build-vocabulary.mjs"));
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  run(tsc, "-p", library);
  widenOptionals(join(library, "dist"));
  await storeVocabularies();
  await bundleLibrary(join(library, "lib"));
  await bundleCommand(join(command, "dist"));
  // The page has a browser's types, and is served as one script.
  run(tsc, "-p", join(command, "src", "view", "page"));
  await bundlePage(join(command, "dist", "page"));
  await bundleSupport(join(support, "dist"));
  await packPages();
  writeFileSync(stamp, "");
}
