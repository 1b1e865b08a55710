import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { createFsDriver } from "../../packages/compact-context/src/storage/fs/driver.ts";

const waits: string[] = vi.hoisted(() => []);

vi.mock("../../packages/compact-context/src/storage/fs/disk.ts", async (load) => {
  const counted = Object.entries(await load<Record<string, (...args: unknown[]) => unknown>>()).map(
    ([name, operation]) => [
      name,
      (...args: unknown[]) => {
        if (name !== "fstat" && name !== "close") waits.push(name);
        return operation(...args);
      },
    ],
  );
  return Object.fromEntries(counted) as object;
});

const root = mkdtempSync(join(tmpdir(), "compact-operations-"));
// The folder stays open, however slow the machine is.
beforeAll(() => void vi.useFakeTimers({ toFake: ["setTimeout"] }));
afterAll(() => {
  vi.useRealTimers();
  rmSync(root, { recursive: true, force: true });
});

async function waitsOf(work: () => Promise<unknown>): Promise<string[]> {
  waits.length = 0;
  await work();
  return [...waits];
}

it.skipIf(process.platform !== "linux")(
  "what is stored waits for the disk this often, closing aside",
  async () => {
    const driver = createFsDriver({ root });
    await driver.put("s/first.json", "{}");
    await driver.append("s/events.jsonl", "{}\n");
    const create = ["lstat", "open", "writeFile", "fsync", "lstat", "link", "unlink", "fsync"];
    expect(await waitsOf(() => driver.put("s/next.json", "{}", { ifVersion: null }))).toEqual(create);
    const { version } = await driver.put("s/state.json", "1");
    const replace = [
      "open",
      "writeFile",
      "fsync",
      "open",
      "read",
      "link",
      "lstat",
      "lstat",
      "rename",
      "fsync",
    ];
    expect(await waitsOf(() => driver.put("s/state.json", "2", { ifVersion: version }))).toEqual([
      "lstat",
      ...replace,
    ]);
    const add = ["lstat", "lstat", "open", "read", "write", "fdatasync"];
    expect(await waitsOf(() => driver.append("s/events.jsonl", "{}\n"))).toEqual(add);
  },
);
