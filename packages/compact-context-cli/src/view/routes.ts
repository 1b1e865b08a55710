import type { SessionRecord } from "./session-record.ts";
import {
  type CompactionView,
  type ExpandedView,
  type MessagePage,
  type MessageView,
  MOST_MESSAGES,
  type SearchView,
  type SessionList,
  type SessionView,
  VIEW_VERSION,
} from "./session-view.ts";
import type { ViewStore } from "./view-store.ts";

type Answer = SessionList | SessionView | MessagePage | CompactionView | SearchView | ExpandedView;

/** What a path under `/api/` gives; undefined where there is nothing. */
export async function readRoute(url: URL, store: ViewStore): Promise<Answer | undefined> {
  const [, , kind, id, part, place, ...rest] = url.pathname.split("/");
  if (rest.length > 0) return undefined;
  const ask = url.searchParams;
  if (kind === "search" && id === undefined) return search(ask, store);
  if (kind === "expand" && id === undefined) return expand(ask, store);
  if (kind !== "sessions") return undefined;
  if (id === undefined) return store.list();
  const record = store.get(decoded(id));
  if (record === undefined) return undefined;
  await record.originals.load?.();
  if (part === undefined) return record.view(placesIn(ask));
  if (part === "messages" && place === undefined) return messages(record, ask);
  return part === "compactions" ? compaction(record, wholeNumber(place)) : undefined;
}

/** Once, and only where it is well-formed: what is encoded twice names nothing. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

function wholeNumber(text: string | null | undefined): number | undefined {
  return text !== null && text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function placesIn(ask: URLSearchParams): SessionView["from"] {
  const place = (name: string): number => wholeNumber(ask.get(name)) ?? 0;
  return { steps: place("steps"), compactions: place("compactions"), spans: place("spans") };
}

function messages(record: SessionRecord, ask: URLSearchParams): MessagePage {
  const total = record.originals.count();
  const from = Math.min(wholeNumber(ask.get("from")) ?? 0, total);
  const to = Math.min(wholeNumber(ask.get("to")) ?? total, total, from + MOST_MESSAGES);
  const page: MessageView[] = [];
  for (let index = from; index < to; index += 1) {
    const message = record.originals.message(index);
    if (message !== undefined) page.push(message);
  }
  return { version: VIEW_VERSION, session: record.id, from, total, messages: page };
}

async function compaction(
  record: SessionRecord,
  place: number | undefined,
): Promise<CompactionView | undefined> {
  const head = place === undefined ? undefined : record.compactions[place];
  if (head === undefined) return undefined;
  return { version: VIEW_VERSION, session: record.id, ...head, ...(await record.originals.open(head)) };
}

const MOST_HITS = 50;
const LONGEST_QUERY = 1000;

async function search(ask: URLSearchParams, store: ViewStore): Promise<SearchView> {
  const query = (ask.get("q") ?? "").slice(0, LONGEST_QUERY);
  const session = ask.get("session");
  const records = session === null ? store.searchable() : [store.get(session)];
  const found: Awaited<ReturnType<SessionRecord["originals"]["search"]>>[] = [];
  for (const record of records) {
    if (record === undefined || query.trim() === "") continue;
    found.push(await record.originals.search(query, MOST_HITS));
  }
  return {
    version: VIEW_VERSION,
    query,
    hits: found.flatMap(({ hits }) => hits).slice(0, MOST_HITS),
    problems: found.reduce((sum, { problems }) => sum + problems, 0),
  };
}

async function expand(ask: URLSearchParams, store: ViewStore): Promise<ExpandedView | undefined> {
  const record = store.get(ask.get("session") ?? "");
  const expanded = await record?.originals.expand({
    archiveId: ask.get("id") ?? undefined,
    message: wholeNumber(ask.get("message")),
    offset: wholeNumber(ask.get("offset")) ?? 0,
  });
  if (record === undefined || expanded === undefined) return undefined;
  return { version: VIEW_VERSION, session: record.id, ...expanded };
}
