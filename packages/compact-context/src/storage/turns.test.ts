import { expect, it } from "vitest";
import { createTurns } from "./turns.ts";

/** Works for so long, as the clock of the test says. */
function createWork() {
  let now = 0;
  const turn = createTurns(() => now);
  const log: string[] = [];
  const work = async (name: string, ms: number): Promise<void> => {
    await turn();
    now += ms;
    log.push(name);
  };
  return { work, log };
}

it("does not wait within a slice of time", async () => {
  const { work, log } = createWork();
  setTimeout(() => log.push("timer"), 0);
  await Promise.all(["a", "b", "c"].map((name) => work(name, 1)));
  expect(log).toEqual(["a", "b", "c"]);
});

it("lets timers run between slices, and keeps the order of those that wait", async () => {
  const { work, log } = createWork();
  const names = Array.from({ length: 12 }, (_, index) => String(index));
  const ticks = setInterval(() => {
    if (log.at(-1) !== "tick") log.push("tick");
  }, 1);
  await Promise.all(names.map((name) => work(name, 5)));
  clearInterval(ticks);
  expect(log.filter((one) => one !== "tick")).toEqual(names);
  const runs = log.join(" ").split("tick");
  // Two steps of 5 ms fill a slice of 8 ms.
  expect(Math.max(...runs.map((run) => run.trim().split(" ").length))).toBeLessThanOrEqual(2);
});

it("forgets a slice that is over", async () => {
  const { work, log } = createWork();
  await work("a", 100);
  await new Promise((done) => setTimeout(done, 20));
  await work("b", 1);
  expect(log).toEqual(["a", "b"]);
});
