// How far counting and compacting are from what cannot be avoided: reading every character of the list once. And what a
// manager holds in memory while a session goes on.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  CompactManager,
  compact,
  countTokens,
  planCompaction,
} from "../packages/compact-context/dist/index.js";
import { createFsDriver } from "../packages/compact-context/dist/storage/fs/driver.js";
import { createMemoryDriver } from "../packages/compact-context/dist/storage/memory/driver.js";
import { createCurve, curvePicture, curveTable } from "./curve.mjs";
import { digits, number, table } from "./markdown.mjs";
import { heldMegabytes, processorTimeOf, spread } from "./measure.mjs";
import { session, turns } from "./sessions.mjs";

const SIZES = [10_000, 40_000, 160_000, 640_000];
const ROUNDS = 5;
const TURNS = [200, 400, 800, 1_200, 2_400];
const WINDOW = 64_000;
/** Rounds before the first that counts. */
const WARM = 10;
/** As it comes from a wire: no text was put together from pieces or looked at before. */
const fresh = (size, seed) => JSON.parse(JSON.stringify(session(size, seed)));
const quiet = { onWarning: () => undefined };

/** Every character once, in an order that memory likes; the sum keeps it from being left out. */
function readOnce(list) {
  let sum = 0;
  for (const { content, tool_calls: calls } of list) {
    const text = calls === undefined ? content : `${content}${calls[0].function.arguments}`;
    for (let index = 0; index < text.length; index += 1) sum = (sum + text.charCodeAt(index)) | 0;
  }
  return sum;
}

const STEPS = [
  { name: "reading once", prepare: (list) => () => readOnce(list) },
  { name: "JSON.stringify", prepare: (list) => () => JSON.stringify(list).length },
  { name: "countTokens", prepare: (list) => () => countTokens(list) },
  { name: "planCompaction", prepare: (list, aim) => () => planCompaction(list, { maxTokens: aim }) },
  { name: "compact()", prepare: (list, aim) => () => compact(list, { maxTokens: aim }) },
  {
    name: "manager, redacted and archived",
    prepare: async (list, aim) => {
      const manager = new CompactManager(
        { maxContextTokens: aim * 8 },
        { storage: createMemoryDriver(), ...quiet },
      );
      await manager.preflight("session", list);
      return () => manager.manualCompact("session", list, { targetTokens: aim });
    },
  },
];

async function times(sizes, rounds) {
  const curve = createCurve({ by: "tokens", unit: "ms", more: false, sizes });
  for (const { prepare } of STEPS)
    for (let round = 0; round < (rounds > 1 ? WARM : 1); round += 1)
      await (await prepare(fresh(sizes[0], 100 + round), sizes[0] / 4))();
  for (const [index, size] of sizes.entries()) {
    for (const { name, prepare } of STEPS) {
      const samples = [];
      for (let round = 0; round < rounds; round += 1) {
        const work = await prepare(fresh(size, 10 + round), Math.floor(size / 4));
        globalThis.gc();
        samples.push((await processorTimeOf(work)).ms);
      }
      curve.put(name, index, spread(samples));
    }
  }
  return curve.curve();
}

/** Megabytes held after so many turns of a session on disk that goes on with the list it was given back. */
async function held(at) {
  const root = mkdtempSync(join(tmpdir(), "compact-bench-"));
  const manager = new CompactManager(
    { maxContextTokens: WINDOW },
    { storage: createFsDriver({ root }), ...quiet },
  );
  const found = [];
  let list = [];
  let count = 0;
  for (const [ask, ...rest] of turns(4)) {
    list = [...(await manager.preflight("session", [...list, ask])).messages, ...rest];
    count += 1;
    if (!at.includes(count)) continue;
    await manager.flush();
    found.push({ turns: count, megabytes: heldMegabytes() });
    if (count === at.at(-1)) break;
  }
  rmSync(root, { recursive: true });
  return found;
}

async function run({ quick }) {
  const sizes = quick ? [10_000, 20_000] : SIZES;
  return { times: await times(sizes, quick ? 1 : ROUNDS), held: await held(quick ? [20, 40] : TURNS) };
}

const lastOf = ({ series }, name) => series.find((one) => one.name === name).points.at(-1).median;

export const bench = {
  title: "How far it is from the floor",
  run,
  headline({ times: curve }) {
    const share = (name) => digits(lastOf(curve, name) / lastOf(curve, "reading once"));
    const size = number(curve.sizes.at(-1));
    return `${size} tokens: counting takes ${share("countTokens")} times as long as reading every character once, compact() ${share("compact()")} times`;
  },
  section: ({ times: curve, held: rows }) =>
    [
      `The floor is what no program can leave out: every character of the list is looked at once. The table has what each step takes,
and in brackets how many times that is the floor. All begin with texts that were not seen before, but the manager, which
counted them when they came; it redacts and archives all of them besides.`,
      curveTable(curve),
      "![Time of each step by the size of the session](benchmarks/floor.svg)",
      `What a manager holds, of a window of ${number(WINDOW)} tokens, while a session goes on with the list that it gave back and the archive is on disk:`,
      table(
        ["turns", ...rows.map(({ turns: count }) => number(count))],
        [
          [
            "megabytes, everything that was loaded included",
            ...rows.map(({ megabytes }) => digits(megabytes)),
          ],
        ],
      ),
    ].join("\n\n"),
  pictures: ({ times: curve }) => ({ floor: curvePicture(curve, "From the floor up") }),
};
