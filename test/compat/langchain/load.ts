// LangChain as installed next to this file; loosely typed, because several versions are tested.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Loose = any;

export interface Modules {
  readonly langchain: Loose;
  readonly core: Loose;
  readonly chat: Loose;
  readonly graph: Loose;
}

const NAMES = [
  "langchain",
  "@langchain/core/messages",
  "@langchain/core/language_models/chat_models",
  "@langchain/langgraph",
];

/** Undefined if it is not installed. */
export async function load(): Promise<Modules | undefined> {
  try {
    const [langchain, core, chat, graph] = await Promise.all(NAMES.map((name) => import(name)));
    return { langchain, core, chat, graph };
  } catch {
    return undefined;
  }
}
