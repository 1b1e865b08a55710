/**
 * The protocol between the server of `compact view` and its page: plain JSON, types only.
 *
 * Routes (all need the page's cookie; `:id` is `SessionHead.id`, percent-encoded):
 * - `GET /api/sessions` → `SessionList`
 * - `GET /api/sessions/:id?steps=N&compactions=N&spans=N` → `SessionView`, its arrays from these offsets on (default 0)
 *   The newest step and compaction may still change: request them again.
 *   A long session comes in pages: request more while an array is shorter than `counts` says.
 * - `GET /api/sessions/:id/messages?from=N&to=N` → `MessagePage`, up to `MAX_MESSAGES`
 * - `GET /api/sessions/:id/compactions/:n` → `CompactionView`
 * - `GET /api/search?q=TEXT&session=ID` → `SearchView`; all sessions without `session`
 * - `GET /api/expand?session=ID&id=ARCHIVE_ID&offset=N` (or `&message=INDEX`) → `ExpandedView`
 * - `GET /api/events` → server-sent events, each a `LiveNotice` as JSON
 * - `POST /ingest` → Ariadne's protocol, for programs; not for the page
 * Errors have a 4xx or 5xx status and a `Refusal`.
 */

/** Sent with `hello`: a page of another version must be reloaded. */
export const VIEW_VERSION = 1;

/** Per `MessagePage`. */
export const MAX_MESSAGES = 1000;

/**
 * The parts of a request, in stacking order from the bottom. `messages` is the list without its summary if
 * the layers are unknown.
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
  /** The newest activity first. */
  readonly sessions: readonly SessionHead[];
  /** Sessions that were evicted because there were too many. */
  readonly dropped: number;
}

export interface SessionHead {
  readonly id: string;
  readonly title: string;
  /** `transcript`: replayed; `archive`: read from an archive; `events`: known only by events, without originals. */
  readonly source: "transcript" | "archive" | "events";
  /** True while a replay runs or a program sends events. */
  readonly live: boolean;
  /** The agent or file format, such as `claude-code`; absent if unknown. */
  readonly format?: string;
  readonly model?: string;
  /** Tokens; 0 if unknown. */
  readonly window: number;
  /** Tokens from which a request is compacted; 0 if unknown. */
  readonly trigger: number;
  /** Maximum tokens of a request: the window minus the reserve for the answer; 0 if unknown. */
  readonly budget: number;
  readonly counts: {
    readonly messages: number;
    readonly steps: number;
    readonly compactions: number;
    readonly spans: number;
  };
  /** ISO 8601, of the newest step or span; absent if there is none. */
  readonly updatedAt?: string;
  /** Spans and steps that were dropped because there were too many. */
  readonly dropped: number;
}

export interface SessionView extends SessionHead {
  /** The session's layers in stacking order; `StepView.tokens` has this order. */
  readonly layers: readonly LayerKey[];
  /** The requested offsets of the arrays below. */
  readonly from: { readonly steps: number; readonly compactions: number; readonly spans: number };
  readonly steps: readonly StepView[];
  readonly compactions: readonly CompactionHead[];
  readonly spans: readonly SpanView[];
  readonly cost?: CostView;
}

/** The request of one model call. */
export interface StepView {
  /** From 0, without gaps. */
  readonly index: number;
  /** ISO 8601; absent if the session has no times. */
  readonly at?: string;
  /** The number of session messages before this call; 0 if messages are unknown. */
  readonly messages: number;
  /** Tokens sent, by layer, in the order of `SessionView.layers`. */
  readonly tokens: readonly number[];
  /** Sum of `tokens`. */
  readonly total: number;
  /** Tokens by layer before this step's compaction; absent without one. */
  readonly before?: readonly number[];
  /** Index of this step's compaction. */
  readonly compaction?: number;
  /** Tokens of the whole history; absent if unknown. */
  readonly without?: number;
  /** Prompt tokens reported by the provider, and those read from its cache; absent if unknown. */
  readonly reported?: number;
  readonly cached?: number;
  /** Cost in US dollars by the provider's figures; absent if unknown. */
  readonly dollars?: number;
}

export type Outcome = "kept" | "cleared" | "cut" | "summarized" | "unknown";

export interface CompactionHead {
  /** From 0. */
  readonly index: number;
  /** Index of its step. */
  readonly step: number;
  /** ISO 8601. */
  readonly at?: string;
  readonly durationMs?: number;
  /** `trigger_pct`, `hard_cap`, `max_tokens`, `manual`, … */
  readonly reason?: string;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly messagesBefore?: number;
  readonly messagesAfter?: number;
  /** The settings used, for display: `trigger` → `85 %`. */
  readonly policy: readonly { readonly name: string; readonly value: string }[];
  readonly summarizer?: string;
  readonly summaryTokens?: number;
  /** The archive step that holds the originals. */
  readonly archiveStep?: number;
  /** Messages of failures that a fallback handled. */
  readonly failures: readonly string[];
}

/** One compaction with its messages and summary. */
export interface CompactionView extends CompactionHead {
  /** The messages of the compacted list, in order; empty if unknown. */
  readonly messages: readonly MessageOutcome[];
  /** Empty if no summary was written. */
  readonly summary: readonly SummaryPiece[];
}

/** A message in one row. */
interface ShownMessage {
  readonly role: string;
  readonly kind: MessageKind;
  /** The tool's name, for calls and results. */
  readonly tool?: string;
  /** The file or folder among the call's arguments. */
  readonly path?: string;
  readonly tokens: number;
  readonly archiveId?: string;
  /** The start of its text, up to 240 characters. */
  readonly preview: string;
}

/** A message of a compacted list and its outcome. */
export interface MessageOutcome extends ShownMessage {
  /** Its index in the session; absent for the summary of an earlier compaction. */
  readonly message?: number;
  /** Index of the compaction that wrote this summary; only if `message` is absent. */
  readonly summaryOf?: number;
  readonly outcome: Outcome;
  /** 0 for `summarized`. */
  readonly tokensAfter: number;
  /** Why, in plain English. */
  readonly reason?: string;
}

/** A sentence or line of a summary; the texts of all pieces joined are the summary. */
export interface SummaryPiece {
  /** Includes the whitespace that follows. */
  readonly text: string;
  readonly kind: "heading" | "line" | "blank";
  /** The source messages, the best match first; empty if none was found. */
  readonly sources: readonly SourceView[];
}

export interface SourceView {
  readonly message: number;
  /** `exact`: the message contains its words verbatim; `likely`: most of them. */
  readonly match: "exact" | "likely";
}

export type MessageKind = "text" | "toolCall" | "toolResult" | "reasoning" | "media" | "summary";

export interface MessageView extends ShownMessage {
  /** Index in the session. */
  readonly message: number;
  /** ISO 8601. */
  readonly at?: string;
}

export interface MessagePage {
  /** The number of messages of the session. */
  readonly total: number;
  readonly messages: readonly MessageView[];
}

export interface SpanView {
  readonly id: string;
  readonly parent?: string;
  /** Such as `compact.summary_created`. */
  readonly name: string;
  /** ISO 8601; absent if the sender provided none. */
  readonly start?: string;
  readonly end?: string;
  readonly durationMs?: number;
  readonly status: "ok" | "error";
  /** Flat, for display; long values are truncated. */
  readonly attributes: readonly { readonly name: string; readonly value: string }[];
}

/** The simulated cost of the session's prompts with the provider's cache, in US dollars. */
export interface CostView {
  readonly compact: number;
  /** Without compaction; absent if the session exceeds the window. */
  readonly none?: number;
}

export interface SearchView {
  readonly query: string;
  readonly hits: readonly SearchHitView[];
  /** Archive lines that could not be read. */
  readonly problems: number;
}

export interface SearchHitView {
  readonly session: string;
  readonly archiveId: string;
  /** Its index in the session; absent if unknown. */
  readonly message?: number;
  readonly role: string;
  /** The archive step. */
  readonly step: number;
  readonly snippet: string;
}

/** A chunk of a message's text. */
export interface ExpandedView {
  readonly archiveId: string;
  readonly role: string;
  readonly text: string;
  readonly offset: number;
  /** The length of the whole text. */
  readonly characters: number;
  /** Offset of the next chunk; absent at the end. */
  readonly next?: number;
  /** True if secrets were redacted. */
  readonly redacted: boolean;
}

/**
 * `hello` is the first notice after connecting. `session` reports a new or extended session, whose missing
 * parts must be fetched. `gone` reports an evicted session.
 */
export type LiveNotice =
  | { readonly type: "hello"; readonly version: typeof VIEW_VERSION }
  | { readonly type: "session"; readonly session: SessionHead }
  | { readonly type: "gone"; readonly id: string };

export interface Refusal {
  /** A message for the user. */
  readonly error: string;
}
