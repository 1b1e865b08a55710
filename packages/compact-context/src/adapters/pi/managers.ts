import type { CompactConfigInput } from "../../config/settings.ts";
import { CompactManager } from "../../create-manager.ts";
import type { PiContext } from "./sdk.ts";

/** pi's own window where it says none: its models always do. */
const WINDOW = 128_000;

export interface Managers {
  /** The manager for the model that pi uses now. */
  managerFor(context: Pick<PiContext, "model" | "cwd">): CompactManager;
  flush(): Promise<void>;
}

/** The given manager, or one of our own for each model's window. */
export function createManagers(given: CompactManager | undefined, config: CompactConfigInput): Managers {
  const made = new Map<string, CompactManager>();
  const managerFor: Managers["managerFor"] = ({ model, cwd }) => {
    if (given !== undefined) return given;
    const window = config.maxContextTokens ?? model?.contextWindow ?? WINDOW;
    const key = `${model?.id ?? ""} ${window}`;
    const known = made.get(key);
    if (known !== undefined) return known;
    const manager = new CompactManager({
      model: model?.id,
      storage: { root: `${cwd}/.compact/archive` },
      ...config,
      maxContextTokens: window,
    });
    made.set(key, manager);
    return manager;
  };
  return {
    managerFor,
    flush: async (): Promise<void> => {
      await Promise.all(
        [...made.values(), ...(given === undefined ? [] : [given])].map((one) => one.flush()),
      );
    },
  };
}
