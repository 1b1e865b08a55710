import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { partOf } from "../whole.ts";
import { type CutRow, cutSession } from "./cut-session.ts";
import { renderRows } from "./render-rows.ts";
import { REPLAY_BUDGET, REPLAY_WINDOW, runSession, type SessionRow } from "./run-session.ts";

const root = fileURLToPath(new URL("../../../shared/transcripts/", import.meta.url));
const present = existsSync(root);
const recorded = present
  ? readdirSync(root)
      .filter((folder) => statSync(join(root, folder)).isDirectory())
      .flatMap((folder) => readdirSync(join(root, folder)).map((file) => `${folder}/${file}`))
      .filter((file) => !file.endsWith("SOURCE.txt"))
  : [];

const report = process.env.SESSIONS_REPORT;
/** Places at which a session is cut: two in the tests, all of them for the report or as SESSIONS_CUTS says. */
const most = Number(process.env.SESSIONS_CUTS ?? (report === undefined ? 2 : Number.POSITIVE_INFINITY));
/** All sessions for the report and with `COMPACT_TESTS=whole`, else some of each kind. */
const files = report === undefined ? partOf(recorded, 16) : recorded;
const A_SESSION = 600_000;

describe.skipIf(!present)("recorded sessions", () => {
  const rows: SessionRow[] = [];
  const cuts: CutRow[] = [];

  it.each(files)(
    "FIT-6 PRT-5 %s: compacted and replayed within its budget, valid as before",
    async (file) => {
      const row = await runSession(file, readFileSync(join(root, file), "utf8"));
      rows.push(row);
      for (const compaction of row.compactions) {
        expect(compaction.newFaults).toBe(0);
        expect(compaction.tokens).toBeLessThanOrEqual(row.tokens);
        expect(compaction.tokens).toBeLessThanOrEqual(compaction.planned);
        const reachable = row.tokens > 1000 && compaction.target >= row.pinned + row.ask + 300;
        if (reachable) expect(compaction.tokens).toBeLessThanOrEqual(compaction.target);
      }
      expect(row.replay.newFaults).toBe(0);
      expect(row.replay.largest).toBeLessThanOrEqual(REPLAY_BUDGET);
      if (row.replay.tokens > REPLAY_WINDOW * 3) expect(row.replay.rounds).toBeGreaterThan(1);
    },
  );

  it.each(files)(
    "G1 PRT-5 %s: cut where its model was called and compacted five times in a row, valid as before",
    async (file) => {
      const row = await cutSession(file, readFileSync(join(root, file), "utf8"), most);
      cuts.push(row);
      expect(row.newFaults).toBe(0);
    },
    A_SESSION,
  );

  it("the cuts are of all these sessions, and they were compacted", () => {
    expect(cuts).toHaveLength(files.length);
    const compactions = cuts.reduce((sum, row) => sum + row.compactions, 0);
    expect(compactions).toBeGreaterThan(files.length * 3);
  });

  afterAll(() => {
    if (report !== undefined)
      writeFileSync(
        report,
        renderRows(
          rows.toSorted((a, b) => a.name.localeCompare(b.name)),
          cuts,
        ),
      );
  });
});
