import { type ChildProcess, spawn } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { machine } from "../../storage/fs/temps.ts";
import { CLAIM_LEASE_MS, type Claim, takeClaim } from "./write-file.ts";

let folder = "";
let file = "";
let other: ChildProcess;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "compact-claim-"));
  file = join(folder, "agent.lock");
  other = spawn(process.execPath, ["-e", "setInterval(() => undefined, 1000)"], { stdio: "ignore" });
});
afterEach(() => {
  other.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

async function taken(fromItself = false): Promise<Claim> {
  const result = await takeClaim(file, { fromItself });
  if (!("claim" in result)) throw new Error(`process ${result.owner.pid} has it`);
  return result.claim;
}

/** Leaves a claim file as a process does. */
function left(by: { pid: number | undefined; machine?: string; started?: string }): void {
  writeFileSync(file, `${JSON.stringify({ machine: machine(), started: startOf(by.pid), ...by })}\n`);
}

function startOf(pid: number | undefined): string {
  const path = `/proc/${pid}/stat`;
  return existsSync(path) ? (readFileSync(path, "utf8").split(") ").at(-1)?.split(" ")[19] ?? "") : "";
}

describe("a claim", () => {
  it("is one owner's; who gives it back lets the next one in, and leaves nothing", async () => {
    const claim = await taken();
    await expect(taken()).rejects.toThrow(`process ${process.pid} has it`);
    expect(await claim.renew()).toBe(true);
    await claim.release();
    expect(readdirSync(folder)).toEqual([]);
    await (await taken()).release();
  });

  it("of a process that runs is respected, and taken over once that has ended", async () => {
    left({ pid: other.pid });
    await expect(taken()).rejects.toThrow(`process ${other.pid} has it`);
    await expect(taken(true)).rejects.toThrow(`process ${other.pid} has it`);
    const ended = new Promise((resolve) => other.once("exit", resolve));
    other.kill("SIGKILL");
    await ended;
    expect(await (await taken()).renew()).toBe(true);
  });

  it("is not waited for without end while a process that takes it over hangs", async () => {
    left({ pid: 2 ** 30 });
    writeFileSync(
      `${file}.over`,
      `${JSON.stringify({ machine: machine(), started: startOf(other.pid), pid: other.pid })}\n`,
    );
    await expect(taken()).rejects.toThrow(`process ${other.pid} has it`);
  });

  it.skipIf(!existsSync("/proc/self/stat"))(
    "of an earlier process of the same number is taken over",
    async () => {
      left({ pid: other.pid, started: "1" });
      await taken();
    },
  );

  it("passes within a process where that is asked for, and the earlier owner learns of it", async () => {
    const first = await taken();
    const second = await taken(true);
    expect([await first.renew(), await second.renew()]).toEqual([false, true]);
    await first.release();
    expect(await second.renew()).toBe(true);
  });

  it("of another machine is respected for a lease after its last sign", async () => {
    left({ pid: 1, machine: "elsewhere" });
    const silentFor = (ms: number): void => utimesSync(file, new Date(), new Date(Date.now() - ms));
    silentFor(CLAIM_LEASE_MS - 10_000);
    await expect(taken(true)).rejects.toThrow("process 1 has it");
    silentFor(CLAIM_LEASE_MS + 10_000);
    await taken();
  });

  it("is shown to be alive by its file's time", async () => {
    const claim = await taken();
    utimesSync(file, new Date(0), new Date(0));
    await claim.renew();
    expect(await takeClaim(file, { fromItself: false })).toEqual({
      owner: { pid: process.pid, onThisMachine: true },
    });
    expect(Date.now() - statSync(file).mtimeMs).toBeLessThan(10_000);
  });

  it.each(["rubbish", "", "null", "{}"])("that says %j is nobody's", async (text) => {
    writeFileSync(file, text);
    await taken();
  });

  it("whose owner has ended is got by one of many", async () => {
    for (let round = 0; round < 20; round += 1) {
      left({ pid: 4_194_304 + 7 });
      const tries = await Promise.all(
        Array.from({ length: 8 }, () => takeClaim(file, { fromItself: false })),
      );
      const claims = tries.flatMap((result) => ("claim" in result ? [result.claim] : []));
      expect(await Promise.all(claims.map((claim) => claim.renew()))).toEqual([true]);
      for (const claim of claims) await claim.release();
      expect(readdirSync(folder)).toEqual([]);
    }
  });
});
