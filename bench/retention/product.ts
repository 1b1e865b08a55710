import { decode, encode } from "../../packages/compact-context/src/codecs/formats.ts";
import { compact } from "../../packages/compact-context/src/compact.ts";
import type { Message } from "../../packages/compact-context/src/core/message.ts";
import { builtinSummarizer } from "../../packages/compact-context/src/summarizers/extractive/builtin.ts";
import { render, turnsOf } from "./turns.ts";

/** Ours, on the messages themselves. */
export type ProductMethod = (messages: readonly Message[], budget: number) => Promise<string>;

/** The built-in summarizer alone. */
const summaryAlone: ProductMethod = async (messages, maxTokens) =>
  (await builtinSummarizer.summarize(messages, { maxTokens })).text;

/** What `compact()` leaves of the list: the summary and what is kept beside it. */
const oneShot: ProductMethod = async (messages, maxTokens) => {
  const list = encode(messages, "openai-chat");
  const options = { format: "openai-chat", maxTokens, onOverflow: "elide" } as const;
  const { messages: left } = await compact(list, options);
  return render(turnsOf(decode(left, "openai-chat")));
};

export const PRODUCT: Readonly<Record<string, ProductMethod>> = {
  "built-in summary alone": summaryAlone,
  "compact(), one shot": oneShot,
};
