// Bundles the library, and programs that hold what they take of it: a few modules, each loaded when it is needed.
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { sourceAliases } from "./source-aliases.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const LIBRARY = join(ROOT, "packages", "compact-context");
const COMMAND = join(ROOT, "packages", "compact-context-cli");
const SUPPORT = join(ROOT, "test", "support");
const VOCABULARIES = ["cl100k-base.tables", "o200k-base.tables"];

/**
 * Leads the names of the library to its sources; the vocabularies are read from the disk. `yaml` is taken as modules, of
 * which a bundle holds what it uses: as CommonJS it would run whole at each start.
 */
const library = {
  name: "library",
  resolveId(name) {
    if (name === "#vocabularies") return join(LIBRARY, "src", "tokens", "encodings", "on-disk.ts");
    if (name === "yaml") return join(ROOT, "node_modules", "yaml", "browser", "dist", "index.js");
    const alias = sourceAliases(ROOT).find(({ find }) => find instanceof RegExp && find.test(name));
    return alias === undefined ? undefined : name.replace(alias.find, alias.replacement);
  },
};

/**
 * The modules that entries share, in chunks that an entry needs whole or not at all. A chunk takes in what its modules import,
 * unless a chunk above it has that. The root loads few files this way, and a storage driver loads `base.js` alone.
 * `vocabulary` stands apart because `#vocabularies`, which `counting` imports, needs it: in one chunk they would be a cycle.
 */
const SHARED = {
  base: /^(errors|records|archive\/store|core\/(message|policy|units)|codecs\/native|tokens\/(models|models-table|usage)|storage\/keys|flush\/flush|summarizers\/llm\/options)\.ts$/,
  patterns: /^redaction\/custom-patterns\.ts$/,
  redaction: /^redaction\//,
  config: /^config\/(layer|schema|settings)\.ts$/,
  codecs: /^codecs\//,
  vocabulary: /^tokens\/bpe\/vocabulary\.ts$/,
  counting: /^(tokens\/encodings\/o200k-base|recall\/recall|summarizers\/extractive\/builtin)\.ts$/,
  manager: /^create-manager\.ts$/,
};

/** The library's own modules by `SHARED`; earlier chunks go before later ones. */
function sharedChunks() {
  const sources = join(LIBRARY, "src");
  return Object.entries(SHARED).map(([name, pattern], index, { length }) => ({
    name,
    priority: length - index,
    test: (path) => path.startsWith(sources) && pattern.test(relative(sources, path).replaceAll(sep, "/")),
  }));
}

/** Bundles entries into a folder; gives the modules that went in. `external` are packages, or other names. */
async function bundle(input, folder, { external, plugins = [], chunks = "[name].js", groups = [] }) {
  const isExternal = (name) => external.some((one) => name === one || name.startsWith(`${one}/`));
  const made = await rolldown({
    input,
    platform: "node",
    tsconfig: false,
    plugins,
    external: isExternal,
    logLevel: "warn",
    checks: { ineffectiveDynamicImport: false },
  });
  const { output } = await made.write({
    dir: folder,
    format: "esm",
    sourcemap: true,
    chunkFileNames: chunks,
    codeSplitting: { groups },
  });
  await made.close();
  return output.flatMap(({ moduleIds = [] }) => moduleIds);
}

/** Puts the vocabularies beside the module that reads them. */
function copyVocabularies(folder) {
  for (const name of VOCABULARIES)
    copyFileSync(join(LIBRARY, "dist", "tokens", "encodings", name), join(folder, name));
}

/** The files that a manifest of the library leads to, those for browsers among them. */
function entriesOf({ exports: subpaths, imports, browser }) {
  const named = JSON.stringify({ subpaths, imports, browser });
  return [...named.matchAll(/"\.\/lib\/([^"]*)\.js"/g)].map(([, name]) => name);
}

/** The library as it is published: what its manifest leads to, and what these files share in `chunks/`. */
export async function bundleLibrary(folder) {
  const manifest = JSON.parse(readFileSync(join(LIBRARY, "package.json"), "utf8"));
  const entries = [...new Set(entriesOf(manifest))].map((name) => [name, join(LIBRARY, "src", `${name}.ts`)]);
  const { dependencies, peerDependencies } = manifest;
  const external = ["#vocabularies", ...Object.keys({ ...dependencies, ...peerDependencies })];
  await bundle(Object.fromEntries(entries), folder, {
    external,
    chunks: "chunks/[name].js",
    groups: sharedChunks(),
  });
  const encodings = join(folder, "tokens", "encodings");
  copyVocabularies(encodings);
  // A map of the vocabularies would be as large as they are; a name of one that is not there makes bundlers warn.
  const embedded = join(encodings, "embedded.js");
  writeFileSync(embedded, readFileSync(embedded, "utf8").replace(/\n\/\/# sourceMappingURL=.*\s*$/, ""));
  rmSync(`${embedded}.map`);
}

/** The command: `main.js`, and the licences of the packages that it and its page hold. */
export async function bundleCommand(folder) {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(COMMAND, "package.json"), "utf8"));
  const external = Object.keys({ ...dependencies, ...peerDependencies });
  const modules = await bundle(join(COMMAND, "src", "main.ts"), folder, { external, plugins: [library] });
  copyVocabularies(folder);
  const page = ["preact", "@preact/signals", "@preact/signals-core", "uplot"];
  const packages = new Set([
    ...modules.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []),
    ...page.map((name) => join(ROOT, "node_modules", name)),
  ]);
  const licences = [...packages].map((path) => {
    const name = readdirSync(path).find((file) => /^licen[cs]e/i.test(file));
    const { name: title, version, license } = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
    if (name === undefined) throw new Error(`${title} has no licence file: it cannot be part of the command`);
    return `${title} ${version} (${license})\n\n${readFileSync(join(path, name), "utf8").trim()}\n`;
  });
  const notices = readFileSync(join(LIBRARY, "THIRD_PARTY_NOTICES.md"), "utf8");
  writeFileSync(
    join(folder, "THIRD_PARTY_NOTICES.txt"),
    [notices, ...licences].join(`\n${"-".repeat(40)}\n\n`),
  );
}

/** What soaks, benchmarks and the recorder run under Node alone. */
export async function bundleSupport(folder) {
  const names = ["broken-lists", "soak", "soak-history", "soak-promises"];
  const entries = names.map((name) => [name, join(SUPPORT, `${name}.ts`)]);
  const parts = { reader: "transcripts/read.ts", replay: "replay/replay.ts", settings: "settings.ts" };
  const ofTheCommand = Object.entries(parts).map(([name, path]) => [name, join(COMMAND, "src", path)]);
  const own = JSON.parse(readFileSync(join(LIBRARY, "package.json"), "utf8"));
  const external = Object.keys({ ...own.dependencies, ...own.peerDependencies });
  await bundle(Object.fromEntries([...entries, ...ofTheCommand]), folder, { external, plugins: [library] });
  copyVocabularies(folder);
}
