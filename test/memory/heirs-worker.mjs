// Takes a claim again and again until the given time, each time like a process that dies with it.
// Usage: node heirs-worker.mjs CLAIM UNTIL
import { rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { takeClaim } from "../../packages/compact-context/dist/memory/files/write-file.js";
import { machine } from "../../packages/compact-context/dist/storage/fs/temps.js";

const [path, until] = process.argv.slice(2);
const inside = `${path}.inside`;
const said = { taken: 0, together: 0, lost: 0 };
while (Date.now() < Number(until) && said.together === 0) {
  const result = await takeClaim(path, { fromItself: false });
  await sleep(1);
  if (!("claim" in result)) continue;
  said.taken += 1;
  try {
    writeFileSync(inside, "", { flag: "wx" });
    await sleep(2);
    rmSync(inside);
  } catch {
    said.together += 1;
  }
  if (!(await result.claim.renew())) said.lost += 1;
  else writeFileSync(path, JSON.stringify({ pid: 4_194_311, machine: machine(), id: Math.random() }));
}
process.stdout.write(JSON.stringify(said));
