// Says whether the package that would be published is what it claims to be; run after a build.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url)).replace(/[\\/]$/, "");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const faults = [];
const expect = (right, fault) => void (right || faults.push(fault));

/** What building leaves behind, and what no entry point leads to: the tests' own tools, the types of the command. */
const USELESS = /\.test\.|\.tsbuildinfo$|\.map$|\.built$|^dist\/testing\/|^dist\/(?:cli|viewer)\/.*\.d\.ts$/;

/** The files that `npm pack` would take, with their sizes in bytes. */
function packed() {
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const npm = process.env.npm_execpath;
  const options = { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 26 };
  const text =
    npm === undefined
      ? execFileSync("npm", args, { ...options, shell: process.platform === "win32" })
      : execFileSync(process.execPath, [npm, ...args], options);
  return JSON.parse(text)[0];
}

/** Every file that the manifest points at: entry points, their types, commands. */
function promised() {
  const targets = Object.values(manifest.exports).flatMap((target) =>
    typeof target === "string" ? [target] : Object.values(target),
  );
  return [...targets, ...Object.values(manifest.bin)].map((path) => path.replace(/^\.\//, ""));
}

function checkContents(files) {
  const always = ["package.json", "README.md", "LICENSE", "THIRD_PARTY_NOTICES.md", "packages/compact-context-cli/demo/session.json"];
  for (const path of files) {
    expect(always.includes(path) || /^(?:dist|bin)\//.test(path), `${path} is packed and should not be`);
    expect(!USELESS.test(path), `${path} is packed and is of no use there`);
  }
  for (const path of [...promised(), "README.md", "LICENSE"]) {
    expect(files.includes(path), `${path} is promised by package.json and not packed`);
  }
  for (const path of Object.values(manifest.bin)) {
    const text = existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : "";
    expect(text.startsWith("#!/usr/bin/env node\n"), `${path} does not start with a line that runs Node`);
  }
}

function checkTexts(files) {
  const machine = [root, homedir()].filter((path) => path.length > 1);
  for (const path of files.filter((name) => /^(?:dist|bin)\//.test(name))) {
    const text = readFileSync(join(root, path), "utf8");
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
async function checkNames() {
  const pins = JSON.parse(readFileSync(join(root, "test/pins/exports.json"), "utf8"));
  for (const [subpath, target] of Object.entries(manifest.exports)) {
    if (typeof target === "string" || !existsSync(join(root, target.default))) continue;
    const built = await import(pathToFileURL(join(root, target.default))).catch((error) => {
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

function checkLockfile() {
  const complete = spawnSync(process.execPath, [join(root, "scripts", "lockfile.mjs"), "--check"], {
    encoding: "utf8",
  });
  if (complete.status !== 0) faults.push(complete.stderr.trim());
  const text = readFileSync(join(root, "package-lock.json"), "utf8");
  const lock = JSON.parse(text);
  expect(!text.includes('"resolved"'), "package-lock.json names where packages were downloaded from");
  expect(lock.version === manifest.version, "package-lock.json has another version than package.json");
  for (const kind of ["dependencies", "devDependencies", "peerDependencies"]) {
    const [here, there] = [manifest[kind] ?? {}, lock.packages[""][kind] ?? {}];
    expect(
      JSON.stringify(here) === JSON.stringify(there),
      `package-lock.json has other ${kind} than package.json`,
    );
  }
}

const pack = packed();
const files = pack.files.map((file) => file.path);
checkContents(files);
checkTexts(files);
await checkNames();
checkLockfile();

const kilobytes = (bytes) => `${Math.round(bytes / 1000)} kB`;
console.log(
  `${files.length} files, ${kilobytes(pack.size)} packed, ${kilobytes(pack.unpackedSize)} unpacked`,
);
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
