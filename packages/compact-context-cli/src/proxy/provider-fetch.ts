import { CompactError } from "compact-context/internal/errors";
import { EnvHttpProxyAgent, fetch, type RequestInit } from "undici";

type Environment = Readonly<Record<string, string | undefined>>;

/** Hosts that no forward proxy reaches: those of this computer. */
const LOOPBACK = "localhost,127.0.0.1,[::1]";

/**
 * A `fetch` for calls to providers: it waits for an answer as long as the client does, where Node's own gives
 * up after five silent minutes, and goes through the forward proxy that the environment names.
 */
export function createProviderFetch(env: Environment): typeof globalThis.fetch {
  const exempt = named(env, "no_proxy");
  const dispatcher = new EnvHttpProxyAgent({
    headersTimeout: 0,
    bodyTimeout: 0,
    httpProxy: forwardProxy(env, "http_proxy"),
    httpsProxy: forwardProxy(env, "https_proxy"),
    noProxy: exempt === "*" ? exempt : `${exempt},${LOOPBACK}`,
  });
  const send = (url: string | URL, init: RequestInit = {}) =>
    fetch(url, { ...init, duplex: "half", dispatcher });
  // The same interface, in undici's own types.
  return send as unknown as typeof globalThis.fetch;
}

function named(env: Environment, name: string): string {
  return (env[name] ?? env[name.toUpperCase()] ?? "").trim();
}

/** Empty if none is named. Curl's form without `http://` is read too. */
function forwardProxy(env: Environment, name: string): string {
  const value = named(env, name);
  const url = value === "" || value.includes("://") ? value : `http://${value}`;
  if (url === "" || (URL.canParse(url) && /^(?:https?|socks5?):$/.test(new URL(url).protocol))) return url;
  const place = name.toUpperCase();
  throw new CompactError("InvalidUsage", `${place} is no address of a proxy`, {
    place,
    hint: "Write it as http://proxy.example:8080, or unset it.",
  });
}
