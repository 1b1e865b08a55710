import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { CompactError } from "compact-context/internal/errors";
import type { Invocation } from "./flags.ts";
import { PACKAGE } from "./program.ts";
import { readPageFiles, startViewServer, type ViewServer } from "./view/server.ts";
import type { ViewStore } from "./view/view-store.ts";

// Serves the page for a command, from its link to its end.

/** What the page shows. */
export interface Viewed {
  readonly store: ViewStore;
  /** Fills the store while the page is served; resolves when no more will come, or goes on until `stopped`. */
  fill(stopped: AbortSignal, server: ViewServer): Promise<void>;
}

/** Serves the page until the reader has enough: the exit code. */
export async function serveView(invocation: Invocation, { store, fill }: Viewed): Promise<number> {
  // Listened for before the page tells how to end it.
  const stopped = new AbortController();
  const enough = (invocation.ports.stopped?.() ?? Promise.resolve()).then(() => stopped.abort());
  const server = await startPage(invocation, store);
  try {
    await Promise.all([fill(stopped.signal, server), enough]);
  } finally {
    stopped.abort();
    await server.close();
  }
  return 0;
}

/** Starts the server and prints its link. */
async function startPage({ flags, ports, terminal }: Invocation, store: ViewStore): Promise<ViewServer> {
  // With --json the output has room for nothing else.
  const say = (lines: readonly string[]): void =>
    flags.json === true ? ports.stderr.write(`${lines.join("\n")}\n`) : terminal.print(lines);
  const server = await startViewServer({
    store,
    files: await readPageFiles(new URL("dist/page/", PACKAGE)),
    port: portOf(flags.port, 0),
    newSecret: () => randomBytes(32).toString("base64url"),
    now: ports.clock,
    renewed: (link) => say(["", "  A new link, for one browser more:", `  ${link}`, ""]),
  });
  const link = server.newLink();
  say([
    "",
    `  ${terminal.paint("strong", link)}`,
    "",
    "  Opens once, in one browser, on this computer. Ctrl-C ends it.",
    terminal.paint("faint", `  Events of a running agent: COMPACT_TRACING_ARIADNE=${server.ingestUrl}`),
    "",
  ]);
  if (flags.open === true) await openInBrowser(link).catch((error: unknown) => terminal.warn(String(error)));
  return server;
}

const HIGHEST_PORT = 65_535;

/** The port that was named, else the usual one; throws `InvalidUsage` for what is none. */
export function portOf(given: string | undefined, usual: number): number {
  if (given === undefined) return usual;
  const port = /^\d{1,5}$/.test(given) ? Number(given) : Number.NaN;
  if (port <= HIGHEST_PORT) return port;
  throw new CompactError("InvalidUsage", `--port ${given}: no port is called that`, {
    place: "--port",
    hint: `Give a number up to ${HIGHEST_PORT}, or leave it out for a port that is free.`,
  });
}

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** Opens a link of ours in the person's browser; rejects where there is no way to. */
async function openInBrowser(link: string): Promise<void> {
  const [program, ...words] = OPENERS[process.platform] ?? ["xdg-open"];
  const child = spawn(program, [...words, link], { detached: true, stdio: "ignore" });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (cause) => {
      reject(
        new CompactError("NotFound", `the browser could not be opened: there is no ${program}`, {
          hint: "Open the link yourself.",
          cause,
        }),
      );
    });
  });
  child.unref();
}
