// What exporters add to a preflight: one session, played call by call through one manager for each exporter, in turns
// within one run. OpenTelemetry takes part where test/compat/opentelemetry is installed.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CompactManager } from "../../packages/compact-context/dist/index.js";
import { createMemoryDriver } from "../../packages/compact-context/dist/storage/memory/driver.js";
import {
  createAriadneExporter,
  createOpenTelemetryExporter,
} from "../../packages/compact-context/dist/tracing/index.js";
import { digits, table } from "../markdown.mjs";
import { quantile, seeded } from "../measure.mjs";

const CALLS = 600;
/** Calls at the start that are not measured. */
const WARM_UP = 20;
const WINDOW = 16_000;
/** Milliseconds between two calls, in which an agent would wait for its model. */
const PAUSE = 2;

const root = new URL("../../", import.meta.url);

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

/** Who is told of events, by name: a manager, its growing list and the times of its checks. */
function createScenarios(urls, folder) {
  const ports = {
    "no exporter": { exporters: [] },
    "a function": { exporters: [{ export: () => undefined }] },
    "a file": { exporters: [], tracing: { jsonl: join(folder, "events.jsonl") } },
    "Ariadne, up": { exporters: [ariadne(urls.taken)] },
    "Ariadne, down": { exporters: [ariadne("http://127.0.0.1:9")] },
    "Ariadne, takes everything and never answers": { exporters: [ariadne(urls.silent)] },
    "Ariadne, answers with 10 GB": { exporters: [ariadne(urls.flood)] },
    "Ariadne, drips headers": { exporters: [ariadne(urls.drip)] },
    "OpenTelemetry, collector up": { exporters: ifInstalled(() => openTelemetry(urls.taken)) },
    "OpenTelemetry, collector never answers": { exporters: ifInstalled(() => openTelemetry(urls.silent)) },
  };
  return Object.entries(ports)
    .filter(([, { exporters }]) => exporters !== undefined)
    .map(([name, { exporters, tracing = {} }]) => {
      const manager = new CompactManager(
        { maxContextTokens: WINDOW, tracing },
        { storage: createMemoryDriver(), exporters, onWarning: () => undefined },
      );
      return { name, manager, list: [], times: [] };
    });
}

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

const random = seeded(7);

/** In another order each time: nobody always follows the same one, whose delivery may still be on its way. */
const shuffled = (values) =>
  values
    .map((value) => [random(), value])
    .sort(([one], [other]) => one - other)
    .map(([, value]) => value);

/** Servers in a process of their own, and their URLs. */
async function startCollectors() {
  const path = fileURLToPath(new URL("collectors.mjs", import.meta.url));
  const collectors = spawn(process.execPath, [path], { stdio: ["pipe", "pipe", "inherit"] });
  const line = await new Promise((resolve) => collectors.stdout.once("data", resolve));
  return { urls: JSON.parse(line), stop: () => collectors.stdin.end() };
}

async function run({ quick }) {
  const folder = mkdtempSync(join(tmpdir(), "compact-exporters-"));
  const collectors = await startCollectors();
  const calls = quick ? 30 : CALLS;
  const scenarios = createScenarios(collectors.urls, folder);
  let compactions = 0;
  for (let call = 0; call < calls; call += 1) {
    for (const { manager, list, times } of shuffled(scenarios)) {
      list.push(...turn(call));
      const before = performance.now();
      const { report } = await manager.preflight("s", list);
      if (call >= Math.min(WARM_UP, calls / 2)) times.push(performance.now() - before);
      if (report.compacted) compactions += 1;
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }
  for (const { manager } of scenarios) await manager.flush();
  collectors.stop();
  // The file may still be written to.
  rmSync(folder, { recursive: true, maxRetries: 20 });
  const rows = scenarios.map(({ name, times }) => ({
    name,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
  }));
  return { calls, compactions: Math.round(compactions / scenarios.length), rows };
}

function section({ calls, compactions, rows }) {
  const [none] = rows;
  return [
    `One session of ${calls} calls with ${compactions} of them compacting, played through one manager for each line, in turns within
one run. Milliseconds of the clock. The p99 are the compactions.`,
    table(
      ["events to", "p50 of a preflight", "p99", "p50 ÷ without", "p99 ÷ without"],
      rows.map(({ name, p50, p99 }) => [
        name,
        digits(p50),
        digits(p99),
        (p50 / none.p50).toFixed(2),
        (p99 / none.p99).toFixed(2),
      ]),
    ),
  ].join("\n\n");
}

export const bench = {
  title: "What exporters add to the check",
  run,
  headline({ rows: [none, ...others] }) {
    const worst = Math.max(...others.map(({ p50 }) => p50 / none.p50));
    return `at most ${worst.toFixed(2)} x a check without one, whatever the collector does`;
  },
  section,
  pages: [{ path: "OBSERVABILITY.md", mark: "figures", render: section }],
};
