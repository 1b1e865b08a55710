import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { CompactError } from "compact-context/internal/errors";

/** A server that this computer alone reaches. */
export interface LocalServer {
  readonly port: number;
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Ends every connection. */
  close(): Promise<void>;
}

export interface LocalServerOptions {
  /** 0 for one that is free. */
  readonly port: number;
  /** The answer to a request; `Hono.fetch` is one. */
  readonly fetch: Parameters<typeof createAdaptorServer>[0]["fetch"];
  readonly requestTimeout: number;
  readonly maxHeaderSize: number;
  readonly mostConnections?: number;
}

/** Starts to listen on 127.0.0.1; rejects with `InvalidUsage` for a port that is taken. */
export async function startLocalServer(options: LocalServerOptions): Promise<LocalServer> {
  const { requestTimeout, maxHeaderSize, mostConnections } = options;
  const server = createAdaptorServer({
    fetch: options.fetch,
    serverOptions: { requestTimeout, headersTimeout: 10_000, maxHeaderSize },
  }) as Server;
  if (mostConnections !== undefined) server.maxConnections = mostConnections;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(
        new CompactError(
          "InvalidUsage",
          `port ${options.port} cannot be used: ${error.code ?? error.message}`,
          {
            place: "--port",
            hint: "Name another port; --port 0 takes one that is free.",
            cause: error,
          },
        ),
      );
    });
    server.listen({ host: "127.0.0.1", port: options.port }, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}
