// Loaded before each test file in a marked copy (scripts/mutants.mjs): writes down which places the file's tests reach.
import { appendFileSync } from "node:fs";
import { afterAll, expect } from "vitest";

const places = new Set();
const cpuBefore = process.cpuUsage();
globalThis.reached = (place) => places.add(place);

afterAll(() => {
  const { user, system } = process.cpuUsage(cpuBefore);
  const entry = { test: expect.getState().testPath, ms: (user + system) / 1000, places: [...places] };
  appendFileSync(process.env.MUTANTS_REACHED, `${JSON.stringify(entry)}\n`);
});
