// A copy of the repository to work in, and how its places are told: always as /workspace/compact-context.
import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";

/** Where the record says the repository lies. */
export const PLACE = "/workspace/compact-context";

const COMMAND_LIMIT = 300_000;

export function createWorkspace(root, commit) {
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), "compact-record-")));
  const folder = join(scratch, "compact-context");
  mkdirSync(folder);
  copyCommit(root, commit, folder);
  linkPackages(root, folder);
  const environment = environmentIn(scratch);
  startHistory(folder, environment);
  const hide = hider([folder, scratch, root, homedir()]);
  const inside = (path) => {
    const full = resolve(folder, path);
    if (full === folder || full.startsWith(folder + sep)) return full;
    throw new Error(`${path} lies outside ${PLACE}`);
  };
  return {
    folder,
    inside,
    exists: (path) => existsSync(inside(path)),
    read: (path) => readFileSync(inside(path), "utf8"),
    write(path, text) {
      mkdirSync(dirname(inside(path)), { recursive: true });
      writeFileSync(inside(path), text);
    },
    files: (path) => filesBelow(folder, inside(path)),
    run(command) {
      const options = { cwd: folder, env: environment, encoding: "utf8", timeout: COMMAND_LIMIT };
      const { stdout, stderr, status, error } = spawnSync("bash", ["-c", `exec 2>&1; ${command}`], options);
      if (error !== undefined) throw error;
      return { output: steady(hide(`${stdout}${stderr}`)), status };
    },
    remove: () => rmSync(scratch, { recursive: true, force: true }),
  };
}

/** The recording itself, which must not find itself in the copy. */
const OWN = [
  "demo",
  "packages/compact-context-cli/demo",
  "scripts/record-demo",
  "scripts/record-demo.mjs",
  "test/demo.test.ts",
];

function copyCommit(root, commit, folder) {
  const archive = execFileSync("git", ["archive", commit], { cwd: root, maxBuffer: 1 << 28 });
  execFileSync("tar", ["x", "-C", folder], { input: archive });
  for (const path of OWN) rmSync(join(folder, path), { recursive: true, force: true });
}

/** Links package by package: caches of the tools then stay in the copy. */
function linkPackages(root, folder) {
  const packages = join(root, "node_modules");
  mkdirSync(join(folder, "node_modules"));
  for (const name of readdirSync(packages)) {
    if (name.startsWith(".") && name !== ".bin") continue;
    symlinkSync(join(packages, name), join(folder, "node_modules", name));
  }
}

/** Nothing of the machine's own settings reaches a command. */
function environmentIn(scratch) {
  const home = join(scratch, "home");
  mkdirSync(home);
  return {
    PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    HOME: home,
    LANG: "C.UTF-8",
    TZ: "UTC",
    NO_COLOR: "1",
    TERM: "dumb",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_CONFIG_NOSYSTEM: "1",
    npm_config_userconfig: "/dev/null",
    npm_config_offline: "true",
    npm_config_update_notifier: "false",
  };
}

/** One commit to compare with; the linter reads .gitignore through git as well. */
function startHistory(folder, environment) {
  const day = "2026-01-05T09:00:00Z";
  const env = { ...environment, GIT_AUTHOR_DATE: day, GIT_COMMITTER_DATE: day };
  const git = (...args) => execFileSync("git", args, { cwd: folder, env, stdio: "ignore" });
  git("init", "--quiet", "--initial-branch=main");
  git("add", "--all");
  git("-c", "user.name=Compact", "-c", "user.email=compact@example.com", "commit", "--quiet", "-m", "Start");
}

function hider([folder, ...others]) {
  const longest = others.filter((path) => path.length > 1).toSorted((a, b) => b.length - a.length);
  return (text) =>
    longest.reduce((rest, path) => rest.replaceAll(path, PLACE), text.replaceAll(folder, PLACE));
}

/** Times differ from run to run, and with them the order of test files and which tests are named as slow. */
function steady(output) {
  return inOrder(output)
    .replace(/^ +✓ .* {2}\d+ms\n/gm, "")
    .replace(/^( +Start at +)\S+$/gm, "$110:00:00")
    .replace(/^( +Duration +).*$/gm, "$11.00s")
    .replace(/(\(\d+ tests?(?: \| \d+ \w+)*\)) +\d+m?s$/gm, "$1 5ms")
    .replace(/^( +[×✓] .*?) \d+ms$/gm, "$1 5ms")
    .replace(/(Checked \d+ files? in )[\d.]+ ?[mµn]?s/g, "$110ms");
}

/** Sorts what vitest says of each test file: its line, and those of its tests below. */
function inOrder(output) {
  return output.replace(/(?:^ [✓❯] \S+ \(\d+ tests?.*\n(?: {3,}[✓×].*\n)*)+/gm, (files) =>
    files
      .split(/^(?= [✓❯] )/m)
      .toSorted((a, b) => (a.slice(3) < b.slice(3) ? -1 : 1))
      .join(""),
  );
}

function filesBelow(folder, start) {
  const skipped = new Set([".git", "node_modules", "dist", "coverage"]);
  const found = [];
  const visit = (path) => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (entry.isDirectory() && !skipped.has(entry.name)) visit(join(path, entry.name));
      else if (entry.isFile() && !entry.name.includes(".generated."))
        found.push(relative(folder, join(path, entry.name)));
    }
  };
  visit(start);
  return found.map((path) => path.replaceAll(sep, "/")).toSorted();
}
