import { describe, expect, it } from "vitest";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import { loadState } from "./store.ts";
import { emptyState } from "./view.ts";

describe("loadState", () => {
  it("gives back what was stored, under the session's own folder", async () => {
    const driver = createMemoryDriver();
    expect(await loadState(driver, "s")).toBeUndefined();
    const state = { ...emptyState(), summarizedMessageIds: ["\ud800"] };
    const { version } = await driver.put("s/state.json", JSON.stringify(state));
    expect(await loadState(driver, "s")).toEqual({ value: JSON.parse(JSON.stringify(state)), version });
    expect(await loadState(driver, "S")).toBeUndefined();
  });

  it("says of a damaged state where it is and what to do", async () => {
    const driver = createMemoryDriver();
    for (const damaged of ['{"format":1', "", "[]", '{"format":2}']) {
      await driver.put("s/state.json", damaged);
      await expect(loadState(driver, "s")).rejects.toMatchObject({
        code: "StorageFailed",
        place: "memory/s/state.json",
        hint: expect.stringMatching(/./),
      });
    }
  });
});
