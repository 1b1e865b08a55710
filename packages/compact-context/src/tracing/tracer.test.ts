import { describe, expect, it } from "vitest";
import { warning } from "../core/events.ts";
import type { CompactEvent, Exporter } from "../core/ports.ts";
import { createCallbackExporter } from "./exporters/local.ts";
import { createTracer } from "./tracer.ts";

const note = (message: string) => ({ ...warning({ severity: "low", code: "x", message }), sessionId: "s" });
const messageOf = (event: CompactEvent): unknown => event.properties.message;

function collector(): { events: CompactEvent[]; exporter: Exporter } {
  const events: CompactEvent[] = [];
  return { events, exporter: createCallbackExporter((event) => void events.push(event)) };
}

describe("createTracer", () => {
  it("hands every event to every exporter in order, with its times", async () => {
    const [first, second] = [collector(), collector()];
    let time = 1_000;
    const tracer = createTracer({ exporters: [first.exporter, second.exporter], now: () => time });
    tracer.emit(note("one"));
    time = 2_000;
    tracer.emit({ ...note("two"), startedAt: "1970-01-01T00:00:01.500Z" });
    expect(await tracer.flush(1_000)).toBe(true);
    expect(first.events.map(messageOf)).toEqual(["one", "two"]);
    expect(second.events).toEqual(first.events);
    expect(first.events[0]).toMatchObject({
      startedAt: "1970-01-01T00:00:01.000Z",
      endedAt: "1970-01-01T00:00:01.000Z",
    });
    expect(first.events[1]).toMatchObject({
      startedAt: "1970-01-01T00:00:01.500Z",
      endedAt: "1970-01-01T00:00:02.000Z",
    });
  });

  it("ends no event before it began, also where the clock was set back", async () => {
    const { events, exporter } = collector();
    const tracer = createTracer({ exporters: [exporter], now: () => 0 });
    const times = { startedAt: "2026-01-01T00:00:02.000Z", endedAt: "2026-01-01T00:00:01.000Z" };
    tracer.emit({ ...note("set back"), ...times });
    tracer.emit({ ...note("set far back"), startedAt: times.startedAt });
    await tracer.flush(1_000);
    expect(events.map(({ startedAt, endedAt }) => [startedAt, endedAt])).toEqual([
      [times.startedAt, times.startedAt],
      [times.startedAt, times.startedAt],
    ]);
  });

  it("OBS-6 runs no exporter on the caller's stack and lets none of its failures out", async () => {
    const lines: string[] = [];
    const { events, exporter } = collector();
    const throwing: Exporter = {
      export() {
        throw new Error("no \x1b[2J way\nout password=hunter2");
      },
      flush: () => Promise.reject(new Error("never")),
    };
    const redact = {
      redactValue: (value: unknown) => JSON.parse(JSON.stringify(value).replace("hunter2", "…")),
    };
    const tracer = createTracer({
      exporters: [throwing, exporter],
      redact,
      now: () => 0,
      onError: (line) => {
        lines.push(line);
        throw new Error("the reporter fails too");
      },
    });
    tracer.emit(note("one"));
    tracer.emit(note("two"));
    expect([events.length, lines.length]).toEqual([0, 0]);
    expect(await tracer.flush(1_000)).toBe(true);
    expect(events.map(messageOf)).toEqual(["one", "two"]);
    expect(lines).toEqual([
      String.raw`[compact] an exporter fails: no \x1b[2J way out password=…`,
      "[compact] 2 events were not delivered",
    ]);
  });

  it("OBS-6 bounds what waits for a slow exporter, drops the oldest and counts them", async () => {
    const received: unknown[] = [];
    let release = (): void => undefined;
    const slow = createCallbackExporter(async (event) => {
      received.push(messageOf(event));
      if (received.length === 1) await new Promise<void>((resolve) => (release = resolve));
    });
    const quick = collector();
    const tracer = createTracer({ exporters: [slow, quick.exporter], now: () => 0, maxQueue: 3 });
    tracer.emit(note("0"));
    expect(await tracer.flush(10)).toBe(false);
    for (let n = 1; n <= 10; n++) {
      tracer.emit(note(String(n)));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(tracer.dropped).toBe(7);
    expect(quick.events.length).toBe(11);
    release();
    expect(await tracer.flush(1_000)).toBe(true);
    expect(received).toEqual(["0", "8", "9", "10"]);
  });

  it("OBS-6 gives up a flush at its deadline when an exporter hangs", async () => {
    const tracer = createTracer({
      exporters: [createCallbackExporter(() => new Promise(() => undefined))],
      now: () => 0,
    });
    tracer.emit(note("one"));
    const start = performance.now();
    expect(await tracer.flush(30)).toBe(false);
    expect(performance.now() - start).toBeLessThan(20_000);
  });

  it("RED-1 redacts properties and payload of what is exported, never the caller's event", async () => {
    const { events, exporter } = collector();
    const redact = {
      redactValue: (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll("hunter2", "…")),
    };
    const tracer = createTracer({ exporters: [exporter], redact, now: () => 0 });
    const draft = { ...note("hunter2"), payload: "a hunter2" };
    tracer.emit(draft);
    await tracer.flush(1_000);
    expect(events[0]).toMatchObject({ properties: { message: "…" }, payload: "a …" });
    expect(draft).toMatchObject({ properties: { message: "hunter2" }, payload: "a hunter2" });
  });

  it("RED-1 exports nothing of an event that redaction fails on", async () => {
    const { events, exporter } = collector();
    const lines: string[] = [];
    const redact = {
      redactValue: (value: unknown) => {
        if (typeof value === "string") return value;
        throw new Error("broken");
      },
    };
    const onError = (line: string): void => void lines.push(line);
    const tracer = createTracer({ exporters: [exporter], redact, now: () => 0, onError });
    tracer.emit(note("one"));
    await tracer.flush(1_000);
    expect(events).toEqual([]);
    expect(tracer.dropped).toBe(1);
    expect(lines).toEqual(["[compact] an event was not exported, redaction failed: broken"]);
  });

  it("OBS-6 survives a clock that fails", () => {
    const { exporter } = collector();
    const tracer = createTracer({ exporters: [exporter], now: () => Number.NaN });
    tracer.emit(note("one"));
    expect(tracer.dropped).toBe(1);
  });
});
