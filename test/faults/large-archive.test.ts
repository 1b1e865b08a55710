import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, it } from "vitest";

const SCRIPT = join(import.meta.dirname, "large-archive.mjs");
/** `COMPACT_ARCHIVE_MB=1024` for a long run. */
const MEGABYTES = Number(process.env.COMPACT_ARCHIVE_MB ?? 24);
/** Megabytes of heap: less than such a transcript takes as one string and its messages. */
const HEAP = MEGABYTES > 64 ? 64 : 32;

const root = mkdtempSync(join(tmpdir(), "compact-large-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** The search index takes most of the time: it is made in long runs alone. */
const searched = MEGABYTES > 64;

it.skipIf(!existsSync("packages/compact-context/dist/index.js"))(
  `attack 25: ARC-4 a transcript of ${MEGABYTES} MB is saved, compared and read${searched ? ", found in and searched" : ""} within a heap of ${HEAP} MB`,
  { timeout: 60_000 + MEGABYTES * 4_000 },
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      `--max-old-space-size=${HEAP}`,
      SCRIPT,
      join(root, "archive"),
      String(MEGABYTES),
      ...(searched ? ["searched"] : []),
    ]);
    const whole = { step: 1, ids: MEGABYTES, read: MEGABYTES, problems: 0 };
    expect(JSON.parse(stdout)).toMatchObject(
      searched ? { ...whole, found: MEGABYTES, hit: MEGABYTES } : whole,
    );
    console.log(stdout.trim());
  },
);
