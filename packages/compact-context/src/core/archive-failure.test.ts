import { expect, it } from "vitest";
import { CompactManager } from "../create-manager.ts";
import { CompactError } from "../errors.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";

const list = Array.from({ length: 80 }, (_, n) => ({
  role: n % 2 === 0 ? "user" : "assistant",
  content: `${n} ${"word ".repeat(60)}`,
}));

it.each([
  [
    new CompactError("StorageFailed", "full", { hint: "Free some disk space.", place: "/archive/s" }),
    'Free some disk space. Or set storage.onFailure to "continue" to prune without an archive.',
    "/archive/s",
  ],
  [
    new Error("full"),
    'Fix the storage. Or set storage.onFailure to "continue" to prune without an archive.',
    undefined,
  ],
])("an archive that fails says itself what to do about it, and where: %s", async (error, hint, place) => {
  const storage = { ...createMemoryDriver(), put: () => Promise.reject(error) };
  const manager = new CompactManager({ maxContextTokens: 4000 }, { storage, onWarning: () => undefined });
  const message = "the archive could not be written: full";
  await expect(manager.preflight("s", list)).rejects.toMatchObject({
    ...{ code: "StorageFailed", message, hint, place },
  });
});
