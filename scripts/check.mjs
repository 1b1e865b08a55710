// Everything that must hold before a change is done. `npm run check -- lint knip` runs only these steps,
// `npm run check -- --except tests` all others.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), "compact-check-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

const tool = (path, ...args) => [process.execPath, join(root, "node_modules", path), ...args];
const script = (name) => [process.execPath, join(root, "scripts", name)];

/** A packed package, made without running its scripts: those would build again. */
function tarball(name) {
  const npm = process.env.npm_execpath;
  const args = ["pack", "--ignore-scripts", "--silent", "--pack-destination", scratch];
  const [command, ...rest] = npm === undefined ? ["npm", ...args] : [process.execPath, npm, ...args];
  spawnSync(command, rest, {
    cwd: join(root, "packages", name),
    stdio: "ignore",
    shell: npm === undefined && process.platform === "win32",
  });
  const file = readdirSync(scratch).find(
    (one) => one.startsWith(name) && /^-\d/.test(one.slice(name.length)),
  );
  if (file === undefined) throw new Error(`npm pack made no package of ${name}`);
  return join(scratch, file);
}

const steps = [
  ["build", () => script("build.mjs")],
  ["types", () => tool("typescript/bin/tsc", "--noEmit", "-p", "tsconfig.test.json")],
  ["lint", () => tool("@biomejs/biome/bin/biome", "check", "--error-on-warnings", ".")],
  [
    "layers",
    () =>
      tool(
        "dependency-cruiser/bin/dependency-cruise.mjs",
        ...["packages/compact-context/src", "packages/compact-context-cli/src"],
        ...["--config", ".dependency-cruiser.cjs"],
      ),
  ],
  ["size", () => script("size.mjs")],
  ["house", () => [...script("house.mjs"), "--check"]],
  ["api", () => [...script("api.mjs"), "--check"]],
  ["tests", () => tool("vitest/vitest.mjs", "run")],
  ["knip", () => tool("knip/bin/knip.js", "--no-config-hints")],
  ["publint", () => tool("publint/src/cli.js", "run", tarball("compact-context"), "--strict")],
  ["publint-cli", () => tool("publint/src/cli.js", "run", tarball("compact-context-cli"), "--strict")],
  [
    "attw",
    () => tool("@arethetypeswrong/cli/dist/index.js", tarball("compact-context"), "--profile", "esm-only"),
  ],
  ["package", () => script("package-truth.mjs")],
];

/** The steps that the command line asks for. */
function chosen(words) {
  const names = steps.map(([name]) => name);
  const excluded = words[0] === "--except";
  const asked = excluded ? words.slice(1).flatMap((word) => word.split(",")) : words;
  const unknown = asked.filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    console.error(`no step is called ${unknown.join(", ")}; there are ${names.join(", ")}`);
    process.exit(2);
  }
  return steps.filter(([name]) => asked.length === 0 || asked.includes(name) !== excluded);
}

const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;
const start = performance.now();
const todo = chosen(process.argv.slice(2));
for (const [name, command] of todo) {
  console.log(`\n== ${name}`);
  const begun = performance.now();
  const [program, ...args] = command();
  const { status } = spawnSync(program, args, { cwd: root, stdio: "inherit" });
  if (status !== 0) {
    console.error(`\n== ${name} failed after ${seconds(begun)}; alone: npm run check -- ${name}`);
    process.exit(1);
  }
  console.log(`== ${name} ${seconds(begun)}`);
}
console.log(`\n${todo.length} steps in ${seconds(start)}`);
