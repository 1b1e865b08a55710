import type { CompactionNotice } from "../core/report.ts";
import { CompactManager, type ManagerPorts } from "../create-manager.ts";
import { CompactError } from "../errors.ts";
import { createHostPreflight, type HostPreflight } from "../host.ts";
import { lookUpModel } from "../tokens/models.ts";
import { type AgentMessage, type AgentModel, bareModelName } from "./agent-message.ts";
import type { AgentOptions } from "./agent-options.ts";
import { type Diagnostic, diagnosticOf } from "./event.ts";

/** What a session keeps outside of the process. */
export interface Journal {
  /** Takes in what was said, whatever becomes of the list. */
  log(message: AgentMessage): void;
  /** Adds a message to the list; durable when it resolves. */
  add(message: AgentMessage): Promise<void>;
  /** The list is this one from now on; what was added before stays in the log. */
  replace(messages: readonly AgentMessage[]): Promise<void>;
}

/** The live list of one session. */
export interface AgentSession {
  readonly id: string;
  readonly messages: readonly AgentMessage[];
  /** The provider's usage record of the newest request, until a preflight has taken it. */
  usage: unknown;
  add(message: AgentMessage): Promise<void>;
  replace(messages: readonly AgentMessage[]): Promise<void>;
}

export interface SessionOptions {
  readonly id: string;
  readonly messages?: readonly AgentMessage[];
  readonly journal?: Journal;
  /** Told when the journal could not be written; the session goes on, and the next write brings it up to date. */
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

/** Most tokens of a tool's output that a model sees where the settings say nothing. */
const TOOL_RESULT_TOKENS = 8000;

/** The manager of each model that an agent and its sub-agents use. */
export interface AgentManagers {
  managerFor(model: AgentModel): CompactManager;
  preflightFor(model: AgentModel): HostPreflight;
  flush(): Promise<void>;
  /** Lets go of a session that nothing asks for any more, once no call of it is under way. */
  release(sessionId: string): Promise<void>;
  close(): Promise<void>;
}

/** Managers by window and name of the model; every compaction of any of them is told. */
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

/** A tool may flood: what of its output is sent has to be bounded, and the whole archived, before the first time. */
function requireOutputLimit({ config }: CompactManager): void {
  if (config.policy.maxToolResultTokens !== undefined) return;
  throw new CompactError("InvalidConfig", "an agent's manager needs policy.maxToolResultTokens", {
    place: "policy.maxToolResultTokens",
    hint: `Set it, to ${TOOL_RESULT_TOKENS} for instance: longer tool output keeps head and tail, and the whole is archived.`,
  });
}
