import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { groundTruth, matchedControl } from "../../bench/retention/ground-truth.ts";
import { entityList, indexCard, keepLast, oracleLines } from "../../bench/retention/methods.ts";
import { renderRetention } from "../../bench/retention/report.ts";
import { type Results, runRetention } from "../../bench/retention/run.ts";
import { createScorer } from "../../bench/retention/score.ts";
import { render, type Turn, tokensOf } from "../../bench/retention/turns.ts";
import { readTranscript } from "../../packages/compact-context-cli/src/transcripts/read.ts";

/** Writes the figures of docs/retention.md: `npm run retention`. Other sessions and cuts: `RETENTION_ROOT`, `RETENTION_CUTS`. */
const report = process.env.RETENTION_REPORT;
const root = process.env.RETENTION_ROOT ?? join(import.meta.dirname, "../../../shared/transcripts");
const present = existsSync(join(root, "MANIFEST.json"));
const BUDGETS = [0.025, 0.1, 0.25];

const user = (text: string): Turn => ({ role: "user", parts: [{ kind: "text", text }] });
const assistant = (text: string): Turn => ({ role: "assistant", parts: [{ kind: "text", text }] });
const tool = (text: string): Turn => ({ role: "tool", parts: [{ kind: "result", text }] });

/** Facts that come back and facts that do not, each said once in a sentence. */
const prefix: Turn[] = Array.from({ length: 40 }, (_, n): Turn[] => [
  user(`Please look into the ledger of week ${n} before anything else happens there.`),
  assistant(`The quarterly ledger for the northern branch is kept in books/ledger${n}.toml by the clerk.`),
  tool(`the night clerk wrote down that parcel PX${n}77K was left beside the loading gate this evening`),
]).flat();
const future: Turn[] = Array.from({ length: 8 }, (_, n) =>
  assistant(`Now the quarterly ledger of the northern branch: books/ledger${n * 3}.toml needs a look.`),
);
const cut = { prefix, future, system: "", common: new Set<string>() };
const truth = groundTruth(cut);
const score = createScorer(cut, truth);
const whole = tokensOf(render(prefix));

describe("the retention benchmark", () => {
  it("takes as needed what the assistant writes again, and as control what nobody does", () => {
    expect(truth.needed.map(({ value }) => value).sort()).toEqual(
      Array.from({ length: 8 }, (_, n) => `books/ledger${n * 3}.toml`).sort(),
    );
    const control = matchedControl(truth, 0);
    expect(control).toHaveLength(8);
    for (const { kind, value } of control) {
      expect(kind).toBe("path");
      expect(truth.needed.some((fact) => fact.value === value)).toBe(false);
    }
  });

  it("counts what a tool says first for neither side", () => {
    const told = groundTruth({
      ...cut,
      future: [tool("books/ledger1.toml"), ...future, assistant("books/ledger1.toml")],
    });
    expect(told.resupplied).toBe(1);
    expect([...told.needed, ...told.never].some(({ value }) => value === "books/ledger1.toml")).toBe(false);
  });

  it("gives the whole text everything and an empty one nothing", () => {
    expect(score(render(prefix))).toMatchObject({ present: 1, control: 1, inContext: 1 });
    expect(score("")).toMatchObject({ present: 0, control: 0, inContext: 0, lookedUp: 0 });
  });

  it("tells lines from lists: a list of names and an index card have no context", async () => {
    const budget = Math.floor(whole * 0.5);
    const lines = await oracleLines(new Set(truth.needed.map(({ value }) => value)))(prefix, budget);
    expect(score(lines)).toMatchObject({ present: 1, inContext: 1, control: 0 });
    for (const method of [entityList, indexCard]) {
      const scores = score(await method(prefix, budget));
      expect(scores.present).toBeGreaterThan(0.5);
      expect(scores.inContext).toBe(0);
      expect(scores.lookedUp).toBe(0);
    }
  });

  it("keeps to the budget", async () => {
    for (const share of BUDGETS) {
      const text = await keepLast(prefix, Math.floor(whole * share));
      expect(tokensOf(text)).toBeLessThanOrEqual(Math.floor(whole * share));
      expect(tokensOf(text)).toBeGreaterThan(whole * share * 0.7);
    }
  });

  it.skipIf(!present)("runs on a recorded session and is the same each time", async () => {
    const results = await Promise.all([run(1), run(1)]);
    const [one, other] = results.map(({ rows }) => rows.map(({ ms: _, ...row }) => row));
    expect(one?.length).toBeGreaterThan(10);
    expect(one).toEqual(other);
  });

  it.runIf(report !== undefined && present)("writes its page", { timeout: 3_600_000 }, async () => {
    const figures = renderRetention(await run(), BUDGETS);
    const page = readFileSync(report ?? "", "utf8");
    const [before, after] = [page.split("<!-- figures -->")[0], page.split("<!-- /figures -->")[1]];
    writeFileSync(report ?? "", `${before}<!-- figures -->\n\n${figures}\n\n<!-- /figures -->${after}`);
  });
});

/** Over the sessions of the manifest, or the first few that can be cut. */
async function run(most = Number.POSITIVE_INFINITY): Promise<Results> {
  const json = (file: string): unknown => JSON.parse(readFileSync(join(root, file), "utf8"));
  const sessions = (json("MANIFEST.json") as { file: string; corpus: string; messages: number }[]).filter(
    ({ corpus }) => most === Number.POSITIVE_INFINITY || corpus === "moatless",
  );
  const shares = (process.env.RETENTION_CUTS ?? "0.5,0.8").split(",").map(Number);
  return runRetention(sessions.slice(0, most), {
    budgets: most === Number.POSITIVE_INFINITY ? BUDGETS : [0.1],
    shares,
    common: new Set(existsSync(join(root, "stopfacts.json")) ? (json("stopfacts.json") as string[]) : []),
    clock: () => performance.now(),
    read: ({ file }) => readTranscript(readFileSync(join(root, file), "utf8"), { name: file }),
    onSession: ({ file }) => report !== undefined && process.stderr.write(`${file}\n`),
  });
}
