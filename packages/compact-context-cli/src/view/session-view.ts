/**
 * What the server of `compact view` tells its page: plain JSON, types only.
 *
 * Routes (all need the cookie of the page; `:id` is `SessionHead.id`, percent-encoded):
 * - `GET /api/sessions` → `SessionList`
 * - `GET /api/sessions/:id?steps=N&compactions=N&spans=N` → `SessionView`, its arrays from those places on (0 when left out)
 *   The newest step and compaction may still change: ask for them again from the last one that is known.
 *   A long session comes in pieces: ask again while there is less of anything than `counts` says.
 * - `GET /api/sessions/:id/messages?from=N&to=N` → `MessagePage`, at most `MAX_MESSAGES` of them
 * - `GET /api/sessions/:id/compactions/:n` → `CompactionView`
 * - `GET /api/search?q=TEXT&session=ID` → `SearchView`; all sessions where `session` is left out
 * - `GET /api/expand?session=ID&id=ARCHIVE_ID&offset=N` (or `&message=N`, a place in the session) → `ExpandedView`
 * - `GET /api/events` → server-sent events, each a `LiveNotice` as JSON
 * - `POST /ingest` → Ariadne's protocol, for programs; not for the page
 * A refusal is a status of 4xx with `Refusal`.
 */
export const VIEW_VERSION = 1;

/** Most messages of one `MessagePage`; more are asked for in pieces. */
export const MAX_MESSAGES = 1000;

/**
 * What tokens of a request belong to, in the order in which they are stacked, from below.
 * `messages` stands for the list without its summary where the parts are not known (sessions told by events).
 */
export type LayerKey =
  | "tools"
  | "system"
  | "developer"
  | "pinned"
  | "summary"
  | "remainder"
  | "toolPairs"
  | "recent"
  | "messages";

export interface SessionList {
  readonly version: typeof VIEW_VERSION;
  /** The newest activity first. */
  readonly sessions: readonly SessionHead[];
  /** Sessions that were let go because too many came in. */
  readonly dropped: number;
}

export interface SessionHead {
  readonly id: string;
  readonly title: string;
  /** `transcript`: replayed; `archive`: read from an archive; `events`: told by events or spans as they come in. */
  readonly source: "transcript" | "archive" | "events";
  /** True while more may come: a running replay, or a program that sends. */
  readonly live: boolean;
  /** The agent's tool or the file format, such as `claude-code`; absent where unknown. */
  readonly format?: string;
  readonly model?: string;
  /** The model's window in tokens; 0 where not known yet. */
  readonly window: number;
  /** Tokens from which on a request is compacted; 0 where not known. */
  readonly trigger: number;
  /** Most tokens of a request: the window less what is kept free; 0 where not known. */
  readonly budget: number;
  readonly counts: {
    readonly messages: number;
    readonly steps: number;
    readonly compactions: number;
    readonly spans: number;
  };
  /** ISO 8601, of the first and the newest step or span; absent where there is none. */
  readonly startedAt?: string;
  readonly updatedAt?: string;
  /** True where originals can be searched and expanded. */
  readonly searchable: boolean;
  /** Spans and steps of this session that were let go because there were too many. */
  readonly dropped: number;
}

export interface SessionView extends SessionHead {
  readonly version: typeof VIEW_VERSION;
  /** The session's layers in stacking order, the same for as long as it lives; `StepView.tokens` is in this order. */
  readonly layers: readonly LayerKey[];
  /** How many of each came before the arrays below, as asked for. */
  readonly from: { readonly steps: number; readonly compactions: number; readonly spans: number };
  readonly steps: readonly StepView[];
  readonly compactions: readonly CompactionHead[];
  readonly spans: readonly SpanView[];
  readonly cost?: CostView;
}

/** One look at the context before a model call. */
export interface StepView {
  /** From 0, without gaps. */
  readonly index: number;
  /** ISO 8601; absent where the session has no times. */
  readonly at?: string;
  /** How many messages of the session stand before this call; 0 where messages are not known. */
  readonly messages: number;
  /** Tokens by layer as they were sent, in the order of `SessionView.layers`. */
  readonly tokens: readonly number[];
  /** Sum of `tokens`. */
  readonly total: number;
  /** Tokens by layer before this step's compaction; absent where there was none. */
  readonly before?: readonly number[];
  /** Index into the session's compactions, where one happened here. */
  readonly compaction?: number;
  /** Tokens that the whole history would have taken; absent where unknown. */
  readonly without?: number;
  /** Tokens of the call's prompt as the provider reported them, and how many came from its cache; absent where unknown. */
  readonly reported?: number;
  readonly cached?: number;
  /** What the call cost by the provider's figures, in US dollars; absent where unknown. */
  readonly dollars?: number;
}

export type Outcome = "kept" | "cleared" | "cut" | "summarized" | "unknown";

export interface CompactionHead {
  /** From 0. */
  readonly index: number;
  /** The step that it happened at. */
  readonly step: number;
  /** ISO 8601. */
  readonly at?: string;
  readonly durationMs?: number;
  /** Why: `trigger_pct`, `hard_cap`, `max_tokens`, `manual`, … */
  readonly reason?: string;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly messagesBefore?: number;
  readonly messagesAfter?: number;
  /** Messages by outcome; absent where not known. */
  readonly outcomes?: Readonly<Partial<Record<Outcome, number>>>;
  /** Settings that led to it, ready to show: `trigger` → `85 %`. */
  readonly policy: readonly { readonly name: string; readonly value: string }[];
  readonly summarizer?: string;
  readonly summaryTokens?: number;
  /** Where the originals went. */
  readonly archive?: { readonly step: number; readonly location: string };
  /** A failure that was got over, in words. */
  readonly failures: readonly string[];
}

/** One compaction, opened. */
export interface CompactionView extends CompactionHead {
  readonly version: typeof VIEW_VERSION;
  readonly session: string;
  /** Every message of the list that was compacted, in order; empty where not known. */
  readonly messages: readonly MessageOutcome[];
  /** The summary piece by piece, in order; empty where there is none. */
  readonly summary: readonly SummaryPiece[];
}

/** A message on one line. */
interface ShownMessage {
  readonly role: string;
  readonly kind: MessageKind;
  /** The tool's name, for calls and results; of a result, that of its call. */
  readonly tool?: string;
  /** The file or folder that the call names. */
  readonly path?: string;
  readonly tokens: number;
  readonly archiveId?: string;
  /** The beginning of its text, at most 240 characters. */
  readonly preview: string;
}

/** What became of one message. */
export interface MessageOutcome extends ShownMessage {
  /** Its place in the session; absent for a summary of an earlier compaction. */
  readonly message?: number;
  /** The compaction whose summary this is; only where `message` is absent. */
  readonly summaryOf?: number;
  readonly layer: LayerKey;
  readonly outcome: Outcome;
  /** 0 for `summarized`. */
  readonly tokensAfter: number;
  /** Why, in words for a person. */
  readonly reason?: string;
}

/** A sentence or line of a summary; the texts of all pieces, one after the other, are the summary. */
export interface SummaryPiece {
  /** With the white space behind it. */
  readonly text: string;
  readonly kind: "heading" | "line" | "blank";
  /** The messages that it comes from, the nearest first; empty where none was found. */
  readonly sources: readonly SourceView[];
}

export interface SourceView {
  readonly message?: number;
  readonly archiveId?: string;
  /** `exact`: its words stand there as they are; `likely`: most of its words stand there. */
  readonly match: "exact" | "likely";
}

export type MessageKind = "text" | "toolCall" | "toolResult" | "reasoning" | "media" | "summary";

export interface MessageView extends ShownMessage {
  /** Place in the session, from 0. */
  readonly index: number;
  /** ISO 8601. */
  readonly at?: string;
}

export interface MessagePage {
  readonly version: typeof VIEW_VERSION;
  readonly session: string;
  readonly from: number;
  /** How many the session has. */
  readonly total: number;
  readonly messages: readonly MessageView[];
}

/** A step of work with a beginning and an end. */
export interface SpanView {
  readonly id: string;
  readonly parent?: string;
  /** Such as `compact.summary_created`. */
  readonly name: string;
  /** ISO 8601; absent where the sender did not say. */
  readonly start?: string;
  readonly end?: string;
  readonly durationMs?: number;
  readonly status: "ok" | "error";
  /** Flat, ready to show; long texts are shortened. */
  readonly attributes: readonly { readonly name: string; readonly value: string }[];
}

/** What the session's prompts cost, simulated with the provider's cache; in US dollars. */
export interface CostView {
  readonly compact: number;
  /** Without compaction; absent where the session would not have fitted the window. */
  readonly none?: number;
  readonly model: string;
}

export interface SearchView {
  readonly version: typeof VIEW_VERSION;
  readonly query: string;
  readonly hits: readonly SearchHitView[];
  /** Archive lines that could not be read. */
  readonly problems: number;
}

export interface SearchHitView {
  readonly session: string;
  readonly archiveId: string;
  /** Its place in the session; absent where not known. */
  readonly message?: number;
  readonly role: string;
  /** The archive's step. */
  readonly step: number;
  readonly snippet: string;
}

/** A piece of a message's text. */
export interface ExpandedView {
  readonly version: typeof VIEW_VERSION;
  readonly session: string;
  readonly archiveId?: string;
  readonly message?: number;
  readonly role: string;
  readonly text: string;
  readonly offset: number;
  /** Characters of the whole. */
  readonly characters: number;
  /** Where to go on; absent at the end. */
  readonly next?: number;
  /** True where secrets were taken out. */
  readonly redacted: boolean;
}

/**
 * `hello` comes first after connecting; `session` says that a session is new or has grown: fetch it from the places
 * one has; `gone` that it was let go.
 */
export type LiveNotice =
  | { readonly type: "hello"; readonly version: typeof VIEW_VERSION }
  | { readonly type: "session"; readonly session: SessionHead }
  | { readonly type: "gone"; readonly id: string };

export interface Refusal {
  /** In words for a person. */
  readonly error: string;
}
