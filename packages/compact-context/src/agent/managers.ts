import type { CompactionNotice } from "../core/report.ts";
import { CompactManager, type ManagerPorts } from "../create-manager.ts";
import { CompactError } from "../errors.ts";
import { createHostPreflight, type HostPreflight } from "../host.ts";
import { lookUpModel } from "../tokens/models.ts";
import type { AgentModel } from "./agent-model.ts";
import type { AgentOptions } from "./agent-options.ts";
import { bareModelName } from "./spent.ts";

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
