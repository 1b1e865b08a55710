import type { CompactConfig, CompactConfigInput } from "compact-context/internal/config/settings";
import type { Exporter, StorageDriver } from "compact-context/internal/core/ports";
import type { ManualRequest, PreflightRequest } from "compact-context/internal/core/usage";
import { CompactManager, type ManagerPorts } from "compact-context/internal/create-manager";
import type { HostManager } from "compact-context/internal/host";
import { lookUpModel } from "compact-context/internal/tokens/models";

/**
 * Used where nobody names a window. Clients compact by themselves from about 160,000 tokens on, whatever the model
 * could hold; what they have done cannot be undone here.
 */
const USUAL_WINDOW = 150_000;

export interface Sessions {
  /** The manager for the calls of a model. */
  managerOf(model: string | undefined): HostManager;
  /** The window that the calls of a model are held to, in tokens. */
  windowOf(model: string | undefined): number;
  /** Stores what is known of every session. */
  close(): Promise<void>;
}

export interface SessionsOptions {
  readonly config: CompactConfig;
  /** `--window`. */
  readonly window: number | undefined;
  readonly storage: StorageDriver;
  /** Hear of every event. */
  readonly exporters?: readonly Exporter[];
  warn(message: string): void;
}

/** One manager for each model: counting, window and what becomes of reasoning differ. All share one storage. */
export function createSessions({ config, window, storage, exporters, warn }: SessionsOptions): Sessions {
  const managers = new Map<string, CompactManager>();
  const windowOf = (model = ""): number =>
    window ?? config.maxContextTokens ?? Math.min(USUAL_WINDOW, lookUpModel(model, config.models).window);

  const open = (model: string): CompactManager => {
    const limit = windowOf(model);
    const { window: own, known } = lookUpModel(model, config.models);
    const manager = new ProxyManager(
      { ...config, model } as CompactConfigInput,
      { storage, exporters, onWarning: warn },
      { window: limit, own: known ? own : limit },
    );
    managers.set(model, manager);
    return manager;
  };

  return {
    windowOf,
    managerOf: (model = "") => managers.get(model) ?? open(model),
    async close() {
      await Promise.all([...managers.values()].map((manager) => manager.flush()));
    },
  };
}

/**
 * The window is what the list may fill; the answer needs room in it only where the model's own window ends. Agents
 * ask for answers of 64,000 tokens, which is more than a small window as a whole: half of it is the most that they get.
 */
class ProxyManager extends CompactManager {
  readonly #window: number;
  readonly #own: number;

  constructor(config: CompactConfigInput, ports: ManagerPorts, windows: { window: number; own: number }) {
    super({ ...config, maxContextTokens: windows.window }, ports);
    this.#window = windows.window;
    this.#own = windows.own;
  }

  override preflight<T>(session: string, messages: readonly T[], request: PreflightRequest = {}) {
    return super.preflight(session, messages, this.#within(request));
  }

  override manualCompact<T>(session: string, messages: readonly T[], request: ManualRequest = {}) {
    return super.manualCompact(session, messages, this.#within(request));
  }

  override isOverBudget(messages: readonly unknown[], request: PreflightRequest = {}): boolean {
    return super.isOverBudget(messages, this.#within(request));
  }

  #within<R extends PreflightRequest>(request: R): R {
    const beyond = Math.max(0, this.#window + (request.maxOutputTokens ?? 0) - this.#own);
    return { ...request, maxOutputTokens: Math.min(beyond, Math.floor(this.#window / 2)) };
  }
}
