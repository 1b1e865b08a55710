import { describe, expect, it } from "vitest";
import { ingest } from "./ingest.ts";
import { ViewStore } from "./view-store.ts";

const span = (more: object = {}): object => ({
  type: "span",
  trace_id: "t",
  span_id: "s",
  name: "work",
  started_at: "2026-01-01T00:00:00.000Z",
  ended_at: "2026-01-01T00:00:01.500Z",
  ...more,
});

describe("Ariadne's protocol", () => {
  it.each([
    ["one span", span(), 1],
    ["a batch", { batch: [span(), span({ span_id: "s2" })] }, 2],
    ["an empty batch", { batch: [] }, 0],
    ["a trace", { type: "trace", trace_id: "t", metadata: { agent: "x" } }, 1],
    ["unknown keys", span({ whatever: 1 }), 1],
    ["microseconds", span({ ended_at: "2026-01-01T00:00:01.123456Z" }), 1],
  ])("accepts %s", (_, body, count) => {
    expect(ingest(body, new ViewStore())).toEqual({ count });
  });

  it.each([
    ["a text", "text", "batch.0"],
    ["a bare list", [span()], "batch.0"],
    ["a batch that is not a list", { batch: {} }, "batch"],
    ["null for an optional field", span({ parent_id: null }), "batch.0.parent_id"],
    ["a time without a zone", span({ started_at: "2026-01-01T00:00:00" }), "batch.0.started_at"],
    ["an offset", span({ ended_at: "2026-01-01T00:00:00+00:00" }), "batch.0.ended_at"],
    ["a number for a time", span({ started_at: 1 }), "batch.0.started_at"],
    ["an end before the start", span({ ended_at: "2025-01-01T00:00:00Z" }), "batch.0.ended_at"],
    ["another status", span({ status: "fine" }), "batch.0.status"],
    ["an empty id", span({ span_id: "" }), "batch.0.span_id"],
    ["no id", { type: "span", trace_id: "t" }, "batch.0.span_id"],
    ["another type", { type: "event", trace_id: "t" }, "batch.0.type"],
    ["metadata that is not text", { type: "trace", trace_id: "t", metadata: { a: 1 } }, "batch.0.metadata"],
    ["one invalid event among valid ones", { batch: [span(), span({ status: 1 })] }, "batch.1.status"],
  ])("rejects %s and stores nothing of it", (_, body, path) => {
    const store = new ViewStore();
    expect(ingest(body, store)).toEqual({
      error: "Validation failed",
      details: [{ path, message: "Invalid input" }],
    });
    expect(store.list().sessions).toEqual([]);
  });

  it("accepts values that are nested too deeply to be serialized", () => {
    const deep: unknown = JSON.parse("[".repeat(50_000) + "]".repeat(50_000));
    const store = new ViewStore();
    expect(ingest(span({ data: { session_id: "deep", deep } }), store)).toEqual({ count: 1 });
    const [found] = store.get("deep")?.view({ steps: 0, compactions: 0, spans: 0 }).spans ?? [];
    expect(found?.attributes).toEqual([{ name: "deep", value: "(nested too deeply to be shown)" }]);
  });

  it("keeps spans below their parents with durations and attributes, by session", () => {
    const store = new ViewStore();
    ingest(
      { batch: [span({ parent_id: "p", data: { session_id: "named", policy: { a: 1 }, output: "text" } })] },
      store,
    );
    const [found] = store.get("named")?.view({ steps: 0, compactions: 0, spans: 0 }).spans ?? [];
    expect(found).toMatchObject({ id: "s", parent: "p", durationMs: 1500, status: "ok" });
    expect(found?.attributes).toEqual([
      { name: "policy.a", value: "1" },
      { name: "output", value: "text" },
    ]);
  });

  it("property names of Object.prototype are valid session ids", () => {
    const store = new ViewStore();
    for (const id of ["__proto__", "constructor", "toString"]) ingest(span({ trace_id: id }), store);
    expect(store.list().sessions.map(({ id }) => id)).toEqual(["__proto__", "constructor", "toString"]);
  });

  it("evicts the oldest sessions over the count or size limit, and counts them", () => {
    const few = new ViewStore({ maxEventSessions: 3 });
    for (let index = 0; index < 10; index += 1) ingest(span({ trace_id: `t${index}` }), few);
    expect(few.list()).toMatchObject({ dropped: 7 });
    expect(few.list().sessions.map(({ id }) => id)).toEqual(["t7", "t8", "t9"]);
    const small = new ViewStore({ maxSize: 10_000 });
    for (let index = 0; index < 10; index += 1) {
      ingest(span({ trace_id: `t${index}`, data: { text: "x".repeat(4000) } }), small);
    }
    expect(small.list().sessions.map(({ id }) => id)).toEqual(["t8", "t9"]);
  });

  it("an event session never replaces a session of another source", () => {
    const store = new ViewStore();
    const archived = new ViewStore().eventSession("t", 0).record;
    store.add(archived);
    ingest(span(), store);
    expect(store.get("t")).toBe(archived);
    expect(store.get("t (events)")?.head().counts.spans).toBe(1);
  });
});
