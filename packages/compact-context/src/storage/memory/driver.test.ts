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
  const round = (): void => {
    rounds += 1;
    setImmediate(round).unref();
  };
  setImmediate(round).unref();
  const putting = driver.put("a/b", slowLines(20), { ifVersion: null });
  expect(await driver.get("a/b")).toBeUndefined();
  await putting;
  expect(rounds).toBeGreaterThan(4);
  expect((await driver.get("a/b"))?.value.split("\n")).toHaveLength(21);
});

it("refuses the slower of two writers that both expect no value", async () => {
  const driver = createMemoryDriver();
  const slow = driver.put("a/b", slowLines(10), { ifVersion: null });
  await driver.put("a/b", "first\n", { ifVersion: null });
  await expect(slow).rejects.toMatchObject({ code: "Conflict" });
  expect((await driver.get("a/b"))?.value).toBe("first\n");
});
