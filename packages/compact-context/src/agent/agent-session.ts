import type { CompactionNotice } from "../core/report.ts";
import { CompactManager, type ManagerPorts } from "../create-manager.ts";
import { CompactError } from "../errors.ts";
import { createHostPreflight, type HostPreflight } from "../host.ts";
import { lookUpModel } from "../tokens/models.ts";
import { type AgentMessage, type AgentModel, bareModelName } from "./agent-message.ts";
import type { AgentOptions } from "./agent-options.ts";
import { type Diagnostic, diagnosticOf } from "./event.ts";

/** Persistent storage of a session. */
export interface Journal {
  /** Logs a message, whatever later happens to the list. */
  log(message: AgentMessage): void;
  /** Appends a message to the list; durable when it resolves. */
  add(message: AgentMessage): Promise<void>;
  /** Replaces the list; earlier messages stay in the log. */
  replace(messages: readonly AgentMessage[]): Promise<void>;
}

/** The live list of one session. */
export interface AgentSession {
  readonly id: string;
  readonly messages: readonly AgentMessage[];
  /** The provider's usage record of the newest request, until a preflight consumes it. */
  usage: unknown;
  add(message: AgentMessage): Promise<void>;
  replace(messages: readonly AgentMessage[]): Promise<void>;
}

export interface SessionOptions {
  readonly id: string;
  readonly messages?: readonly AgentMessage[];
  readonly journal?: Journal;
  /** Called when the journal could not be written; the session continues, and the next write catches up. */
  readonly warn?: (diagnostic: Diagnostic) => void;
}

export function createAgentSession({ id, messages = [], journal, warn }: SessionOptions): AgentSession {
  let list: readonly AgentMessage[] = [...messages];
  let behind = false;
  const keep = async (write: (journal: Journal) => Promise<void>): Promise<void> => {
    if (journal === undefined) return;
    try {
      await (behind ? journal.replace(list) : write(journal));
      behind = false;
    } catch (error) {
      if (!behind) warn?.({ ...diagnosticOf(error), code: "session-not-saved" });
      behind = true;
    }
  };
  return {
    id,
    usage: undefined,
    get messages() {
      return list;
    },
    async add(message) {
      list = [...list, message];
      journal?.log(message);
      await keep((open) => open.add(message));
    },
    async replace(next) {
      list = next;
      await keep((open) => open.replace(next));
    },
  };
}

/** Default token limit of a tool's output as sent to a model. */
const TOOL_RESULT_TOKENS = 8000;

/** The manager of each model that an agent and its sub-agents use. */
export interface AgentManagers {
  managerFor(model: AgentModel): CompactManager;
  preflightFor(model: AgentModel): HostPreflight;
  flush(): Promise<void>;
  /** Releases a session that is no longer used, once none of its calls is running. */
  release(sessionId: string): Promise<void>;
  close(): Promise<void>;
}

/** Managers by window and model name; `compacted` is called for every compaction. */
export function createManagers(
  { manager: given, config = {} }: Pick<AgentOptions, "manager" | "config">,
  ports: ManagerPorts,
  compacted: (notice: CompactionNotice) => void,
): AgentManagers {
  const made = new Map<string, CompactManager>();
  const preflights = new Map<CompactManager, HostPreflight>();
  const deaf: (() => void)[] = [];

  const make = (model: AgentModel): CompactManager => {
    if (given instanceof CompactManager) return given;
    if (given !== undefined) return given(model, ports);
    const name = config.model ?? bareModelName(model.name);
    const window =
      config.maxContextTokens ?? model.window ?? lookUpModel(name, config.models as never).window;
    const policy = { maxToolResultTokens: TOOL_RESULT_TOKENS, ...config.policy };
    return new CompactManager({ ...config, model: name, maxContextTokens: window, policy }, ports);
  };
  const managerFor = (model: AgentModel): CompactManager => {
    const key = `${model.name} ${model.window ?? ""}`;
    const known = made.get(key);
    if (known !== undefined) return known;
    const manager = make(model);
    requireOutputLimit(manager);
    made.set(key, manager);
    if (!preflights.has(manager)) {
      preflights.set(manager, createHostPreflight(manager));
      deaf.push(manager.onCompaction(compacted));
    }
    return manager;
  };
  const flush = async (): Promise<void> => {
    await Promise.all([...preflights.keys()].map((manager) => manager.flush()));
  };
  const release = async (sessionId: string): Promise<void> => {
    await Promise.all([...preflights.keys()].map((manager) => manager.release(sessionId)));
  };
  return {
    managerFor,
    release,
    preflightFor: (model) => {
      const manager = managerFor(model);
      return preflights.get(manager) ?? createHostPreflight(manager);
    },
    flush,
    async close() {
      for (const end of deaf) end();
      await flush();
    },
  };
}

/**
 * Tool output can be huge: what is sent must be limited, and the whole archived, before the first request.
 */
function requireOutputLimit({ config }: CompactManager): void {
  if (config.policy.maxToolResultTokens !== undefined) return;
  throw new CompactError("InvalidConfig", "an agent's manager needs policy.maxToolResultTokens", {
    place: "policy.maxToolResultTokens",
    hint: `Set it, to ${TOOL_RESULT_TOKENS} for instance: longer tool output keeps head and tail, and the whole is archived.`,
  });
}
