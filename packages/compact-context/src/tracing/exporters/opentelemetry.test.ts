import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { EventDescription } from "../descriptions.ts";
import { createTracer } from "../tracer.ts";
import type { OpenTelemetryAttributes } from "./metrics.ts";
import {
  createOpenTelemetryExporter,
  type OpenTelemetryApi,
  type OpenTelemetryContext,
  type OpenTelemetryOptions,
} from "./opentelemetry.ts";

interface Written {
  readonly name: string;
  readonly parent: string;
  status: number;
  ended: boolean;
  attributes: OpenTelemetryAttributes;
}

/** The used part of OpenTelemetry's API, with strings as contexts. */
function fakeApi(registered = true) {
  const current = new AsyncLocalStorage<string>();
  const spans: Written[] = [];
  const context = (name: string): OpenTelemetryContext => ({ getValue: () => name });
  const nameOf = (one: OpenTelemetryContext | undefined): string => String(one?.getValue(Symbol("name")));
  const api: OpenTelemetryApi = {
    context: { active: () => context(current.getStore() ?? "root") },
    trace: {
      getSpanContext: (one) => ({ traceId: `trace of ${nameOf(one)}`, spanId: "1" }),
      setSpan: (_parent, span) => context((span as unknown as { readonly name: string }).name),
      getTracer: () => ({
        startSpan(name, options, parent) {
          const attributes = { ...options?.attributes };
          const span: Written = { name, parent: nameOf(parent), status: 0, ended: false, attributes };
          spans.push(span);
          return Object.assign(span, {
            setAttributes: (more: OpenTelemetryAttributes) => Object.assign(attributes, more),
            spanContext: () => ({ traceId: (registered ? "1" : "0").repeat(32), spanId: "1" }),
            setStatus: ({ code }: { readonly code: number }) => {
              span.status = code;
            },
            end: () => {
              span.ended = true;
            },
          });
        },
      }),
    },
    metrics: {
      getMeter: () => ({
        createCounter: () => ({ add: () => undefined }),
        createHistogram: () => ({ record: () => undefined }),
      }),
    },
  };
  return { api, spans, inside: <T>(name: string, act: () => T): T => current.run(name, act) };
}

const warning = (message: string) => ({
  name: "compact.warning" as const,
  status: "ok" as const,
  properties: { severity: "low", code: "x", message },
});
const note = { ...warning("m"), sessionId: "s" };

function trace(options: OpenTelemetryOptions = {}) {
  const lines: string[] = [];
  const exporters = [createOpenTelemetryExporter(options)];
  const tracer = createTracer({ exporters, now: () => 0, onError: (line) => lines.push(line) });
  return { tracer, lines };
}

afterEach(() => {
  vi.doUnmock("@opentelemetry/api");
});

describe("OpenTelemetry exporter", () => {
  it("OBS-4 knows the place of events that come before the package is loaded", async () => {
    const { api, spans, inside } = fakeApi();
    vi.doMock("@opentelemetry/api", async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return { ...api };
    });
    const { tracer, lines } = trace();
    for (const name of ["a", "b"]) inside(name, () => tracer.emit(note));
    await tracer.flush();
    const late = inside("c", () => tracer.emit(note));
    await tracer.flush();
    expect(lines).toEqual([]);
    expect(spans.map(({ parent }) => parent)).toEqual(["a", "b", "c"]);
    expect(late.host).toEqual({ traceId: "trace of c", spanId: "1" });
  });

  it("OBS-6 says what to install where the package is missing, and disturbs nobody", async () => {
    const { tracer, lines } = trace();
    tracer.emit(note);
    tracer.emit(note);
    await tracer.flush();
    expect(lines).toEqual([
      "[OpenTelemetry] export failed: the package @opentelemetry/api is not installed: npm install @opentelemetry/api",
      "[OpenTelemetry] 2 events were not delivered",
    ]);
  });

  it("OBS-6 says that no SDK is registered", async () => {
    const { api } = fakeApi(false);
    const { tracer, lines } = trace({ api });
    tracer.emit(note);
    await tracer.flush();
    expect(lines[0]).toBe(
      "[OpenTelemetry] export failed: no OpenTelemetry SDK is registered; register one before the first call",
    );
  });

  it("OBS-4 ends the span of a compaction that came to nothing with an error, and of those that were forgotten", async () => {
    const { api, spans } = fakeApi();
    const { tracer } = trace({ api });
    const emit = (
      name: EventDescription["name"],
      properties: Record<string, unknown>,
      sessionId: string,
    ): void => {
      const status = name === "compact.error" ? "error" : "ok";
      tracer.emit({ name, status, properties, sessionId });
    };
    emit("compact.archival", { step: 1 }, "lost");
    emit("compact.error", { step: 1, fallback: "the session is read again" }, "lost");
    emit("compact.archival", { step: 1 }, "made");
    emit("compact.error", { step: 1, fallback: "builtin" }, "made");
    emit("compact.pruned_messages", { step: 1 }, "made");
    for (let count = 0; count < 257; count += 1) emit("compact.archival", { step: 1 }, `open ${count}`);
    await tracer.flush();
    const rounds = spans.filter(({ name }) => name === "compact");
    expect(rounds.slice(0, 4).map(({ status, ended }) => [status, ended])).toEqual([
      [2, true],
      [0, true],
      [2, true],
      [0, false],
    ]);
    expect(
      spans
        .filter(({ name }) => name !== "compact")
        .every(({ parent, ended }) => parent === "compact" && ended),
    ).toBe(true);
  });

  it.each([true, false])("OBS-7 gives the summary as output, unless told not to: %s", async (payload) => {
    const { api, spans } = fakeApi();
    const { tracer } = trace({ api, payload });
    const step = { status: "ok", sessionId: "s", properties: { step: 1 } } as const;
    tracer.emit({ ...step, name: "compact.summary_created", payload: "all of it" });
    tracer.emit({ ...step, name: "compact.pruned_messages" });
    await tracer.flush();
    expect(spans.map(({ name, attributes }) => [name, attributes["output.value"]])).toEqual([
      ["compact", payload ? "all of it" : undefined],
      ["compact.summary_created", payload ? "all of it" : undefined],
      ["compact.pruned_messages", undefined],
    ]);
  });
});
