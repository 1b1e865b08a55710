import type { AiSdkStreamingModel } from "compact-context/internal/adapters/ai-sdk/agent-model";
import { CompactError, defined } from "compact-context/internal/errors";
import { objectOf } from "compact-context/internal/providers/request";
import type { CliPorts } from "../ports.ts";
import { oneLine } from "../render/safe.ts";

export interface ModelPorts {
  readonly env: CliPorts["env"];
  /** Imports a package of the project. */
  load(name: string): Promise<unknown>;
}

interface Provider {
  readonly package: string;
  /** The variable with the key, where there is exactly one. */
  readonly key?: string;
}

/** Providers whose package or key has another name than `@ai-sdk/NAME` and `NAME_API_KEY`. */
const PROVIDERS: Readonly<Record<string, Provider>> = {
  google: { package: "@ai-sdk/google", key: "GOOGLE_GENERATIVE_AI_API_KEY" },
  togetherai: { package: "@ai-sdk/togetherai", key: "TOGETHER_AI_API_KEY" },
  openrouter: { package: "@openrouter/ai-sdk-provider", key: "OPENROUTER_API_KEY" },
  "amazon-bedrock": { package: "@ai-sdk/amazon-bedrock" },
  "google-vertex": { package: "@ai-sdk/google-vertex" },
  azure: { package: "@ai-sdk/azure" },
};

/** Providers that are looked for in the environment when no model is named. */
const COMMON = ["anthropic", "openai", "google", "openrouter", "mistral", "groq", "xai", "deepseek"];

function providerNamed(name: string): Provider {
  const known = Object.hasOwn(PROVIDERS, name) ? PROVIDERS[name] : undefined;
  return known ?? { package: `@ai-sdk/${name}`, key: `${name.toUpperCase().replaceAll("-", "_")}_API_KEY` };
}

/** Names of providers whose key is set. */
export function providersWithKey(env: ModelPorts["env"]): readonly string[] {
  return COMMON.filter((name) => (env[providerNamed(name).key ?? ""] ?? "").trim() !== "");
}

/**
 * The model that `provider/model` names, from the AI SDK's package of that provider, loaded now. Keys come from the
 * environment alone. Throws `InvalidUsage` for a name that is none, a package that is not installed, a missing key.
 */
export async function loadProviderModel(
  named: string,
  { env, load }: ModelPorts,
): Promise<AiSdkStreamingModel> {
  const slash = named.indexOf("/");
  const [name, model] = [named.slice(0, slash), named.slice(slash + 1)];
  if (slash < 1 || model === "" || !/^[a-z0-9-]+$/.test(name)) throw noModel(named);
  const { package: packageName, key } = providerNamed(name);
  const module = objectOf(await loaded(packageName, load));
  if (key !== undefined && (env[key] ?? "").trim() === "") {
    throw usage(`${named} needs a key, and ${key} is not set`, `Set ${key} in the environment.`);
  }
  const provider = module[camelCase(name)] ?? Object.values(module).find((one) => isProvider(one));
  if (typeof provider !== "function")
    throw usage(`${packageName} has no provider to call`, "Update the package.");
  return provider(model) as AiSdkStreamingModel;
}

/** A model of a server that speaks OpenAI's chat completions; the key, where it wants one, is `OPENAI_COMPATIBLE_API_KEY`. */
export async function loadServerModel(
  url: string,
  model: string | undefined,
  { env, load }: ModelPorts,
): Promise<AiSdkStreamingModel> {
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    throw usage(
      "--base-url is no http or https URL",
      "Give the server's base URL, such as http://localhost:11434/v1.",
    );
  }
  const id = model ?? (await firstModel(url, env));
  const { createOpenAICompatible } = objectOf(await loaded("@ai-sdk/openai-compatible", load));
  if (typeof createOpenAICompatible !== "function")
    throw usage("@ai-sdk/openai-compatible cannot be used", "Update it.");
  const apiKey = env[KEY];
  const settings = defined({ name: new URL(url).host, baseURL: url, includeUsage: true, apiKey });
  return createOpenAICompatible(settings)(id) as AiSdkStreamingModel;
}

const KEY = "OPENAI_COMPATIBLE_API_KEY";

async function firstModel(url: string, env: ModelPorts["env"]): Promise<string> {
  const headers: Record<string, string> =
    env[KEY] === undefined ? {} : { authorization: `Bearer ${env[KEY]}` };
  try {
    const answer = await fetch(`${url.replace(/\/+$/, "")}/models`, {
      headers,
      signal: AbortSignal.timeout(10_000),
    });
    const { data } = objectOf(await answer.json());
    const { id } = objectOf(Array.isArray(data) ? data[0] : undefined);
    if (typeof id === "string") return id;
  } catch {
    // Told below, with what to do.
  }
  throw usage(`${oneLine(url)} names no model`, "Name one with --model, and see that the server runs.");
}

async function loaded(name: string, load: ModelPorts["load"]): Promise<unknown> {
  try {
    return await load(name);
  } catch (cause) {
    throw new CompactError("InvalidUsage", `the package ${name} cannot be loaded`, {
      hint: `Install it in this folder or beside compact: npm install ${name}`,
      cause,
    });
  }
}

const camelCase = (name: string): string =>
  name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());

function isProvider(value: unknown): boolean {
  return typeof value === "function" && "languageModel" in value;
}

function noModel(named: string): CompactError {
  return usage(
    `${oneLine(named)} names no model`,
    "Write provider/model, such as openai/gpt-5.4-mini or anthropic/claude-sonnet-4-5, or give --base-url.",
  );
}

function usage(message: string, hint: string): CompactError {
  return new CompactError("InvalidUsage", message, { place: "--model", hint });
}
