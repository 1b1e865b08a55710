import { batch, signal } from "@preact/signals";
import {
  type LiveNotice,
  type SessionHead,
  type SessionList,
  type SessionView,
  VIEW_VERSION,
} from "../session-view.ts";
import { api, grown, moreWaits, originals, placesOf, type Wanted } from "./data.ts";
import { reasonOf, sentence } from "./text.ts";

export const TABS = ["window", "compaction", "timeline", "archive"] as const;
export type Tab = (typeof TABS)[number];

/** A message that is shown whole. */
interface Shown {
  readonly session: string;
  readonly wanted: Wanted;
  readonly title: string;
}

/** All that the page shows; a value is replaced, never changed. */
export const sessions = signal<readonly SessionHead[]>([]);
/** Sessions that the server let go. */
export const dropped = signal(0);
export const session = signal<SessionView | undefined>(undefined);
/** The call that is looked at, from 0. */
export const step = signal(0);
export const tab = signal<Tab>("window");
/** The compaction that is opened. */
export const compaction = signal(0);
export const playing = signal(false);
export const connection = signal<"connecting" | "open" | "lost">("connecting");
/** What went wrong last, for a person. */
export const problem = signal<string | undefined>(undefined);
/** False until the server has said which sessions there are. */
export const ready = signal(false);
/** Said to a screen reader. */
export const spoken = signal("");
export const shown = signal<Shown | undefined>(undefined);

/** Moves to a call, inside the session. */
export function goTo(place: number): void {
  const last = (session.value?.steps.length ?? 1) - 1;
  batch(() => {
    step.value = Math.max(0, Math.min(last, place));
    playing.value = false;
  });
}

export function openCompaction(index: number): void {
  const found = session.value?.compactions[index];
  if (found === undefined) return;
  batch(() => {
    compaction.value = index;
    tab.value = "compaction";
    goTo(found.step);
  });
  spoken.value = sentence(found);
}

/** Where one is on the page, as the address keeps it behind `#`; what makes no sense is left out. */
function readPlace(hash: string): {
  readonly session?: string;
  readonly tab?: Tab;
  readonly step?: number;
  readonly compaction?: number;
} {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  return {
    session: given.get("session") ?? undefined,
    tab: TABS.find((each) => each === given.get("tab")),
    step: ordinal(given.get("call")),
    compaction: ordinal(given.get("compaction")),
  };
}

/** Calls and compactions are counted from 1 there, as on the page. */
export function placeText(): string {
  const about = session.value;
  if (about === undefined) return "";
  const parts = new URLSearchParams({ session: about.id, tab: tab.value });
  if (step.value < about.steps.length - 1) parts.set("call", String(step.value + 1));
  if (tab.value === "compaction" && compaction.value > 0)
    parts.set("compaction", String(compaction.value + 1));
  return `#${parts}`;
}

function ordinal(text: string | null): number | undefined {
  const found = Number(text ?? "");
  return Number.isSafeInteger(found) && found > 0 ? found - 1 : undefined;
}

let chosen: string | undefined;
let fetching = false;
let again = false;

function fail(error: unknown): void {
  problem.value = reasonOf(error);
}

/** True where more of it waits. */
async function fetchOnce(id: string): Promise<boolean> {
  const known = session.value?.id === id ? session.value : undefined;
  const view = await api.session(id, placesOf(known));
  if (id !== chosen) return true;
  if (known === undefined) originals.about(id);
  const now = grown(known, view);
  take(known, now);
  return moreWaits(known, now);
}

/** One request at a time, and one more where news came meanwhile. */
async function fetchSession(): Promise<void> {
  again = fetching;
  if (fetching) return;
  fetching = true;
  do {
    again = false;
    const more = chosen !== undefined && (await fetchOnce(chosen).catch(fail));
    again ||= more === true;
  } while (again);
  fetching = false;
}

/** Shows a session that is new or has grown: who looks at its end stays there. */
function take(known: SessionView | undefined, now: SessionView): void {
  const following = known === undefined || step.value >= known.steps.length - 1;
  const newest = now.compactions.at(-1);
  if (known !== undefined && newest !== undefined && now.compactions.length > known.compactions.length)
    spoken.value = sentence(newest);
  batch(() => {
    session.value = now;
    problem.value = undefined;
    if (known === undefined) compaction.value = 0;
    if (following) step.value = Math.max(0, now.steps.length - 1);
  });
}

export async function choose(id: string): Promise<void> {
  if (id === chosen && session.value?.id === id) return;
  chosen = id;
  playing.value = false;
  problem.value = undefined;
  await fetchSession();
}

async function list(): Promise<readonly SessionHead[]> {
  const found: SessionList = await api.sessions();
  batch(() => {
    sessions.value = found.sessions;
    dropped.value = found.dropped;
    ready.value = true;
    connection.value = "open";
  });
  return found.sessions;
}

function news(head: SessionHead): void {
  const known = sessions.value.some(({ id }) => id === head.id);
  sessions.value = known
    ? sessions.value.map((each) => (each.id === head.id ? head : each))
    : [head, ...sessions.value];
  if (chosen === undefined) void choose(head.id);
  else if (chosen === head.id) void fetchSession();
}

function hear(notice: LiveNotice): void {
  if (notice.type === "session") news(notice.session);
  else if (notice.type === "gone") sessions.value = sessions.value.filter(({ id }) => id !== notice.id);
  else if (notice.version !== VIEW_VERSION)
    fail(new Error("The server is of another version. Load this page again."));
  else {
    connection.value = "open";
    // After a break the page may have missed anything.
    if (ready.value) void list().then(fetchSession, fail);
  }
}

/** Fetches what there is, goes to the place in the address, and listens from then on; the browser tries again by itself. */
export async function start(hash: string): Promise<void> {
  const place = readPlace(hash);
  tab.value = place.tab ?? "window";
  const source = new EventSource("/api/events");
  source.onmessage = ({ data }: MessageEvent<string>) => hear(JSON.parse(data) as LiveNotice);
  source.onerror = () => {
    connection.value = "lost";
  };
  try {
    const found = await list();
    const first = found.find(({ id }) => id === place.session) ?? found[0];
    if (first !== undefined) await choose(first.id);
  } catch (error) {
    ready.value = true;
    fail(error);
  }
  const about = session.value;
  if (about === undefined) return;
  batch(() => {
    compaction.value = Math.max(0, Math.min(about.compactions.length - 1, place.compaction ?? 0));
    const opened = place.tab === "compaction" ? about.compactions[compaction.value]?.step : undefined;
    goTo(place.step ?? opened ?? Number.MAX_SAFE_INTEGER);
  });
}
