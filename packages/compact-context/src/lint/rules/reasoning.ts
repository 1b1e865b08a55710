import { FORMATS } from "../../codecs/formats.ts";
import type { Cell } from "../cells.ts";
import { badCells, type Rule, typeOf } from "../rule.ts";

/** Reasoning that a provider ties to what came before it. */
export const REASONING_RULES: readonly Rule[] = [
  {
    id: "reasoning/edited-prefix",
    formats: FORMATS,
    severity: "error",
    explanation:
      "Bound reasoning stands behind an entry that differs from what the provider saw (with `thinkingBound`).",
    link: 'Claude: "Preserved thinking", prefix checks; OpenAI: "Keep the prefix unchanged"',
    mend: "All bound reasoning behind the first change is dropped.",
    check: (list, { thinkingBound, editedAt }) =>
      thinkingBound === true && editedAt !== undefined
        ? badCells(list, (cell, entry) => entry.position > editedAt && isBound(cell))
        : [],
  },
];

/** True for reasoning that carries a seal of its provider; a compaction may stand behind anything. */
export function isBound({ value, parts }: Cell): boolean {
  if (typeOf(value).includes("compaction")) return false;
  return parts.some((part) => part.type === "reasoning" && part.signed === true);
}
