import { type ArchiveStore, createArchiveStore } from "./archive/store.ts";
import { listCodecs } from "./codecs/formats.ts";
import { mergeConfig, settleTarget } from "./config/layer.ts";
import type { CompactConfig, CompactConfigInput } from "./config/settings.ts";
import { configuredDriver, configuredExporters } from "./configured.ts";
import { type ManagerParts, type ManagerSettings, SessionManager } from "./core/manager.ts";
import type { Format } from "./core/message.ts";
import type { Policy } from "./core/policy.ts";
import type { Environment, Outbox, Redaction, StorageDriver, Summarizer, TextModel } from "./core/ports.ts";
import type { Exporter } from "./core/report.ts";
import { type Fields, requireFields, type SessionSettings } from "./core/request.ts";
import type { Store } from "./core/store.ts";
import {
  CompactError,
  createLruMap,
  errorMessage,
  hasCode,
  once,
  platform,
  requireOptions,
} from "./errors.ts";
import { type BeforeCompaction, type MemoryFlushHook, MemoryFlushing, type Recovery } from "./flush/flush.ts";
import { LiveLists } from "./lint/live.ts";
import { createRecall, type Recall } from "./recall/recall.ts";
import { createRedactor, REDACTION_OFF_WARNING } from "./redaction/redactor.ts";
import type { Archive } from "./search/archive.ts";
import { guardDeleted, sweep } from "./search/deletion.ts";
import { createTurns, type GuardedStorage, guardStorage, type Turns } from "./storage/guard.ts";
import { createSummarizers } from "./summarizers/create-summarizers.ts";
import { lookUpModel, overrideOf, withCost } from "./tokens/models.ts";
import { createCounters } from "./tokens/token-counter.ts";
import { normalizeUsage } from "./tokens/usage.ts";
import { ArchivingRecorder, createTracer } from "./tracing/tracer.ts";

/** The dependencies of a manager; each has a default. */
export interface ManagerPorts {
  /**
   * Tried before the built-in one. A bare model becomes a summarizer with the settings of the `summarizer`
   * section; `createModelSummarizer` has more options, such as fallback models.
   */
  readonly summarizer?: Summarizer | TextModel;
  /**
   * Storage of archive and session state. Default: the file system under `storage.root` on Node, else memory.
   */
  readonly storage?: StorageDriver;
  /** Separate storage for transcripts, summaries and events; session state stays in `storage`. */
  readonly archive?: StorageDriver;
  /**
   * Receives messages removed from the list, for a memory: they are queued durably before removal and
   * delivered in the background, at least once. The compaction does not wait for delivery.
   */
  readonly memoryFlushHook?: MemoryFlushHook;
  /** Timeout of the hook, after which it is called again later. Default: 60,000. */
  readonly memoryFlushTimeoutMs?: number;
  /**
   * Called with the whole list, as last sent to the model, before committing a compaction that summarizes or
   * clears messages; the compaction waits briefly for it and continues regardless of the outcome.
   */
  readonly beforeCompaction?: BeforeCompaction;
  /** How long a compaction waits, in milliseconds. Default: 500. */
  readonly beforeCompactionWaitMs?: number;
  /** Name of this worker among those that share the storage. Default: a random name. */
  readonly worker?: string;
  /** Receive every event. */
  readonly exporters?: readonly Exporter[];
  /** Wall clock. */
  readonly now?: () => Date;
  /** Milliseconds of a monotonic clock. */
  readonly clock?: () => number;
  /**
   * Runs work after some milliseconds; the returned function cancels it. The timer must not keep the process
   * alive.
   */
  readonly later?: (ms: number, work: () => void) => () => void;
  /**
   * Repairs what providers reject in a list (a call without its result, a result without its call, …) before
   * anything else; see `repair`. If omitted, the list stays unchanged, with one warning per affected session.
   */
  readonly repair?: boolean;
  /** Called with warnings, once each. */
  readonly onWarning?: (message: string) => void;
}

const PORTS: Fields<ManagerPorts> = {
  summarizer: "object",
  storage: "object",
  archive: "object",
  memoryFlushHook: "function",
  memoryFlushTimeoutMs: "positive",
  beforeCompaction: "function",
  beforeCompactionWaitMs: "number",
  worker: "text",
  exporters: "list",
  now: "function",
  clock: "function",
  later: "function",
  repair: "flag",
  onWarning: "function",
};

/**
 * Keeps sessions within the window: `preflight`, before every model call, returns the list to send. One
 * manager serves any number of sessions; calls for one session run sequentially.
 */
export class CompactManager extends SessionManager {
  readonly config: CompactConfig;
  readonly #wired: ReturnType<typeof wire>;

  /** Throws `InvalidConfig` for settings that do not exist or are out of range. */
  constructor(config: CompactConfigInput = {}, ports: ManagerPorts = {}) {
    requireOptions(config, "config");
    requireFields(ports, PORTS, "ports");
    const merged = mergeConfig(config, windowOf);
    const wired = wire(merged, ports);
    super(wired.settings, wired.parts);
    this.config = merged;
    this.#wired = wired;
  }

  /** Finds and restores what was removed from a session's prompt. Nothing is read until it is used. */
  recall(sessionId: string): Recall {
    const { countText } = this.#wired.settings.counterFor(undefined);
    return createRecall({ sessionId, countText, archive: this.#wired.searchable });
  }

  /**
   * The originals of all sessions, to list, read, search and delete. Deleting a session also removes it from
   * this manager.
   */
  async archive(): Promise<Archive> {
    const archive = await this.#wired.searchable();
    return {
      ...archive,
      delete: async (what) => {
        if (typeof what === "string") await this.release(what);
        return archive.delete(what);
      },
    };
  }

  /**
   * Delivers items that an earlier process queued for the memory flush hook; resolves when they were
   * delivered, or failed and will be retried. Otherwise the first call starts the same work automatically.
   */
  async recover(): Promise<Recovery> {
    return (await this.#wired.flushing?.recover()) ?? { handedOn: 0, failed: 0 };
  }
}

/** The format to lint; undefined for neutral messages and ambiguous lists. */
function formatOf(list: readonly unknown[], format: Format | undefined): Format | undefined {
  try {
    const codec = listCodecs.forList(list, format);
    return codec.neutral || !codec.certain ? undefined : codec.format;
  } catch {
    return undefined;
  }
}

/** The window configured for the model, or for all models; else the model's own. */
function windowOf({ maxContextTokens, model = "", models }: CompactConfig): number {
  return overrideOf(model, models)?.maxContextTokens ?? maxContextTokens ?? lookUpModel(model, models).window;
}

/** The settings of sessions whose lists go to the configuration's model. */
function sessionSettings(config: CompactConfig, warn: (message: string) => void): SessionSettings {
  const { model, models, summarizer } = config;
  const facts = lookUpModel(model ?? "", models);
  const own = overrideOf(model ?? "", models);
  const maxContextTokens = windowOf(config);
  const isGiven = (config.maxContextTokens ?? own?.maxContextTokens) !== undefined;
  if (model !== undefined && !facts.known && !isGiven)
    warn(
      `The model ${JSON.stringify(model)} is not known here: a window of ${facts.window} tokens is assumed. Set maxContextTokens.`,
    );
  const given: Policy = {
    ...config.policy,
    triggerPct: own?.triggerPct ?? config.policy.triggerPct,
    targetContextTokens: own?.targetContextTokens ?? config.policy.targetContextTokens,
  };
  const { policy, warning: unreachable } = settleTarget(given, maxContextTokens);
  if (unreachable !== undefined) warn(unreachable);
  return {
    policy,
    summaryRole: summarizer.summaryRole,
    maxContextTokens,
    maxSummaryTokens: summarizer.maxSummaryTokens,
    model,
    reasoningBound: facts.thinking === "bound",
    codecs: listCodecs,
    counterFor: createCounters({ model, models, onWarning: warn }),
    limitsInputOnly: (format) => format === "gemini" || facts.provider === "google",
    readUsage: (usage) => (usage === undefined ? undefined : normalizeUsage(usage)?.input),
  };
}

/** Models besides the configured one whose settings are remembered. */
const MAX_MODELS = 32;

/**
 * The settings of calls that name another model. A window configured for all models is capped at the model's
 * own.
 */
function settingsByModel(
  config: CompactConfig,
  warn: (message: string) => void,
): (model: string) => SessionSettings {
  const known = createLruMap<SessionSettings>(MAX_MODELS);
  return (model) => {
    const found = known.get(model);
    if (found !== undefined) return found;
    const { window, known: isKnown } = lookUpModel(model, config.models);
    const { maxContextTokens = window } = config;
    const most = isKnown ? Math.min(maxContextTokens, window) : maxContextTokens;
    const settings = sessionSettings({ ...config, model, maxContextTokens: most }, warn);
    known.set(model, settings);
    return settings;
  };
}

/** Creates the parts of a manager from its configuration; `searchable` is the archive with its search. */
function wire(config: CompactConfig, ports: ManagerPorts) {
  const { summarizer, storage } = config;
  const environment: Environment = {
    now: ports.now ?? platform.now,
    clock: ports.clock ?? platform.clock,
    later: ports.later ?? platform.later,
  };
  const now = (): Date => environment.now();
  const worker = ports.worker ?? platform.id();
  const warn = createWarner(ports.onWarning);
  const redaction = createRedactor(config.redaction);
  const turns = createTurns(environment.clock);
  let toldUnopened = false;
  const open = once(async () => {
    try {
      const opened = await openStorage(config, ports, { redaction, warn, now, turns });
      queueMicrotask(() => flushing?.start());
      keepSwept(config, opened.patient, environment, warn);
      return opened;
    } catch (error) {
      if (hasCode(error, "InvalidConfig")) throw error;
      const failure = notOpened(error);
      if (!toldUnopened) warn(`${failure.message}: lists that fit go out as they are. ${failure.hint}`);
      toldUnopened = true;
      throw failure;
    }
  });
  const openQueue = async (way: keyof GuardedStorage = "patient") => {
    const store = await open();
    return { stateDriver: store.patient.stateDriver, outbox: await store.outbox(way) };
  };
  const searchable = once(async () => {
    const { archiveDriver, stateDriver } = await open();
    const { createArchive } = await import("./search/archive.ts");
    return createArchive(archiveDriver, { redact: redaction, stateDriver, now, warn });
  });
  const wantsFlush = ports.memoryFlushHook !== undefined || ports.beforeCompaction !== undefined;
  const flushing = wantsFlush
    ? new MemoryFlushing(ports, { worker, redact: redaction, open: openQueue, now, warn })
    : undefined;
  const settings: ManagerSettings = {
    ...sessionSettings(config, warn),
    onStorageFailure: storage.onFailure,
    forModel: settingsByModel(config, warn),
  };
  const parts: ManagerParts = {
    environment,
    enter: () => turns.next(true),
    pause: turns.pause,
    open,
    worker,
    redaction,
    summarizers: createSummarizers(ports.summarizer, summarizer, {
      redact: (text) => redaction.redactText(text),
      warn,
    }),
    recorder: createRecorder(config, ports, { redaction, open, now, warn }),
    beforeCommit: flushing,
    lists: (report) =>
      new LiveLists({
        repair: ports.repair === true,
        formatOf,
        pause: turns.pause,
        report(sessionId, code, message) {
          if (code === "malformed_list") warn(message);
          report(sessionId, code, message);
        },
      }),
    warn,
  };
  return { settings, parts, searchable, flushing };
}

/** Shared inputs for creating the parts of a manager. */
interface Wiring {
  readonly redaction: Redaction;
  now(): Date;
  warn(message: string): void;
}

/** The recorder of events over the archive and all exporters. */
function createRecorder(
  config: CompactConfig,
  { exporters = [] }: ManagerPorts,
  { redaction, open, now, warn }: Wiring & { open(): Promise<Storage> },
): ArchivingRecorder {
  return new ArchivingRecorder({
    sink: createTracer({
      exporters: [...exporters, ...configuredExporters(config, warn)],
      redact: redaction,
      now: () => now().getTime(),
      onError: warn,
    }),
    first: redaction.enabled
      ? undefined
      : { kind: "warning", severity: "high", code: "redaction_off", message: REDACTION_OFF_WARNING },
    archive: async () => (await open()).archive,
    storageKind: config.storage.kind,
    withCost: (attempt) => withCost(attempt, config.models),
    now,
    warn,
  });
}

/** Sends warnings to a listener and ignores its failures. */
function createWarner(onWarning: ManagerPorts["onWarning"]): (message: string) => void {
  const say = onWarning ?? ((text: string) => console.warn(`[compact] ${text}`));
  return (message) => {
    (async () => say(message))().catch(() => undefined);
  };
}

/** Archive, session states and outbox of a manager. */
interface Storage extends Store {
  readonly archive: ArchiveStore;
  /** The memory queue, opened on first use. */
  outbox(way: keyof GuardedStorage): Promise<Outbox>;
}

/** Opens archive and session states, on one medium unless the archive has its own. */
async function openStorage(
  config: CompactConfig,
  given: Pick<ManagerPorts, "storage" | "archive">,
  { redaction, warn, now, turns }: Wiring & { readonly turns: Turns },
): Promise<Storage> {
  const { timeoutMs } = config.storage;
  const guard = (driver: StorageDriver): GuardedStorage =>
    guardStorage(guardDeleted(driver, now), {
      timeoutMs,
      clock: platform.clock,
      later: platform.later,
      turn: () => turns.next(),
      warn,
    });
  const states = guard(given.storage ?? (await configuredDriver(config, warn)));
  const archives = given.archive === undefined ? states : guard(given.archive);
  const face = (way: keyof GuardedStorage) => ({
    archive: createArchiveStore(archives[way], redaction),
    archiveDriver: archives[way],
    stateDriver: states[way],
  });
  return {
    ...face("quick"),
    patient: face("patient"),
    async outbox(way) {
      const { outbox } = states[way];
      if (outbox !== undefined) return outbox;
      const { createDriverOutbox } = await import("./storage/outbox.ts");
      return createDriverOutbox(states[way], () => now().getTime());
    },
  };
}

/** Loading a module can fail if no more files can be opened. */
function notOpened(error: unknown): CompactError {
  if (CompactError.isInstance(error)) return error;
  return new CompactError("StorageFailed", `the storage cannot be opened: ${errorMessage(error)}`, {
    hint: "It is tried again at the next call.",
    cause: error,
  });
}

const SWEEP_MS = 86_400_000;

/** Deletes expired sessions now and daily, independently of calls. */
function keepSwept(
  { retention }: CompactConfig,
  { archiveDriver, stateDriver }: Pick<Storage, "archiveDriver" | "stateDriver">,
  { now, later }: Environment,
  warn: (message: string) => void,
): void {
  if ((retention.days ?? retention.maxBytes) === undefined) return;
  const drivers = [...new Set([stateDriver, archiveDriver])];
  const next = (ms: number): void => {
    later(ms, async () => {
      await sweep(drivers, retention, { now }).catch((error: unknown) =>
        warn(`expired sessions could not be deleted: ${errorMessage(error)}`),
      );
      next(SWEEP_MS);
    });
  };
  next(0);
}
