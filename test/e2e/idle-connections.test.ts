import { randomUUID } from "node:crypto";
import { connect, type Socket } from "node:net";
import { defaultConfig } from "compact-context";
import { createMemoryDriver } from "compact-context/storage/memory";
import { afterEach, describe, expect, it } from "vitest";
import { startProxy } from "../../packages/compact-context-cli/src/proxy/server.ts";
import { createSessions, upstreamsOf } from "../../packages/compact-context-cli/src/proxy/sessions.ts";
import { createTally } from "../../packages/compact-context-cli/src/proxy/tally.ts";
import { startViewServer } from "../../packages/compact-context-cli/src/view/server.ts";
import { ViewStore } from "../../packages/compact-context-cli/src/view/view-store.ts";

interface Listening {
  readonly port: number;
  close(): Promise<void>;
}

const SERVERS: Readonly<Record<string, () => Promise<Listening>>> = {
  "compact view": () =>
    startViewServer({
      store: new ViewStore(),
      files: new Map([["/", { type: "text/html", body: Buffer.from("the page") }]]),
      port: 0,
      newSecret: randomUUID,
      now: () => performance.now(),
    }),
  "compact proxy": () =>
    startProxy({
      port: 0,
      upstreams: upstreamsOf("http://127.0.0.1:9", {}),
      sessions: createSessions({
        config: defaultConfig,
        window: 8_000,
        storage: createMemoryDriver(),
        warn: () => undefined,
      }),
      tally: createTally({}),
      fetch,
      metrics: () => "",
      health: async () => ({ ok: true }),
      dryRun: false,
      changed: () => undefined,
      problem: () => undefined,
    }),
};

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function opened(port: number): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port });
  closing.push(() => socket.destroy());
  socket.on("error", () => undefined);
  await new Promise<void>((done) => socket.once("connect", done));
  return socket;
}

/** What comes back for these bytes, until the server closes. */
async function answered(port: number, bytes: string): Promise<string> {
  const socket = await opened(port);
  let text = "";
  socket.on("data", (data) => {
    text += data.toString();
  });
  const closed = new Promise<void>((done) => socket.once("close", done));
  socket.write(bytes);
  await closed;
  return text;
}

const get = (port: number, target: string): string =>
  `GET ${target} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: close\r\n\r\n`;

describe.each(Object.entries(SERVERS))("%s", (_name, start) => {
  it("answers beside 500 idle connections, and keeps them", async () => {
    const { port, close } = await start();
    closing.push(close);
    const idle: Socket[] = [];
    for (let round = 0; round < 10; round += 1) {
      idle.push(...(await Promise.all(Array.from({ length: 50 }, () => opened(port)))));
    }
    expect(await answered(port, get(port, "/"))).toMatch(/^HTTP\/1\.1 200 /);
    expect(idle.filter((socket) => socket.destroyed || socket.readableEnded)).toEqual([]);
    // Each of them is still served.
    const last = idle.at(-1);
    const reply = new Promise<string>((done) => last?.once("data", (data) => done(data.toString())));
    last?.write(get(port, "/"));
    expect(await reply).toMatch(/^HTTP\/1\.1 200 /);
  });

  // A path of any characters may also be told to name nothing.
  it.each(["//:", "http://", "//[", "http://[::1/"])("refuses GET %s and goes on", async (target) => {
    const { port, close } = await start();
    closing.push(close);
    expect(await answered(port, get(port, target))).toMatch(/^HTTP\/1\.1 40[04] /);
    expect(await answered(port, get(port, "/"))).toMatch(/^HTTP\/1\.1 200 /);
  });

  it.each(["GET\r\n\r\n", "nonsense\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\u0000\u0001\r\n\r\n"])(
    "answers 400 to the request line %j",
    async (bytes) => {
      const { port, close } = await start();
      closing.push(close);
      expect(await answered(port, bytes)).toMatch(/^HTTP\/1\.1 (?:400|505) /);
      expect(await answered(port, get(port, "/"))).toMatch(/^HTTP\/1\.1 200 /);
    },
  );
});
