import { type State, TABS, type Tab } from "./store.ts";

/** Where one is on the page, as the address keeps it behind `#`. */
export interface Place {
  readonly session?: string;
  readonly tab?: Tab;
  readonly step?: number;
  readonly compaction?: number;
}

/** Reads a place; what makes no sense is left out. */
export function readPlace(hash: string): Place {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const session = given.get("session");
  const tab = TABS.find((each) => each === given.get("tab"));
  const step = ordinal(given.get("call"));
  const compaction = ordinal(given.get("compaction"));
  return { session: session ?? undefined, tab, step, compaction };
}

/** Calls and compactions are counted from 1 there, as on the page. */
export function writePlace({ session, tab, step, compaction }: State): string {
  if (session === undefined) return "";
  const parts = new URLSearchParams({ session: session.id, tab });
  if (step < session.steps.length - 1) parts.set("call", String(step + 1));
  if (tab === "compaction" && compaction > 0) parts.set("compaction", String(compaction + 1));
  return `#${parts}`;
}

function ordinal(text: string | null): number | undefined {
  const found = Number(text ?? "");
  return Number.isSafeInteger(found) && found > 0 ? found - 1 : undefined;
}
