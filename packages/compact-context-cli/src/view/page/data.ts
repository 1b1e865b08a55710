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
import { reasonOf } from "./text.ts";

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

/** A session with what came later put behind what was there. */
export function grown(known: SessionView | undefined, more: SessionView): SessionView {
  if (known === undefined || known.id !== more.id) return more;
  return {
    ...more,
    from: known.from,
    steps: joined(known.steps, more.steps, more.from.steps),
    compactions: joined(known.compactions, more.compactions, more.from.compactions),
    spans: joined(known.spans, more.spans, more.from.spans),
  };
}

function joined<T>(known: readonly T[], more: readonly T[], from: number): readonly T[] {
  return more.length === 0 && from >= known.length ? known : [...known.slice(0, from), ...more];
}

/** From where on to ask: the newest step and compaction may have been amended, they are asked for again. */
export function placesOf(known: SessionView | undefined): SessionView["from"] {
  const { steps = [], compactions = [], spans = [] } = known ?? {};
  return {
    steps: Math.max(0, steps.length - 1),
    compactions: Math.max(0, compactions.length - 1),
    spans: spans.length,
  };
}

/** True for a session that came in part, unless the last answer brought nothing. */
export function moreWaits(known: SessionView | undefined, session: SessionView): boolean {
  const { counts, steps, compactions, spans } = session;
  const lacks =
    steps.length < counts.steps || compactions.length < counts.compactions || spans.length < counts.spans;
  return lacks && (known === undefined || lengthOf(session) > lengthOf(known));
}

function lengthOf({ steps, compactions, spans }: SessionView): number {
  return steps.length + compactions.length + spans.length;
}

/** One line of the window's content: a message as it came, or as a compaction left it. */
export type ContentRow = Omit<MessageOutcome, "layer" | "outcome" | "tokensAfter" | "reason"> &
  Partial<Pick<MessageOutcome, "outcome">>;

/** What the window holds at a step, row by row, without building a list. */
export interface WindowContent {
  readonly length: number;
  /** True where nobody knows what the last compaction left: the rows before it are shown. */
  readonly isUnknown: boolean;
  /** `undefined` while that message is on its way. */
  row(index: number): ContentRow | undefined;
}

/** The last compaction at or before a step. */
export function compactionAt(session: SessionView, step: number): number | undefined {
  let found: number | undefined;
  for (const { index, step: at } of session.compactions) if (at <= step) found = index;
  return found;
}

/** The window at a step: what the last compaction left, then the messages that came since. */
export function windowContent(
  session: SessionView,
  step: number,
  {
    compaction,
    message,
  }: {
    readonly compaction: CompactionView | undefined;
    readonly message: (index: number) => MessageView | undefined;
  },
): WindowContent {
  const end = session.steps[step]?.messages ?? 0;
  const isUnknown = compaction?.messages.some(({ outcome }) => outcome === "unknown") === true;
  const head = compaction === undefined ? [] : rowsLeft(compaction, isUnknown);
  const start = compaction === undefined ? 0 : (session.steps[compaction.step]?.messages ?? 0);
  return {
    length: head.length + Math.max(0, end - start),
    isUnknown,
    row(index) {
      if (index < head.length) return head[index];
      const found = message(start + index - head.length);
      return found === undefined ? undefined : rowOf(found);
    },
  };
}

const rowsOfMessages = new WeakMap<MessageView, ContentRow>();

/** The same row for the same message, so that a list sees that nothing changed. */
function rowOf(message: MessageView): ContentRow {
  const known = rowsOfMessages.get(message);
  if (known !== undefined) return known;
  const row = { ...message, message: message.index };
  rowsOfMessages.set(message, row);
  return row;
}

const left = new WeakMap<CompactionView, ContentRow[]>();

/** What a compaction left, its summary standing where the first of what it replaced stood; the list before it where that is not known. */
function rowsLeft(compaction: CompactionView, isUnknown: boolean): ContentRow[] {
  const known = left.get(compaction);
  if (known !== undefined) return known;
  const rows: ContentRow[] = [];
  let said = isUnknown || compaction.summary.length === 0;
  for (const { layer: _, tokensAfter, tokens: __, reason: ___, ...rest } of compaction.messages) {
    if (rest.outcome !== "summarized") rows.push({ ...rest, tokens: tokensAfter });
    else if (!said) {
      said = true;
      rows.push(summaryRow(compaction));
    }
  }
  if (!said) rows.unshift(summaryRow(compaction));
  left.set(compaction, rows);
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

/** By what the content of a window is gathered. */
export type Grouping = "tool" | "file" | "role";

/** What one tool, file or role has of a window. */
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

/** What fills a window, the largest share first; rows that are on their way are left out. */
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

/** Grows whenever messages or compactions that were waited for have arrived. */
export const arrivals = signal(0);
/** Why something that was asked for has not come. */
export const missed = signal<string | undefined>(undefined);

let session: string | undefined;
let messages: (MessageView | undefined)[] = [];
let compactions = new Map<number, CompactionView>();
let asked = new Set<string>();

function ask<T>(key: string, fetch: (session: string) => Promise<T>, keep: (found: T) => void): void {
  const about = session;
  if (about === undefined || asked.has(key)) return;
  asked.add(key);
  fetch(about).then(
    (found) => {
      if (session !== about) return;
      asked.delete(key);
      keep(found);
      arrivals.value += 1;
    },
    // What failed is not asked for again: the page would ask without end.
    (error: unknown) => {
      if (session === about) missed.value = reasonOf(error);
    },
  );
}

/** Messages and compactions of one session, fetched when they are first looked at. */
export const originals = {
  /** Forgets everything unless it is about this session. */
  about(id: string): void {
    if (id === session) return;
    session = id;
    messages = [];
    compactions = new Map();
    asked = new Set();
    missed.value = undefined;
  },
  /** `undefined` while it is on its way. In a live session what is not there yet is asked for again later. */
  message(index: number): MessageView | undefined {
    const known = messages[index];
    if (known !== undefined) return known;
    const from = Math.floor(index / MAX_MESSAGES) * MAX_MESSAGES;
    ask(
      `messages ${from}`,
      (id) => api.messages(id, from, from + MAX_MESSAGES),
      (page) => {
        for (const message of page.messages) messages[message.index] = message;
      },
    );
    return undefined;
  },
  compaction(index: number): CompactionView | undefined {
    const known = compactions.get(index);
    if (known !== undefined) return known;
    ask(
      `compaction ${index}`,
      (id) => api.compaction(id, index),
      (found) => compactions.set(index, found),
    );
    return undefined;
  },
};
