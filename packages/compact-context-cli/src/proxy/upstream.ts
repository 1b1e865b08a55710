import { CompactError } from "compact-context/internal/errors";

/** Where calls go on to, without `/v1`. */
export interface Upstreams {
  readonly anthropic: URL;
  readonly openai: URL;
  readonly google: URL;
}

type Provider = keyof Upstreams;

/** The variables by which clients name a base URL. One that is set already is where calls go on to. */
const PROVIDERS: Readonly<Record<Provider, { readonly variable: string; readonly url: string }>> = {
  anthropic: { variable: "ANTHROPIC_BASE_URL", url: "https://api.anthropic.com" },
  openai: { variable: "OPENAI_BASE_URL", url: "https://api.openai.com" },
  google: { variable: "GOOGLE_GEMINI_BASE_URL", url: "https://generativelanguage.googleapis.com" },
};

/**
 * One upstream for everything where `--upstream` names it, else each provider's own or the one that the environment
 * names. Throws `InvalidUsage` for what is no URL of a server.
 */
export function upstreamsOf(
  flag: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Upstreams {
  const urlOf = (provider: Provider): URL => {
    const { variable, url } = PROVIDERS[provider];
    const named = env[variable] || undefined;
    return baseUrl(flag ?? named ?? url, flag === undefined ? variable : "--upstream");
  };
  return { anthropic: urlOf("anthropic"), openai: urlOf("openai"), google: urlOf("google") };
}

function baseUrl(text: string, place: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "" || url.search !== "") {
    throw new CompactError("InvalidUsage", `${place} is no URL that calls can go on to`, {
      place,
      hint: "Write it as https://api.anthropic.com, without a key and without a query.",
    });
  }
  url.pathname = url.pathname.replace(/\/+$/, "").replace(/\/v1$/, "");
  return url;
}

/** The provider's address for a call that came here: by its path, else by the header with its key. */
export function targetOf(upstreams: Upstreams, here: URL, headers: Headers): URL {
  const base = upstreams[providerOf(here.pathname, headers)];
  const target = new URL(base);
  target.pathname = `${base.pathname.replace(/\/$/, "")}${here.pathname}`;
  target.search = here.search;
  return target;
}

function providerOf(path: string, headers: Headers): Provider {
  if (path.startsWith("/v1/messages") || headers.has("anthropic-version")) return "anthropic";
  if (/^\/v1(?:alpha|beta)\d?\//.test(path) || headers.has("x-goog-api-key")) return "google";
  return "openai";
}
