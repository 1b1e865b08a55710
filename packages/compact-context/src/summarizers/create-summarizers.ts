import type { CompactConfig } from "../config/settings.ts";
import type { Summarizer, TextModel } from "../core/ports.ts";
import { CompactError, errorMessage, hasCode, isObject, once } from "../errors.ts";
import { builtinSummarizer } from "./extractive/builtin.ts";
import type { ModelSummarizerOptions } from "./llm/options.ts";

/** The settings of a model summarizer. */
export type SummarizerSettings = Partial<
  Pick<
    CompactConfig["summarizer"],
    "kind" | "verify" | "input" | "deadlineSeconds" | "temperature" | "seed" | "fallback"
  >
>;

/**
 * The summarizers to try in order: the one passed by the caller (a bare model is wrapped in a summarizer) or
 * named in the settings (the provider's), then the built-in one, unless the settings fall back to pruning
 * only. Create them once: a model summarizer remembers which models fail. `warn` is called when the first one
 * fails; not again until it has succeeded.
 */
export function createSummarizers(
  given: Summarizer | TextModel | undefined,
  settings: SummarizerSettings = {},
  {
    redact,
    warn,
  }: { readonly redact?: (text: string) => string; readonly warn?: (message: string) => void } = {},
): Summarizer[] {
  const { kind = "builtin", fallback = "builtin" } = settings;
  if (given === undefined && kind === "builtin") return [builtinSummarizer];
  const asked =
    given === undefined
      ? loadedLate("provider", true, async () =>
          (await import("./llm/provider.ts")).createProviderSummarizer(redact),
        )
      : summarizerOf(given, settings, redact);
  const first = watched(asked, fallback, warn);
  return fallback === "pruning-only" ? [first] : [first, builtinSummarizer];
}

/**
 * Fails for an answer without a text, which would replace messages by nothing. A failing summarizer never stops a
 * run; without the warning a wrong key would go unnoticed.
 */
function watched(
  summarizer: Summarizer,
  fallback: NonNullable<SummarizerSettings["fallback"]>,
  warn: (message: string) => void = () => undefined,
): Summarizer {
  const instead = fallback === "builtin" ? "the built-in summarizer writes instead" : "there is no summary";
  const { name, usesLivePrefix, deterministic } = summarizer;
  let told = false;
  return {
    name,
    usesLivePrefix,
    deterministic,
    summarize: async (messages, options) => {
      try {
        const summary = await summarizer.summarize(messages, options);
        requireSummary(name, summary);
        told = false;
        return summary;
      } catch (error) {
        if (!told && options.signal?.aborted !== true && !hasCode(error, "Aborted")) {
          told = true;
          const hint = CompactError.isInstance(error) ? ` ${error.hint}` : "";
          // Our own errors begin with the name of the model.
          const why = errorMessage(error).replace(`${name}: `, "");
          warn(`the summarizer ${name} failed, ${instead}: ${why}.${hint}`);
        }
        throw error;
      }
    },
  };
}

function requireSummary(name: string, summary: unknown): void {
  if (isObject(summary) && typeof summary.text === "string") return;
  throw new CompactError("SummarizerFailed", `${name}: it answered without a text`, {
    hint: "summarize resolves to { text, tokens }, with the summary in text.",
  });
}

function summarizerOf(
  given: Summarizer | TextModel,
  settings: SummarizerSettings,
  redact: ModelSummarizerOptions["redact"],
): Summarizer {
  if ("summarize" in given && typeof given.summarize === "function") return given;
  if ("generate" in given && typeof given.generate === "function") {
    const { verify, input, deadlineSeconds, temperature, seed } = settings;
    const attemptDeadlineMs = deadlineSeconds === undefined ? undefined : deadlineSeconds * 1000;
    return modelSummarizer({ model: given, verify, input, attemptDeadlineMs, temperature, seed, redact });
  }
  throw new CompactError("InvalidArgument", "summarizer has neither summarize nor generate", {
    place: "summarizer",
    hint: "Pass a Summarizer, or a model { name, generate(request) } that is asked for summaries.",
  });
}

/** Same as `createModelSummarizer`. */
export function modelSummarizer(options: ModelSummarizerOptions): Summarizer {
  return loadedLate(options.model.name, options.input === "prefix", async () =>
    (await import("./llm/create.ts")).createModelSummarizer(options),
  );
}

/** A summarizer whose code is loaded with the first summary. */
function loadedLate(name: string, usesLivePrefix: boolean, make: () => Promise<Summarizer>): Summarizer {
  const load = once(make);
  return {
    name,
    usesLivePrefix,
    summarize: async (messages, request) => (await load()).summarize(messages, request),
  };
}
