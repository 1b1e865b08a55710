import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { readTranscript } from "../../transcripts/read.ts";
import { type Economy, type Replay, replaySession } from "../replay.ts";
import { earlySettings, settingsFor } from "../settings.ts";
import type { PolicyCost } from "./cost.ts";

/** Writes the table of docs/cost.md: `COST_REPORT=docs/cost.md npx vitest run src/cli/replay/recorded.test.ts`. */
const report = process.env.COST_REPORT;
const root = fileURLToPath(new URL("../../../../shared/transcripts/", import.meta.url));

const WINDOW = 64_000;
const MODELS = ["claude-opus-5-5", "gpt-6.1-sol", "gpt-5.5"];
const TARGET = WINDOW / 4;
const COLUMNS = ["compact", "+ cold", "to 25 %", "trim", "mask", "summarize"] as const;
const MINUTES = 60_000;

interface Session {
  readonly source: string;
  readonly economy: Economy;
  /** `compact` once more, told to aim for a quarter of the window. */
  readonly aimed: PolicyCost | undefined;
}

async function played(
  path: string,
  model: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Replay> {
  const flags = { model, window: String(WINDOW) };
  const transcript = await readTranscript(readFileSync(join(root, path), "utf8"), { name: path });
  const early = earlySettings({ flags, ports: { cwd: "/nowhere", env }, warn: () => undefined });
  return replaySession(transcript, settingsFor(transcript, early, flags), {
    clock: () => 0,
    onWarning: () => undefined,
    onProgress: () => undefined,
  });
}

function column({ economy, aimed }: Session, name: (typeof COLUMNS)[number]): PolicyCost {
  const { policies, cold } = economy;
  const own = { compact: policies[0], "+ cold": cold?.cost ?? policies[0], "to 25 %": aimed };
  const cost = name in own ? own[name as keyof typeof own] : policies.find((one) => one.name === name);
  if (cost === undefined) throw new Error(`no policy ${name}`);
  return cost;
}

const sumOf = (costs: readonly PolicyCost[], of: (cost: PolicyCost) => number): number =>
  costs.reduce((sum, cost) => sum + of(cost), 0);

/** Dollars · cached share · price factor · rewrites · thousands of tokens per call, of all the sessions together. */
function cell(costs: readonly PolicyCost[]): string {
  const prompt = sumOf(costs, (cost) => cost.promptTokens);
  const calls = sumOf(costs, (cost) => cost.calls);
  const cached = sumOf(costs, (cost) => cost.use?.cached ?? 0);
  const factor = sumOf(costs, (cost) => (cost.priceFactor ?? Number.NaN) * cost.promptTokens) / prompt;
  const dollars = sumOf(costs, (cost) => cost.dollars ?? Number.NaN);
  const rewrites = sumOf(costs, (cost) => cost.rewrites);
  return `$${dollars.toFixed(2)} · ${Math.round((100 * cached) / prompt)} % · ${factor.toFixed(3)} · ${rewrites} · ${Math.round(prompt / calls / 1000)}k`;
}

function row(label: string, sessions: readonly Session[]): string {
  const costs = COLUMNS.map((name) => sessions.map((session) => column(session, name)));
  const calls = sumOf(costs[0] ?? [], (cost) => cost.calls);
  return `| ${label} | ${sessions.length} | ${calls} | ${costs.map(cell).join(" | ")} |`;
}

function tableOf(model: string, all: readonly Session[]): string {
  const fits = (session: Session) => COLUMNS.every((name) => column(session, name).dollars !== undefined);
  const sessions = all.filter(fits);
  const sources = [...new Set(sessions.map(({ source }) => source))];
  const { asOf, rules } = all[0]?.economy.model ?? {};
  const refused = COLUMNS.map((name) => {
    const count = all.filter((session) => column(session, name).overWindow > 0).length;
    return `${name} ${count}`;
  });
  return [
    `**${model}**, prices of ${asOf}, cache of ${rules?.kind}, ${(rules?.lifetime ?? 0) / 60} min. Of ${all.length} sessions ${sessions.length} are`,
    `in the table; sessions with a request over the window, by policy: ${refused.join(", ")}.`,
    "",
    `| source | sessions | calls | ${COLUMNS.join(" | ")} |`,
    `|${"---|".repeat(COLUMNS.length + 3)}`,
    ...sources.map((source) =>
      row(
        source,
        sessions.filter((session) => session.source === source),
      ),
    ),
    row("all", sessions),
  ].join("\n");
}

it.skipIf(report === undefined || !existsSync(root))(
  "the larger recorded sessions under every policy",
  async () => {
    const tables: string[] = [];
    for (const model of MODELS) {
      const sessions: Session[] = [];
      for (const source of readdirSync(root).filter((name) => statSync(join(root, name)).isDirectory())) {
        for (const file of readdirSync(join(root, source)).filter((name) => name !== "SOURCE.txt")) {
          if (statSync(join(root, source, file)).size < 100_000) continue;
          const path = join(source, file);
          const { economy, mostRaw, overBudget } = await played(path, model);
          expect(overBudget).toBe(0);
          if (mostRaw <= WINDOW) continue;
          const aimed = await played(path, model, { COMPACT_TARGET_CONTEXT_TOKENS: String(TARGET) });
          sessions.push({ source, economy, aimed: aimed.economy.policies[0] });
        }
      }
      expect(sessions.length).toBeGreaterThan(10);
      tables.push(tableOf(model, sessions));
    }
    const path = report ?? "";
    const page = readFileSync(path, "utf8");
    const [before, rest = ""] = page.split("<!-- costs -->");
    const after = rest.split("<!-- /costs -->")[1];
    writeFileSync(path, `${before}<!-- costs -->\n\n${tables.join("\n\n")}\n\n<!-- /costs -->${after}`);
  },
  20 * MINUTES,
);
