// Builds dist/: packs the vocabularies when they are missing, then compiles. `--if-needed` leaves a fresh build alone.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
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
  run(join(root, "node_modules", "typescript", "bin", "tsc"), "-p", "tsconfig.json");
  writeFileSync(stamp, "");
}
