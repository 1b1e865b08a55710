// Builds dist/: packs the vocabularies when they are missing, compiles the library, then the page of `compact view`.
// `--if-needed` leaves a fresh build alone.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const stamp = join(root, "dist", ".built");

/** Newest modification time, in ms, of the files below a folder. */
function newest(folder) {
  let time = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) time = Math.max(time, statSync(join(entry.parentPath, entry.name)).mtimeMs);
  }
  return time;
}

const fresh = existsSync(stamp) && statSync(stamp).mtimeMs >= newest(join(root, "src"));
if (!(process.argv.includes("--if-needed") && fresh)) {
  rmSync(join(root, "dist"), { recursive: true, force: true });
  const run = (...args) => execFileSync(process.execPath, args, { cwd: root, stdio: "inherit" });
  run(join(root, "scripts", "build-vocabulary.mjs"));
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  run(tsc, "-p", "tsconfig.json");
  // The page has a browser's types, and files that are served as they are.
  const page = join("src", "viewer", "page");
  run(tsc, "-p", page);
  for (const name of readdirSync(join(root, page))) {
    if (/\.(?:html|css|svg)$/.test(name))
      copyFileSync(join(root, page, name), join(root, "dist", "viewer", "page", name));
  }
  writeFileSync(stamp, "");
}
