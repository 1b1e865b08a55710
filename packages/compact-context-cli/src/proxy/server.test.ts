import { createServer, request as httpRequest, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { defaultConfig } from "compact-context";
import { createMemoryDriver } from "compact-context/storage/memory";
import { afterEach, describe, expect, it } from "vitest";
import { type Stub, startStub } from "../../../../test/stubs/server.ts";
import { type ProxyServer, startProxy } from "./server.ts";
import { createSessions } from "./sessions.ts";
import { createTally } from "./tally.ts";
import { upstreamsOf } from "./upstream.ts";

const closing: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Started extends ProxyServer {
  readonly problems: string[];
}

async function proxyTo(
  upstream: string,
  more: { window?: number; dryRun?: boolean; broken?: true } = {},
): Promise<Started> {
  const problems: string[] = [];
  const sessions = createSessions({
    config: defaultConfig,
    window: more.window ?? 8_000,
    storage: createMemoryDriver(),
    warn: (message) => problems.push(message),
  });
  const server = await startProxy({
    port: 0,
    upstreams: upstreamsOf(upstream, {}),
    sessions: more.broken
      ? { ...sessions, managerOf: () => failing(sessions.managerOf(undefined)) }
      : sessions,
    tally: createTally({}),
    dryRun: more.dryRun === true,
    changed: () => undefined,
    problem: (message) => problems.push(message),
  });
  closing.push(() => server.close());
  return { ...server, problems };
}

/** A manager whose storage, or whatever else, is broken. */
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

/** A list of `turns` calls of a tool with long answers, and the ask at its end. */
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

function post(server: ProxyServer, body: object): Promise<Response> {
  return fetch(`${server.url}/v1/messages`, { method: "POST", headers: HEADERS, body: JSON.stringify(body) });
}

/** A request with headers that `fetch` does not let one write. */
function raw(
  server: ProxyServer,
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

  it("answers in words when nobody is there", async () => {
    const server = await proxyTo("http://127.0.0.1:9");
    const response = await post(server, bodyOf(1));
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({ type: "error", error: { type: "api_error" } });
  });
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
