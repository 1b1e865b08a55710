import type {
  CompactionView,
  ExpandedView,
  MessagePage,
  Refusal,
  SearchView,
  SessionList,
  SessionView,
} from "../session-view.ts";

/** A message by its place in the session, or by its id in the archive. */
export type Wanted = { readonly message: number } | { readonly archiveId: string };

async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await fetch(path, { signal });
  if (response.ok) return (await response.json()) as T;
  const refusal = (await response.json().catch(() => undefined)) as Refusal | undefined;
  throw new Error(refusal?.error ?? `the server answered with status ${response.status}`);
}

const place = (session: string): string => `/api/sessions/${encodeURIComponent(session)}`;

export const api = {
  sessions: (): Promise<SessionList> => get("/api/sessions"),
  /** From those places on. */
  session: (id: string, { steps, compactions, spans }: SessionView["from"]): Promise<SessionView> =>
    get(`${place(id)}?steps=${steps}&compactions=${compactions}&spans=${spans}`),
  messages: (id: string, from: number, to: number): Promise<MessagePage> =>
    get(`${place(id)}/messages?from=${from}&to=${to}`),
  compaction: (id: string, index: number): Promise<CompactionView> =>
    get(`${place(id)}/compactions/${index}`),
  search: (query: string, session: string | undefined, signal: AbortSignal): Promise<SearchView> =>
    get(
      `/api/search?${new URLSearchParams(session === undefined ? { q: query } : { q: query, session })}`,
      signal,
    ),
  expand(session: string, wanted: Wanted, offset: number): Promise<ExpandedView> {
    const which: Record<string, string> =
      "message" in wanted ? { message: `${wanted.message}` } : { id: wanted.archiveId };
    return get(`/api/expand?${new URLSearchParams({ session, ...which, offset: `${offset}` })}`);
  },
};
