// Where the providers are and how they are asked: the same variables as their own SDKs read.

type Environment = Readonly<Record<string, string | undefined>>;

/** A provider as its own SDK has it: where it is, and the variables that say otherwise. */
export interface Provider {
  readonly title: string;
  readonly url: string;
  /** The path of its interface. */
  readonly version: string;
  readonly urlVariable: string;
  /** True where the variable names the version too. */
  readonly isVersioned: boolean;
  readonly keyVariable: string;
  /** How a request says its key. */
  headers(key: string): Readonly<Record<string, string>>;
}

export const PROVIDERS = {
  anthropic: {
    title: "Anthropic",
    url: "https://api.anthropic.com",
    version: "/v1",
    urlVariable: "ANTHROPIC_BASE_URL",
    isVersioned: false,
    keyVariable: "ANTHROPIC_API_KEY",
    headers: (key) => ({ "x-api-key": key, "anthropic-version": "2023-06-01" }),
  },
  openai: {
    title: "OpenAI",
    url: "https://api.openai.com",
    version: "/v1",
    urlVariable: "OPENAI_BASE_URL",
    isVersioned: true,
    keyVariable: "OPENAI_API_KEY",
    headers: bearer,
  },
  google: {
    title: "Google",
    url: "https://generativelanguage.googleapis.com",
    version: "/v1beta",
    urlVariable: "GOOGLE_GEMINI_BASE_URL",
    isVersioned: false,
    keyVariable: "GEMINI_API_KEY",
    headers: (key) => ({ "x-goog-api-key": key }),
  },
} as const satisfies Readonly<Record<string, Provider>>;

export type ProviderName = keyof typeof PROVIDERS;

export const PROVIDER_NAMES = Object.keys(PROVIDERS) as ProviderName[];

export function bearer(key: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${key}` };
}

/** Where a provider's interface begins, its version among it: the address of the environment, else its own. */
export function interfaceUrl({ url, version, urlVariable, isVersioned }: Provider, env: Environment): string {
  const given = (env[urlVariable] ?? "").trim().replace(/\/+$/, "");
  if (given === "") return url + version;
  return isVersioned || given.endsWith(version) ? given : given + version;
}
