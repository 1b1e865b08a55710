// LangGraph as installed next to this file; loosely typed, because several versions are tested.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Loose = any;

export interface Modules {
  readonly core: Loose;
  readonly chat: Loose;
  readonly runnables: Loose;
  readonly graph: Loose;
  readonly prebuilt: Loose;
}

const NAMES = [
  "@langchain/core/messages",
  "@langchain/core/language_models/chat_models",
  "@langchain/core/runnables",
  "@langchain/langgraph",
  "@langchain/langgraph/prebuilt",
];

/** Undefined if it is not installed. */
export async function load(): Promise<Modules | undefined> {
  try {
    const [core, chat, runnables, graph, prebuilt] = await Promise.all(NAMES.map((name) => import(name)));
    return { core, chat, runnables, graph, prebuilt };
  } catch {
    return undefined;
  }
}

/** A checkpointer's package; undefined if it is not installed or its native part is not built. */
export async function loadSaver(name: "sqlite" | "postgres"): Promise<Loose> {
  try {
    const module = await import(`@langchain/langgraph-checkpoint-${name}`);
    return name === "sqlite" && module.SqliteSaver.fromConnString(":memory:") ? module : module;
  } catch {
    return undefined;
  }
}
