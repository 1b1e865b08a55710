import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { hasEnded, machine } from "./temps.ts";

it("knows of processes here whether they have ended, and of others nothing", async () => {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
  const pid = child.pid ?? 0;
  expect(hasEnded(machine(), pid)).toBe(false);
  expect(hasEnded("elsewhere", pid)).toBe(false);
  child.kill("SIGKILL");
  await new Promise((resolve) => child.once("exit", resolve));
  expect(hasEnded(machine(), pid)).toBe(true);
});

it.skipIf(process.platform !== "linux")(
  "takes one for ended whose parent does not ask for its end",
  async () => {
    // The shell starts a process and becomes another that never waits for it; only then does the first end.
    const parent = spawn("sh", ["-c", "exec 3<&0; sh -c 'echo $$; read line <&3' & exec sleep 60"]);
    const pid = await new Promise<number>((resolve) => {
      parent.stdout.once("data", (text: Buffer) => resolve(Number(text.toString())));
    });
    try {
      await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, "utf8")).toBe("sleep\n");
      parent.stdin.end("\n");
      await expect.poll(() => hasEnded(machine(), pid)).toBe(true);
      expect(() => process.kill(pid, 0)).not.toThrow();
    } finally {
      parent.kill("SIGKILL");
    }
  },
);
