import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { rulesIn } from "../../packages/compact-context/src/summarizers/extractive/statements.ts";

/** A message of a person, and whether it states something that binds the work beyond its step. Four sets, each by an author who had not seen the code. */
interface Row {
  readonly set: string;
  readonly language: string;
  readonly rule: boolean;
  readonly text: string;
}

const rows = readFileSync(new URL("messages.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Row);

/** Most of those that state no rule have the words of one: descriptions, wishes for this step, reports, quotes. */
const FLOORS: Record<string, readonly [precision: number, recall: number]> = {
  a: [0.92, 0.92],
  b: [0.8, 0.8],
  c: [0.88, 0.92],
  d: [0.88, 0.92],
};

describe.each(Object.entries(FLOORS))("SUM-2 rules in messages, set %s", (set, [precision, recall]) => {
  it("are told from what is none", () => {
    const own = rows.filter((row) => row.set === set);
    const read = own.filter(({ text }) => rulesIn(text).length > 0);
    const right = read.filter(({ rule }) => rule).length;
    expect(right / read.length, "precision").toBeGreaterThanOrEqual(precision);
    expect(right / own.filter(({ rule }) => rule).length, "recall").toBeGreaterThanOrEqual(recall);
  });
});
