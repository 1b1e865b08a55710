import type { PreflightRequest } from "../../core/usage.ts";
import { CompactError, createKeyedMutex, createLruMap, requireOptions } from "../../errors.ts";
import { createHostPreflight, type HostManager, type HostOptions } from "../../host.ts";
import { objectOf, positiveOf } from "../../providers/request.ts";
import { type FilterCall, type InputFilter, isDelta, type ModelInput, type SessionLike } from "./sdk.ts";
import type { SpanExporter } from "./span-exporter.ts";

export { createSpanExporter } from "./span-exporter.ts";

export interface CompactSessionOptions<Store extends SessionLike> extends HostOptions {
  readonly manager: HostManager;
  /** The session that stores the items: any session of the SDK or a custom one. */
  readonly underlyingSession: Store;
  /** Default: the underlying session's own id. */
  readonly sessionId?: string;
  /** Content sent with every call in addition to the items, for counting. */
  readonly request?: Pick<PreflightRequest, "system" | "tools" | "maxOutputTokens">;
}

/**
 * The underlying session with all its members, plus the method that the SDK's runner calls after every stored
 * turn.
 */
export type CompactingSession<Store> = Store & {
  /**
   * Replaces the stored items with their compacted list when a threshold is reached; `force`: regardless of
   * usage.
   */
  runCompaction(args?: { force?: boolean | undefined }): Promise<null>;
};

/** Callable with and without `new`. */
interface CompactSessionConstructor {
  new <Store extends SessionLike>(options: CompactSessionOptions<Store>): CompactingSession<Store>;
  <Store extends SessionLike>(options: CompactSessionOptions<Store>): CompactingSession<Store>;
}

const WRITES: ReadonlySet<PropertyKey> = new Set([
  "addItems",
  "popItem",
  "clearSession",
  "applyHistoryMutations",
  "applyHistoryTransaction",
  "replaceHistoryWithCompaction",
]);

/**
 * A session that compacts its stored items. The originals are archived before an item is removed from the
 * store. Throws `InvalidArgument` for a session that compacts by itself or whose items are only stored by the
 * provider.
 */
export const CompactSession: CompactSessionConstructor = function compactSession<Store extends SessionLike>(
  options: CompactSessionOptions<Store>,
): CompactingSession<Store> {
  requireOptions(options, "options", "Pass { manager: new CompactManager(), sessionId }.");
  const store = options.underlyingSession;
  requireOptions(store, "options.underlyingSession", "Pass the session that keeps the items.");
  refuseForeign(store);
  const inTurn = createKeyedMutex();
  const runCompaction = createCompaction(options, (work) => inTurn("store", work));
  return new Proxy(store, {
    has: (target, key) => key === "runCompaction" || Reflect.has(target, key),
    get(target, key) {
      if (key === "runCompaction") return runCompaction;
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      const call = (...args: unknown[]): unknown => Reflect.apply(value, target, args);
      return WRITES.has(key) ? (...args: unknown[]) => inTurn("store", async () => call(...args)) : call;
    },
  }) as CompactingSession<Store>;
} as CompactSessionConstructor;

function refuseForeign(store: object): void {
  if ("runCompaction" in store) {
    throw new CompactError("InvalidArgument", "the underlying session compacts by itself", {
      place: "options.underlyingSession",
      hint: "Wrap the plain session that it is built on, or use it alone.",
    });
  }
  const api = Object.getOwnPropertySymbols(store).find(
    (symbol) => symbol.description === "OPENAI_SESSION_API",
  );
  if (api !== undefined && Reflect.get(store, api) === "conversations") {
    throw new CompactError("InvalidArgument", "the underlying session's items are kept by the provider", {
      place: "options.underlyingSession",
      hint: "Wrap a session with a store of its own, or set modelSettings.contextManagement.",
    });
  }
}

type Locked = <T>(work: () => Promise<T>) => Promise<T>;

function createCompaction<Store extends SessionLike>(
  options: CompactSessionOptions<Store>,
  locked: Locked,
): (args?: { force?: boolean | undefined }) => Promise<null> {
  const { manager, request } = options;
  const store: SessionLike = options.underlyingSession;
  const preflight = createHostPreflight(manager, options);

  const compactOnce = async (sessionId: string, force: boolean): Promise<void> => {
    const items = await locked(() => store.getItems());
    const messages = await preflight({
      sessionId,
      messages: items,
      request: { format: "openai-agents", ...request },
      force,
    });
    if (messages === items) return;
    await locked(() => rewrite(store, items, [...messages]));
  };

  return async (args) => {
    const sessionId = options.sessionId ?? (await store.getSessionId());
    const force = args?.force === true;
    try {
      await compactOnce(sessionId, force);
    } catch (error) {
      // The turn is already stored and answered: a failure must not discard its answer.
      if (force || options.onFailure === "throw") throw error;
      manager.warn(sessionId, "session_not_compacted", `the stored items stay as they are: ${String(error)}`);
    }
    return null;
  };
}

/** Replaces the compacted items; items added in the meantime follow them. */
async function rewrite(store: SessionLike, before: unknown[], after: unknown[]): Promise<void> {
  const now = await store.getItems();
  const isSame = before.every((item, index) => JSON.stringify(item) === JSON.stringify(now[index]));
  if (!isSame) {
    throw new CompactError("Conflict", "the stored items were changed while they were compacted", {
      hint: "Nothing was replaced; the next turn tries again.",
    });
  }
  await store.clearSession();
  try {
    await store.addItems([...after, ...now.slice(before.length)]);
  } catch (error) {
    await store.clearSession();
    await store.addItems(now);
    throw error;
  }
}

export interface InputFilterOptions extends HostOptions {
  readonly manager: HostManager;
  /** The conversation of the list; a function if one runner serves several, or agents run inside agents. */
  readonly sessionId: string | ((call: FilterCall) => string | Promise<string>);
  /** Puts the manager's events under the current span; also pass it in the manager's `exporters`. */
  readonly spans?: SpanExporter;
}

/** Sessions that were already warned about; the oldest is evicted first. */
const MAX_SESSIONS = 256;

/**
 * For `callModelInputFilter`: the list sent to the model is compacted, the SDK's own data (its session, the
 * run's history) stays unchanged. Rejects with `InsufficientBudget` if what must stay does not fit.
 */
export function compactInputFilter(options: InputFilterOptions): InputFilter {
  requireOptions(options, "options", "Pass { manager: new CompactManager(), sessionId }.");
  const { manager, sessionId, spans } = options;
  const preflight = createHostPreflight(manager, options);
  const warned = createLruMap<true>(MAX_SESSIONS);

  const filter = async <Data extends ModelInput>(call: FilterCall<Data>): Promise<Data> => {
    const { input, instructions } = call.modelData;
    const id = typeof sessionId === "string" ? sessionId : await sessionId(call);
    spans?.attach(id);
    if (isDelta(input)) {
      if (warned.get(id) === undefined) manager.warn(id, "server_managed_history", DELTA_WARNING);
      warned.set(id, true);
      return call.modelData;
    }
    const messages = await preflight({
      sessionId: id,
      messages: input,
      request: {
        format: "openai-agents",
        system: instructions,
        tools: toolsOf(call.agent.tools),
        maxOutputTokens: positiveOf(objectOf(call.agent.modelSettings).maxTokens),
      },
    });
    return messages === input ? call.modelData : { ...call.modelData, input: [...messages] };
  };
  return Object.assign(filter, { preserveInputIdentity: true });
}

/** Function tools have a JSON schema; hosted tools are counted by their settings. */
function toolsOf(tools: unknown): readonly unknown[] {
  return Array.isArray(tools) ? tools : [];
}

const DELTA_WARNING: string =
  "the provider keeps this conversation (conversationId or previousResponseId), so that only its newest items are here: " +
  "nothing is compacted. Set modelSettings.contextManagement for compaction on the provider's side, or leave the ids out.";
