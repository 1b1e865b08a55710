import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type Server,
  type ServerResponse,
} from "node:http";
import { createRequire } from "node:module";
import { type AddressInfo, connect } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { type CompactionReport, defaultConfig } from "compact-context";
import { createMemoryDriver } from "compact-context/storage/memory";
import { afterEach, describe, expect, it } from "vitest";
import { type Stub, startStub } from "../../../../test/stubs/server.ts";
import type { LocalServer } from "../view/access.ts";
import { createProviderFetch } from "./provider-fetch.ts";
import { startProxy } from "./server.ts";
import { createSessions, upstreamsOf } from "./sessions.ts";
import { createTally } from "./tally.ts";

const closing: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Started extends LocalServer {
  readonly problems: string[];
  /** Reports of the compactions that were told. */
  readonly told: CompactionReport[];
}

async function proxyTo(
  upstream: string,
  more: {
    window?: number;
    dryRun?: boolean;
    broken?: true;
    byProvider?: true;
    cuts?: true;
    port?: number;
    env?: Record<string, string>;
  } = {},
): Promise<Started> {
  const problems: string[] = [];
  const told: CompactionReport[] = [];
  const sessions = createSessions({
    config: {
      ...defaultConfig,
      ...(more.byProvider && { summarizer: { ...defaultConfig.summarizer, kind: "provider" } }),
      ...(more.cuts && { policy: { ...defaultConfig.policy, onOverflow: "elide" } }),
    },
    window: more.window ?? 8_000,
    storage: createMemoryDriver(),
    warn: (message) => problems.push(message),
  });
  const server = await startProxy({
    port: more.port ?? 0,
    upstreams: upstreamsOf(upstream, {}),
    sessions: more.broken
      ? { ...sessions, managerOf: () => failing(sessions.managerOf(undefined)) }
      : sessions,
    tally: createTally({}),
    fetch: createProviderFetch(more.env ?? {}),
    metrics: () => "",
    health: async () => ({ ok: true }),
    dryRun: more.dryRun === true,
    changed: (report) => void (report && told.push(report)),
    problem: (message) => problems.push(message),
  });
  closing.push(() => server.close());
  return { ...server, problems, told };
}

/** A manager whose calls reject with a storage error. */
function failing(manager: ReturnType<ReturnType<typeof createSessions>["managerOf"]>): typeof manager {
  const broken = (): Promise<never> => Promise.reject(new Error("the disk is full"));
  return {
    preflight: broken,
    manualCompact: broken,
    isOverBudget: () => false,
    getState: (session) => manager.getState(session),
    warn: (...words) => manager.warn(...words),
  };
}

async function stubbed(): Promise<Stub> {
  const stub = await startStub();
  closing.push(() => stub.close());
  return stub;
}

/** A list with `turns` tool calls with long results, and the user's request at its end. */
function bodyOf(turns: number): { messages: object[] } & Record<string, unknown> {
  const messages: object[] = [{ role: "user", content: "Read the files, and remember parcel TQ-7731." }];
  for (let turn = 0; turn < turns; turn += 1) {
    const id = `toolu_${turn}`;
    messages.push({
      role: "assistant",
      content: [{ type: "tool_use", id, name: "read", input: { path: `${turn}.txt` } }],
    });
    messages.push({
      role: "user",
      content: [{ type: "tool_result", tool_use_id: id, content: `line of file ${turn}. `.repeat(120) }],
    });
  }
  const tools = [
    { name: "read", input_schema: { type: "object", properties: { path: { type: "string" } } } },
  ];
  return { model: "claude-sonnet-4-5", max_tokens: 100, tools, messages };
}

const HEADERS = {
  "content-type": "application/json",
  "x-api-key": "test",
  "anthropic-version": "2023-06-01",
};

function post(server: LocalServer, body: object): Promise<Response> {
  return fetch(`${server.url}/v1/messages`, { method: "POST", headers: HEADERS, body: JSON.stringify(body) });
}

/** A request with headers that `fetch` does not allow. */
function raw(
  server: LocalServer,
  headers: Record<string, string>,
): Promise<{ status: number; headers: IncomingHttpHeaders }> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      { port: server.port, host: "127.0.0.1", path: "/metrics", headers },
      (response) => {
        response.resume();
        response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers }));
      },
    );
    sent.on("error", reject);
    sent.end();
  });
}

interface Seen {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A provider that answers every request and records it. */
async function recorder(
  answer: (response: ServerResponse) => unknown = (response) =>
    response.writeHead(200, { "content-type": "application/json" }).end("{}"),
): Promise<{ readonly url: string; readonly seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    seen.push({ url: request.url ?? "", headers: request.headers, body });
    answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

async function metric(server: LocalServer, name: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(new RegExp(`^compact_proxy_${name} (.*)$`, "m").exec(text)?.[1]);
}

describe("a call through the proxy", () => {
  it("INT-5 goes on byte for byte below the trigger", async () => {
    const stub = await stubbed();
    const server = await proxyTo(stub.anthropicUrl);
    const body = bodyOf(1);
    const response = await post(server, body);
    expect([response.status, response.headers.get("x-compact")]).toEqual([200, null]);
    expect(stub.requests.at(-1)?.body).toEqual(body);
  });

  it("INT-5 is compacted above it: the provider takes the list, and the first ask is in it", async () => {
    const stub = await stubbed();
    const server = await proxyTo(stub.anthropicUrl);
    for (const turns of [4, 8, 12, 16]) expect((await post(server, bodyOf(turns))).status).toBe(200);
    const newest = stub.requests.at(-1);
    expect(newest?.rejection).toBeUndefined();
    const text = JSON.stringify(newest?.body.messages);
    expect(text).toContain("<COMPACT-SUMMARY");
    expect(text).toContain("TQ-7731");
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toMatch(/^compact_proxy_requests_total\S* 4$/m);
    expect(metrics).toMatch(/^compact_proxy_compactions_total\S* [1-9]/m);
  });

  it.each([["text/plain"], [undefined]])("is compacted whatever its content type: %s", async (type) => {
    const provider = await recorder();
    const server = await proxyTo(provider.url);
    const { "content-type": _, ...headers } = HEADERS;
    const body = new TextEncoder().encode(JSON.stringify(bodyOf(40)));
    const named: Record<string, string> = type === undefined ? headers : { ...headers, "content-type": type };
    await fetch(`${server.url}/v1/messages`, { method: "POST", headers: named, body });
    expect(provider.seen[0]?.body).toContain("COMPACT-SUMMARY");
    expect(provider.seen[0]?.headers["content-type"]).toBe(type);
  });

  it.each([
    ["finds the first too long", "prompt is too long: 9000 tokens > 2000 maximum", ["trigger_pct", "manual"]],
    ["refuses its reasoning", "Invalid `signature` in `thinking` block", ["trigger_pct"]],
  ])("tells of each compaction once where the provider %s", async (_, message, reasons) => {
    let calls = 0;
    const provider = await recorder((response) => {
      calls += 1;
      response.writeHead(calls === 1 ? 400 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(calls === 1 ? { type: "error", error: { message } } : {}));
    });
    const server = await proxyTo(provider.url);
    await post(server, bodyOf(40));
    expect(server.told.map(({ reason }) => reason)).toEqual(reasons);
    expect(await metric(server, "requests_total")).toBe(2);
    expect(await metric(server, "compactions_total")).toBe(reasons.length);
  });

  it.each([
    [400, "no such tool", 1],
    [413, "", 1],
    [422, "messages: field required", 1],
    [503, "the request exceeds the available context size (8192 tokens)", 1],
    [503, "no server is free", 0],
    [429, "too many requests", 0],
    [401, "prompt is too long: 9000 tokens > 2000 maximum", 0],
  ])("counts as refused where its list is not taken: %s, %s", async (status, message, refused) => {
    const provider = await recorder((response) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ type: "error", error: { message } }));
    });
    const server = await proxyTo(provider.url);
    const response = await post(server, bodyOf(1));
    expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(message)]);
    expect(await metric(server, "refused_total")).toBe(refused);
  });

  it("that is answered with headers that Node does not read says what to do", async () => {
    const provider = await recorder((response) =>
      response.writeHead(200, { "content-security-policy": "x".repeat(20_000) }).end("{}"),
    );
    const server = await proxyTo(provider.url);
    const response = await post(server, bodyOf(1));
    expect([response.status, await response.text()]).toEqual([
      502,
      expect.stringContaining("NODE_OPTIONS=--max-http-header-size"),
    ]);
  });

  it("is compacted by its provider where the settings say so, with the agent's own key and betas", async () => {
    const stub = await stubbed();
    const server = await proxyTo(stub.anthropicUrl, { byProvider: true });
    const response = await post(server, bodyOf(30));
    expect([response.status, response.headers.get("x-compact")]).toEqual([200, "compacted"]);
    expect(stub.requests.map(({ rejection }) => rejection)).toEqual([undefined, undefined]);
    const [asked, sent] = stub.requests;
    expect(asked?.body.compaction).toEqual({ type: "summarize" });
    expect(asked?.headers["x-api-key"]).toBe(sent?.headers["x-api-key"]);
    for (const request of [asked, sent])
      expect(request?.headers["anthropic-beta"]).toContain("compact-2026-09-04");
    expect(sent?.body.messages).toMatchObject({ 0: { content: [{ type: "compaction" }] } });
    expect(sent?.raw).toContain("TQ-7731");
    expect(server.problems).toEqual([]);
  });

  it("is only watched in a dry run", async () => {
    const stub = await stubbed();
    const server = await proxyTo(stub.anthropicUrl, { dryRun: true });
    const body = bodyOf(16);
    const response = await post(server, body);
    expect(response.headers.get("x-compact")).toBe("dry-run");
    await response.text();
    expect(stub.requests.at(-1)?.body).toEqual(body);
    expect(await (await fetch(`${server.url}/metrics`)).text()).toMatch(
      /^compact_proxy_compactions_total\S* 1$/m,
    );
  });

  it("goes out unmodified, and says so, when compacting fails and the list fits", async () => {
    const stub = await stubbed();
    const server = await proxyTo(stub.anthropicUrl, { broken: true });
    const response = await post(server, bodyOf(2));
    expect([response.status, response.headers.get("x-compact")]).toEqual([200, "sent-unmodified"]);
    expect(server.problems.join("\n")).toContain("sent unmodified");
    expect([await metric(server, "requests_total"), await metric(server, "sessions")]).toEqual([1, 1]);
  });

  it("of a conversation that the provider keeps goes on byte for byte, told of once", async () => {
    const { url, seen } = await recorder();
    const server = await proxyTo(url);
    const body = { ...bodyOf(1), thread: { type: "continue", previous_message_id: "msg_1" } };
    for (const _ of [1, 2]) await (await post(server, body)).text();
    expect(seen.map((one) => one.body)).toEqual([JSON.stringify(body), JSON.stringify(body)]);
    expect(server.problems).toEqual([expect.stringContaining("keeps or compacts this conversation")]);
    expect(await metric(server, "requests_total")).toBe(2);
  });

  it.each([
    ["/v1/responses", { model: "gpt-5", prompt: { id: "pmpt_1" } }, 1],
    ["/v1/embeddings", { model: "text-embedding-3-small", input: "words" }, 0],
  ])("without a list is counted by its path: %s", async (path, body, calls) => {
    const { url } = await recorder();
    const server = await proxyTo(url);
    await fetch(server.url + path, { method: "POST", headers: HEADERS, body: JSON.stringify(body) });
    expect(await metric(server, "requests_total")).toBe(calls);
  });

  it("streams: the first event arrives before the last is written", async () => {
    let finish = (): void => undefined;
    const upstream: Server = createServer((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: first\n\n");
      finish = () => void response.end("data: last\n\n");
    });
    await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
    closing.push(() => upstream.close());
    const server = await proxyTo(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`);
    const response = await post(server, bodyOf(1));
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader?.read())?.value).toContain("first");
    finish();
    expect((await reader?.read())?.value).toContain("last");
  });

  it.each([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
  ])(
    "compacts a body that the client compressed (%s), and leaves others as they are",
    async (encoding, pack) => {
      const provider = await recorder();
      const server = await proxyTo(provider.url);
      const send = (body: object) =>
        fetch(`${server.url}/v1/messages`, {
          method: "POST",
          headers: { ...HEADERS, "content-encoding": encoding },
          body: new Uint8Array(pack(JSON.stringify(body))),
        });
      const [short, long] = [bodyOf(1), bodyOf(40)];
      expect((await send(short)).headers.get("x-compact")).toBeNull();
      expect((await send(long)).headers.get("x-compact")).toBe("compacted");
      expect(provider.seen.map(({ headers }) => headers["content-encoding"])).toEqual([encoding, undefined]);
      expect(provider.seen[0]?.headers["content-length"]).toBe(String(pack(JSON.stringify(short)).length));
      expect(JSON.parse(provider.seen[1]?.body ?? "").messages.length).toBeLessThan(long.messages.length);
    },
  );

  it.each([
    ["damaged", "br", Buffer.from("packed")],
    ["cut off", "zstd", Buffer.from("packed")],
    ["packed in a way that nobody knows", "constructor", Buffer.from("packed")],
    ["no JSON", "gzip", gzipSync("packed")],
    ["larger than a body may be", "gzip", gzipSync(Buffer.alloc(65 * 1024 * 1024, " "))],
  ])("says that a compressed body went out unmodified: %s", async (_, encoding, body) => {
    const provider = await recorder();
    const server = await proxyTo(provider.url);
    const response = await fetch(`${server.url}/v1/responses`, {
      method: "POST",
      headers: { ...HEADERS, "content-encoding": encoding },
      body: new Uint8Array(body),
    });
    expect(response.headers.get("x-compact")).toBe("sent-unmodified");
    expect(provider.seen[0]?.headers).toMatchObject({
      "content-encoding": encoding,
      "content-length": String(body.length),
    });
    expect(server.problems.join("\n")).toContain(`compressed body (${encoding}) cannot be read`);
    expect(await metric(server, "requests_total")).toBe(1);
  });

  it("INT-5 keeps path, query, key and beta headers; those of its connection stay here", async () => {
    const provider = await recorder();
    const server = await proxyTo(`${provider.url}/gateway/v1`);
    await fetch(`${server.url}/v1/messages?beta=true`, {
      method: "POST",
      headers: { ...HEADERS, "anthropic-beta": "context-1m-2025-08-07", "accept-encoding": "br" },
      body: JSON.stringify(bodyOf(1)),
    });
    const [seen] = provider.seen;
    expect(seen?.url).toBe("/gateway/v1/messages?beta=true");
    expect(seen?.headers).toMatchObject({
      "x-api-key": "test",
      "anthropic-version": "2023-06-01",
      "anthropic-beta": "context-1m-2025-08-07",
      // Responses are forwarded unchanged.
      "accept-encoding": "identity",
      host: new URL(provider.url).host,
    });
  });

  it("passes on no header of the connection, and takes a client that waits for a 100", async () => {
    const provider = await recorder();
    const server = await proxyTo(provider.url);
    const headers = {
      ...HEADERS,
      host: `127.0.0.1:${server.port}`,
      expect: "100-continue",
      connection: "keep-alive, x-hop",
      "x-hop": "1",
      "proxy-authorization": "Basic am9lOnB3",
      te: "trailers",
    };
    const status = await new Promise((resolve, reject) => {
      const path = "/v1/messages";
      const sent = httpRequest(
        { port: server.port, host: "127.0.0.1", path, method: "POST", headers },
        (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        },
      );
      sent.on("error", reject);
      sent.on("continue", () => sent.end(JSON.stringify(bodyOf(1))));
      sent.flushHeaders();
    });
    expect(status).toBe(200);
    const [seen] = provider.seen;
    for (const name of ["expect", "x-hop", "proxy-authorization", "te"])
      expect(seen?.headers).not.toHaveProperty(name);
    expect(seen?.headers["x-api-key"]).toBe("test");
  });

  it("follows no redirect: a key goes to nobody but the provider", async () => {
    const other = await recorder();
    const provider = await recorder((response) =>
      response.writeHead(307, { location: `${other.url}/v1/messages` }).end(),
    );
    const server = await proxyTo(provider.url);
    const response = await fetch(`${server.url}/v1/messages`, {
      method: "POST",
      headers: HEADERS,
      body: JSON.stringify(bodyOf(1)),
      redirect: "manual",
    });
    expect(response.status).toBe(307);
    expect(other.seen).toEqual([]);
  });

  it("belongs to its session also when the token of a login was renewed", async () => {
    const stub = await stubbed();
    const server = await proxyTo(stub.anthropicUrl);
    const { "x-api-key": _, ...headers } = HEADERS;
    for (const [index, turns] of [4, 8, 12].entries()) {
      await fetch(`${server.url}/v1/messages`, {
        method: "POST",
        headers: { ...headers, authorization: `Bearer sk-ant-oat01-${index}` },
        body: JSON.stringify(bodyOf(turns)),
      });
    }
    expect(await metric(server, "sessions")).toBe(1);
  });

  it("is not read beyond 64 MB", async () => {
    const provider = await recorder();
    const server = await proxyTo(provider.url);
    const body = Buffer.alloc(64 * 1024 * 1024 + 1, 32);
    const response = await fetch(`${server.url}/v1/messages`, { method: "POST", headers: HEADERS, body });
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ error: { type: "request_too_large" } });
    expect(provider.seen).toEqual([]);
  });

  it("ends at the provider when its client leaves", async () => {
    let left = (): void => undefined;
    const gone = new Promise<void>((resolve) => {
      left = resolve;
    });
    const provider = await recorder((response) => {
      response.on("close", left);
      response.writeHead(200, { "content-type": "text/event-stream" }).write("data: first\n\n");
    });
    const server = await proxyTo(provider.url);
    const leaving = new AbortController();
    const response = await fetch(`${server.url}/v1/messages`, {
      method: "POST",
      headers: HEADERS,
      body: JSON.stringify(bodyOf(1)),
      signal: leaving.signal,
    });
    await response.body?.getReader().read();
    leaving.abort();
    await gone;
    expect(server.problems).toEqual([]);
  });

  it("ends at its client when the provider's answer is cut off, and says so in a line", async () => {
    const provider = await recorder((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write("data: first\n\n");
      setImmediate(() => response.destroy());
    });
    const server = await proxyTo(provider.url);
    const printed: unknown[] = [];
    const { error } = console;
    console.error = (...words: unknown[]) => printed.push(words);
    closing.push(() => {
      console.error = error;
    });
    await expect(post(server, bodyOf(1)).then((answer) => answer.text())).rejects.toThrow();
    expect(server.problems).toEqual([expect.stringMatching(/^the provider's answer was cut off: .*$/)]);
    expect(printed).toEqual([]);
  });

  it("what was read before the cut arrives, held back or not", async () => {
    const created = `data: ${JSON.stringify({ type: "response.created" })}\n\n`;
    const provider = await recorder((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write(created);
      setTimeout(() => response.destroy(), 50);
    });
    const server = await proxyTo(provider.url);
    const reader = (await post(server, bodyOf(1))).body!.getReader();
    let text = "";
    const read = async (): Promise<void> => {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        text += new TextDecoder().decode(value);
      }
    };
    await expect(read()).rejects.toThrow();
    expect(text).toBe(created);
  });

  it("is waited for, however long its answer and each piece of it take", async () => {
    const { tick } = createRequire(import.meta.url)("undici/lib/util/timers.js");
    let answer: ServerResponse | undefined;
    const provider = await recorder((response) => {
      answer = response;
    });
    const { port } = await proxyTo(provider.url);
    const said: unknown[] = [];
    // The clock moves on for `fetch` too.
    const sent = httpRequest({ port, path: "/v1/messages", method: "POST", headers: HEADERS }, (response) =>
      response.on("data", (piece) => said.push(String(piece))),
    );
    sent.on("error", (error) => said.push(error));
    sent.end(JSON.stringify(bodyOf(1)));
    const hours = (): void => {
      // A timeout begins at the first tick that sees it.
      for (const _ of [1, 2]) tick(3_600_000);
    };
    await expect.poll(() => answer !== undefined).toBe(true);
    hours();
    answer?.writeHead(200, { "content-type": "application/json" }).write("{");
    await expect.poll(() => said).toEqual(["{"]);
    hours();
    answer?.end("}");
    await expect.poll(() => said).toEqual(["{", "}"]);
  });

  it("goes through the forward proxy that the environment names, except to this computer", async () => {
    const provider = await recorder();
    const asked: string[] = [];
    const forwarder = createServer().on("connect", ({ url }, socket) => {
      asked.push(url ?? "");
      const { port } = new URL(provider.url);
      const tunnel = connect(Number(port), "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
        tunnel.pipe(socket).pipe(tunnel);
      });
      for (const one of [tunnel, socket]) one.on("error", () => undefined);
      closing.push(() => tunnel.destroy());
    });
    await new Promise<void>((resolve) => forwarder.listen(0, "127.0.0.1", resolve));
    closing.push(() => forwarder.close());
    const { port } = forwarder.address() as AddressInfo;
    const env = { HTTP_PROXY: `127.0.0.1:${port}`, NO_PROXY: "gateway.invalid" };
    const status = async (upstream: string) =>
      (await post(await proxyTo(upstream, { env }), bodyOf(1))).status;
    expect(await status("http://provider.invalid")).toBe(200);
    expect(asked).toEqual(["provider.invalid:80"]);
    expect(provider.seen[0]?.headers.host).toBe("provider.invalid");
    expect(await status(provider.url)).toBe(200);
    expect(await status("http://gateway.invalid")).toBe(502);
    expect(asked).toHaveLength(1);
    expect(() => createProviderFetch({ https_proxy: "ftp://proxy.example" })).toThrow(
      expect.objectContaining({ code: "InvalidUsage", place: "HTTPS_PROXY" }),
    );
  });

  it("tells no key of an address", async () => {
    const server = await proxyTo("http://127.0.0.1:9");
    const answer = await new Promise<string>((resolve, reject) => {
      const path = `http://joe:secret-word@127.0.0.1:${server.port}/v1beta/models?key=AIza-secret`;
      const sent = httpRequest({ port: server.port, host: "127.0.0.1", path }, async (response) => {
        let text = "";
        for await (const piece of response) text += piece;
        resolve(text);
      });
      sent.on("error", reject);
      sent.end();
    });
    expect(answer + server.problems.join()).not.toMatch(/secret/);
  });

  it("answers in words when nobody is there", async () => {
    const server = await proxyTo("http://127.0.0.1:9");
    const response = await post(server, bodyOf(1));
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({ type: "error", error: { type: "api_error" } });
  });
});

it.each(["127.0.0.1", "localhost"])("does not start where it would call itself: %s", async (host) => {
  const { port, close } = await proxyTo("http://127.0.0.1:9");
  await close();
  await expect(proxyTo(`http://${host}:${port}/v1`, { port })).rejects.toMatchObject({
    code: "InvalidUsage",
    hint: expect.stringContaining("--upstream"),
  });
  // The port is free again.
  await proxyTo("http://127.0.0.1:9", { port });
});

it("lets an answer that is under way end before it ends, and takes no more calls", async () => {
  let finish = (): void => undefined;
  const upstream = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write('{"type":');
    finish = () => response.end('"message"}');
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  closing.push(() => upstream.close());
  const server = await proxyTo(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`);
  const response = await post(server, bodyOf(1));
  const closed = server.close(60_000);
  await expect.poll(() => post(server, bodyOf(1)).then(String, () => "refused")).toBe("refused");
  finish();
  expect(await response.json()).toEqual({ type: "message" });
  await closed;
});

it("keeps a call that names no model inside its window like any other", async () => {
  const stub = await stubbed();
  const server = await proxyTo(stub.anthropicUrl);
  await post(server, { ...bodyOf(40), model: undefined });
  expect(server.problems.filter((problem) => /unmodified/.test(problem))).toEqual([]);
});

it("says where the newest message of the user was cut to fit", async () => {
  const stub = await stubbed();
  const server = await proxyTo(stub.anthropicUrl, { cuts: true });
  await post(server, { ...bodyOf(0), messages: [{ role: "user", content: "a word of it ".repeat(5_000) }] });
  expect(stub.requests.at(-1)?.rejection).toBeUndefined();
  expect(server.problems).toEqual([expect.stringMatching(/newest request was cut from \d+ to \d+ tokens/)]);
});

it("says where two conversations share a session, and what tells them apart", async () => {
  const { url } = await stubbed().then((stub) => ({ url: stub.anthropicUrl }));
  const server = await proxyTo(url, { window: 4_000 });
  const talk = (name: string, turns: number) => ({
    ...bodyOf(0),
    messages: Array.from({ length: 2 * turns + 1 }, (_, index) => ({
      role: index % 2 === 0 ? "user" : "assistant",
      content: index === 0 ? "hi" : `${name} ${index}: ${"words of this talk ".repeat(40)}`,
    })),
  });
  for (let turn = 10; turn < 20; turn += 1)
    for (const name of ["one", "two"]) await (await post(server, talk(name, turn))).text();
  const told = server.problems.filter((problem) => problem.includes("x-compact-session"));
  expect(told).toHaveLength(1);
});

describe("a web page", () => {
  it.each([
    ["another origin", { host: "", origin: "https://example.com" }, 403],
    ["another site", { host: "", "sec-fetch-site": "cross-site" }, 403],
    ["a name that was rebound", { host: "attacker.example" }, 421],
  ])("gets nothing from it: %s", async (_, { host, ...headers }, status) => {
    const server = await proxyTo("http://127.0.0.1:9");
    const answer = await raw(server, { host: host || `127.0.0.1:${server.port}`, ...headers });
    expect(answer.status).toBe(status);
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
  });

  it("cannot open a web socket, and a program gets the metrics", async () => {
    const server = await proxyTo("http://127.0.0.1:9");
    const host = `localhost:${server.port}`;
    expect((await raw(server, { host, upgrade: "websocket" })).status).toBe(426);
    expect((await raw(server, { host })).status).toBe(200);
  });
});
