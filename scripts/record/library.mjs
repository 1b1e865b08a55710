// Where the recorder finds what it runs. Every path of the project that it knows stands here.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Folders that are looked into when none is named, newest layout first. */
const DISTS = ["packages/compact-context/dist", "dist"];
const READERS = [
  "test/support/dist",
  "packages/compact-context-cli/dist",
  "packages/compact-context/dist",
  "dist",
];
const LIBRARY = "index.js";
/** What the reader is called, newest layout first. */
const READER_FILES = ["reader.js", "transcripts/read.js"];
const SUBPATHS = { fs: "./storage/fs", memory: "./storage/memory", langgraph: "./adapters/langgraph" };

export const PATHS = {
  sessions: resolve(ROOT, "../shared"),
  demo: join(ROOT, "packages/compact-context-cli/demo/session.json"),
  fixtures: join(ROOT, "test/fixtures/soak"),
  allowed: join(ROOT, "test/recorded/differences.json"),
};

/** The library under test and the reader that turns session files into lists. */
export async function loadLibrary({ dist, reader }) {
  const folder = dist === undefined ? firstWith(DISTS, LIBRARY) : resolve(dist);
  const library = await load(join(folder, LIBRARY));
  const subpaths = await Promise.all(Object.values(SUBPATHS).map((name) => load(exported(folder, name))));
  const [fs, memory, langgraph] = subpaths;
  const read = await loadReader(reader === undefined ? firstWith(READERS, ...READER_FILES) : resolve(reader));
  return {
    ...library,
    createFsDriver: fs.createFsDriver,
    createMemoryDriver: memory.createMemoryDriver,
    createGraphArchive: langgraph.createGraphArchive,
    SummarizationNode: langgraph.SummarizationNode,
    readTranscript: read.readTranscript,
    // Lists are written by the reader's own codecs where it has them, so that two libraries get the same lists.
    prepare: {
      decode: read.decode ?? library.decode,
      encode: read.encode ?? library.encode,
      countTokens: read.countTokens ?? library.countTokens,
    },
  };
}

async function loadReader(folder) {
  const file = READER_FILES.find((name) => existsSync(join(folder, name))) ?? READER_FILES[0];
  const { readTranscript } = await load(join(folder, file));
  const index = join(folder, LIBRARY);
  const { decode, encode, countTokens } = existsSync(index) ? await load(index) : {};
  return { readTranscript, decode, encode, countTokens };
}

/** The file behind a subpath, as the package's own `exports` say. */
function exported(dist, name) {
  const found = packageAbove(dist);
  const entry = found.manifest.exports?.[name];
  const path =
    typeof entry === "string" ? entry : (entry?.default ?? entry?.import?.default ?? entry?.import);
  if (typeof path !== "string") throw new Error(`${found.folder}/package.json exports no ${name}`);
  return join(found.folder, path);
}

function packageAbove(dist) {
  for (let folder = dirname(dist); ; folder = dirname(folder)) {
    const file = join(folder, "package.json");
    if (existsSync(file)) return { folder, manifest: JSON.parse(readFileSync(file, "utf8")) };
    if (folder === dirname(folder)) throw new Error(`no package.json above ${dist}`);
  }
}

function firstWith(folders, ...files) {
  const found = folders
    .map((one) => join(ROOT, one))
    .find((one) => files.some((file) => existsSync(join(one, file))));
  if (found === undefined)
    throw new Error(`no ${files[0]} in ${folders.join(", ")}: build first, or name the folder`);
  return found;
}

function load(file) {
  return import(pathToFileURL(file).href);
}
