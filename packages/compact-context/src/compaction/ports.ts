import type { Format } from "../messages/message.ts";
import type { TextModel } from "../model.ts";
import type { StorageDriver } from "../storage/driver.ts";
import type { Summarizer } from "../summarizers/summarizer.ts";
import type { Exporter } from "../tracing/event.ts";
import type { BeforeCompaction } from "./before-compaction.ts";
import type { MemoryFlushHook } from "./flush-delivery.ts";
import type { CompactionReport } from "./report.ts";

/** What a manager is given beside its configuration; every one has a default. */
export interface ManagerPorts {
  /**
   * Tried before the built-in one. A bare model is made a summarizer by the settings of the `summarizer` section;
   * `createModelSummarizer` takes more of them, such as models to fall back to.
   */
  readonly summarizer?: Summarizer | TextModel;
  /** Where archive and session state go; the file system under `storage.root` on Node, else memory. */
  readonly storage?: StorageDriver;
  /** Where transcripts, summaries and events go instead, while session state stays with `storage`. */
  readonly archive?: StorageDriver;
  /**
   * Takes in what leaves the list, for a memory: queued durably before it leaves, then handed on in the background,
   * at least once. Nobody waits for it.
   */
  readonly memoryFlushHook?: MemoryFlushHook;
  /** How long the hook may take before it is given up and called again later; 60,000 when left out. */
  readonly memoryFlushTimeoutMs?: number;
  /**
   * Sees the whole list, as the model got it last, before a compaction that summarizes or empties messages is
   * committed; a compaction waits a little for it and goes on whatever becomes of it.
   */
  readonly beforeCompaction?: BeforeCompaction;
  /** How long a compaction waits; 500 milliseconds when left out. */
  readonly beforeCompactionWaitMs?: number;
  /** Names this worker among those that share the storage; a random name when left out. */
  readonly worker?: string;
  /** Hear every event. */
  readonly exporters?: readonly Exporter[];
  /** Wall clock. */
  readonly now?: () => Date;
  /** Milliseconds of a steady clock. */
  readonly clock?: () => number;
  /** Told, once each, of things that work less well than they could. */
  readonly onWarning?: (message: string) => void;
}

/** What travels beside the messages of one call. */
export interface PreflightRequest {
  readonly system?: string;
  readonly tools?: readonly unknown[];
  /** What the user is about to send and is not in the list yet. */
  readonly input?: string;
  /** The provider's usage record of the call before, in its own shape: later estimates are calibrated by it. */
  readonly usage?: unknown;
  /**
   * Whether the provider's prompt cache has forgotten this session. When left out, it is taken to be cold
   * after `policy.cacheTtlSeconds` without a call; a process that does not know the last call takes it to be warm.
   */
  readonly cacheCold?: boolean;
  /** Recognised from the list when left out. */
  readonly format?: Format;
  readonly signal?: AbortSignal;
}

export interface ManualRequest extends PreflightRequest {
  /** Why, in a person's words; in the event, and an instruction to the summarizer. */
  readonly note?: string;
  /** Tokens to aim for; without it everything eligible is summarized. */
  readonly targetTokens?: number;
}

/** What is known of a session at any time. */
export interface ManagerState {
  /** Tokens of the newest request that was looked at. */
  readonly totalTokens: number;
  readonly maxContextTokens: number;
  /** Messages of the view: what the model gets. */
  readonly messageCount: number;
  readonly summaryCount: number;
  /** ISO 8601. */
  readonly lastSummaryAt: string | undefined;
  readonly summaryVersion: number | undefined;
  readonly archiveSteps: number;
}

/** The running summary of a session and how far it reaches. */
export interface RunningSummary {
  readonly summary: string;
  readonly summarizedMessageIds: readonly string[];
  readonly lastSummarizedMessageId: string | undefined;
}

/** Announced when a session was compacted. */
export interface CompactionNotice {
  readonly sessionId: string;
  readonly report: CompactionReport;
}
