import type { CompactConfig, Summarizer, TextModel } from "compact-context";
import { textModelFromUrl, type UrlTextModelOptions } from "compact-context/adapters/http";
import { CompactError, closest } from "compact-context/internal/errors";
import { createRedactor, redact } from "compact-context/redaction";
import { createModelSummarizer } from "compact-context/summarizers";
import type { Flags } from "./flags.ts";
import type { CliPorts } from "./ports.ts";

/** Where a provider is, and which variables say otherwise; they are those of the providers' own SDKs. */
interface Provider {
  readonly api: NonNullable<UrlTextModelOptions["api"]>;
  readonly url: string;
  readonly keyVariable: string;
  readonly urlVariable: string;
  /** What clients of this provider leave out of the base URL. */
  readonly version: string;
}

const PROVIDERS = {
  openai: {
    api: "chat",
    url: "https://api.openai.com/v1",
    keyVariable: "OPENAI_API_KEY",
    urlVariable: "OPENAI_BASE_URL",
    version: "",
  },
  anthropic: {
    api: "anthropic",
    url: "https://api.anthropic.com",
    keyVariable: "ANTHROPIC_API_KEY",
    urlVariable: "ANTHROPIC_BASE_URL",
    version: "/v1",
  },
} as const satisfies Readonly<Record<string, Provider>>;

const CHOICES = "builtin, openai:MODEL, anthropic:MODEL, or a server's URL[#MODEL]";

interface Outside {
  readonly flags: Flags;
  readonly config: CompactConfig;
  readonly env: CliPorts["env"];
}

/**
 * The summarizer that `--summarizer` or the configuration names; undefined for the built-in one. Keys come from the
 * environment alone. Throws `InvalidUsage` for what names none, and for a missing key; no message repeats a key.
 */
export function summarizerFor({ flags, config, env }: Outside): Summarizer | undefined {
  const deadlineMs = deadlineOf(flags.deadline);
  const named: string = flags.summarizer ?? config.summarizer.kind;
  if (named === "builtin") return undefined;
  const model = modelNamed(named, env);
  const redactor = createRedactor(config.redaction);
  const { verify, seed, temperature, deadlineSeconds } = config.summarizer;
  return createModelSummarizer({
    model,
    verify,
    // The flag is for all attempts together, the setting for each.
    deadlineMs,
    attemptDeadlineMs: deadlineMs === undefined ? deadlineSeconds * 1000 : undefined,
    redact: (text) => redactor.redactText(text),
    temperature,
    seed,
  });
}

function deadlineOf(flag: string | undefined): number | undefined {
  if (flag === undefined) return undefined;
  const seconds = Number(flag);
  if (Number.isFinite(seconds) && seconds > 0) return seconds * 1000;
  throw new CompactError("InvalidUsage", `--deadline ${flag} is no time`, {
    place: "--deadline",
    hint: "Give the seconds that a model may take for the summary, such as --deadline 30.",
  });
}

function modelNamed(named: string, env: CliPorts["env"]): TextModel {
  if (/^https?:/i.test(named)) return modelAt(named);
  const colon = named.indexOf(":");
  const name = named.slice(0, colon);
  if (colon < 0 || !Object.hasOwn(PROVIDERS, name)) throw unknownSummarizer(named);
  const model = named.slice(colon + 1);
  if (model.trim() === "") {
    throw usage(`--summarizer ${name}: names no model`, `Name one, such as --summarizer ${name}:MODEL.`);
  }
  return modelOf(name, PROVIDERS[name as keyof typeof PROVIDERS], model, env);
}

function unknownSummarizer(named: string): CompactError {
  const near = closest(named.split(":")[0] ?? named, ["builtin", ...Object.keys(PROVIDERS)]);
  const guess = near === undefined ? "" : `Did you mean ${near}? `;
  return usage(
    `--summarizer ${redact(named)}: there is no such summarizer`,
    `${guess}Use ${CHOICES}; --summarizer builtin needs no model.`,
  );
}

/** The part behind `#` is the model; it is never sent as part of the URL. */
function modelAt(named: string): TextModel {
  const [url = "", ...rest] = named.split("#");
  const model = rest.join("#");
  return withUsage("--summarizer", () => textModelFromUrl({ url, model: model || undefined }));
}

function modelOf(name: string, provider: Provider, model: string, env: CliPorts["env"]): TextModel {
  const { api, keyVariable, urlVariable } = provider;
  const key = env[keyVariable]?.trim() ?? "";
  if (key === "") {
    throw usage(
      `--summarizer ${name}:${model} needs a key, and ${keyVariable} is not set`,
      `Set ${keyVariable} in the environment, or use --summarizer builtin, which needs none.`,
    );
  }
  const given = env[urlVariable]?.trim() ?? "";
  const base = given === "" ? provider.url : given;
  const url = base.replace(/\/+$/, "") + provider.version;
  const place = given === "" ? "--summarizer" : urlVariable;
  return withUsage(place, () => textModelFromUrl({ url, api, model, key, name: `${name}:${model}` }));
}

/** What the model's maker refuses was typed by the user: its place is a flag or a variable. */
function withUsage(place: string, make: () => TextModel): TextModel {
  try {
    return make();
  } catch (error) {
    if (!CompactError.isInstance(error)) throw error;
    throw new CompactError("InvalidUsage", `${place}: ${error.message}`, { place, hint: error.hint });
  }
}

function usage(message: string, hint: string): CompactError {
  return new CompactError("InvalidUsage", message, { place: "--summarizer", hint });
}
