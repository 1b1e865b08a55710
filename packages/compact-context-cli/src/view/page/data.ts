import { signal } from "@preact/signals";
import {
  type CompactionView,
  type ExpandedView,
  MAX_MESSAGES,
  type MessageOutcome,
  type MessagePage,
  type MessageView,
  type Refusal,
  type SearchView,
  type SessionList,
  type SessionView,
} from "../session-view.ts";
import { errorText } from "./text.ts";

/** A message by its index in the session, or by its archive id. */
export type MessageRef = { readonly message: number } | { readonly archiveId: string };

async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await fetch(path, { signal });
  if (response.ok) return (await response.json()) as T;
  const refusal = (await response.json().catch(() => undefined)) as Refusal | undefined;
  throw new Error(refusal?.error ?? `the server responded with status ${response.status}`);
}

const sessionPath = (session: string): string => `/api/sessions/${encodeURIComponent(session)}`;

export const api = {
  sessions: (): Promise<SessionList> => get("/api/sessions"),
  /** The session from these offsets on. */
  session: (id: string, { steps, compactions, spans }: SessionView["from"]): Promise<SessionView> =>
    get(`${sessionPath(id)}?steps=${steps}&compactions=${compactions}&spans=${spans}`),
  messages: (id: string, from: number, to: number): Promise<MessagePage> =>
    get(`${sessionPath(id)}/messages?from=${from}&to=${to}`),
  compaction: (id: string, index: number): Promise<CompactionView> =>
    get(`${sessionPath(id)}/compactions/${index}`),
  search: (query: string, session: string | undefined, signal: AbortSignal): Promise<SearchView> =>
    get(
      `/api/search?${new URLSearchParams(session === undefined ? { q: query } : { q: query, session })}`,
      signal,
    ),
  expand(session: string, ref: MessageRef, offset: number): Promise<ExpandedView> {
    const message: Record<string, string> =
      "message" in ref ? { message: `${ref.message}` } : { id: ref.archiveId };
    return get(`/api/expand?${new URLSearchParams({ session, ...message, offset: `${offset}` })}`);
  },
};

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

/** One row of the window: a message as it was sent, original or compacted. */
export type ContentRow = Omit<MessageOutcome, "outcome" | "tokensAfter" | "reason"> &
  Partial<Pick<MessageOutcome, "outcome">>;

/** The window at a step. */
export interface WindowContent {
  /** `undefined` for a message that is loading. */
  readonly rows: readonly (ContentRow | undefined)[];
  /** True if the outcome of the last compaction is unknown: the rows are those before it. */
  readonly isUnknown: boolean;
}

/** The last compaction at or before a step. */
export function compactionAt(session: SessionView, step: number): number | undefined {
  return session.compactions.findLast(({ step: at }) => at <= step)?.index;
}

/** The window at a step: what the last compaction left, then the messages since. */
export function windowContent(
  session: SessionView,
  step: number,
  compaction: CompactionView | undefined,
  message: (index: number) => MessageView | undefined,
): WindowContent {
  const end = session.steps[step]?.messages ?? 0;
  const isUnknown = compaction?.messages.some(({ outcome }) => outcome === "unknown") === true;
  const head = compaction === undefined ? [] : compactedRows(compaction, isUnknown);
  const start = compaction === undefined ? 0 : (session.steps[compaction.step]?.messages ?? 0);
  const since = Array.from({ length: Math.max(0, end - start) }, (_, offset) => message(start + offset));
  return { rows: [...head, ...since], isUnknown };
}

const rowsOfCompactions = new WeakMap<CompactionView, ContentRow[]>();

/** The list after a compaction, its summary in place of the first replaced message; else the list before. */
function compactedRows(compaction: CompactionView, isUnknown: boolean): ContentRow[] {
  const known = rowsOfCompactions.get(compaction);
  if (known !== undefined) return known;
  const rows: ContentRow[] = [];
  let hasSummary = isUnknown || compaction.summary.length === 0;
  for (const { tokensAfter, tokens: _, reason: __, ...rest } of compaction.messages) {
    if (rest.outcome !== "summarized") rows.push({ ...rest, tokens: tokensAfter });
    else if (!hasSummary) {
      hasSummary = true;
      rows.push(summaryRow(compaction));
    }
  }
  if (!hasSummary) rows.unshift(summaryRow(compaction));
  rowsOfCompactions.set(compaction, rows);
  return rows;
}

function summaryRow({ index, summary, summaryTokens }: CompactionView): ContentRow {
  const preview = summary
    .slice(0, 12)
    .map(({ text }) => text)
    .join("")
    .slice(0, 240);
  return { summaryOf: index, role: "summary", kind: "summary", tokens: summaryTokens ?? 0, preview };
}

/** How the rows of a window are grouped. */
export type Grouping = "tool" | "file" | "role";

/** The share of one tool, file or role. */
export interface Share {
  readonly name: string;
  readonly messages: number;
  readonly tokens: number;
}

/** The group that a row belongs to. */
export function groupOf({ kind, role, tool, path }: ContentRow, by: Grouping): string {
  if (kind === "summary") return "summary";
  if (by === "role") return role;
  if (by === "file") return path ?? "(no file)";
  return tool ?? (kind === "reasoning" ? "reasoning" : role);
}

/** The shares of a window, the largest first; rows that are still loading are omitted. */
export function sharesOf(rows: Iterable<ContentRow | undefined>, by: Grouping): Share[] {
  const sums = new Map<string, { messages: number; tokens: number }>();
  for (const row of rows) {
    if (row === undefined) continue;
    const name = groupOf(row, by);
    const sum = sums.get(name) ?? { messages: 0, tokens: 0 };
    sums.set(name, { messages: sum.messages + 1, tokens: sum.tokens + row.tokens });
  }
  return [...sums]
    .map(([name, sum]) => ({ name, ...sum }))
    .sort((one, other) => other.tokens - one.tokens || one.name.localeCompare(other.name));
}

/** Changes whenever requested messages or compactions arrive. */
export const revision = signal(0);
/** Why a request failed. */
export const fetchError = signal<string | undefined>(undefined);

let session: string | undefined;
let messages: (MessageView | undefined)[] = [];
let compactions = new Map<number, CompactionView>();
let requested = new Set<string>();

/** Starts a request unless it is pending. A failed one is not repeated: the page would retry without end. */
function request<T>(key: string, fetch: (session: string) => Promise<T>, store: (found: T) => void): void {
  const id = session;
  if (id === undefined || requested.has(key)) return;
  requested.add(key);
  fetch(id).then(
    (found) => {
      if (session !== id) return;
      requested.delete(key);
      store(found);
      revision.value += 1;
    },
    (error: unknown) => {
      if (session === id) fetchError.value = errorText(error);
    },
  );
}

/** Messages and compactions of one session, fetched on first use. */
export const originals = {
  /** Clears the cache for another session. */
  use(id: string): void {
    if (id === session) return;
    session = id;
    messages = [];
    compactions = new Map();
    requested = new Set();
    fetchError.value = undefined;
  },
  /** `undefined` while it is loading. A live session's missing message is requested again at the next call. */
  message(index: number): MessageView | undefined {
    const known = messages[index];
    if (known !== undefined) return known;
    const from = Math.floor(index / MAX_MESSAGES) * MAX_MESSAGES;
    request(
      `messages ${from}`,
      (id) => api.messages(id, from, from + MAX_MESSAGES),
      (page) => {
        for (const message of page.messages) messages[message.message] = message;
      },
    );
    return undefined;
  },
  compaction(index: number): CompactionView | undefined {
    const known = compactions.get(index);
    if (known !== undefined) return known;
    request(
      `compaction ${index}`,
      (id) => api.compaction(id, index),
      (found) => compactions.set(index, found),
    );
    return undefined;
  },
};
