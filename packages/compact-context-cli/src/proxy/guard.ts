import type { MiddlewareHandler } from "hono";

/**
 * Lets programs of this computer in and web pages out. The address must be the server's own, which a name that was
 * rebound to it is not; browsers name an origin or a site with what they send to another one, programs do neither.
 */
export function programsOnly(port: () => number): MiddlewareHandler {
  return async (context, next) => {
    const { headers } = context.req.raw;
    const hosts = ["127.0.0.1", "localhost"].map((name) => `${name}:${port()}`);
    if (!hosts.includes(headers.get("host") ?? ""))
      return context.text("This server answers to its own address only.\n", 421);
    // What begins with two slashes reads as the name of another server.
    if (context.req.path.startsWith("//")) return context.text("This address cannot be read.\n", 400);
    const site = headers.get("sec-fetch-site") ?? "none";
    if (headers.has("origin") || site !== "none")
      return context.text("This server is for programs, not for web pages.\n", 403);
    // A client that is refused a web socket goes on with plain requests.
    if (headers.has("upgrade")) return context.text("There are no web sockets here.\n", 426);
    return next();
  };
}
