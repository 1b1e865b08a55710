import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { CompactionReport } from "../../packages/compact-context/src/core/report.ts";
import { CompactManager } from "../../packages/compact-context/src/create-manager.ts";
import { CompactError } from "../../packages/compact-context/src/errors.ts";
import { createRedactor } from "../../packages/compact-context/src/redaction/redactor.ts";
import { createArchive } from "../../packages/compact-context/src/search/archive.ts";
import { createFsDriver } from "../../packages/compact-context/src/storage/fs/driver.ts";
import { disk } from "./faulty-disk.ts";

vi.mock("../../packages/compact-context/src/storage/fs/disk.ts", async (load) => {
  const { faultyDisk } = await import("./faulty-disk.ts");
  return faultyDisk(await load());
});

/** `COMPACT_FAULTS=all` lets every operation fail; else one in some. */
const STRIDE = process.env.COMPACT_FAULTS === "all" ? 1 : 37;

const folder = mkdtempSync(join(tmpdir(), "compact-faults-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(() => {
  disk.plan = undefined;
});

const turns = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => [
    { role: "user", content: `question ${from + n} ${"words ".repeat(60)}` },
    { role: "assistant", content: `answer ${from + n} ${"words ".repeat(60)}` },
  ]).flat();
const managerOn = (root: string) =>
  new CompactManager(
    {
      maxContextTokens: 2_000,
      storage: { kind: "fs", root },
      policy: { hardCapBuffer: 100, keepRecentTurns: 2 },
    },
    { onWarning: () => undefined },
  );

/** Two compactions and everything around them; gives the reports of the calls that were answered. */
async function live(root: string): Promise<CompactionReport[]> {
  const manager = managerOn(root);
  const reports: CompactionReport[] = [];
  for (const list of [turns(0, 16), turns(0, 30)]) {
    const answer = await manager.preflight("s", list).catch((error: unknown) => error);
    if (CompactError.isInstance(answer)) expect(["StorageFailed", "Conflict"]).toContain(answer.code);
    else reports.push((answer as { report: CompactionReport }).report);
  }
  await manager.flush().catch((error: unknown) => expect(error).toMatchObject({ code: "StorageFailed" }));
  return reports;
}

/** What must be true on a disk that works again, whatever went before. */
async function checkAfter(
  root: string,
  reports: readonly CompactionReport[],
  mayTear: boolean,
): Promise<void> {
  const archive = createArchive(createFsDriver({ root }), { redact: createRedactor() });
  for (const { compacted, archive: receipt } of reports) {
    expect(receipt !== undefined).toBe(compacted);
    if (receipt === undefined) continue;
    const { messages } = await archive.readTranscript("s", receipt.step);
    expect(messages.map(({ archiveId }) => archiveId)).toEqual(receipt.ids);
  }
  const again = await managerOn(root).preflight("s", turns(0, 40));
  expect(again.report.compacted).toBe(true);
  for (const step of await archive.steps("s")) {
    expect((await archive.readTranscript("s", step)).problems).toEqual([]);
  }
  const names = readdirSync(join(root, "s"));
  expect(names.filter((name) => name.startsWith(".temp-"))).toEqual([]);
  if (!names.includes("events.jsonl")) return;
  const lines = readFileSync(join(root, "s/events.jsonl"), "utf8").split("\n").slice(0, -1);
  const torn = lines.filter((line) => !isJson(line));
  // A record that could neither be finished nor taken back stays as a line of its own; there is no second one.
  expect(torn.length).toBeLessThanOrEqual(mayTear ? 1 : 0);
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

describe("a disk that fails", () => {
  it.each([
    ["once", false, "EIO"],
    ["from then on", true, "EIO"],
    ["from then on for want of room", true, "ENOSPC"],
  ] as const)(
    "ARC-1 ARC-3 ARC-5 loses nothing acknowledged and leaves nothing half, when it fails %s, at any operation",
    { timeout: 900_000 },
    async (_, lasting, code) => {
      disk.steps = 0;
      const reports = await live(join(folder, `whole-${lasting}-${code}`));
      expect(reports.map(({ compacted }) => compacted)).toEqual([true, true]);
      const operations = disk.steps;
      for (let from = 1; from <= operations; from += STRIDE) {
        const root = join(folder, `${lasting}-${code}-${from}`);
        Object.assign(disk, { steps: 0, plan: { from, lasting, code } });
        const answered = await live(root);
        disk.plan = undefined;
        await checkAfter(root, answered, lasting).catch((error: unknown) => {
          throw new Error(`operation ${from} of ${operations}: ${String(error)}`, { cause: error });
        });
        rmSync(root, { recursive: true, force: true });
      }
      console.log(`${operations} operations, failing ${lasting ? "from then on" : "once"} with ${code}`);
    },
  );
});
