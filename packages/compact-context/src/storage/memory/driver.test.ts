import { expect, it } from "vitest";
import { createMemoryDriver } from "./driver.ts";

/** Lines that take long to make, as those of an archive do. */
function* slowLines(lines: number): Generator<string> {
  for (let line = 0; line < lines; line += 1) {
    for (const end = performance.now() + 5; performance.now() < end; );
    yield `line ${line}\n`;
  }
}

it("lets other work run while a long value is made, and stores it whole", async () => {
  const driver = createMemoryDriver();
  let rounds = 0;
  let over = false;
  const round = (): void => {
    rounds += 1;
    if (!over) setImmediate(round);
  };
  setImmediate(round);
  const putting = driver.put("a/b", slowLines(20), { ifVersion: null });
  expect(await driver.get("a/b")).toBeUndefined();
  await putting;
  over = true;
  expect(rounds).toBeGreaterThan(4);
  expect((await driver.get("a/b"))?.value.split("\n")).toHaveLength(21);
});

it("writes in the order of the calls: a long value first, then what was asked for meanwhile", async () => {
  const driver = createMemoryDriver();
  const slow = driver.put("a/b", slowLines(10), { ifVersion: null });
  const late = driver.put("a/b", "late\n", { ifVersion: null });
  const added = driver.append("a/b", ["record\n"]);
  await slow;
  await expect(late).rejects.toMatchObject({ code: "Conflict" });
  await added;
  expect((await driver.get("a/b"))?.value).toMatch(/line 9\nrecord\n$/);
  const again = driver.put("a/b", slowLines(10));
  await driver.delete("a/b");
  await again;
  expect(await driver.get("a/b")).toBeUndefined();
});

it("stores nothing of a long value whose call is aborted meanwhile", async () => {
  const driver = createMemoryDriver();
  const aborted = new AbortController();
  const slow = driver.put("a/b", slowLines(10), { signal: aborted.signal });
  aborted.abort();
  await expect(slow).rejects.toMatchObject({ code: "Aborted" });
  expect(await driver.get("a/b")).toBeUndefined();
});

it("tells the entries that were there at the start, also those deleted meanwhile", async () => {
  const driver = createMemoryDriver();
  for (const key of ["b", "c", "a"]) await driver.put(key, key);
  const keys: string[] = [];
  for await (const { key } of driver.entries?.("") ?? []) {
    keys.push(key);
    await driver.delete("b");
    await driver.delete("c");
  }
  expect(keys).toEqual(["a", "b", "c"]);
});
