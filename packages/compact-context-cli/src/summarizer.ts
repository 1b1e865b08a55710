import type { CompactConfig, Summarizer, TextModel } from "compact-context";
import { textModelFromUrl } from "compact-context/adapters/http";
import { CompactError } from "compact-context/internal/errors";
import { createRedactor, redact } from "compact-context/redaction";
import { createModelSummarizer } from "compact-context/summarizers";
import { didYouMean, misuse } from "./flags.ts";
import type { CliPorts } from "./ports.ts";
import { interfaceUrl, PROVIDERS } from "./providers.ts";

// The model that writes the summary of `compact FILE`.

/** API flavors of the providers that can write summaries. */
const INTERFACES = { openai: "chat", anthropic: "anthropic" } as const;

const CHOICES = "builtin, openai:MODEL, anthropic:MODEL, or a server's URL[#MODEL]";

const FLAG = "--summarizer";

interface SummarizerOptions {
  readonly config: CompactConfig;
  readonly env: CliPorts["env"];
  /** Limits all attempts together, where the setting limits each one. */
  readonly deadlineMs: number | undefined;
}

/**
 * The summarizer of `--summarizer` or the configuration. Keys come from the environment only. Throws `InvalidUsage` for
 * an unknown name and for a missing key; messages never contain a key.
 */
export function summarizerNamed(named: string, { config, env, deadlineMs }: SummarizerOptions): Summarizer {
  const redactor = createRedactor(config.redaction);
  const { verify, seed, temperature, deadlineSeconds } = config.summarizer;
  return createModelSummarizer({
    model: modelNamed(named, env),
    verify,
    deadlineMs,
    attemptDeadlineMs: deadlineMs === undefined ? deadlineSeconds * 1000 : undefined,
    redact: (text) => redactor.redactText(text),
    temperature,
    seed,
  });
}

/** The model of `NAME:MODEL`, or of a URL; the part of that after `#` is its model and not sent. */
function modelNamed(named: string, env: CliPorts["env"]): TextModel {
  if (/^https?:/i.test(named)) {
    const [url = "", ...rest] = named.split("#");
    return modelAt(FLAG, { url, model: rest.join("#") || undefined });
  }
  const [name = "", ...rest] = named.split(":");
  const model = rest.join(":");
  if (rest.length === 0 || !isInterface(name)) {
    const guess = didYouMean(name, ["builtin", ...Object.keys(INTERFACES)]);
    const hint = `${guess}Use ${CHOICES}; --summarizer builtin needs no model.`;
    throw misuse(`--summarizer ${redact(named)}: unknown summarizer`, hint, FLAG);
  }
  if (model.trim() === "")
    throw misuse(`--summarizer ${name}: needs a model`, `Write --summarizer ${name}:MODEL.`, FLAG);
  const { keyVariable, urlVariable } = PROVIDERS[name];
  const key = env[keyVariable]?.trim() ?? "";
  if (key === "") {
    const hint = `Set ${keyVariable} in the environment, or use --summarizer builtin, which does not need one.`;
    throw misuse(`--summarizer ${named} needs a key, and ${keyVariable} is not set`, hint, FLAG);
  }
  const url = interfaceUrl(PROVIDERS[name], env);
  const place = (env[urlVariable] ?? "").trim() === "" ? FLAG : urlVariable;
  return modelAt(place, { url, api: INTERFACES[name], model, key, name: named });
}

function isInterface(name: string): name is keyof typeof INTERFACES {
  return Object.hasOwn(INTERFACES, name);
}

/** Errors of its options are usage errors of a flag or variable. */
function modelAt(place: string, options: Parameters<typeof textModelFromUrl>[0]): TextModel {
  try {
    return textModelFromUrl(options);
  } catch (error) {
    if (!CompactError.isInstance(error)) throw error;
    throw misuse(`${place}: ${error.message}`, error.hint, place);
  }
}
