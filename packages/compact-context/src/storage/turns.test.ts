import { expect, it } from "vitest";
import { createTurns } from "./guard.ts";

it("lets the event loop run between two steps, and keeps their order", async () => {
  const { next } = createTurns(() => 0);
  const log: string[] = [];
  let round = 0;
  let over = false;
  const count = (): void => {
    round += 1;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  const step = async (name: string): Promise<void> => {
    await next();
    // What follows after many promises still belongs to the step.
    for (let hop = 0; hop < 100; hop += 1) await undefined;
    log.push(`${name} ${round}`);
  };
  await Promise.all(["a", "b", "c", "d"].map(step));
  over = true;
  expect(log.map((one) => one[0])).toEqual(["a", "b", "c", "d"]);
  expect(new Set(log.map((one) => one.slice(2))).size).toBe(4);
});

it("does not wait where nobody else is at work", async () => {
  const { next } = createTurns(() => 0);
  const log: string[] = [];
  for (const name of ["a", "b"]) {
    setImmediate(() => log.push("round"));
    await next();
    log.push(name);
    await new Promise((done) => setTimeout(done, 5));
  }
  expect(log).toEqual(["a", "round", "b", "round"]);
});

it("finishes what has begun before a call that enters", async () => {
  const { next } = createTurns(() => 0);
  const log: string[] = [];
  const call = async (name: string): Promise<void> => {
    await next(true);
    for (const step of [1, 2, 3]) {
      log.push(name + step);
      await next();
    }
  };
  await Promise.all(["a", "b", "c"].map(call));
  expect(log).toEqual(["a1", "a2", "a3", "b1", "b2", "b3", "c1", "c2", "c3"]);
});

it("pauses where a step has taken its time, and not before", async () => {
  let now = 0;
  const { next, pause } = createTurns(() => now);
  let others = false;
  await next();
  expect(pause()).toBeUndefined();
  await new Promise((done) => setTimeout(done, 5));
  now = 10;
  setImmediate(() => {
    others = true;
  });
  await pause();
  expect(others).toBe(true);
  expect(pause()).toBeUndefined();
});
