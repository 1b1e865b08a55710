import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, it, vi } from "vitest";
import { CompactError } from "../../packages/compact-context/src/errors.ts";
import { createFsDriver } from "../../packages/compact-context/src/storage/fs/driver.ts";

const refusal = vi.hoisted(() => ({ code: undefined as string | undefined, tries: 0 }));

vi.mock("../../packages/compact-context/src/storage/fs/disk.ts", async (load) => {
  const real = await load<typeof import("../../packages/compact-context/src/storage/fs/disk.ts")>();
  const mkdir = async (...args: Parameters<typeof real.mkdir>): Promise<unknown> => {
    refusal.tries += 1;
    if (refusal.code === undefined) return real.mkdir(...args);
    throw Object.assign(new Error(`${refusal.code}: planned`), { code: refusal.code });
  };
  return { ...real, mkdir };
});

const folder = mkdtempSync(join(tmpdir(), "compact-no-folder-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => {
  refusal.code = undefined;
  refusal.tries = 0;
});

async function refused(root: string): Promise<CompactError> {
  const answer: unknown = await createFsDriver({ root })
    .put("s/state.json", "{}")
    .catch((error: unknown) => error);
  if (CompactError.isInstance(answer)) return answer;
  throw new Error(`no refusal of ours: ${String(answer)}`);
}

it.each([
  ["ENOENT", "choose another"],
  ["EACCES", "choose another"],
  ["EROFS", "choose another"],
  ["ENOSPC", "Free some disk space"],
  ["EMFILE", "can be written"],
])("a folder that cannot be made (%s) is told at once, with its path and what to do", async (code, hint) => {
  for (const root of [join(folder, "archive"), join(folder, "deep", "down", "archive")]) {
    refusal.code = code;
    refusal.tries = 0;
    const error = await refused(root);
    expect(error.code).toBe("StorageFailed");
    expect(error.message).toContain(code);
    expect(error.place).toBe(join(root, "s/state.json"));
    expect(error.hint).toContain(hint);
    expect(refusal.tries).toBe(1);
  }
});

it("a file in the way is told with its path", async () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  for (const root of [file, join(file, "archive"), join(file, "deep", "archive")]) {
    const error = await refused(root);
    expect(error.code).toBe("StorageFailed");
    expect(error.place).toContain(file);
    expect(error.hint).not.toBe("");
  }
});

it.skipIf(!existsSync("/proc/self"))(
  "a folder of the system that takes no other is told, not tried for ever",
  async () => {
    for (const root of ["/proc/compact", "/proc/compact/deep/archive"]) {
      expect(await refused(root)).toMatchObject({ code: "StorageFailed", place: join(root, "s/state.json") });
    }
  },
);

it("folders that are made by several at once are made", async () => {
  const drivers = Array.from({ length: 6 }, () => createFsDriver({ root: join(folder, "crowd", "a", "b") }));
  await Promise.all(drivers.map((driver, at) => driver.put(`s/${at}.json`, "{}")));
  expect(await drivers[0]?.list("s/")).toHaveLength(6);
});
