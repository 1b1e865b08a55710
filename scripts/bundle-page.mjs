// Makes the files of the page of `compact view`: one script with what it imports, its sheets and its picture.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const PAGE = fileURLToPath(new URL("../packages/compact-context-cli/src/view/page/", import.meta.url));
const SHEET = fileURLToPath(new URL("../node_modules/uplot/dist/uPlot.min.css", import.meta.url));
/** Later ones win. */
const SHEETS = [SHEET, ...["base", "session", "panels", "narrow"].map((name) => join(PAGE, `${name}.css`))];
const NOTICE =
  "/*! with preact (MIT, (c) Jason Miller), @preact/signals (MIT, (c) Preact team), uPlot (MIT, (c) Leon Sorokin) */";

/** Writes `page.js`, `page.css`, `icon.svg` and `index.html` into a folder. */
export async function bundlePage(folder) {
  mkdirSync(folder, { recursive: true });
  const bundle = await rolldown({
    input: join(PAGE, "main.tsx"),
    platform: "browser",
    tsconfig: join(PAGE, "tsconfig.json"),
    logLevel: "warn",
  });
  await bundle.write({ file: join(folder, "page.js"), format: "esm", minify: true, banner: NOTICE });
  await bundle.close();
  writeFileSync(join(folder, "page.css"), SHEETS.map((path) => readFileSync(path, "utf8")).join("\n"));
  for (const name of ["index.html", "icon.svg"]) copyFileSync(join(PAGE, name), join(folder, name));
}
