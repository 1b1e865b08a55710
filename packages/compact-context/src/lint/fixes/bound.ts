import { type Change, removeCells, type Workbench } from "../edit.ts";
import { isBound } from "../rules/reasoning.ts";

/** Drops bound reasoning in and behind the entry at `from`. */
export function dropBound(bench: Workbench, from: number): Change | undefined {
  const behind = bench.list.entries.filter((entry) => entry.position >= from);
  return removeCells(
    bench,
    behind.flatMap((entry) =>
      entry.cells.filter(isBound).map((cell) => {
        const explanation = "reasoning behind an edited prefix";
        return { entry, cell, rule: "reasoning/edited-prefix", explanation };
      }),
    ),
  );
}
