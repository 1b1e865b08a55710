import { listCodecs } from "./codecs/formats.ts";
import { mergeConfig, settleTarget } from "./config/layer.ts";
import type { CompactConfig, CompactConfigInput } from "./config/settings.ts";
import type { CompactionResult } from "./core/apply.ts";
import { archiveId } from "./core/archive.ts";
import { warning } from "./core/events.ts";
import { type ManagerParts, type ManagerSettings, SessionManager } from "./core/manager.ts";
import type { Format } from "./core/message.ts";
import {
  type Environment,
  type Exporter,
  platform,
  type StorageDriver,
  type Summarizer,
  type TextModel,
} from "./core/ports.ts";
import type { ManualRequest, PreflightRequest } from "./core/usage.ts";
import { configuredExporters, openStorage, type Storage } from "./create-storage.ts";
import { once, requireList, requireOptions } from "./errors.ts";
import type { MemoryFlushHook } from "./flush/delivery.ts";
import {
  type BeforeCompaction,
  createManagerFlushing,
  type MemoryFlushing,
  type Recovery,
} from "./flush/flush.ts";
import { LiveLists } from "./lint/lint.ts";
import { createRecall, type Recall } from "./recall/recall.ts";
import { createRedactor, REDACTION_OFF_WARNING } from "./redaction/redactor.ts";
import { createSummarizers } from "./summarizers/create-summarizers.ts";
import { lookUpModel, withCost } from "./tokens/models.ts";
import { createCounters } from "./tokens/token-counter.ts";
import { normalizeUsage } from "./tokens/usage.ts";
import { createTracer } from "./tracing/tracer.ts";

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
   * at least once. The compaction does not wait for it.
   */
  readonly memoryFlushHook?: MemoryFlushHook;
  /** How long the hook may take before it is given up and called again later; 60,000 when left out. */
  readonly memoryFlushTimeoutMs?: number;
  /**
   * Sees the whole list, as the model got it last, before a compaction that summarizes or clears messages is
   * committed; a compaction waits a little for it and goes on whatever becomes of it.
   */
  readonly beforeCompaction?: BeforeCompaction;
  /** How long a compaction waits; 500 milliseconds when left out. */
  readonly beforeCompactionWaitMs?: number;
  /** Names this worker among those that share the storage; a random name when left out. */
  readonly worker?: string;
  /** Receive every event. */
  readonly exporters?: readonly Exporter[];
  /** Wall clock. */
  readonly now?: () => Date;
  /** Milliseconds of a steady clock. */
  readonly clock?: () => number;
  /**
   * Mends what providers refuse in a list (a call without its result, a result without its call, …) before anything
   * else is done with it; see `repair`. Left out: the list stays as it is, with one warning for each such session.
   */
  readonly repair?: boolean;
  /** Called, once each, with things that work less well than they could. */
  readonly onWarning?: (message: string) => void;
}

/** How long `flush` waits for hooks that take in memories. */
const FLUSH_WAIT_MS = 2000;

/**
 * Keeps sessions inside the window: `preflight` before every model call gives back the list to send.
 * One manager serves any number of sessions; calls for one session run one after the other.
 */
export class CompactManager extends SessionManager {
  readonly config: CompactConfig;
  readonly #wired: Wired;
  readonly #lists: LiveLists;

  /** Throws `InvalidConfig` for settings that do not exist or are out of range. */
  constructor(config: CompactConfigInput = {}, ports: ManagerPorts = {}) {
    requireOptions(config, "config");
    requireOptions(ports, "ports");
    const merged = mergeConfig(config, windowOf);
    const wired = wire(merged, ports);
    super(wired.settings, wired.parts);
    this.config = merged;
    this.#wired = wired;
    this.#lists = new LiveLists({
      repair: ports.repair === true,
      formatOf,
      report: (sessionId, code, message) => {
        if (code === "malformed_list") wired.parts.warn(message);
        this.warn(sessionId, code, message);
      },
    });
  }

  override async preflight<T = unknown>(
    sessionId: string,
    messages: readonly T[],
    request: PreflightRequest = {},
  ): Promise<CompactionResult<T>> {
    return super.preflight(sessionId, this.#prepare(sessionId, messages, request), request);
  }

  override async manualCompact<T = unknown>(
    sessionId: string,
    messages: readonly T[],
    request: ManualRequest = {},
  ): Promise<CompactionResult<T>> {
    return super.manualCompact(sessionId, this.#prepare(sessionId, messages, request), request);
  }

  override release(sessionId: string): Promise<void> {
    this.#lists.forget(sessionId);
    return super.release(sessionId);
  }

  #prepare<T>(sessionId: string, messages: readonly T[], request: PreflightRequest): readonly T[] {
    requireList(messages);
    requireOptions(request, "request");
    return this.#lists.prepare(sessionId, messages, request);
  }

  /** Finds what left a session's prompt, and brings it back. Nothing is read before it is asked for. */
  recall(sessionId: string): Recall {
    const { countText } = this.#wired.settings.counterFor(undefined);
    return createRecall({ sessionId, countText, archive: async () => (await this.#wired.open()).archive });
  }

  override async flush(): Promise<void> {
    this.#lists.lintWaiting();
    await super.flush();
    await this.#wired.flushing?.settle(FLUSH_WAIT_MS);
  }

  /**
   * Hands on what an earlier process queued for the memory flush hook and did not deliver; resolves when that was
   * taken in, or failed and is tried again later. Without it the same begins by itself with the first call.
   */
  async recover(): Promise<Recovery> {
    return (await this.#wired.flushing?.recover()) ?? { handedOn: 0, failed: 0 };
  }
}

/** Undefined where there is nothing to lint: neutral messages, or a list that could be of several formats. */
function formatOf(list: readonly unknown[], format: Format | undefined): Format | undefined {
  try {
    const codec = listCodecs.forList(list, format);
    return codec.neutral || !codec.certain ? undefined : codec.format;
  } catch {
    return undefined;
  }
}

/** The concrete parts behind a manager. */
interface Wired {
  readonly settings: ManagerSettings;
  readonly parts: ManagerParts;
  open(): Promise<Storage>;
  readonly flushing: MemoryFlushing | undefined;
}

/** The window that a configuration says, else its model's. */
function windowOf({ maxContextTokens, model = "", models }: CompactConfig): number {
  return maxContextTokens ?? lookUpModel(model, models).window;
}

/** From configuration to parts: the one place that knows the concrete ones. It decides nothing. */
function wire(config: CompactConfig, ports: ManagerPorts): Wired {
  const { model, models, summarizer, storage } = config;
  const facts = lookUpModel(model ?? "", models);
  const environment: Environment = {
    now: ports.now ?? platform.now,
    clock: ports.clock ?? platform.clock,
    id: platform.id,
  };
  const now = (): Date => environment.now();
  const worker = ports.worker ?? environment.id();
  const warn = createWarner(ports.onWarning);
  const window = windowOf(config);
  const { policy, warning: unreachable } = settleTarget(config.policy, window);
  if (unreachable !== undefined) warn(unreachable);
  const redaction = createRedactor(config.redaction);
  const open = once(async () => {
    const opened = await openStorage(config, ports, { redaction, warn, now });
    queueMicrotask(() => flushing?.start());
    return opened;
  });
  const wantsFlush = ports.memoryFlushHook !== undefined || ports.beforeCompaction !== undefined;
  const flushing = wantsFlush
    ? createManagerFlushing(ports, { worker, redact: redaction, open, now, warn })
    : undefined;
  const settings: ManagerSettings = {
    policy,
    summaryRole: summarizer.summaryRole,
    maxContextTokens: window,
    codecs: listCodecs,
    counterFor: createCounters({ model, models, onWarning: warn }),
    limitsInputOnly: (format) => format === "gemini" || facts.provider === "google",
    readUsage: (usage) => (usage === undefined ? undefined : normalizeUsage(usage)?.input),
    archiveId,
    now: () => now().getTime(),
    model,
    maxSummaryTokens: summarizer.maxSummaryTokens,
    reasoningBound: facts.thinking === "bound",
    storageKind: storage.kind,
    onStorageFailure: storage.onFailure,
  };
  const parts: ManagerParts = {
    environment,
    open,
    worker,
    redaction,
    summarizers: createSummarizers(ports.summarizer, summarizer, {
      redact: (text) => redaction.redactText(text),
      warn,
    }),
    sink: createTracer({
      exporters: [...(ports.exporters ?? []), ...configuredExporters(config, warn)],
      redact: redaction,
      now: () => now().getTime(),
      onError: warn,
    }),
    firstEvent: redaction.enabled
      ? undefined
      : warning({ severity: "high", code: "redaction_off", message: REDACTION_OFF_WARNING }),
    beforeCommit: flushing,
    withCost: (attempt) => withCost(attempt, models),
    warn,
  };
  return { settings, parts, open, flushing };
}

/** Passes warnings on; what a listener throws, or rejects with later, is not reported: nobody is left to report it to. */
function createWarner(onWarning: ManagerPorts["onWarning"]): (message: string) => void {
  const say = onWarning ?? ((text: string) => console.warn(`[compact] ${text}`));
  return (message) => {
    (async () => say(message))().catch(() => undefined);
  };
}
