import type { CompactConfig } from "../config/settings.ts";
import type { Summarizer, TextModel } from "../core/ports.ts";
import { builtinSummarizer } from "./extractive/builtin.ts";
import { createModelSummarizer } from "./llm/create.ts";

/** What a model's summarizer takes from the configuration. */
export type SummarizerSettings = Partial<
  Pick<CompactConfig["summarizer"], "verify" | "input" | "deadlineSeconds" | "seed" | "fallback">
>;

/**
 * The rungs of a summary: what the caller gave (a bare model becomes a summarizer), then the built-in one, unless the
 * settings say that pruning follows at once. Make them once: a model's summarizer remembers which models fail.
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

function fromModel(
  model: TextModel,
  { verify, input, deadlineSeconds, seed }: SummarizerSettings,
  redact: ((text: string) => string) | undefined,
): Summarizer {
  return createModelSummarizer({
    model,
    verify,
    input,
    deadlineMs: deadlineSeconds === undefined ? undefined : deadlineSeconds * 1000,
    seed,
    redact,
  });
}
