import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";

/**
 * Ariadne's `/ingest` with the observed behaviour of ThomasRohde/ariadne at 284187b: what it accepts, rejects
 * (with which status) and truncates, and the tree and inspector that its page builds from it.
 */

const LARGEST_BODY = 262_144;
const LONGEST_NAME = 1024;
const LONGEST_TEXT = 102_400;

const time = z.iso.datetime({ offset: false }).optional();
const times = { started_at: time, ended_at: time };
const name = z
  .string()
  .transform((text) => text.slice(0, LONGEST_NAME))
  .optional();
const data = z
  .union([z.record(z.string(), z.unknown()), z.array(z.unknown())])
  .transform((value) => Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cut(inner)])));

const trace = z.object({
  type: z.literal("trace"),
  trace_id: z.string().min(1),
  name,
  group_id: z.string().optional(),
  ...times,
  metadata: z.record(z.string(), z.string()).optional(),
});
const span = z.object({
  type: z.literal("span"),
  trace_id: z.string().min(1),
  span_id: z.string().min(1),
  parent_id: z.string().optional(),
  kind: z.string().optional(),
  name,
  ...times,
  data: data.optional(),
  status: z.enum(["ok", "error"]).optional(),
});
const event = z
  .discriminatedUnion("type", [trace, span])
  .refine(({ started_at: from, ended_at: to }) => from === undefined || to === undefined || to >= from);

export type AriadneSpan = z.infer<typeof span>;
type AriadneEvent = z.infer<typeof event>;

/** Truncates strings, except those inside lists. */
function cut(value: unknown): unknown {
  if (typeof value === "string") return value.slice(0, LONGEST_TEXT);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cut(inner)]));
}

/** A row of the page's tree, with its children sorted by start. */
export interface AriadneRow {
  readonly span: AriadneSpan;
  /** The bar's length in milliseconds; undefined for a span without both times. */
  readonly milliseconds: number | undefined;
  readonly below: readonly AriadneRow[];
}

export interface StubAriadne {
  readonly url: string;
  readonly spans: readonly AriadneSpan[];
  /** Rejected bodies with their status. */
  readonly refused: readonly { readonly status: number; readonly body: string }[];
  /** `performance.now()` of every request. */
  readonly arrivals: readonly number[];
  /** By trace, the first received version of each span; spans with unknown parents are roots. */
  tree(): ReadonlyMap<string, readonly AriadneRow[]>;
  close(): Promise<void>;
}

export async function startAriadne(): Promise<StubAriadne> {
  const events: AriadneEvent[] = [];
  const refused: { status: number; body: string }[] = [];
  const arrivals: number[] = [];
  const server = createServer((request, response) => {
    void read(request).then((body) => {
      arrivals.push(performance.now());
      const { status, answer, taken = [] } = ingest(request, body);
      if (status >= 400) refused.push({ status, body: body.slice(0, 300) });
      events.push(...taken);
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const spansOf = (): AriadneSpan[] => events.filter((one) => one.type === "span");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/ingest`,
    get spans() {
      return spansOf();
    },
    refused,
    arrivals,
    tree: () => treeOf(spansOf()),
    close: () => closeServer(server),
  };
}

/** Closes a server and all its connections. */
export async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

/** A server on a free loopback port that handles every request with `answer`. */
export async function startServer(
  answer: (response: ServerResponse, request: IncomingMessage, body: string) => void,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    response.on("error", () => undefined);
    read(request).then(
      (body) => answer(response, request, body),
      () => undefined,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ingest`;
  return { url, close: () => closeServer(server) };
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

interface Answer {
  readonly status: number;
  readonly answer: object;
  readonly taken?: readonly AriadneEvent[];
}

function ingest({ method, url, headers }: IncomingMessage, body: string): Answer {
  if (method === "GET" && url === "/healthz") return { status: 200, answer: { status: "ok" } };
  if (method !== "POST" || url !== "/ingest") return { status: 404, answer: { error: "Not found" } };
  if (Number(headers["content-length"] ?? 0) > LARGEST_BODY) {
    return { status: 413, answer: { error: "Payload too large" } };
  }
  const batch = batchOf(body);
  if (batch === undefined) return { status: 500, answer: { error: "Internal server error" } };
  const parsed = z.array(event).safeParse(batch);
  if (parsed.success)
    return { status: 200, answer: { success: true, count: batch.length }, taken: parsed.data };
  const details = [{ path: "", message: "Invalid input" }];
  return { status: 400, answer: { error: "Validation failed", details } };
}

/** The events of a body; undefined for input that crashes Ariadne. */
function batchOf(body: string): readonly unknown[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  if (!("batch" in value)) return [value];
  return Array.isArray(value.batch) ? value.batch : undefined;
}

function treeOf(spans: readonly AriadneSpan[]): Map<string, AriadneRow[]> {
  const first = new Map<string, AriadneSpan>();
  for (const one of spans) if (!first.has(one.span_id)) first.set(one.span_id, one);
  const rows = [...first.values()].sort((one, other) =>
    (one.started_at ?? "") < (other.started_at ?? "") ? -1 : 1,
  );
  const parentOf = ({ parent_id, trace_id }: AriadneSpan): string | undefined =>
    parent_id !== undefined && first.get(parent_id)?.trace_id === trace_id ? parent_id : undefined;
  const rowOf = (one: AriadneSpan): AriadneRow => ({
    span: one,
    milliseconds:
      one.started_at === undefined || one.ended_at === undefined
        ? undefined
        : Date.parse(one.ended_at) - Date.parse(one.started_at),
    below: rows.filter((other) => parentOf(other) === one.span_id).map(rowOf),
  });
  const tree = new Map<string, AriadneRow[]>();
  for (const one of rows) {
    if (parentOf(one) === undefined) tree.set(one.trace_id, [...(tree.get(one.trace_id) ?? []), rowOf(one)]);
  }
  return tree;
}
