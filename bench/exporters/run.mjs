// What exporters add to a preflight: one session, played call by call through one manager for each exporter, in turns
// within one run. `node bench/exporters/run.mjs [--write]`; `--write` puts the table into OBSERVABILITY.md.
// OpenTelemetry takes part where test/compat/opentelemetry is installed.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CompactManager } from "../../dist/index.js";
import { createMemoryDriver } from "../../dist/storage/drivers/memory.js";
import {
  createAriadneExporter,
  createCallbackExporter,
  createOpenTelemetryExporter,
} from "../../dist/tracing/index.js";
import { fill } from "../../scripts/events-page.mjs";

const CALLS = 600;
const WINDOW = 16_000;
/** Milliseconds between two calls, in which an agent would wait for its model. */
const PAUSE = 2;

const root = new URL("../../", import.meta.url);
const folder = mkdtempSync(join(tmpdir(), "compact-exporters-"));
const collectors = spawn(process.execPath, [fileURLToPath(new URL("collectors.mjs", import.meta.url))], {
  stdio: ["pipe", "pipe", "inherit"],
});
const urls = await new Promise((resolve) =>
  collectors.stdout.once("data", (line) => resolve(JSON.parse(line))),
);

const ariadne = (url) => createAriadneExporter({ url: `${url}/ingest` });

/** An SDK that sends to the URL, as a program would set it up. */
function openTelemetry(url) {
  const load = createRequire(new URL("test/compat/opentelemetry/package.json", root));
  const { BasicTracerProvider, BatchSpanProcessor } = load("@opentelemetry/sdk-trace-base");
  const { OTLPTraceExporter } = load("@opentelemetry/exporter-trace-otlp-http");
  const api = load("@opentelemetry/api");
  const exporter = new OTLPTraceExporter({ url: `${url}/v1/traces`, timeoutMillis: 2_000 });
  const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
  const { getSpanContext, setSpan } = api.trace;
  const trace = { getTracer: (name) => provider.getTracer(name), getSpanContext, setSpan };
  return createOpenTelemetryExporter({ api: { context: api.context, metrics: api.metrics, trace } });
}

function ifInstalled(make) {
  try {
    return [make()];
  } catch {
    return undefined;
  }
}

const scenarios = Object.entries({
  "no exporter": { exporters: [] },
  "a function": { exporters: [createCallbackExporter(() => undefined)] },
  "a file": { exporters: [], tracing: { jsonl: join(folder, "events.jsonl") } },
  "Ariadne, up": { exporters: [ariadne(urls.taken)] },
  "Ariadne, down": { exporters: [ariadne("http://127.0.0.1:9")] },
  "Ariadne, takes everything and never answers": { exporters: [ariadne(urls.silent)] },
  "Ariadne, answers with 10 GB": { exporters: [ariadne(urls.flood)] },
  "Ariadne, drips headers": { exporters: [ariadne(urls.drip)] },
  "OpenTelemetry, collector up": { exporters: ifInstalled(() => openTelemetry(urls.taken)) },
  "OpenTelemetry, collector never answers": { exporters: ifInstalled(() => openTelemetry(urls.silent)) },
})
  .filter(([, { exporters }]) => exporters !== undefined)
  .map(([name, { exporters, tracing = {} }]) => {
    const manager = new CompactManager(
      { maxContextTokens: WINDOW, tracing },
      { storage: createMemoryDriver(), exporters, onWarning: () => undefined },
    );
    return { name, manager, list: [], times: [] };
  });

const turn = (number) => [
  {
    role: "user",
    content: `step ${number}: ${"read the ledger of the quay and tell what is missing ".repeat(4)}`,
  },
  {
    role: "assistant",
    content: `done ${number}: ${"the cargo of the third ship is not in it, see src/ledger.ts ".repeat(6)}`,
  },
];

/** A seeded shuffle: nobody always follows the same one, whose delivery may still be on its way. */
let seed = 7;
function shuffled(values) {
  return values
    .map((value) => {
      seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff;
      return [seed, value];
    })
    .sort(([one], [other]) => one - other)
    .map(([, value]) => value);
}

let compactions = 0;
for (let call = 0; call < CALLS; call += 1) {
  for (const { manager, list, times } of shuffled(scenarios)) {
    list.push(...turn(call));
    const before = performance.now();
    const { report } = await manager.preflight("s", list);
    times.push(performance.now() - before);
    if (report.compacted) compactions += 1;
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

const quantile = (times, share) =>
  [...times].sort((one, other) => one - other)[Math.floor(times.length * share)];
const ms = (value) => value.toFixed(2);
const [none] = scenarios;
const rows = scenarios.map(({ name, times }) => {
  const [p50, p99] = [quantile(times, 0.5), quantile(times, 0.99)];
  const ratios = [p50 / quantile(none.times, 0.5), p99 / quantile(none.times, 0.99)].map(ms);
  return `| ${name} | ${ms(p50)} ms | ${ms(p99)} ms | ${ratios[0]} | ${ratios[1]} |`;
});
const table = [
  "| events to | p50 of a preflight | p99 | p50 ÷ without | p99 ÷ without |",
  "|---|---|---|---|---|",
  ...rows,
].join("\n");
console.log(table);
console.log(`${CALLS} calls each, ${compactions / scenarios.length} compactions among them`);

if (process.argv.includes("--write")) {
  const path = new URL("OBSERVABILITY.md", root);
  const text = [
    `One session of ${CALLS} calls, ${Math.round(compactions / scenarios.length)} compactions among them, played through one manager for each line, in turns within`,
    "one run (`node bench/exporters/run.mjs --write`). The p99 are the compactions.",
    "",
    table,
  ].join("\n");
  writeFileSync(path, fill(readFileSync(path, "utf8"), "figures", text));
}
collectors.stdin.end();
rmSync(folder, { recursive: true, force: true });
process.exit(0);
