import type { PlannedAction } from "compact-context/internal/core/plan";
import type { Fate } from "./session-view.ts";

const FATES: ReadonlyMap<string | undefined, Fate> = new Map<PlannedAction, Fate>([
  ["keep", "kept"],
  ["clear", "cleared"],
  ["elide", "cut"],
  ["summarize", "summarized"],
]);

/** What the plan's word for it is called on the page; `unknown` for a word that is none of a plan. */
export function fateOf({ action }: { readonly action: string | undefined }): Fate {
  return FATES.get(action) ?? "unknown";
}
