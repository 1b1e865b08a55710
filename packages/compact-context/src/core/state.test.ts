import { describe, expect, it } from "vitest";
import { CompactManager } from "../create-manager.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import { emptyState, readState } from "./view.ts";

const ask = [{ role: "user", content: "hello" }];

describe("a stored state", () => {
  it("reads back as it was", () => {
    const state = JSON.parse(JSON.stringify(emptyState())) as unknown;
    expect(readState(state)).toBe(state);
  });

  it.each(["null", "7", "[]", "{}", '{"format":1}', JSON.stringify({ ...emptyState(), format: 2 })])(
    "that is none of ours is told with its place: %s",
    async (text) => {
      const storage = createMemoryDriver();
      await storage.put("s/state.json", text);
      const manager = new CompactManager({}, { storage });
      await expect(manager.preflight("s", ask)).rejects.toMatchObject({
        code: "StorageFailed",
        place: "memory/s/state.json",
        hint: expect.stringMatching(/Move the file away/),
      });
    },
  );
});
