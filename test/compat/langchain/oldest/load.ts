// LangChain as installed next to this file.
import type { Modules } from "../load.ts";

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
