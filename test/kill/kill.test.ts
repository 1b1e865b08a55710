import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createRedactor } from "../../packages/compact-context/src/redaction/redactor.ts";
import { type Archive, createArchive } from "../../packages/compact-context/src/search/archive.ts";
import { createFsDriver } from "../../packages/compact-context/src/storage/fs/driver.ts";

const WORKER = join(import.meta.dirname, "worker.mjs");
/** `COMPACT_KILLS=500` for a long run; the build must be fresh, since the processes run it. */
const KILLS = Number(process.env.COMPACT_KILLS ?? 4);
const ROUNDS_OF_A_SESSION = 10;

interface Said {
  /** Archive ids of the transcripts that a compaction was acknowledged for, by step. */
  readonly steps: Map<number, readonly string[]>;
  /** Steps whose events were acknowledged as well. */
  readonly flushed: Set<number>;
  /** The newest turn that was answered. */
  turn: number;
}

interface Line {
  readonly turn?: number;
  readonly step?: number;
  readonly ids?: readonly string[];
  readonly flushed?: number;
}

const root = mkdtempSync(join(tmpdir(), "compact-kills-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Lets a worker run for some milliseconds after its start-up, kills it, and adds what it acknowledged. */
function kill(session: string, said: Said, milliseconds: number): Promise<void> {
  const worker = spawn(process.execPath, [WORKER, root, session, String(said.turn + 1)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  worker.stdout.on("data", (data) => {
    // The first call loads the vocabulary: from then on it is all writing.
    const hadBegun = printed.includes("turn");
    printed += data;
    if (!hadBegun && printed.includes("turn")) setTimeout(() => worker.kill("SIGKILL"), milliseconds);
  });
  return new Promise((resolve, reject) => {
    worker.on("close", (code) => {
      if (code !== null) return reject(new Error(`the worker ended by itself with ${code}`));
      for (const text of printed.split("\n").slice(0, -1)) note(JSON.parse(text) as Line, said);
      resolve();
    });
  });
}

function note({ turn, step, ids, flushed }: Line, said: Said): void {
  if (turn !== undefined) said.turn = turn;
  if (step !== undefined) said.steps.set(step, ids ?? []);
  if (flushed !== undefined) said.flushed.add(flushed);
}

async function checkTranscripts(archive: Archive, session: string, said: Said): Promise<number> {
  const steps = await archive.steps(session);
  expect(steps).toEqual(expect.arrayContaining([...said.steps.keys()]));
  for (const step of steps) {
    const { messages, problems } = await archive.readTranscript(session, step);
    expect(problems, `step ${step}`).toEqual([]);
    const acknowledged = said.steps.get(step);
    if (acknowledged !== undefined) expect(messages.map(({ archiveId }) => archiveId)).toEqual(acknowledged);
  }
  return steps.length;
}

function checkEvents(session: string, said: Said): void {
  const path = join(root, session, "events.jsonl");
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
  const archived = new Set<number>();
  for (const line of lines.filter((text) => text.startsWith("{") && text.endsWith("}"))) {
    const event = JSON.parse(line) as { name: string; properties: { step?: number } };
    if (event.name === "compact.archival" && event.properties.step !== undefined)
      archived.add(event.properties.step);
  }
  expect([...archived]).toEqual(expect.arrayContaining([...said.flushed]));
}

function temporaryFiles(session: string): string[] {
  const folder = join(root, session);
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith(".temp-")) : [];
}

describe.skipIf(process.platform === "win32" || !existsSync("packages/compact-context/dist/index.js"))(
  "a manager that is killed",
  () => {
    it(`ARC-1 ARC-5 loses nothing that it acknowledged, in ${KILLS} kills`, {
      timeout: 60_000 + KILLS * 10_000,
    }, async () => {
      const driver = createFsDriver({ root });
      const archive = createArchive(driver, { redact: createRedactor() });
      const figures = { acknowledged: 0, transcripts: 0, unacknowledged: 0, temporary: 0 };
      for (let round = 0; round < KILLS; ) {
        const session = `session-${round}`;
        const said: Said = { steps: new Map(), flushed: new Set(), turn: -1 };
        for (let again = 0; again < ROUNDS_OF_A_SESSION && round < KILLS; again++, round++) {
          await kill(session, said, (round * 37) % 300);
          figures.temporary += temporaryFiles(session).length;
          figures.transcripts = await checkTranscripts(archive, session, said);
          checkEvents(session, said);
          const state = (await driver.get(`${session}/state.json`))?.value;
          const step = state === undefined ? 0 : (JSON.parse(state) as { step: number }).step;
          expect(step).toBeGreaterThanOrEqual(Math.max(0, ...said.steps.keys()));
        }
        figures.acknowledged += said.steps.size;
        figures.unacknowledged += figures.transcripts - said.steps.size;
        await driver.put(`${session}/state.json`, "{}");
        expect(temporaryFiles(session)).toEqual([]);
      }
      console.log(`${KILLS} kills: ${JSON.stringify(figures)}`);
      expect(figures.acknowledged).toBeGreaterThan(0);
    });
  },
);
