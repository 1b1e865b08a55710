import { expect, it } from "vitest";
import { mergeConfig } from "./layer.ts";
import { loadConfig } from "./load.ts";
import { settings, toCamelCase } from "./schema.ts";

const accepted = (work: () => unknown): boolean => {
  try {
    work();
    return true;
  } catch {
    return false;
  }
};

/** `{policy: {trigger_pct: 1}}` for a path and a value. */
const under = (path: readonly string[], value: unknown): object =>
  path.reduceRight<unknown>((inner, step) => ({ [step]: inner }), value) as object;

const numbers = settings
  .filter(({ schema }) => schema.type === "number" || schema.type === "integer")
  .map(({ path }) => path);

it.each(numbers.map((path) => [path.join("."), path] as const))(
  "what a file may say of %s, code may say, and nothing else",
  (_, path) => {
    // A window must be larger than the space kept free in it: a contradiction between two settings.
    const roomy = path[0] === "policy" ? {} : { policy: { hard_cap_buffer: 0 } };
    const roomyInCode = path[0] === "policy" ? {} : { policy: { hardCapBuffer: 0 } };
    for (const value of [-1, 0, 0.5, 1, 1.5, 63, 64]) {
      const file = JSON.stringify({ ...roomy, ...under(path, value) });
      const inFile = accepted(() => loadConfig({ text: file, env: {} }));
      const inCode = accepted(() => mergeConfig({ ...roomyInCode, ...under(path.map(toCamelCase), value) }));
      expect([value, inCode]).toEqual([value, inFile]);
    }
  },
);
