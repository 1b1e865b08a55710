// LangGraph as installed next to this file.
import type { Modules } from "../load.ts";

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
