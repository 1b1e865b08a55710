// Compacts a growing conversation into an archive on disk until it is killed; says on standard output what is done.
// Usage: node worker.mjs ROOT SESSION FIRST_TURN
import { writeSync } from "node:fs";
import { CompactManager } from "../../packages/compact-context/dist/index.js";

const [root, session, first] = process.argv.slice(2);
const manager = new CompactManager({
  maxContextTokens: 24_000,
  policy: { hardCapBuffer: 200, keepRecentTurns: 2 },
  storage: { kind: "fs", root },
});
const say = (what) => writeSync(1, `${JSON.stringify(what)}\n`);
const turn = (n) => [
  { role: "user", content: `question ${n} ${"words of the question ".repeat(20)}` },
  { role: "assistant", content: `answer ${n} ${`line ${n} of the answer\n`.repeat(600)}` },
];

let list = Array.from({ length: Number(first) }, (_, n) => turn(n)).flat();
for (let n = Number(first); ; n++) {
  list = [...list, ...turn(n)];
  const { report } = await manager.preflight(session, list);
  say({ turn: n });
  if (report.archive === undefined) continue;
  say({ step: report.archive.step, ids: report.archive.ids });
  await manager.flush();
  say({ flushed: report.archive.step });
}
