import { expect, it } from "vitest";
import { processPorts } from "./ports.ts";

it("the process's streams are listened to once, however often its ports are made", () => {
  processPorts();
  const listeners = (): number[] =>
    [process.stdout, process.stderr].map((stream) => stream.listenerCount("error"));
  const before = listeners();
  for (let times = 0; times < 20; times += 1) processPorts();
  expect(listeners()).toEqual(before);
});
