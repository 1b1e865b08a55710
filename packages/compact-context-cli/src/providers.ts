// Addresses, headers and environment variables of the providers, as in their own SDKs.

type Environment = Readonly<Record<string, string | undefined>>;

export interface Provider {
  readonly title: string;
  readonly url: string;
  /** Path prefix of the API. */
  readonly version: string;
  readonly urlVariable: string;
  /** True if the value of `urlVariable` includes the version. */
  readonly isVersioned: boolean;
  readonly keyVariable: string;
  /** Authentication headers. */
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

/** The base URL of a provider's API, with its version: from the environment, else the default. */
export function interfaceUrl({ url, version, urlVariable, isVersioned }: Provider, env: Environment): string {
  const given = (env[urlVariable] ?? "").trim().replace(/\/+$/, "");
  if (given === "") return url + version;
  return isVersioned || given.endsWith(version) ? given : given + version;
}
