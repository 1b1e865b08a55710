import { batch, signal } from "@preact/signals";
import {
  type CompactionView,
  type ExpandedView,
  type LiveNotice,
  MAX_MESSAGES,
  type MessagePage,
  type MessageView,
  type Refusal,
  type SearchView,
  type SessionHead,
  type SessionList,
  type SessionView,
  VIEW_VERSION,
} from "../session-view.ts";
import { errorText, sentence } from "./text.ts";

/** A message by its index in the session, or by its archive id. */
export type MessageRef = { readonly message: number } | { readonly archiveId: string };

async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await fetch(path, { signal });
  if (response.ok) return (await response.json()) as T;
  const refusal = (await response.json().catch(() => undefined)) as Refusal | undefined;
  throw new Error(refusal?.error ?? `the server responded with status ${response.status}`);
}

const sessionPath = (session: string): string => `/api/sessions/${encodeURIComponent(session)}`;

/** Searches one session, or all of them. */
export function search(query: string, session: string | undefined, signal: AbortSignal): Promise<SearchView> {
  const asked = new URLSearchParams(session === undefined ? { q: query } : { q: query, session });
  return get(`/api/search?${asked}`, signal);
}

/** A chunk of a message's text. */
export function expand(session: string, ref: MessageRef, offset: number): Promise<ExpandedView> {
  const message: Record<string, string> =
    "message" in ref ? { message: `${ref.message}` } : { id: ref.archiveId };
  return get(`/api/expand?${new URLSearchParams({ session, ...message, offset: `${offset}` })}`);
}

/** Appends new data to a session; overlapping items are replaced. */
export function mergeSession(known: SessionView | undefined, more: SessionView): SessionView {
  if (known === undefined || known.id !== more.id) return more;
  return {
    ...more,
    from: known.from,
    steps: mergeList(known.steps, more.steps, more.from.steps),
    compactions: mergeList(known.compactions, more.compactions, more.from.compactions),
    spans: mergeList(known.spans, more.spans, more.from.spans),
  };
}

function mergeList<T>(known: readonly T[], more: readonly T[], from: number): readonly T[] {
  return more.length === 0 && from >= known.length ? known : [...known.slice(0, from), ...more];
}

/** The offsets of the next request; the newest step and compaction may have changed and are requested again. */
export function nextOffsets(known: SessionView | undefined): SessionView["from"] {
  const { steps = [], compactions = [], spans = [] } = known ?? {};
  return {
    steps: Math.max(0, steps.length - 1),
    compactions: Math.max(0, compactions.length - 1),
    spans: spans.length,
  };
}

/** True for an incomplete session, unless the last response added nothing. */
export function hasMore(known: SessionView | undefined, session: SessionView): boolean {
  const { counts, steps, compactions, spans } = session;
  const isIncomplete =
    steps.length < counts.steps || compactions.length < counts.compactions || spans.length < counts.spans;
  return isIncomplete && (known === undefined || lengthOf(session) > lengthOf(known));
}

function lengthOf({ steps, compactions, spans }: SessionView): number {
  return steps.length + compactions.length + spans.length;
}

/** Changes whenever requested messages or compactions arrive. */
export const revision = signal(0);
/** Why a request failed. */
export const fetchError = signal<string | undefined>(undefined);

/** What was fetched of one session. */
interface Cache {
  readonly id: string;
  readonly messages: (MessageView | undefined)[];
  readonly compactions: Map<number, CompactionView>;
  /** Paths of the requests that are pending or have failed. */
  readonly requested: Set<string>;
}

const emptyCache = (id: string): Cache => ({
  id,
  messages: [],
  compactions: new Map(),
  requested: new Set(),
});
let cache = emptyCache("");

/**
 * Requests a path below the session unless that is pending. A failed request is not repeated: the page would retry
 * without end.
 */
function request<T>(path: string, store: (found: T) => void): void {
  const { id, requested } = cache;
  if (requested.has(path)) return;
  requested.add(path);
  get<T>(`${sessionPath(id)}/${path}`).then(
    (found) => {
      if (cache.id !== id) return;
      requested.delete(path);
      store(found);
      revision.value += 1;
    },
    (error: unknown) => {
      if (cache.id === id) fetchError.value = errorText(error);
    },
  );
}

/** Messages and compactions of the selected session, fetched on first use; `undefined` while they are loading. */
export const originals = {
  /** A live session's missing message is requested again at the next call. */
  message(index: number): MessageView | undefined {
    const { messages } = cache;
    const from = Math.floor(index / MAX_MESSAGES) * MAX_MESSAGES;
    if (messages[index] === undefined)
      request<MessagePage>(`messages?from=${from}&to=${from + MAX_MESSAGES}`, (page) => {
        for (const message of page.messages) messages[message.message] = message;
      });
    return messages[index];
  },
  compaction(index: number): CompactionView | undefined {
    const { compactions } = cache;
    if (!compactions.has(index))
      request<CompactionView>(`compactions/${index}`, (found) => compactions.set(index, found));
    return compactions.get(index);
  },
};

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
function parseHash(hash: string) {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  return {
    session: params.get("session"),
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
  const { steps, compactions, spans } = nextOffsets(known);
  const query = `steps=${steps}&compactions=${compactions}&spans=${spans}`;
  const more = await get<SessionView>(`${sessionPath(id)}?${query}`);
  if (id !== selected) return true;
  if (cache.id !== id) {
    cache = emptyCache(id);
    fetchError.value = undefined;
  }
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
  const list = await get<SessionList>("/api/sessions");
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
  source.onmessage = ({ data }) => onNotice(JSON.parse(String(data)) as LiveNotice);
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
