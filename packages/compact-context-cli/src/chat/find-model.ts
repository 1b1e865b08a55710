import { agentModelFromAiSdk } from "compact-context/internal/adapters/ai-sdk/agent-model";
import type { AgentModel } from "compact-context/internal/agent/agent-model";
import type { Invocation } from "../command.ts";
import { importPackage } from "../packages.ts";
import { parseTokens } from "../quantities.ts";
import { createDemoModel } from "./demo-model.ts";
import { loadProviderModel, loadServerModel } from "./models.ts";

/** The models that a chat may use, found by name. */
export interface Models {
  /** What the flags ask for; the script where they ask for none. */
  first(): Promise<AgentModel>;
  /** `provider/model`, a model of the server of `--base-url`, or `demo`. Rejects with `InvalidUsage`. */
  named(name: string): Promise<AgentModel>;
}

export function createModels({ flags, ports }: Invocation): Models {
  const url = flags["base-url"];
  const outside = { env: ports.env, load: (name: string) => importPackage(name, ports.cwd) };
  const settings = {
    window: flags.window === undefined ? undefined : parseTokens(flags.window, "--window"),
  };
  const atServer = async (address: string, name: string | undefined): Promise<AgentModel> =>
    agentModelFromAiSdk(await loadServerModel(address, name, outside), settings);
  const named = async (name: string): Promise<AgentModel> => {
    if (name === "demo") return createDemoModel();
    if (url !== undefined) return atServer(url, name);
    return agentModelFromAiSdk(await loadProviderModel(name, outside), settings);
  };
  return {
    named,
    first: async () => {
      if (flags.model !== undefined) return named(flags.model);
      return url === undefined ? createDemoModel() : atServer(url, undefined);
    },
  };
}
