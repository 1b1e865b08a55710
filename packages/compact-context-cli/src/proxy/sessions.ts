import {
  type CompactConfig,
  type CompactConfigInput,
  CompactManager,
  type Exporter,
  type ManagerPorts,
  type ManualRequest,
  type PreflightRequest,
  type StorageDriver,
} from "compact-context";
import { CompactError, createLruMap } from "compact-context/internal/errors";
import type { HostManager } from "compact-context/internal/host";
import { lookUpModel } from "compact-context/internal/tokens/models";
import { PROVIDERS, type ProviderName } from "../providers.ts";

/**
 * Default window. Clients compact by themselves at about 160,000 tokens, whatever the model's window; the
 * proxy cannot undo that.
 */
const USUAL_WINDOW = 150_000;

export interface Sessions {
  /** The manager for the calls of a model. */
  managerOf(model: string | undefined): HostManager;
  /** Saves the state of every session. */
  close(): Promise<void>;
}

interface SessionsOptions {
  readonly config: CompactConfig;
  /** `--window`. */
  readonly window: number | undefined;
  readonly storage: StorageDriver;
  /** Receive every event. */
  readonly exporters?: readonly Exporter[];
  warn(message: string): void;
}

/** A single conversation is rarely rewound; two that share a session alternate between their lists. */
const REWINDS = 3;
const MOST_SESSIONS = 1000;

/** Reports, once per session, that two conversations seem to share it. */
function mixedSessions(warn: (message: string) => void): Exporter {
  const changed = createLruMap<number>(MOST_SESSIONS);
  return {
    name: "sessions",
    export({ name, sessionId, properties }) {
      if (name !== "compact.warning" || properties.code !== "history_changed") return;
      const times = (changed.get(sessionId) ?? 0) + 1;
      changed.set(sessionId, times);
      if (times === REWINDS)
        warn(
          `session ${sessionId} switches between histories, as when two conversations share a key and begin with the same words: send a different header x-compact-session for each`,
        );
    },
  };
}

/** One manager per model: counting, window and reasoning differ. All share one storage. */
export function createSessions({ config, window, storage, exporters = [], warn }: SessionsOptions): Sessions {
  const managers = new Map<string, CompactManager>();
  const heard = [...exporters, mixedSessions(warn)];
  const open = (model: string): CompactManager => {
    const { window: own, known } = lookUpModel(model, config.models);
    const limit = window ?? config.maxContextTokens ?? Math.min(USUAL_WINDOW, own);
    const manager = new ProxyManager(
      { ...config, model: model || config.model } as CompactConfigInput,
      { storage, exporters: heard, onWarning: warn },
      { window: limit, own: known ? own : limit },
    );
    managers.set(model, manager);
    return manager;
  };

  return {
    managerOf: (model = "") => managers.get(model) ?? open(model),
    async close() {
      await Promise.all([...managers.values()].map((manager) => manager.flush()));
    },
  };
}

/**
 * The window limits the list; the answer only needs room in it near the model's own window. Agents request
 * answers of 64,000 tokens, more than a small window: they get at most half of it.
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

  override isOverBudget(session: string, messages: readonly unknown[], request: PreflightRequest = {}) {
    return super.isOverBudget(session, messages, this.#within(request));
  }

  #within<R extends PreflightRequest>(request: R): R {
    const beyond = Math.max(0, this.#window + (request.maxOutputTokens ?? 0) - this.#own);
    return { ...request, maxOutputTokens: Math.min(beyond, Math.floor(this.#window / 2)) };
  }
}

/** Base address of the upstream, without `/v1`. */
export type Upstreams = Readonly<Record<ProviderName, URL>>;

/**
 * One upstream for all calls if `--upstream` is set, otherwise each provider's own or the one from the
 * environment. Throws `InvalidUsage` for an invalid URL.
 */
export function upstreamsOf(
  flag: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Upstreams {
  const urlOf = (provider: ProviderName): URL => {
    const { urlVariable, url } = PROVIDERS[provider];
    const named = env[urlVariable] || undefined;
    return baseUrl(flag ?? named ?? url, flag === undefined ? urlVariable : "--upstream");
  };
  return { anthropic: urlOf("anthropic"), openai: urlOf("openai"), google: urlOf("google") };
}

function baseUrl(text: string, place: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "" || url.search !== "") {
    throw new CompactError("InvalidUsage", `${place} is no URL that calls can go on to`, {
      place,
      hint: "Write it as https://api.anthropic.com, without a key and without a query.",
    });
  }
  url.pathname = url.pathname.replace(/\/+$/, "").replace(/\/v1$/, "");
  return url;
}

/** The provider's address for an incoming call: by its path, otherwise by the header with its key. */
export function targetOf(upstreams: Upstreams, here: URL, headers: Headers): URL {
  const base = upstreams[providerOf(here.pathname, headers)];
  const target = new URL(base);
  target.pathname = `${base.pathname.replace(/\/$/, "")}${here.pathname}`;
  target.search = here.search;
  return target;
}

function providerOf(path: string, headers: Headers): ProviderName {
  if (path.startsWith("/v1/messages") || headers.has("anthropic-version")) return "anthropic";
  if (/^\/v1(?:alpha|beta)\d?\//.test(path) || headers.has("x-goog-api-key")) return "google";
  return "openai";
}
