import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { CompactError } from "compact-context/internal/errors";
import type { Invocation } from "./flags.ts";
import { PACKAGE } from "./program.ts";
import { readPageFiles, startViewServer, type ViewServer } from "./view/server.ts";
import type { ViewStore } from "./view/view-store.ts";

/** Where the page's sessions come from. */
export interface ViewSource {
  readonly store: ViewStore;
  /** Fills the store while the page is served; resolves at the end of the data, or once `stopped`. */
  fill(stopped: AbortSignal, server: ViewServer): Promise<void>;
}

/** Serves the page until Ctrl-C; returns the exit code. */
export async function serveView(invocation: Invocation, { store, fill }: ViewSource): Promise<number> {
  const stopped = new AbortController();
  // Registered before the page prints that Ctrl-C stops it.
  const onStop = (invocation.ports.stopped?.() ?? Promise.resolve()).then(() => stopped.abort());
  const server = await startPage(invocation, store);
  try {
    await Promise.all([fill(stopped.signal, server), onStop]);
  } finally {
    stopped.abort();
    await server.close();
  }
  return 0;
}

/** Starts the server and prints its link. */
async function startPage({ flags, ports, terminal }: Invocation, store: ViewStore): Promise<ViewServer> {
  // With --json, stdout holds JSON alone.
  const print = (lines: readonly string[]): void =>
    flags.json === true ? ports.stderr.write(`${lines.join("\n")}\n`) : terminal.print(lines);
  const server = await startViewServer({
    store,
    files: await readPageFiles(new URL("dist/page/", PACKAGE)),
    port: portOf(flags.port, 0),
    newSecret: () => randomBytes(32).toString("base64url"),
    now: ports.clock,
    onNewLink: (link) => print(["", "  A new link, for one more browser:", `  ${link}`, ""]),
  });
  const link = server.newLink();
  print([
    "",
    `  ${terminal.paint("strong", link)}`,
    "",
    "  The link works once, in one browser, on this computer. Ctrl-C stops the server.",
    terminal.paint("faint", `  Events of a running agent: COMPACT_TRACING_ARIADNE=${server.ingestUrl}`),
    "",
  ]);
  if (flags.open === true) await openInBrowser(link).catch((error: unknown) => terminal.warn(String(error)));
  return server;
}

const HIGHEST_PORT = 65_535;

/** The port of `--port`, else the default; throws `InvalidUsage` where it is not a port number. */
export function portOf(given: string | undefined, defaultPort: number): number {
  if (given === undefined) return defaultPort;
  const port = /^\d{1,5}$/.test(given) ? Number(given) : Number.NaN;
  if (port <= HIGHEST_PORT) return port;
  throw new CompactError("InvalidUsage", `--port ${given}: not a port number`, {
    place: "--port",
    hint: `Give a number up to ${HIGHEST_PORT}, or leave it out for a free port.`,
  });
}

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** Opens the link in the default browser; rejects with `NotFound` where the system has no opener. */
async function openInBrowser(link: string): Promise<void> {
  const [program, ...options] = OPENERS[process.platform] ?? ["xdg-open"];
  const child = spawn(program, [...options, link], { detached: true, stdio: "ignore" });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (cause) => {
      reject(
        new CompactError("NotFound", `the browser could not be opened: ${program} was not found`, {
          hint: "Open the link yourself.",
          cause,
        }),
      );
    });
  });
  child.unref();
}
