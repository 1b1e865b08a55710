import { contentHash } from "../messages/content-hash.ts";
import { type Calibration, emptyCalibration } from "../tokens/calibration.ts";
import type { LiveSummary } from "./assemble.ts";
import type { Edit } from "./edit.ts";

/** One unpinned message that has been seen: content hash and tokens. */
export type LoggedMessage = readonly [hash: string, tokens: number];

export interface StoredSummary extends LiveSummary {
  /** Fingerprint of the text as it stands in the list: what is stored has secrets taken out. */
  readonly fingerprint: string;
  /** ISO 8601. */
  readonly at: string;
  readonly tokens: number;
  /** The archive step that it was made in. */
  readonly step?: number;
}

export interface KeptMessage {
  /** Index into the log. */
  readonly at: number;
  readonly edit?: Edit;
  /** Content hash as it stands in the view, where an edit changed it. */
  readonly hash?: string;
}

/** What outlives a call and a process: how the raw list maps to the view. Plain JSON. */
export interface SessionState {
  readonly format: 1;
  /** The counter that made the token counts; another one counts again. */
  readonly counter: string;
  /** Every unpinned message of the raw list up to the newest compaction, in order. */
  readonly log: readonly LoggedMessage[];
  /** Those of the log that are still in the view, ascending. */
  readonly kept: readonly KeptMessage[];
  readonly summary: StoredSummary | undefined;
  readonly summaryCount: number;
  /** Ids of all messages that went into summaries, oldest first. */
  readonly summarizedMessageIds: readonly string[];
  /** The newest archive step. */
  readonly step: number;
  /** Length of the log at the newest compaction: what stands behind it was said since; 0 when left out. */
  readonly epochStart?: number;
  /** Tokens of the request right after the newest compaction. */
  readonly tokensAfter: number;
  /** ISO 8601: when a list of the session was last looked at, as far as that was stored. */
  readonly seenAt?: string;
  /** Ids of the queued memory flushes whose compaction took place; one that is not named here never did. */
  readonly flushes?: readonly string[];
  /** What was learnt from the provider's usage records. */
  readonly calibration: Calibration;
}

/** A session that has never been compacted. */
export function emptyState(): SessionState {
  return {
    format: 1,
    counter: "",
    log: [],
    kept: [],
    summary: undefined,
    summaryCount: 0,
    summarizedMessageIds: [],
    step: 0,
    tokensAfter: 0,
    calibration: emptyCalibration(),
  };
}

/** The state as it was stored. Throws for a value that is none, or of another version. */
export function readState(stored: unknown): SessionState {
  const { format, log, kept, summarizedMessageIds, calibration } = Object(stored) as Partial<SessionState>;
  const whole = [log, kept, summarizedMessageIds].every(Array.isArray) && typeof calibration === "object";
  if (format === 1 && whole) return stored as SessionState;
  throw new Error(format === 1 ? "parts of it are missing" : `its format is ${String(format)}, not 1`);
}

/** Recognises a summary by its text. */
export function fingerprintOf(text: string): string {
  return contentHash({ role: "assistant", parts: [{ type: "text", text }] });
}
