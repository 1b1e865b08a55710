import type { Message } from "../../core/message.ts";
import type { SummarizeOptions, Summarizer, Summary } from "../../core/ports.ts";
import { CompactError, requireList, requireOptions } from "../../errors.ts";
import { o200kBase } from "../../tokens/encodings/o200k-base.ts";

const NAME = "builtin";

/**
 * Extracts a summary by program: no model, the same text for the same input, never more than `maxTokens`.
 * Throws `InvalidArgument` for a budget that is no number, `Aborted` when the signal is.
 */
export const builtinSummarizer: Summarizer = {
  name: NAME,
  deterministic: true,
  summarize: summarizeBuiltin,
};

async function summarizeBuiltin(messages: readonly Message[], options: SummarizeOptions): Promise<Summary> {
  requireList(messages);
  requireOptions(options);
  if (options.signal?.aborted === true) {
    throw new CompactError("Aborted", "The summary was aborted before it began.", {
      cause: options.signal.reason,
    });
  }
  if (typeof options.maxTokens !== "number" || Number.isNaN(options.maxTokens)) {
    throw new CompactError("InvalidArgument", "maxTokens must be a number.", {
      hint: "Give the most tokens that the summary may have, such as 2000.",
      place: "options.maxTokens",
    });
  }
  const countText = options.countText ?? ((text: string): number => o200kBase.count(text));
  // Most processes never compact: what reads and writes summaries is loaded with the first one.
  const [{ composeSummary }, { takeOwnSummaries }, { readSurroundings }] = await Promise.all([
    import("./compose.ts"),
    import("./own-summaries.ts"),
    import("./surroundings.ts"),
  ]);
  const { kept, previous } = takeOwnSummaries(messages, options.previous);
  const text = composeSummary(readSurroundings(kept, options.context), {
    maxTokens: Math.floor(options.maxTokens),
    strategy: options.strategy ?? "task_state",
    previous,
    instruction: options.instruction,
    countText,
  });
  return { text, tokens: countText(text), summarizer: NAME, messagesRead: messages.length };
}
