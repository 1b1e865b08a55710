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

it("versions that are asked for at the same time take few statements, and each is read after it was asked for", async () => {
  const asked: string[][] = [];
  const answers: (() => void)[] = [];
  const driver = createPostgresDriver({
    pool: {
      connect: () => Promise.reject(new Error("no transaction is needed")),
      end: async () => {},
      query: async (text, values) => {
        if (text.includes(".migrations")) return { rows: [{ version: 3, works_with: 3 }] };
        const keys = values?.[0] as string[];
        asked.push(keys);
        await new Promise<void>((go) => answers.push(go));
        return {
          rows: keys.filter((key) => key !== "s9/a").map((key) => ({ key, version: key.slice(1, 2) })),
        };
      },
    },
  });
  const versions = Array.from({ length: 10 }, (_, index) => driver.version(`s${index}/a`));
  await expect.poll(() => asked).toEqual([["s0/a"], ["s1/a"]]);
  answers[0]?.();
  await expect.poll(() => asked.length).toBe(3);
  for (const answer of answers) answer();
  expect(await Promise.all(versions)).toEqual(["0", "1", "2", "3", "4", "5", "6", "7", "8", undefined]);
  expect(asked[2]).toHaveLength(8);
});
