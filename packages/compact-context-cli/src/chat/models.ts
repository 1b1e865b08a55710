import { readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { modelFromAiSdk } from "compact-context/adapters/ai-sdk";
import type { AgentModel } from "compact-context/agents";
import { CompactError, defined, errorMessage } from "compact-context/internal/errors";
import { lookUpModel } from "compact-context/internal/tokens/models";
import type { Invocation } from "../flags.ts";
import type { CliPorts } from "../ports.ts";
import { bearer, interfaceUrl, PROVIDERS } from "../providers.ts";
import { oneLine, parseTokens } from "../render/text.ts";
import { recordOf, stringOf } from "../transcripts/json.ts";
import { createDemoModel } from "./demo-model.ts";

type AiSdkModel = Parameters<typeof modelFromAiSdk>[0];

interface ModelPorts {
  readonly env: CliPorts["env"];
  /** Imports a package of the project. */
  load(name: string): Promise<unknown>;
}

interface Package {
  readonly package: string;
  /** The environment variable with the key, if there is exactly one. */
  readonly key?: string;
}

/** Providers whose package or key is not named `@ai-sdk/NAME` and `NAME_API_KEY`. */
const EXCEPTIONS: Readonly<Record<string, Partial<Package>>> = {
  google: { key: "GOOGLE_GENERATIVE_AI_API_KEY" },
  togetherai: { key: "TOGETHER_AI_API_KEY" },
  openrouter: { package: "@openrouter/ai-sdk-provider" },
  "amazon-bedrock": { key: undefined },
  "google-vertex": { key: undefined },
  azure: { key: undefined },
};

function packageOf(name: string): Package {
  const key = `${name.toUpperCase().replaceAll("-", "_")}_API_KEY`;
  const exception = Object.hasOwn(EXCEPTIONS, name) ? EXCEPTIONS[name] : undefined;
  return { package: `@ai-sdk/${name}`, key, ...exception };
}

/** Names of providers whose key is set. */
export function providersWithKey(env: ModelPorts["env"]): readonly string[] {
  return ["anthropic", "openai", ...Object.keys(LIST_URLS)].filter((name) => keyOf(name, env).trim() !== "");
}

/** The key of a provider; empty if none is set. */
function keyOf(provider: string, env: ModelPorts["env"]): string {
  return env[packageOf(provider).key ?? ""] ?? "";
}

/**
 * The model `provider/model` from the AI SDK's package of that provider. Keys come from the environment only. Throws
 * `InvalidUsage` for a malformed name, a package that is not installed, and a missing key.
 */
export async function loadProviderModel(named: string, { env, load }: ModelPorts): Promise<AiSdkModel> {
  const slash = named.indexOf("/");
  const [name, model] = [named.slice(0, slash), named.slice(slash + 1)];
  if (slash < 1 || model === "" || !/^[a-z0-9-]+$/.test(name)) {
    const hint =
      "Write provider/model, such as openai/gpt-5.4-mini or anthropic/claude-sonnet-4-5, or give --base-url.";
    throw usage(`${oneLine(named)} is not a provider/model`, hint);
  }
  const { package: packageName, key } = packageOf(name);
  const module = recordOf(await loadPackage(packageName, load));
  if (key !== undefined && keyOf(name, env).trim() === "") {
    throw usage(`${named} needs a key, and ${key} is not set`, `Set ${key} in the environment.`);
  }
  const exported = name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const isProvider = (value: unknown): boolean => typeof value === "function" && "languageModel" in value;
  const provider = module[exported] ?? Object.values(module).find(isProvider);
  if (typeof provider !== "function")
    throw usage(`${packageName} exports no provider`, "Update the package.");
  return provider(model) as AiSdkModel;
}

/** A model of a server with OpenAI's chat completions; the key, if needed, is in `OPENAI_COMPATIBLE_API_KEY`. */
export async function loadServerModel(
  url: string,
  model: string | undefined,
  { env, load }: ModelPorts,
): Promise<AiSdkModel> {
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    throw usage(
      "--base-url is not an http or https URL",
      "Give the server's base URL, such as http://localhost:11434/v1.",
    );
  }
  const id = model ?? (await firstModel(url, env));
  const { createOpenAICompatible } = recordOf(await loadPackage("@ai-sdk/openai-compatible", load));
  if (typeof createOpenAICompatible !== "function")
    throw usage("@ai-sdk/openai-compatible cannot be used", "Update it.");
  const apiKey = env[KEY];
  const settings = defined({ name: new URL(url).host, baseURL: url, includeUsage: true, apiKey });
  return createOpenAICompatible(settings)(id) as AiSdkModel;
}

const KEY = "OPENAI_COMPATIBLE_API_KEY";

async function firstModel(url: string, env: ModelPorts["env"]): Promise<string> {
  const [first] = await modelsAt(url, serverHeaders(env)).catch(() => []);
  if (first !== undefined) return first;
  throw usage(`${oneLine(url)} lists no model`, "Name one with --model, and check that the server runs.");
}

type Headers = Readonly<Record<string, string>>;

function serverHeaders(env: ModelPorts["env"]): Headers {
  return env[KEY] === undefined ? {} : bearer(env[KEY]);
}

/** Timeout of a request for the list of models. */
const LIST_MS = 10_000;

/** The models that a server lists, the newest first if it dates them; rejects if it has no list. */
async function modelsAt(url: string, headers: Headers): Promise<readonly string[]> {
  const signal = AbortSignal.timeout(LIST_MS);
  const response = await fetch(`${url.replace(/\/+$/, "")}/models`, { headers, signal });
  const { data } = recordOf(await response.json().catch(() => undefined));
  if (!response.ok || !Array.isArray(data))
    throw new CompactError("NotFound", "the server does not list its models", {
      hint: "Name the model: /model NAME",
    });
  const created = (model: unknown): number => Number(recordOf(model).created) || 0;
  return data
    .toSorted((a, b) => created(b) - created(a))
    .flatMap((model) => stringOf(recordOf(model).id)?.replace(/^models\//, "") || []);
}

/** Model lists of further providers, in OpenAI's format. */
const LIST_URLS: Readonly<Record<string, string>> = {
  google: "https://generativelanguage.googleapis.com/v1beta/openai",
  openrouter: "https://openrouter.ai/api/v1",
  mistral: "https://api.mistral.ai/v1",
  groq: "https://api.groq.com/openai/v1",
  xai: "https://api.x.ai/v1",
  deepseek: "https://api.deepseek.com",
};

/** The models of a provider whose window is known; the full list also has those for images and speech. */
async function modelsOf(provider: string, env: ModelPorts["env"]): Promise<readonly string[]> {
  const key = keyOf(provider, env);
  const ids = await (provider === "anthropic" || provider === "openai"
    ? modelsAt(interfaceUrl(PROVIDERS[provider], env), PROVIDERS[provider].headers(key))
    : modelsAt(LIST_URLS[provider] ?? "https://localhost", bearer(key)));
  return ids.filter((id) => lookUpModel(id).known).map((id) => `${provider}/${id}`);
}

async function loadPackage(name: string, load: ModelPorts["load"]): Promise<unknown> {
  try {
    return await load(name);
  } catch (cause) {
    throw new CompactError("InvalidUsage", `the package ${name} cannot be loaded`, {
      hint: `Install it in this folder or beside compact: npm install ${name}`,
      cause,
    });
  }
}

function usage(message: string, hint: string): CompactError {
  return new CompactError("InvalidUsage", message, { place: "--model", hint });
}

/** The models that a chat can use. */
export interface Models {
  /** The model of the flags; the script if they name none. */
  initial(): Promise<AgentModel>;
  /** `provider/model`, a model of the server of `--base-url`, or `demo`. Rejects with `InvalidUsage`. */
  byName(name: string): Promise<AgentModel>;
  /** The models of the server of `--base-url`, else of each provider whose key is set. */
  list(): Promise<readonly string[]>;
}

export function createModels({ flags, ports }: Invocation): Models {
  const { env } = ports;
  const url = flags["base-url"];
  const modelPorts = { env, load: (name: string) => importPackage(name, ports.cwd) };
  const window = flags.window === undefined ? undefined : parseTokens(flags.window, "--window");
  const atServer = async (address: string, name: string | undefined): Promise<AgentModel> =>
    withKeyHint(modelFromAiSdk(await loadServerModel(address, name, modelPorts), { window }), KEY);
  const byName = async (name: string): Promise<AgentModel> => {
    if (name === "demo") return createDemoModel();
    if (url !== undefined) return atServer(url, name);
    const model = modelFromAiSdk(await loadProviderModel(name, modelPorts), { window });
    return withKeyHint(model, packageOf(name.slice(0, name.indexOf("/"))).key);
  };
  return {
    byName,
    initial: async () => {
      if (flags.model !== undefined) return byName(flags.model);
      return url === undefined ? createDemoModel() : atServer(url, undefined);
    },
    async list() {
      if (url !== undefined) return modelsAt(url, serverHeaders(env));
      const lists = providersWithKey(env).map((name) => modelsOf(name, env).catch(() => []));
      return (await Promise.all(lists)).flat();
    },
  };
}

/** The model; if its provider rejects the key, the error names the variable that holds it. */
function withKeyHint(model: AgentModel, variable: string | undefined): AgentModel {
  if (variable === undefined) return model;
  return {
    ...model,
    async *stream(request) {
      try {
        yield* model.stream(request);
      } catch (error) {
        const { statusCode, status = statusCode } = recordOf(error);
        if (status !== 401 && status !== 403) throw error;
        throw new CompactError("InvalidConfig", `the key was refused (${status}): ${errorMessage(error)}`, {
          place: variable,
          hint: `Set ${variable} to a key that may use ${model.name}, then start the chat again: it resumes here.`,
          cause: error,
        });
      }
    },
  };
}

/** Imports an optional package installed next to compact, otherwise from the project around `folder`. */
export async function importPackage(name: string, folder: string): Promise<unknown> {
  try {
    return await import(name);
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException | undefined)?.code === "ERR_MODULE_NOT_FOUND";
    const file = isMissing ? await findPackage(name, folder) : undefined;
    if (file === undefined) throw error;
    return import(pathToFileURL(file).href);
  }
}

/** The file that an ES module in `folder` would import; undefined if no folder above it has the package. */
async function findPackage(name: string, folder: string): Promise<string | undefined> {
  const root = join(folder, "node_modules", name);
  const found = await stat(join(root, "package.json")).catch(() => undefined);
  if (found === undefined) {
    const above = dirname(folder);
    return above === folder ? undefined : findPackage(name, above);
  }
  const text = await readFile(join(root, "package.json"), "utf8");
  const { exports, module, main } = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const target = targetOf(exports) ?? module ?? main;
  return typeof target === "string" ? join(root, target) : undefined;
}

/** The keys of `exports` that lead to an ES module for Node; `.` is the package itself. */
const CONDITIONS: ReadonlySet<string> = new Set([".", "node", "import", "module-sync", "default"]);

/** The file of the package in its `exports`; the first matching condition wins. */
function targetOf(exports: unknown): unknown {
  if (typeof exports !== "object" || exports === null) return exports;
  const [, chosen] = Object.entries(exports).find(([key]) => CONDITIONS.has(key)) ?? [];
  return targetOf(chosen);
}
