// Says whether the packages that would be published are what they claim to be; run after a build.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url)).replace(/[\\/]$/, "");
const manifestOf = (folder) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
const faults = [];
const expect = (right, fault) => void (right || faults.push(fault));

/** What building leaves behind, and what no entry point leads to: in the command, types. */
const USELESS = {
  "compact-context": /\.test\.|\.tsbuildinfo$|embedded\.js\.map$|^dist\/.*(?<!\.d\.ts)$/,
  "compact-context-cli": /\.test\.|\.tsbuildinfo$|\.built$|\.d\.ts$/,
};

/** What is packed beside what was built, pages and examples. */
const BESIDE = {
  "compact-context": [
    "package.json",
    "README.md",
    "LICENSE",
    "THIRD_PARTY_NOTICES.md",
    "SECURITY.md",
    "OBSERVABILITY.md",
    "compact.schema.json",
  ],
  "compact-context-cli": ["package.json", "README.md", "LICENSE", "demo/session.json"],
};

/** The files that `npm pack` would take, with their sizes in bytes. */
function packed(folder) {
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const npm = process.env.npm_execpath;
  const options = { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 26 };
  const text =
    npm === undefined
      ? execFileSync("npm", args, { ...options, shell: process.platform === "win32" })
      : execFileSync(process.execPath, [npm, ...args], options);
  return JSON.parse(text)[0];
}

/** Every file that the manifest points at: entry points, their types, commands. */
function promised(manifest) {
  const exported = Object.entries(manifest.exports).filter(([subpath]) => !subpath.includes("*"));
  const targets = exported
    .map(([, target]) => target)
    .flatMap((target) => (typeof target === "string" ? [target] : Object.values(target)));
  return [...targets, ...Object.values(manifest.bin ?? {})].map((path) => path.replace(/^\.\//, ""));
}

function checkContents(folder, manifest, files) {
  const { name } = manifest;
  for (const path of files) {
    expect(
      BESIDE[name].includes(path) || /^(?:lib|dist|bin|docs|examples)\//.test(path),
      `${name}: ${path} is packed and should not be`,
    );
    expect(!USELESS[name].test(path), `${name}: ${path} is packed and is of no use there`);
  }
  for (const path of [...promised(manifest), ...BESIDE[name]]) {
    expect(files.includes(path), `${name}: ${path} is promised and not packed`);
  }
  for (const path of Object.values(manifest.bin ?? {})) {
    const text = existsSync(join(folder, path)) ? readFileSync(join(folder, path), "utf8") : "";
    expect(text.startsWith("#!/usr/bin/env node\n"), `${path} does not start with a line that runs Node`);
  }
}

function checkTexts(folder, files) {
  const machine = [root, homedir()].filter((path) => path.length > 1);
  // Some words of a vocabulary are names of folders.
  for (const path of files.filter((name) => /^(?:lib|dist|bin)\/(?!.*\.tables$)/.test(name))) {
    const text = readFileSync(join(folder, path), "utf8");
    for (const place of machine) {
      expect(
        !new RegExp(`${place.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}(?![\\w-])`).test(text),
        `${path} names ${place}`,
      );
    }
    expect(
      !/(?:from|import)\s*\(?["'][^"']+\.ts["']/.test(text) || path.endsWith(".d.ts"),
      `${path} imports a .ts file`,
    );
  }
}

/** Names that each subpath of the build exports, against the pinned ones. */
async function checkNames(folder, manifest) {
  const pins = JSON.parse(readFileSync(join(root, "test/pins/exports.json"), "utf8"));
  for (const [subpath, target] of Object.entries(manifest.exports)) {
    if (typeof target === "string" || !existsSync(join(folder, target.default))) continue;
    const built = await import(pathToFileURL(join(folder, target.default))).catch((error) => {
      faults.push(`${subpath} of the build cannot be imported: ${error.message}`);
      return {};
    });
    const names = Object.keys(built).sort();
    expect(
      JSON.stringify(names) === JSON.stringify(pins[subpath]),
      `${subpath} of the build exports ${names.join(", ")}, which is not what test/pins/exports.json says`,
    );
  }
}

function checkLockfile(folders) {
  const complete = spawnSync(process.execPath, [join(root, "scripts", "lockfile.mjs"), "--check"], {
    encoding: "utf8",
  });
  if (complete.status !== 0) faults.push(complete.stderr.trim());
  const text = readFileSync(join(root, "package-lock.json"), "utf8");
  const lock = JSON.parse(text);
  expect(
    !/"resolved": "(?!packages\/)/.test(text),
    "package-lock.json names where packages were downloaded from",
  );
  for (const folder of ["", ...folders]) {
    const manifest = manifestOf(join(root, folder));
    const locked = lock.packages[folder] ?? {};
    expect(locked.version === manifest.version, `package-lock.json has another version of ${manifest.name}`);
    for (const kind of ["dependencies", "devDependencies", "peerDependencies"]) {
      const [here, there] = [manifest[kind] ?? {}, locked[kind] ?? {}];
      expect(
        JSON.stringify(here) === JSON.stringify(there),
        `package-lock.json has other ${kind} than ${manifest.name}`,
      );
    }
  }
}

const kilobytes = (bytes) => `${Math.round(bytes / 1000)} kB`;
const folders = ["packages/compact-context", "packages/compact-context-cli"];
for (const folder of folders.map((name) => join(root, name))) {
  const manifest = manifestOf(folder);
  const pack = packed(folder);
  const files = pack.files.map((file) => file.path);
  checkContents(folder, manifest, files);
  checkTexts(folder, files);
  await checkNames(folder, manifest);
  console.log(
    `${manifest.name}: ${files.length} files, ${kilobytes(pack.size)} packed, ${kilobytes(pack.unpackedSize)} unpacked`,
  );
}
checkLockfile(folders);
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
