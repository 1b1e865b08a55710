import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { CompactManager } from "../../compaction/manager.ts";
import { createMemoryDriver } from "../../storage/drivers/memory.ts";
import type { CompactEvent } from "../event.ts";
import { createTracer } from "../tracer.ts";
import { createAriadneExporter } from "./ariadne.ts";

/** What Ariadne accepts, and nothing else. */
const time = z.iso.datetime({ offset: false }).optional();
const span = z.object({
  type: z.literal("span"),
  trace_id: z.string().min(1),
  span_id: z.string().min(1),
  parent_id: z.string().optional(),
  kind: z.string().optional(),
  name: z.string().optional(),
  started_at: time,
  ended_at: time,
  data: z.record(z.string(), z.unknown()).optional(),
  status: z.enum(["ok", "error"]).optional(),
});
const body = z.object({ batch: z.array(span) });
type Span = z.infer<typeof span>;

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function start(answer: (text: string, response: ServerResponse, request: IncomingMessage) => void) {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => answer(Buffer.concat(chunks).toString(), response, request));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/ingest`;
}

/** Ariadne as it validates. */
async function startAriadne() {
  const spans: Span[] = [];
  const refused: string[] = [];
  const arrivals: number[] = [];
  const url = await start((text, response, request) => {
    const tooLarge = Number(request.headers["content-length"] ?? 0) > 262_144;
    const read = body.safeParse(JSON.parse(text));
    const backwards = read.data?.batch.some(({ started_at: from = "", ended_at: to = "" }) => to < from);
    if (tooLarge || !read.success || backwards === true) {
      refused.push(text.slice(0, 200));
      response.writeHead(tooLarge ? 413 : 400).end("{}");
      return;
    }
    arrivals.push(performance.now());
    spans.push(...read.data.batch);
    response.writeHead(200).end(JSON.stringify({ success: true, count: read.data.batch.length }));
  });
  return { url, spans, refused, arrivals };
}

const event: CompactEvent = {
  version: 1,
  name: "compact.token_estimate",
  sessionId: "s",
  startedAt: "2026-01-02T03:04:05.006Z",
  endedAt: "2026-01-02T03:04:05.006Z",
  status: "ok",
  properties: { t_est: 12 },
};

function trace(url: string, more: object = {}) {
  const errors: string[] = [];
  const exporter = createAriadneExporter({ url, timeoutMs: 200, ...more });
  const tracer = createTracer({ exporters: [exporter], now: Date.now, onError: (line) => errors.push(line) });
  return { tracer, errors };
}

describe("Ariadne exporter", () => {
  it("OBS-5 OBS-7 sends a session as spans that Ariadne takes: rounds above their steps, the summary as output", async () => {
    const ariadne = await startAriadne();
    const exporter = createAriadneExporter({ url: ariadne.url });
    const manager = new CompactManager(
      { maxContextTokens: 4_000 },
      { storage: createMemoryDriver(), exporters: [exporter], onWarning: () => undefined },
    );
    const list: object[] = [];
    for (let turn = 0; turn < 40; turn += 1) {
      list.push({ role: "user", content: `question ${turn} ${"about the quay and its ledger ".repeat(10)}` });
      list.push({ role: "assistant", content: `answer ${turn} ${"the ledger lists the cargo ".repeat(10)}` });
      await manager.preflight("harbour", list);
    }
    await manager.flush();
    expect(ariadne.refused).toEqual([]);
    const rounds = ariadne.spans.filter(({ name }) => name === "compact");
    expect(rounds.length).toBeGreaterThan(1);
    expect(new Set(ariadne.spans.map(({ span_id }) => span_id)).size).toBe(ariadne.spans.length);
    expect(new Set(ariadne.spans.map(({ trace_id }) => trace_id)).size).toBe(1);
    for (const round of rounds) {
      const steps = ariadne.spans.filter(({ parent_id }) => parent_id === round.span_id);
      expect(steps.map(({ name }) => name)).toEqual(
        expect.arrayContaining(["compact.archival", "compact.summary_created", "compact.pruned_messages"]),
      );
      const summary = steps.find(({ name }) => name === "compact.summary_created");
      expect(summary?.data?.output).toContain("quay");
      expect(summary?.data).toMatchObject({ strategy: "task_state", session_id: "harbour" });
      expect(round.started_at ?? "").toMatch(/Z$/);
      for (const { started_at = "" } of steps) expect(started_at >= (round.started_at ?? "")).toBe(true);
    }
  });

  it("OBS-6 delivers within 200 ms, and tells what it cannot deliver with [Ariadne], once", async () => {
    const ariadne = await startAriadne();
    const { tracer } = trace(ariadne.url);
    const sent = performance.now();
    tracer.emit(event);
    await tracer.flush(1_000);
    expect((ariadne.arrivals[0] ?? Number.NaN) - sent).toBeLessThan(200);
    const down = trace("http://127.0.0.1:9/ingest");
    for (let count = 0; count < 10; count += 1) down.tracer.emit(event);
    expect(await down.tracer.flush(5_000)).toBe(true);
    expect(down.errors).toHaveLength(1);
    expect(down.errors[0]).toContain("[Ariadne]");
  });

  it("OBS-6 gives up on a server that never answers, redirects or fails, and rests after three failures", async () => {
    let asked = 0;
    const hostile = [
      () => undefined,
      (response: ServerResponse) => response.writeHead(302, { location: "http://127.0.0.1:9/" }).end(),
      (response: ServerResponse) => response.writeHead(500).end("x".repeat(100_000)),
    ];
    for (const misbehave of hostile) {
      asked = 0;
      const url = await start((_text, response) => {
        asked += 1;
        misbehave(response);
      });
      const { tracer, errors } = trace(url);
      for (let count = 0; count < 12; count += 1) tracer.emit(event);
      expect(await tracer.flush(5_000)).toBe(true);
      expect(asked).toBe(3);
      expect(errors.join()).toContain("[Ariadne]");
    }
  });

  it("comes back after its rest, and cuts what Ariadne would refuse", async () => {
    const ariadne = await startAriadne();
    let now = 0;
    let down = true;
    const request: typeof fetch = (...args) => (down ? Promise.reject(new Error("down")) : fetch(...args));
    const { tracer } = trace(ariadne.url, { fetch: request, now: () => now });
    for (let count = 0; count < 4; count += 1) tracer.emit(event);
    await tracer.flush(1_000);
    down = false;
    now += 30_001;
    tracer.emit({ ...event, properties: { message: "é".repeat(300_000) }, payload: "字".repeat(300_000) });
    tracer.emit({ ...event, startedAt: event.endedAt, endedAt: "2026-01-01T00:00:00.000Z" });
    await tracer.flush(1_000);
    expect(ariadne.refused).toEqual([]);
    expect(ariadne.spans).toHaveLength(2);
  });
});
