import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { renderRows } from "./render-rows.ts";
import { REPLAY_BUDGET, REPLAY_WINDOW, runSession, type SessionRow } from "./run-session.ts";

const root = fileURLToPath(new URL("../../../shared/transcripts/", import.meta.url));
const present = existsSync(root);
const files = present
  ? readdirSync(root)
      .filter((folder) => statSync(join(root, folder)).isDirectory())
      .flatMap((folder) => readdirSync(join(root, folder)).map((file) => `${folder}/${file}`))
      .filter((file) => !file.endsWith("SOURCE.txt"))
  : [];

describe.skipIf(!present)("recorded sessions", () => {
  const rows: SessionRow[] = [];

  it.each(files)(
    "FIT-6 PRT-5 %s: compacted and replayed within its budget, valid as before",
    async (file) => {
      const row = await runSession(file, readFileSync(join(root, file), "utf8"));
      rows.push(row);
      for (const compaction of row.compactions) {
        expect(compaction.newFaults).toBe(0);
        expect(compaction.tokens).toBeLessThanOrEqual(row.tokens);
        expect(compaction.tokens).toBeLessThanOrEqual(compaction.planned);
        const reachable = row.tokens > 1000 && compaction.target >= row.pinned + 300;
        if (reachable) expect(compaction.tokens).toBeLessThanOrEqual(compaction.target);
      }
      expect(row.replay.newFaults).toBe(0);
      expect(row.replay.largest).toBeLessThanOrEqual(REPLAY_BUDGET);
      if (row.replay.tokens > REPLAY_WINDOW * 3) expect(row.replay.rounds).toBeGreaterThan(1);
    },
  );

  afterAll(() => {
    const report = process.env.SESSIONS_REPORT;
    if (report !== undefined)
      writeFileSync(report, renderRows(rows.toSorted((a, b) => a.name.localeCompare(b.name))));
  });
});
