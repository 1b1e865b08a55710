// Completes package-lock.json with the optional packages for other systems that npm left out because the
// registry at hand does not serve them: without an entry for each, `npm ci` refuses to install anything.
// `--check` changes nothing and fails when an entry is missing.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const path = fileURLToPath(new URL("../package-lock.json", import.meta.url));
const lock = JSON.parse(readFileSync(path, "utf8"));

const systems = [
  "aix",
  "android",
  "darwin",
  "freebsd",
  "linux",
  "netbsd",
  "openbsd",
  "openharmony",
  "sunos",
  "win32",
];
const processors = [
  "arm64",
  "arm",
  "ia32",
  "loong64",
  "mips64el",
  "ppc64",
  "riscv64",
  "s390x",
  "wasm32",
  "x64",
];
const libraries = { gnu: "glibc", gnueabihf: "glibc", musl: "musl", musleabihf: "musl" };

/** Where npm would look for a package that the one at `from` asks for, nearest first. */
function* places(from, name) {
  for (let base = from; base !== ""; base = base.slice(0, Math.max(0, base.lastIndexOf("/node_modules/")))) {
    yield `${base}/node_modules/${name}`;
  }
  yield `node_modules/${name}`;
}

/** The entry of a package whose name ends in what it runs on, such as `binding-linux-arm64-musl`. */
function entry(name, version, parent) {
  const words = name.split("/").at(-1).split("-");
  const [os, cpu] = [systems, processors].map((known) => words.find((word) => known.includes(word)));
  if (os === undefined || cpu === undefined || !/^\d/.test(version)) {
    throw new Error(`${name}@${version} does not say what it runs on: complete its entry by hand`);
  }
  const libc = words.map((word) => libraries[word]).find((library) => library !== undefined);
  return {
    version,
    cpu: [cpu],
    ...(parent.dev === true ? { dev: true } : {}),
    ...(libc === undefined ? {} : { libc: [libc] }),
    optional: true,
    os: [os],
  };
}

const missing = [];
for (const [from, parent] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    if ([...places(from, name)].some((place) => place in lock.packages)) continue;
    missing.push(name);
    lock.packages[`node_modules/${name}`] = entry(name, version, parent);
  }
}

if (process.argv.includes("--check")) {
  for (const name of missing)
    console.error(`package-lock.json lacks ${name}; node scripts/lockfile.mjs adds it`);
  process.exitCode = missing.length === 0 ? 0 : 1;
} else if (missing.length > 0) {
  const { "": own, ...others } = lock.packages;
  const sorted = Object.entries(others).sort(([a], [b]) => a.localeCompare(b, "en"));
  lock.packages = { "": own, ...Object.fromEntries(sorted) };
  writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`${missing.length} entries added`);
}
