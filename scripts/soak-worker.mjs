// Runs blocks of histories for scripts/soak.mjs, at the lowest priority there is.
import { constants, setPriority } from "node:os";
import { faultsOfRepair } from "../test/support/dist/broken-lists.js";
import { SIZES, soakHistory } from "../test/support/dist/soak.js";

setPriority(constants.priority.PRIORITY_LOW);

/** The histories of some seeds in one format: what was done, and everything that was broken. */
async function runFormat(format, { seed, histories }, violations) {
  const row = {
    format,
    histories: 0,
    entries: 0,
    compactions: 0,
    untouched: 0,
    violations: 0,
    managers: 0,
    bound: 0,
    errors: {},
    sizes: SIZES.map(() => 0),
    largest: 0,
    seconds: 0,
  };
  const begun = process.cpuUsage();
  for (let next = seed; next < seed + histories; next += 1) {
    const { history, compactions, untouched, refusals, violations: broken } = await soakHistory(format, next);
    const entries = history.list.length;
    row.histories += 1;
    row.entries += entries;
    row.compactions += compactions;
    row.untouched += untouched;
    row.managers += history.drive === "manager" ? 1 : 0;
    row.bound += history.model === undefined ? 0 : 1;
    row.sizes[SIZES.findIndex((most) => entries <= most)] += 1;
    row.largest = Math.max(row.largest, entries);
    for (const code of refusals) row.errors[code] = (row.errors[code] ?? 0) + 1;
    row.violations += broken.length;
    for (const violation of broken.slice(0, 5)) violations.push({ ...violation, drive: history.drive });
  }
  const { user, system } = process.cpuUsage(begun);
  row.seconds = (user + system) / 1e6;
  return row;
}

/** Broken lists of some seeds in one format, mended: what `repair` left or did wrong. */
function runBroken(format, { seed, histories }, violations) {
  const begun = process.cpuUsage();
  const before = violations.length;
  for (let next = seed; next < seed + histories; next += 1)
    violations.push(...faultsOfRepair(format, next).map((fault) => ({ format, seed: next, fault })));
  const { user, system } = process.cpuUsage(begun);
  return { format, histories, violations: violations.length - before, seconds: (user + system) / 1e6 };
}

process.on("message", async ({ formats, broken, ...block }) => {
  const violations = [];
  const rows = [];
  for (const format of formats) rows.push(await (broken ? runBroken : runFormat)(format, block, violations));
  process.send({ ...block, rows, violations });
});
process.send("ready");
