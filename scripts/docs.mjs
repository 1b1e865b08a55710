// Writes what the documents take from the code: the settings of the README and of docs/configuration.md, the README's
// picture, and the events and metrics of OBSERVABILITY.md. `--check` changes nothing and fails when one is behind.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { configTable } from "../packages/compact-context/dist/config/sources.js";
import { CompactManager } from "../packages/compact-context/dist/index.js";
import { createMemoryDriver } from "../packages/compact-context/dist/storage/memory/driver.js";
import { createJsonlExporter } from "../packages/compact-context/dist/tracing/exporters/http-post.js";
import { METRICS } from "../packages/compact-context/dist/tracing/exporters/metrics.js";
import { drawCompaction, figuresOf, pictureOf, THEMES } from "./compaction-picture.mjs";
import { commonSettings } from "./configuration-page.mjs";
import { eventsSection, fill, metricsTable } from "./events-page.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const check = process.argv.includes("--check");
const session = JSON.parse(readFileSync(`${root}packages/compact-context-cli/demo/session.json`, "utf8"));

const events = await eventsSection({ createJsonlExporter, CompactManager, createMemoryDriver }, session);
const screen = execFileSync(
  process.execPath,
  [`${root}packages/compact-context-cli/bin/compact.js`, "demo"],
  { encoding: "utf8" },
);
const figures = figuresOf(screen);
/** By document, the parts that the code has a say in. */
const documents = {
  "README.md": { picture: pictureOf(figures), configuration: commonSettings(configTable()) },
  "docs/configuration.md": { settings: configTable() },
  "OBSERVABILITY.md": { events, metrics: metricsTable(METRICS) },
};

function write(name, content) {
  const path = `${root}${name}`;
  const before = existsSync(path) ? readFileSync(path, "utf8") : "";
  if (check && content !== before) {
    console.error(`${name} is behind the code: npm run docs`);
    process.exitCode = 1;
  } else if (!check) writeFileSync(path, content);
}

for (const [name, parts] of Object.entries(documents)) {
  const text = readFileSync(`${root}${name}`, "utf8");
  write(
    name,
    Object.entries(parts).reduce((filled, [part, content]) => fill(filled, part, content), text),
  );
}
for (const [theme, colours] of Object.entries(THEMES)) {
  write(`docs/pictures/compaction-${theme}.svg`, drawCompaction(figures, colours));
}
