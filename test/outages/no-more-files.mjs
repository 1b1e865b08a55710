// Uses up all files that the process may open, hands lists that fit to a manager, frees them, and hands over one more.
import { closeSync, openSync, readdirSync, readlinkSync } from "node:fs";
import { CompactManager } from "compact-context";

const turn = (n) => [
  { role: "user", content: `question ${n} ${"words of the question ".repeat(10)}` },
  { role: "assistant", content: `answer ${n} ${`text ${n} of the answer\n`.repeat(90)}` },
];
const turns = (count) => Array.from({ length: count }, (_, n) => turn(n)).flat();
const warnings = [];
const manager = new CompactManager(
  {
    maxContextTokens: 6000,
    policy: { hardCapBuffer: 200, keepRecentTurns: 2, triggerPct: 0.5 },
    storage: { kind: "fs", root: process.argv[2] },
  },
  { onWarning: (message) => warnings.push(message) },
);
await manager.preflight("warm", turns(7));
// The driver keeps folders open for a moment.
const targetOf = (descriptor) => {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return "";
  }
};
const holdsFolders = () =>
  readdirSync("/proc/self/fd").some((one) => targetOf(one).startsWith(process.argv[2]));
while (holdsFolders()) await new Promise((done) => setTimeout(done, 10));

const held = [];
try {
  for (;;) held.push(openSync("/dev/null"));
} catch {
  // None is left.
}
let passed = 0;
const rejected = [];
for (let n = 0; n < 40; n++) {
  const list = turns(n % 2 === 0 ? 2 : 7);
  try {
    if ((await manager.preflight(`s${n}`, list)).messages === list) passed += 1;
  } catch (error) {
    rejected.push(error.message);
  }
}
for (const file of held) closeSync(file);
const { report } = await manager.preflight("s1", turns(8));
console.log(JSON.stringify({ passed, rejected, warnings: warnings.length, compacted: report.compacted }));
