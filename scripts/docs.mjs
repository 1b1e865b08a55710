// Writes what the documents take from the code: the configuration table of the README, and the events and metrics of
// OBSERVABILITY.md. `--check` changes nothing and fails when a document is behind.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { configTable } from "../dist/config/index.js";
import { CompactManager } from "../dist/index.js";
import { createMemoryDriver } from "../dist/storage/drivers/memory.js";
import { METRICS } from "../dist/tracing/exporters/opentelemetry-metrics.js";
import * as tracing from "../dist/tracing/index.js";
import { eventsSection, fill, metricsTable } from "./events-page.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const check = process.argv.includes("--check");
const session = JSON.parse(readFileSync(`${root}demo/session.json`, "utf8"));

const events = await eventsSection({ tracing, CompactManager, createMemoryDriver }, session);
/** By document, the parts that the code has a say in. */
const documents = {
  "README.md": { configuration: configTable() },
  "OBSERVABILITY.md": { events, metrics: metricsTable(METRICS) },
};

for (const [name, parts] of Object.entries(documents)) {
  const path = `${root}${name}`;
  const before = readFileSync(path, "utf8");
  const after = Object.entries(parts).reduce((text, [part, content]) => fill(text, part, content), before);
  if (check && after !== before) {
    console.error(`${name} is behind the code: npm run docs`);
    process.exitCode = 1;
  } else if (!check) writeFileSync(path, after);
}
