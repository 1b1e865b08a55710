import { fork } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { whole } from "../whole.ts";
import { tempFolder } from "./harness.ts";

/** `AGENT_SOAK_TURNS=1000 npx vitest run test/agents/soak.test.ts` plays the whole; its figures are in docs/agents.md. */
const TURNS = Number(process.env.AGENT_SOAK_TURNS ?? (whole ? 100 : 50));
const FULL = TURNS >= 1000;
const WINDOW = FULL ? 60_000 : 8_000;

/**
 * Bytes of heap, collected, that a turn may add behind turn 400: about 130 for each of four messages, whose hash, count and
 * id tell the list again; the rest is caches of up to 1 MB that fill, and what the engine adds for code that became hot.
 * Where texts stay in memory, as they once did in a cache of counts, a turn adds 12,000 and more.
 */
const MOST_GROWTH = 6000;

interface Report {
  readonly sums: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
  readonly heap: Readonly<Record<string, number>>;
  readonly found: readonly string[];
  readonly facts: number;
}

/** Plays turns in a process of its own; one with `dieAt` is killed in the middle of that turn and reports nothing. */
function worker(order: object): Promise<Report | undefined> {
  return new Promise((resolve, reject) => {
    const path = fileURLToPath(new URL("soak-worker.mjs", import.meta.url));
    const child = fork(path, [JSON.stringify(order)], { execArgv: ["--expose-gc"] });
    let report: Report | undefined;
    child.on("message", (message) => {
      if (typeof message === "object" && message !== null && "dying" in message) child.kill("SIGKILL");
      else report = message as Report;
    });
    child.on("exit", (code, signal) => {
      if (code === 0 || signal === "SIGKILL") resolve(report);
      else reject(new Error(`a worker ended with ${code}`));
    });
  });
}

function definitions(folder: string): void {
  for (const name of ["skills", "sub-agents"]) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(
    join(folder, "sub-agents", "checker.md"),
    "---\nname: checker\ndescription: Checks a part.\ntools: [read]\nmaxTurns: 5\n---\nYou check parts.\n",
  );
  writeFileSync(
    join(folder, "skills", "release.md"),
    "---\nname: release\ndescription: Makes a release.\nhooks:\n  before_prompt: [note]\n  before_compact: [note]\n---\nTag it.\n",
  );
}

describe("a long session", () => {
  it(
    `plays ${TURNS} turns with tools, sub-agents and a skill through compactions, two kills and a new session: every fact is within reach, no request breaks a rule, ${FULL ? "heap and overhead stay" : "overhead stays"} small`,
    async () => {
      const folder = tempFolder();
      definitions(folder);
      const [first, second] = [Math.round(TURNS * 0.1), Math.round(TURNS * 0.18)];
      const common = { folder, turns: TURNS, window: WINDOW };
      await worker({ ...common, from: 1, to: TURNS, dieAt: first });
      await worker({ ...common, from: first + 1, to: TURNS, dieAt: second });
      const report = await worker({ ...common, from: second + 1, to: TURNS });
      expect(report?.violations).toEqual([]);
      const { sums, heap, found, facts } = report as Report;
      const { wallMs = 0, cpuMs = 0, harnessMs = 0, modelMs = 0, compactions = 0 } = sums;
      const shareOf = (ms: number): number => (ms - harnessMs) / (ms - harnessMs + modelMs);
      const perTurn = slope(Object.entries(heap).map(([turn, bytes]) => [Number(turn), bytes]));
      const figures = { ...sums, ofWall: shareOf(wallMs), ofComputing: shareOf(cpuMs), heap, perTurn, facts };
      if (process.env.AGENT_SOAK_TURNS !== undefined)
        console.log(JSON.stringify({ ...figures, found: countOf(found) }, undefined, 1));
      expect(found).toHaveLength(facts);
      expect(compactions).toBeGreaterThanOrEqual(TURNS < 100 ? 2 : 5);
      // Wall time says more of the machine's other work than of ours; the long run measures it.
      expect(FULL ? shareOf(wallMs) : shareOf(cpuMs)).toBeLessThan(0.1);
      if (FULL) expect(perTurn).toBeLessThan(MOST_GROWTH);
    },
    TURNS * 3000,
  );
});

/** Bytes for each turn from turn 400 on, by least squares. */
function slope(measured: readonly (readonly [turn: number, bytes: number])[]): number {
  const late = measured.filter(([turn]) => turn >= 400);
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const [turn, bytes] = [mean(late.map(([x]) => x)), mean(late.map(([, y]) => y))];
  const spread = late.reduce((sum, [x]) => sum + (x - turn) ** 2, 0);
  return late.reduce((sum, [x, y]) => sum + (x - turn) * (y - bytes), 0) / spread;
}

function countOf(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}
