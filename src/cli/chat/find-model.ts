import type { AgentModel } from "../../agents/agent-model.ts";
import type { Invocation } from "../command.ts";
import { importPackage } from "../packages.ts";
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
  const load = (name: string): Promise<unknown> => importPackage(name, ports.cwd);
  const named = async (name: string): Promise<AgentModel> => {
    if (name === "demo") return createDemoModel();
    const outside = { env: ports.env, load };
    const model =
      url === undefined ? await loadProviderModel(name, outside) : await loadServerModel(url, name, outside);
    return agentModelFromAiSdk(model);
  };
  return {
    named,
    first: async () => {
      if (flags.model !== undefined) return named(flags.model);
      if (url === undefined) return createDemoModel();
      return agentModelFromAiSdk(await loadServerModel(url, undefined, { env: ports.env, load }));
    },
  };
}

function agentModelFromAiSdk(model: unknown): AgentModel {
  throw new Error(`not yet: ${String(model)}`);
}
