import type { TextModel } from "../../core/ports.ts";
import {
  type LangChainChatModel,
  type LangChainSettings,
  textModelFromLangChain,
} from "../langchain/text-model.ts";

/** A chat model, a function that makes one with given limits, or a text model of any other origin. */
export type GraphModel =
  | TextModel
  | LangChainChatModel
  | ((settings: LangChainSettings) => LangChainChatModel);

/** LangGraph's mark for models whose words are not part of the answer: they stay out of `messages` streams. */
const NO_STREAM = { tags: ["langsmith:nostream"] };

export function textModelOf(model: GraphModel): TextModel {
  if (typeof model === "function" || "invoke" in model)
    return textModelFromLangChain(model, { callOptions: NO_STREAM });
  return model;
}
