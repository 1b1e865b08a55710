import type { CompactConfig } from "../config/settings.ts";
import type { Summarizer, TextModel } from "../core/ports.ts";
import { once } from "../errors.ts";
import { builtinSummarizer } from "./extractive/builtin.ts";

/** What a model's summarizer takes from the configuration. */
export type SummarizerSettings = Partial<
  Pick<CompactConfig["summarizer"], "verify" | "input" | "deadlineSeconds" | "seed" | "fallback">
>;

/**
 * Who writes a summary, tried in turn: what the caller gave (a bare model becomes a summarizer), then the built-in one,
 * unless the settings say that pruning follows at once. Create them once: a model's summarizer remembers which models
 * fail.
 */
export function createSummarizers(
  given: Summarizer | TextModel | undefined,
  settings: SummarizerSettings = {},
  redact?: (text: string) => string,
): Summarizer[] {
  if (given === undefined) return [builtinSummarizer];
  const first = isModel(given) ? fromModel(given, settings, redact) : given;
  return settings.fallback === "pruning-only" ? [first] : [first, builtinSummarizer];
}

function isModel(given: Summarizer | TextModel): given is TextModel {
  return !("summarize" in given) && typeof given.generate === "function";
}

/** The code that asks models is loaded with the first summary. */
function fromModel(
  model: TextModel,
  { verify, input, deadlineSeconds, seed }: SummarizerSettings,
  redact: ((text: string) => string) | undefined,
): Summarizer {
  const deadlineMs = deadlineSeconds === undefined ? undefined : deadlineSeconds * 1000;
  const load = once(async () => {
    const { createModelSummarizer } = await import("./llm/create.ts");
    return createModelSummarizer({ model, verify, input, deadlineMs, seed, redact });
  });
  return {
    name: model.name,
    usesLivePrefix: input === "prefix",
    summarize: async (messages, options) => (await load()).summarize(messages, options),
  };
}
