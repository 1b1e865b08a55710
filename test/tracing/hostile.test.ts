import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer as createSocketServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Exporter } from "../../packages/compact-context/src/core/report.ts";
import { CompactManager } from "../../packages/compact-context/src/create-manager.ts";
import { CompactError } from "../../packages/compact-context/src/errors.ts";
import { createMemoryDriver } from "../../packages/compact-context/src/storage/memory/driver.ts";
import { createAriadneExporter } from "../../packages/compact-context/src/tracing/exporters/ariadne.ts";
import { createTracer } from "../../packages/compact-context/src/tracing/tracer.ts";
import { closeServer, startAriadne, startServer } from "../stubs/ariadne.ts";

const warning = (message: string) => ({
  name: "compact.warning" as const,
  status: "ok" as const,
  properties: { severity: "low", code: "x", message },
});

vi.mock("node:dns", async (original) => {
  const dns = await original<typeof import("node:dns")>();
  const lookup = (name: string, options: object, done: (...answer: unknown[]) => void): void => {
    if (name === "metadata.test") done(null, [{ address: "169.254.169.254", family: 4 }]);
    else dns.lookup(name, options, done as never);
  };
  return { ...dns, lookup };
});

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
const server: typeof startServer = async (answer) => {
  const started = await startServer(answer);
  closing.push(started.close);
  return started;
};

function tracerTo(url: string, timeoutMs = 200) {
  const lines: string[] = [];
  const tracer = createTracer({
    exporters: [createAriadneExporter({ url, timeoutMs })],
    now: Date.now,
    onError: (line) => lines.push(line),
  });
  const emit = (count: number, sessionId = "s"): void => {
    for (let n = 0; n < count; n += 1) {
      tracer.emit({ ...warning(`${n}`), sessionId });
    }
  };
  return { tracer, lines, emit };
}

describe("where events are sent", () => {
  it.each([
    "file:///etc/passwd",
    "ftp://127.0.0.1/ingest",
    "data:text/plain,x",
    "nonsense",
    "http://user:secret@127.0.0.1:5175/ingest",
    "http://169.254.169.254/latest/meta-data",
    "http://0xa9.0xfe.0xa9.0xfe/",
    "http://2852039166/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[fe80::1]/",
    "http://[fd00:ec2::254]/",
  ])("attack 34: %s is refused when the manager is made, without its password", (ariadne) => {
    const make = (): CompactManager => new CompactManager({ tracing: { ariadne } });
    expect(make).toThrow(expect.objectContaining({ code: "InvalidConfig" }));
    try {
      make();
    } catch (error) {
      expect(CompactError.isInstance(error) ? `${error.message} ${error.hint}` : "secret").not.toContain(
        "secret",
      );
    }
  });

  it("attack 34: a name that leads to a link-local address is refused when it is looked up", async () => {
    const { tracer, lines, emit } = tracerTo("http://metadata.test/ingest");
    emit(1);
    await tracer.flush();
    expect(lines[0]).toBe("[Ariadne] export failed: metadata.test leads to a link-local address");
  });

  it("attack 34: the loopback address is allowed, for whoever names it is who runs the program", async () => {
    const ariadne = await startAriadne();
    closing.push(ariadne.close);
    const { tracer, lines, emit } = tracerTo(ariadne.url.replace("127.0.0.1", "0x7f.1"), 2_000);
    emit(1);
    await tracer.flush();
    expect([ariadne.spans.length, lines]).toEqual([1, []]);
  });

  it("attack 35: a redirect is not followed, neither the body nor anything else reaches its target", async () => {
    let reached = 0;
    const target = await server((response) => {
      reached += 1;
      response.end();
    });
    for (const status of [301, 302, 303, 307, 308]) {
      const { url } = await server((response) => response.writeHead(status, { location: target.url }).end());
      const { tracer, lines, emit } = tracerTo(url, 2_000);
      emit(1);
      await tracer.flush();
      expect(lines[0]).toBe(`[Ariadne] export failed: the server answered ${status}`);
    }
    expect(reached).toBe(0);
  });

  it("attack 37: line ends and letters of all scripts in a session's id stand in no header", async () => {
    const seen: { headers: string[]; body: string }[] = [];
    const { url } = await server((response, request, body) => {
      seen.push({ headers: Object.keys(request.headers).sort(), body });
      response.end('{"success":true,"count":1}');
    });
    const { tracer, lines, emit } = tracerTo(url, 2_000);
    const id = "a\r\nx-forged: 1\r\n\r\nPOST / HTTP/1.1 \u{1f600} 字 \ud800";
    emit(1, id);
    await tracer.flush();
    expect(lines).toEqual([]);
    expect(seen[0]?.headers).toEqual(["connection", "content-length", "content-type", "host"]);
    expect(JSON.parse(seen[0]?.body ?? "").batch[0].data.session_id).toBe(id);
  });

  it("attack 38: a certificate that nobody vouches for is refused", async ({ skip }) => {
    const folder = mkdtempSync(join(tmpdir(), "compact-tls-"));
    closing.push(() => rmSync(folder, { recursive: true, force: true }));
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    try {
      const subject = ["-subj", "/CN=localhost", "-days", "1"];
      const files = ["-keyout", key, "-out", cert];
      const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
      execFileSync("openssl", ["req", "-x509", ...kind, ...files, ...subject], { stdio: "ignore" });
    } catch {
      skip("openssl is not installed");
    }
    let asked = 0;
    const secure = createSecureServer(
      { key: readFileSync(key), cert: readFileSync(cert) },
      (_request, response) => {
        asked += 1;
        response.end();
      },
    );
    await new Promise<void>((resolve) => secure.listen(0, "127.0.0.1", resolve));
    closing.push(() => closeServer(secure));
    const { tracer, lines, emit } = tracerTo(
      `https://localhost:${(secure.address() as AddressInfo).port}/`,
      2_000,
    );
    emit(1);
    await tracer.flush();
    expect(asked).toBe(0);
    expect(lines[0]).toMatch(/^\[Ariadne\] export failed: .*self.signed/);
  });

  it("attack 39: proxies that the environment names are not asked", async () => {
    let proxied = 0;
    const proxy = await server((response) => {
      proxied += 1;
      response.end();
    });
    for (const name of ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]) vi.stubEnv(name, proxy.url);
    closing.push(() => void vi.unstubAllEnvs());
    const ariadne = await startAriadne();
    closing.push(ariadne.close);
    const { tracer, emit } = tracerTo(ariadne.url, 2_000);
    emit(1);
    await tracer.flush();
    expect([ariadne.spans.length, proxied]).toEqual([1, 0]);
  });
});

/** A server below HTTP: it does as it is told with the bytes. */
async function socketServer(serve: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const raw = createSocketServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    serve(socket);
  });
  await new Promise<void>((resolve) => raw.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    raw.close();
  });
  return `http://127.0.0.1:${(raw.address() as AddressInfo).port}/ingest`;
}

/** Writes as fast as the other side reads, up to ten gigabytes. */
function flood(socket: Socket, chunk: Buffer): void {
  let left = 10_000_000_000 / chunk.length;
  const more = (): void => {
    while (left > 0 && !socket.destroyed && socket.write(chunk)) left -= 1;
  };
  socket.on("drain", more);
  more();
}

function drip(socket: Socket, bytes: string): void {
  const timer = setInterval(() => socket.write(bytes), 5);
  socket.on("close", () => clearInterval(timer));
}

const bomb = gzipSync(Buffer.alloc(50_000_000));
const hostile: Record<string, (socket: Socket) => void> = {
  "takes everything and never answers": () => undefined,
  "hangs up at once": (socket) => socket.destroy(),
  "drips headers": (socket) => {
    socket.write("HTTP/1.1 200 OK\r\n");
    drip(socket, "x: y\r\n");
  },
  "drips a body": (socket) => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n");
    drip(socket, "x");
  },
  "sends a body of 10 GB": (socket) => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-length: 10000000000\r\n\r\n");
    flood(socket, Buffer.alloc(1_000_000));
  },
  "sends a body without an end": (socket) => {
    socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
    flood(socket, Buffer.from(`4000\r\n${"x".repeat(0x4000)}\r\n`));
  },
  "sends headers without an end": (socket) => {
    socket.write("HTTP/1.1 200 OK\r\n");
    flood(socket, Buffer.from(`x: ${"y".repeat(4000)}\r\n`));
  },
  "sends a gzip bomb, again and again": (socket) => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n");
    flood(socket, Buffer.concat([Buffer.from(`${bomb.length.toString(16)}\r\n`), bomb, Buffer.from("\r\n")]));
  },
  "announces an answer again and again": (socket) => drip(socket, "HTTP/1.1 103 Early Hints\r\n\r\n"),
  "speaks no HTTP": (socket) => socket.write("220 mail.example ESMTP\r\n"),
  "fails with a long page": (socket) =>
    socket.end(`HTTP/1.1 503 No\r\ncontent-length: 60000\r\nconnection: close\r\n\r\n${"x".repeat(60_000)}`),
};

describe("a collector that", () => {
  it.each(Object.entries(hostile))(
    "attack 36: %s costs the run nothing, and is left alone after three failures",
    async (_what, misbehave) => {
      let asked = 0;
      const url = await socketServer((socket) => {
        asked += 1;
        socket.once("data", () => misbehave(socket));
      });
      const { tracer, lines, emit } = tracerTo(url);
      const memory = process.memoryUsage.rss();
      const started = process.cpuUsage();
      emit(1_500);
      const { user, system } = process.cpuUsage(started);
      await tracer.flush();
      expect(process.memoryUsage.rss() - memory).toBeLessThan(150_000_000);
      // 1,500 events are handed over with less work than there is time to wait for three answers.
      expect((user + system) / 1000).toBeLessThan(600);
      expect(asked).toBe(3);
      expect(tracer.takeLosses().reduce((sum, { count }) => sum + count, 0)).toBe(1_500);
      expect(lines[0]).toMatch(/^\[Ariadne\] /);
      expect(lines.at(-1)).toMatch(/^\[Ariadne\] \d+ events were not delivered$/);
      expect(lines.length).toBeLessThan(6);
    },
  );

  it("attack 36: answers 200 with anything at all is believed and not read", async () => {
    const { url } = await server((response) => response.end('<html>{"success":'));
    const { tracer, lines, emit } = tracerTo(url, 2_000);
    emit(5);
    await tracer.flush();
    expect([tracer.takeLosses(), lines]).toEqual([[], []]);
  });

  it("OBS-6 takes everything and never answers is given up after two seconds", async () => {
    const url = await socketServer(() => undefined);
    const failed: number[] = [];
    const exporter = createAriadneExporter({ url });
    const started = performance.now();
    const event = { ...warning("m"), sessionId: "s" };
    const tracer = createTracer({
      exporters: [exporter],
      now: Date.now,
      onError: () => failed.push(performance.now() - started),
    });
    tracer.emit(event);
    await tracer.flush();
    expect(tracer.takeLosses()).toMatchObject([{ count: 1 }]);
    expect(failed[0]).toBeGreaterThan(1_700);
    expect(failed[0]).toBeLessThan(15_000);
  });
});

describe("an exporter that", () => {
  const never = (): Promise<never> => new Promise(() => undefined);
  const broken: Record<string, Exporter> = {
    throws: {
      export() {
        throw new Error("no");
      },
    },
    "throws nothing that is an error": {
      export() {
        throw null;
      },
    },
    rejects: { export: () => Promise.reject(new Error("no")) },
    "never answers": { export: never },
    "changes the event": {
      export(event) {
        (event.properties as Record<string, unknown>).reason = "forged";
      },
    },
    "does not know where it is": {
      export: () => undefined,
      here() {
        throw new Error("lost");
      },
    },
    "never knows where it is": { export: () => undefined, here: never },
    "loses its way": { export: () => undefined, here: () => Promise.reject(new Error("lost")) },
    "never ends its flush": { export: () => undefined, flush: never },
  };

  it.each(Object.entries(broken))(
    "OBS-6 %s reaches neither the run nor the exporter beside it",
    async (_what, exporter) => {
      const seen: unknown[] = [];
      const good: Exporter = {
        export: ({ properties }) => void seen.push(properties.reason ?? properties.t_est),
      };
      const manager = new CompactManager(
        { maxContextTokens: 100_000 },
        { storage: createMemoryDriver(), exporters: [exporter, good], onWarning: () => undefined },
      );
      const list = [{ role: "user", content: "hello" }];
      const { messages } = await manager.preflight("s", list);
      expect(messages).toBe(list);
      await new Promise((resolve) => setTimeout(resolve, 5));
      expect(seen).toEqual([expect.any(Number), "below_trigger"]);
      const unanswered = /never/.test(_what) ? manager.preflight("s", list) : manager.flush();
      await unanswered;
    },
  );

  it("attack 36: holds a bounded number of bytes while it does not answer, and says what it missed", async () => {
    const lines: string[] = [];
    let answer = (): void => undefined;
    const first = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const tracer = createTracer({
      exporters: [{ name: "slow", export: () => first }],
      now: Date.now,
      maxQueueBytes: 1_000_000,
      patienceMs: 20,
      onError: (line) => lines.push(line),
    });
    const payload = "x".repeat(50_000);
    const emit = (): void => {
      tracer.emit({ ...warning("m"), sessionId: "s", payload });
    };
    emit();
    await expect.poll(() => lines.length).toBe(1);
    for (let n = 1; n < 100; n += 1) emit();
    expect(lines).toEqual(["[slow] no answer for 0.02 s; at most 1000 events wait for one"]);
    answer();
    // One was being delivered; nine of 100 KB each could wait.
    await expect.poll(() => lines[1]).toBe("[slow] 90 events were not delivered");
  });
});
