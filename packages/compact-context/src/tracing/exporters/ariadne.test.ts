import { afterEach, describe, expect, it } from "vitest";
import { startAriadne as start } from "../../../../../test/stubs/ariadne.ts";
import type { CompactEvent } from "../../core/report.ts";
import { createTracer } from "../tracer.ts";
import { createAriadneExporter } from "./ariadne.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function startAriadne() {
  const ariadne = await start();
  closing.push(ariadne.close);
  return ariadne;
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
  const exporter = createAriadneExporter({ url, ...more });
  const tracer = createTracer({ exporters: [exporter], now: Date.now, onError: (line) => errors.push(line) });
  return { tracer, errors };
}

describe("Ariadne exporter", () => {
  it("OBS-6 tells a server that is down with [Ariadne], once, and how much it missed", async () => {
    const { tracer, errors } = trace("http://127.0.0.1:9/ingest");
    for (let count = 0; count < 10; count += 1) tracer.emit(event);
    await tracer.flush();
    expect(errors).toEqual([
      "[Ariadne] export failed: connect ECONNREFUSED 127.0.0.1:9",
      "[Ariadne] 10 events were not delivered",
    ]);
    expect(tracer.takeLosses()).toMatchObject([{ target: "Ariadne", count: 10 }]);
  });

  it.each(["node", "fetch"])(
    "comes back after its rest, and cuts what Ariadne would refuse, by %s",
    async (by) => {
      const ariadne = await startAriadne();
      let now = 0;
      let down = true;
      const request: typeof fetch = (...args) => (down ? Promise.reject(new Error("down")) : fetch(...args));
      const { tracer } = trace(ariadne.url, by === "fetch" ? { fetch: request, now: () => now } : {});
      for (let count = 0; count < 4; count += 1) if (by === "fetch") tracer.emit(event);
      await tracer.flush();
      down = false;
      now += 30_001;
      tracer.emit({ ...event, properties: { message: "é".repeat(300_000) }, payload: "字".repeat(300_000) });
      const many = Array.from({ length: 3000 }, (_, index) => `path: src/${index}/${"字".repeat(40)}`);
      tracer.emit({ ...event, properties: { unfound: many } });
      tracer.emit({ ...event, sessionId: "x".repeat(1_000_000) });
      tracer.emit({ ...event, startedAt: event.endedAt, endedAt: "2026-01-01T00:00:00.000Z" });
      await tracer.flush();
      expect(ariadne.refused).toEqual([]);
      expect(ariadne.spans).toHaveLength(4);
      expect(ariadne.spans[1]?.data).toMatchObject({ left_out: "too long for Ariadne" });
    },
  );

  it("ends a round that was given up, and keeps rounds that overlap apart", async () => {
    const ariadne = await startAriadne();
    const { tracer } = trace(ariadne.url);
    const step = (name: CompactEvent["name"], properties: object, status: "ok" | "error" = "ok"): void => {
      tracer.emit({ ...event, name, status, properties: { ...properties } });
    };
    step("compact.archival", { step: 1 });
    step("compact.archival", { step: 2 });
    step("compact.error", { step: 1, fallback: "nothing is pruned" }, "error");
    step("compact.pruned_messages", { step: 2, pruned_count: 4 });
    await tracer.flush();
    const [rows = []] = ariadne.tree().values();
    expect(rows.map(({ span, below }) => [span.name, span.status, below.length])).toEqual([
      ["compact", "error", 2],
      ["compact", "ok", 2],
    ]);
  });
});
