import { expect, it } from "vitest";
import { createPostgresDriver } from "./driver.ts";

it("a call does not wait for an aborted one of the same key whose statement is stuck", async () => {
  let puts = 0;
  const driver = createPostgresDriver({
    pool: {
      connect: () => Promise.reject(new Error("no transaction is needed")),
      end: async () => {},
      query: async (text) => {
        if (text.includes(".migrations")) return { rows: [{ version: 3, works_with: 3 }] };
        puts += 1;
        if (puts === 1) await new Promise(() => {});
        return { rows: [{ version: "7" }] };
      },
    },
  });
  const signal = AbortSignal.timeout(10);
  await expect(driver.put("s/state.json", "1", { signal })).rejects.toMatchObject({ code: "Aborted" });
  expect(await driver.put("s/state.json", "2")).toEqual({ version: "7" });
});
