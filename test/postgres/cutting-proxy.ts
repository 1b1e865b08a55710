import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";

/** A proxy that can cut the connection at a request: before it is forwarded, or before its answer. */
export interface CuttingProxy {
  readonly url: string;
  /** Cuts at the n-th client message from now, counted from 1. */
  cutAt(message: number, when: "before" | "after"): void;
  /** Client messages since the last `cutAt`. */
  readonly messages: number;
  /** True once the requested cut has happened. */
  readonly cut: boolean;
  stop(): Promise<void>;
}

/** Listens on a local port in front of the server at `url`. */
export async function startProxy(url: string): Promise<CuttingProxy> {
  const { hostname, host, port, pathname } = new URL(
    url.replace(/^postgres:/, "http:").replace(/@%2F[^/]*/, "@socket"),
  );
  const socket = /@(%2F[^/]*)/.exec(url)?.[1];
  const target = (): Socket =>
    socket === undefined
      ? connect({ host: hostname, port: Number(port || 5432) })
      : connect({ path: join(decodeURIComponent(socket), ".s.PGSQL.5432") });
  let [messages, at, cut] = [0, 0, false];
  let when: "before" | "after" = "before";
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = target();
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const side of [client, upstream]) {
      open.add(side);
      side.on("error", end);
      side.on("close", () => {
        open.delete(side);
        end();
      });
    }
    let silent = false;
    client.on("data", (data) => {
      messages += 1;
      const now = messages === at;
      if (now) cut = true;
      if (now && when === "before") end();
      else upstream.write(data);
      if (now && when === "after") silent = true;
    });
    upstream.on("data", (data) => {
      // The server has processed the request; its answer is dropped.
      if (silent) end();
      else client.write(data);
    });
  });
  const address = await listening(server);
  return {
    url: url
      .replace(socket === undefined ? host : `${socket}`, `127.0.0.1:${address}`)
      .replace(/\/[^/]*$/, pathname),
    cutAt(message, how) {
      [messages, at, cut, when] = [0, message, false, how];
    },
    get messages() {
      return messages;
    },
    get cut() {
      return cut;
    },
    stop: () =>
      new Promise((done) => {
        server.close(() => done());
        for (const side of open) side.destroy();
      }),
  };
}

function listening(server: Server): Promise<number> {
  return new Promise((done) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      done(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
}
