import { userInfo } from "node:os";
import { afterEach, expect, it, vi } from "vitest";
import { processPorts } from "./ports.ts";

afterEach(() => void vi.unstubAllEnvs());

it("an empty HOME is none: the archive goes to no folder below the working one", () => {
  vi.stubEnv("HOME", "");
  vi.stubEnv("USERPROFILE", "");
  expect(processPorts().home).toBe(userInfo().homedir);
});

it("the process's streams are listened to once, however often its ports are made", () => {
  processPorts();
  const listeners = (): number[] =>
    [process.stdout, process.stderr].map((stream) => stream.listenerCount("error"));
  const before = listeners();
  for (let times = 0; times < 20; times += 1) processPorts();
  expect(listeners()).toEqual(before);
});
