import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";

// OpenTelemetry's generated definitions; loosely typed here.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Loose = any;

export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root span. */
  readonly parentSpanId: string;
  /** Milliseconds since 1970. */
  readonly start: number;
  readonly end: number;
  /** 0 unset, 1 ok, 2 error. */
  readonly status: number;
  readonly message: string;
  readonly kind: number;
  readonly scope: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface ReceivedMetric {
  readonly name: string;
  readonly unit: string;
  readonly kind: "sum" | "histogram";
  /** The sum (of a counter or histogram) and the number of measurements. */
  readonly points: readonly {
    readonly value: number;
    readonly count: number;
    readonly attributes: Readonly<Record<string, unknown>>;
  }[];
}

export interface Receiver {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  readonly metrics: readonly ReceivedMetric[];
  /** Content types of all requests. */
  readonly types: ReadonlySet<string>;
  /** Requests that could not be decoded. */
  readonly faults: readonly string[];
  close(): Promise<void>;
}

/** OpenTelemetry's own protocol definitions; undefined if they are not installed. */
export function loadDefinitions(): Loose | undefined {
  try {
    const load = createRequire(new URL("package.json", import.meta.url));
    return load("otlp-definitions/build/src/generated/root.js").opentelemetry.proto;
  } catch {
    return undefined;
  }
}

/** Receives OTLP over HTTP, protobuf and JSON, and decodes it with the given definitions. */
export async function startReceiver(proto: Loose): Promise<Receiver> {
  const spans: ReceivedSpan[] = [];
  const metrics: ReceivedMetric[] = [];
  const types = new Set<string>();
  const faults: string[] = [];
  const requests: Record<string, { readonly type: Loose; take(body: Loose): void }> = {
    "/v1/traces": {
      type: proto.collector.trace.v1.ExportTraceServiceRequest,
      take: (body) => spans.push(...spansIn(body)),
    },
    "/v1/metrics": {
      type: proto.collector.metrics.v1.ExportMetricsServiceRequest,
      take: (body) => metrics.push(...metricsIn(body)),
    },
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const type = request.headers["content-type"] ?? "";
      types.add(type);
      try {
        const { type: message, take } = requests[request.url ?? ""] ?? {};
        if (message === undefined || take === undefined) throw new Error(`nothing is at ${request.url}`);
        take(readBody(Buffer.concat(chunks), type, message));
      } catch (error) {
        faults.push(String(error));
      }
      response.writeHead(200, { "content-type": type }).end(type.includes("json") ? "{}" : "");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    metrics,
    types,
    faults,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const IDS = new Set(["traceId", "spanId", "parentSpanId"]);

function readBody(body: Buffer, type: string, message: Loose): Loose {
  const options = { longs: Number, bytes: Buffer, defaults: true };
  if (!type.includes("json")) return message.toObject(message.decode(body), options);
  // OTLP's JSON encodes ids in hexadecimal, protobuf's own JSON in base64.
  const json = JSON.parse(body.toString(), (key, value) =>
    IDS.has(key) && typeof value === "string" ? Buffer.from(value, "hex").toString("base64") : value,
  );
  const fault = message.verify(message.fromObject(json));
  if (fault !== null) throw new Error(fault);
  return message.toObject(message.fromObject(json), options);
}

function attributesOf(list: Loose[]): Record<string, unknown> {
  return Object.fromEntries(list.map(({ key, value }) => [key, plainValue(value)]));
}

function plainValue(value: Loose): unknown {
  if (value.arrayValue) return value.arrayValue.values.map(plainValue);
  const { stringValue, boolValue, intValue, doubleValue } = value;
  return [stringValue, boolValue, intValue, doubleValue].find((one) => one !== undefined && one !== null);
}

function spansIn({ resourceSpans }: Loose): ReceivedSpan[] {
  return resourceSpans.flatMap(({ scopeSpans }: Loose) =>
    scopeSpans.flatMap(({ scope, spans }: Loose) =>
      spans.map((span: Loose) => ({
        name: span.name,
        traceId: span.traceId.toString("hex"),
        spanId: span.spanId.toString("hex"),
        parentSpanId: span.parentSpanId.toString("hex"),
        start: Number(span.startTimeUnixNano) / 1e6,
        end: Number(span.endTimeUnixNano) / 1e6,
        status: span.status?.code ?? 0,
        message: span.status?.message ?? "",
        kind: span.kind,
        scope: scope.name,
        attributes: attributesOf(span.attributes),
      })),
    ),
  );
}

function metricsIn({ resourceMetrics }: Loose): ReceivedMetric[] {
  return resourceMetrics.flatMap(({ scopeMetrics }: Loose) =>
    scopeMetrics.flatMap(({ metrics }: Loose) =>
      metrics.map(({ name, unit, sum, histogram }: Loose) => ({
        name,
        unit,
        kind: sum ? "sum" : "histogram",
        points: (sum ?? histogram).dataPoints.map((point: Loose) => ({
          value: sum ? (point.asDouble ?? 0) || Number(point.asInt ?? 0) : point.sum,
          count: sum ? 1 : Number(point.count),
          attributes: attributesOf(point.attributes),
        })),
      })),
    ),
  );
}
