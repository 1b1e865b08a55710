// Changes a channel's memory until it is killed or done; says on standard output what was acknowledged.
// Usage: node worker.mjs CHANNEL NAME FIRST ROUNDS
import { writeSync } from "node:fs";
import { createMemoryWriter } from "../../packages/compact-context/dist/memory/changes/writer.js";

const [channelDir, name, first, rounds] = process.argv.slice(2);
const writer = createMemoryWriter({ channelDir });
const say = (what) => writeSync(1, `${JSON.stringify(what)}\n`);
const note = { author: "consolidation", reason: `worker ${name}`, sources: [name] };

/** Adds one to a number that every worker counts up, on what the file says now. */
async function countUp() {
  for (;;) {
    const { text, version } = await writer.read("SESSION.md");
    const count = Number(/count (\d+)/.exec(text)?.[1] ?? 0) + 1;
    const replaced = `# Current State\n\n- count ${count}\n`;
    const operation = { op: "replaceFile", text: replaced, ifVersion: version };
    const { done } = await writer.apply([operation], { ...note, author: "session-update" });
    if (done.length > 0) return count;
  }
}

say({ ready: true });
for (let n = Number(first); n < Number(first) + Number(rounds); n++) {
  const text = `Worker ${name} notes fact number ${n} of its own.`;
  const { done } = await writer.apply([{ op: "add", section: "Facts", text }], note);
  const id = done[0]?.id;
  say({ added: n, id });
  if (n % 3 === 0) {
    await writer.apply([{ op: "invalidate", target: id, why: "every third" }], note);
    say({ invalidated: n });
  }
  say({ count: await countUp() });
}
say({ ended: true });
