import { describe, expect, it } from "vitest";
import { createMemoryDriver } from "./drivers/memory.ts";
import { createStateStore } from "./session-state.ts";

interface State {
  readonly summary: string;
}

describe("createStateStore", () => {
  it("gives back what was saved, under the session's own folder", async () => {
    const driver = createMemoryDriver();
    const store = createStateStore<State>(driver);
    expect(await store.load("s")).toBeUndefined();
    const { version } = await store.save("s", { summary: "\ud800 so far" }, null);
    expect(await store.load("s")).toEqual({ value: { summary: "\ud800 so far" }, version });
    expect(await store.load("S")).toBeUndefined();
    expect(await driver.list("")).toEqual(["s/state.json"]);
  });

  it("refuses to write over what somebody else saved meanwhile", async () => {
    const store = createStateStore<State>(createMemoryDriver());
    const first = await store.save("s", { summary: "1" }, null);
    await expect(store.save("s", { summary: "2" }, null)).rejects.toMatchObject({ code: "Conflict" });
    await store.save("s", { summary: "2" }, first.version);
    await expect(store.save("s", { summary: "3" }, first.version)).rejects.toMatchObject({
      code: "Conflict",
    });
    expect((await store.load("s"))?.value).toEqual({ summary: "2" });
  });

  it("says of a damaged state where it is and what to do", async () => {
    const driver = createMemoryDriver();
    const check = (parsed: unknown): State => {
      if (typeof parsed === "object" && parsed !== null && "summary" in parsed) return parsed as State;
      throw new Error("no state");
    };
    const store = createStateStore<State>(driver, check);
    for (const damaged of ['{"summary":', "", "[]"]) {
      await driver.put("s/state.json", damaged);
      await expect(store.load("s")).rejects.toMatchObject({
        code: "StorageFailed",
        place: "memory/s/state.json",
        hint: expect.stringMatching(/./),
      });
    }
  });
});
