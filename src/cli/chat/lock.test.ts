import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { machine } from "../../storage/drivers/fs-temps.ts";
import { lockChannel } from "./lock.ts";

let file = "";
beforeEach(() => {
  file = join(mkdtempSync(join(tmpdir(), "compact-lock-")), "chat.lock");
});
afterEach(() => rmSync(join(file, ".."), { recursive: true, force: true }));

it("one at a time; who leaves lets the next one in", async () => {
  const unlock = await lockChannel(file, "here");
  await expect(lockChannel(file, "here")).rejects.toMatchObject({ code: "Conflict" });
  await unlock();
  expect(existsSync(file)).toBe(false);
  await (await lockChannel(file, "here"))();
});

it.each([JSON.stringify({ pid: 4_194_304 + 7, machine: machine() }), "rubbish", ""])(
  "what a dead process left (%j) is taken over",
  async (left) => {
    writeFileSync(file, left);
    await (await lockChannel(file, "here"))();
  },
);

it("a process of another machine is taken to be alive", async () => {
  writeFileSync(file, JSON.stringify({ pid: 1, machine: "elsewhere" }));
  await expect(lockChannel(file, "here")).rejects.toThrow("process 1");
});

it("of many that find a dead one, one gets in", async () => {
  writeFileSync(file, "rubbish");
  const tries = await Promise.allSettled([1, 2, 3, 4].map(() => lockChannel(file, "here")));
  expect(tries.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
});
