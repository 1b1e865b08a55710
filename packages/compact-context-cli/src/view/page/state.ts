import { batch, signal } from "@preact/signals";
import {
  type LiveNotice,
  type SessionHead,
  type SessionList,
  type SessionView,
  VIEW_VERSION,
} from "../session-view.ts";
import { api, hasMore, type MessageRef, mergeSession, nextOffsets, originals } from "./data.ts";
import { errorText, sentence } from "./text.ts";

export const TABS = ["window", "compaction", "timeline", "archive"] as const;
export type Tab = (typeof TABS)[number];

/** The message in the dialog. */
interface OpenMessage {
  readonly session: string;
  readonly ref: MessageRef;
  readonly title: string;
}

/** The state of the page; values are replaced, never mutated. */
export const sessions = signal<readonly SessionHead[]>([]);
/** Sessions that the server evicted. */
export const dropped = signal(0);
export const session = signal<SessionView | undefined>(undefined);
/** Index of the selected call. */
export const step = signal(0);
export const tab = signal<Tab>("window");
/** Index of the open compaction. */
export const compaction = signal(0);
export const playing = signal(false);
export const connection = signal<"connecting" | "open" | "lost">("connecting");
/** The message of the last error. */
export const problem = signal<string | undefined>(undefined);
/** False until the list of sessions has arrived. */
export const ready = signal(false);
/** Read out by screen readers. */
export const announcement = signal("");
export const openMessage = signal<OpenMessage | undefined>(undefined);

/** Selects a call; an index out of range is clamped. */
export function goTo(index: number): void {
  const last = (session.value?.steps.length ?? 1) - 1;
  batch(() => {
    step.value = Math.max(0, Math.min(last, index));
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
  announcement.value = sentence(found);
}

/** Parses the location hash; invalid parts are ignored. */
function parseHash(hash: string): {
  readonly session?: string;
  readonly tab?: Tab;
  readonly step?: number;
  readonly compaction?: number;
} {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  return {
    session: params.get("session") ?? undefined,
    tab: TABS.find((each) => each === params.get("tab")),
    step: ordinal(params.get("call")),
    compaction: ordinal(params.get("compaction")),
  };
}

/** The location hash of the current state; calls and compactions count from 1, as on the page. */
export function locationHash(): string {
  const active = session.value;
  if (active === undefined) return "";
  const parts = new URLSearchParams({ session: active.id, tab: tab.value });
  if (step.value < active.steps.length - 1) parts.set("call", String(step.value + 1));
  if (tab.value === "compaction" && compaction.value > 0)
    parts.set("compaction", String(compaction.value + 1));
  return `#${parts}`;
}

function ordinal(text: string | null): number | undefined {
  const found = Number(text ?? "");
  return Number.isSafeInteger(found) && found > 0 ? found - 1 : undefined;
}

/** Id of the selected session. */
let selected: string | undefined;
let isFetching = false;
/** True if the session changed during a request. */
let isStale = false;

function fail(error: unknown): void {
  problem.value = errorText(error);
}

/** True if more of the session, or another one, must be fetched. */
async function fetchOnce(id: string): Promise<boolean> {
  const known = session.value?.id === id ? session.value : undefined;
  const more = await api.session(id, nextOffsets(known));
  if (id !== selected) return true;
  originals.use(id);
  const merged = mergeSession(known, more);
  showSession(known, merged);
  return hasMore(known, merged);
}

/** Fetches until the session is complete; concurrent calls share one request and make it repeat. */
async function fetchSession(): Promise<void> {
  isStale = isFetching;
  if (isFetching) return;
  isFetching = true;
  do {
    isStale = false;
    const more = selected !== undefined && (await fetchOnce(selected).catch(fail));
    isStale ||= more === true;
  } while (isStale);
  isFetching = false;
}

/** Shows a new or extended session; if the last call is selected, the selection follows the end. */
function showSession(known: SessionView | undefined, now: SessionView): void {
  const isAtEnd = known === undefined || step.value >= known.steps.length - 1;
  const newest = now.compactions.at(-1);
  if (known !== undefined && newest !== undefined && now.compactions.length > known.compactions.length)
    announcement.value = sentence(newest);
  batch(() => {
    session.value = now;
    problem.value = undefined;
    if (known === undefined) compaction.value = 0;
    if (isAtEnd) step.value = Math.max(0, now.steps.length - 1);
  });
}

export async function selectSession(id: string): Promise<void> {
  if (id === selected && session.value?.id === id) return;
  selected = id;
  playing.value = false;
  problem.value = undefined;
  await fetchSession();
}

async function fetchSessions(): Promise<readonly SessionHead[]> {
  const list: SessionList = await api.sessions();
  batch(() => {
    sessions.value = list.sessions;
    dropped.value = list.dropped;
    ready.value = true;
    connection.value = "open";
  });
  return list.sessions;
}

function updateSession(head: SessionHead): void {
  const isKnown = sessions.value.some(({ id }) => id === head.id);
  sessions.value = isKnown
    ? sessions.value.map((each) => (each.id === head.id ? head : each))
    : [head, ...sessions.value];
  if (selected === undefined) void selectSession(head.id);
  else if (selected === head.id) void fetchSession();
}

function onNotice(notice: LiveNotice): void {
  if (notice.type === "session") updateSession(notice.session);
  else if (notice.type === "gone") sessions.value = sessions.value.filter(({ id }) => id !== notice.id);
  else if (notice.version !== VIEW_VERSION)
    fail(new Error("The server has another version. Reload this page."));
  else {
    connection.value = "open";
    // Notices may have been missed while disconnected.
    if (ready.value) void fetchSessions().then(fetchSession, fail);
  }
}

/** Fetches the sessions, restores the state of the location hash, and subscribes to changes. */
export async function start(hash: string): Promise<void> {
  const target = parseHash(hash);
  tab.value = target.tab ?? "window";
  // The browser reconnects by itself.
  const source = new EventSource("/api/events");
  source.onmessage = ({ data }: MessageEvent<string>) => onNotice(JSON.parse(data) as LiveNotice);
  source.onerror = () => {
    connection.value = "lost";
  };
  try {
    const found = await fetchSessions();
    const first = found.find(({ id }) => id === target.session) ?? found[0];
    if (first !== undefined) await selectSession(first.id);
  } catch (error) {
    ready.value = true;
    fail(error);
  }
  const active = session.value;
  if (active === undefined) return;
  batch(() => {
    compaction.value = Math.max(0, Math.min(active.compactions.length - 1, target.compaction ?? 0));
    const opened = target.tab === "compaction" ? active.compactions[compaction.value]?.step : undefined;
    goTo(target.step ?? opened ?? Number.MAX_SAFE_INTEGER);
  });
}
