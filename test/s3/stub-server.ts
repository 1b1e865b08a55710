import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * Faults of a request: an error status; a connection cut before or after the operation; a truncated response;
 * no response at all, or a body that stalls.
 */
export type Fault =
  | { readonly status: number; readonly code: string }
  | "reset"
  | "lost answer"
  | "cut body"
  | "silence"
  | "stalled body";

export interface Asked {
  readonly method: string;
  readonly key: string;
  readonly headers: IncomingMessage["headers"];
  readonly query: URLSearchParams;
}

export interface StubServer {
  readonly endpoint: string;
  /** All requests so far. */
  readonly asked: Asked[];
  readonly objects: Map<string, StubObject>;
  /** Decides the outcome of each request. */
  onRequest: (asked: Asked, number: number) => Fault | undefined;
  close(): Promise<void>;
}

interface StubObject {
  readonly at: Date;
  readonly bytes: Buffer;
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: Buffer | string;
}

const PAGE = 7;

/** A minimal S3 in this process, for responses that a real server gives only in rare failures. */
export async function startStub(): Promise<StubServer> {
  const objects = new Map<string, StubObject>();
  const uploads = new Map<string, Map<number, Buffer>>();
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request);
    const url = new URL(request.url ?? "/", "http://stub");
    const key = decodeURIComponent(url.pathname.split("/").slice(2).join("/"));
    const one = { method: request.method ?? "", key, headers: request.headers, query: url.searchParams };
    asked.push(one);
    const fault = stub.onRequest(one, asked.length);
    if (fault === "reset") return void response.destroy();
    if (fault === "silence") return;
    const answer = typeof fault === "object" ? errorAnswer(fault) : perform({ objects, uploads }, one, body);
    if (fault === "lost answer") return void response.destroy();
    send(response, answer, { isHead: one.method === "HEAD", fault });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stub: StubServer = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    objects,
    onRequest: () => undefined,
    close: () => closed(server),
  };
  return stub;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

function send(
  response: ServerResponse,
  { status, headers = {}, body = "" }: Answer,
  { isHead, fault }: { isHead: boolean; fault: Fault | undefined },
): void {
  const bytes = Buffer.from(body);
  response.writeHead(status, { "content-length": bytes.length, ...headers });
  const half = bytes.subarray(0, bytes.length >> 1);
  if (isHead) response.end();
  else if (fault === "cut body") response.write(half, () => response.destroy());
  else if (fault === "stalled body") response.write(half);
  else response.end(bytes);
}

interface Kept {
  readonly objects: Map<string, StubObject>;
  readonly uploads: Map<string, Map<number, Buffer>>;
}

function perform(kept: Kept, asked: Asked, body: Buffer): Answer {
  const { method, query } = asked;
  if (method === "GET" && query.get("list-type") === "2") return list(kept, query);
  if (query.has("uploads") || query.has("uploadId")) return multipart(kept, asked, body);
  if (method === "PUT" && asked.headers["x-amz-copy-source"] !== undefined) return copy(kept, asked);
  if (method === "PUT") return put(kept, asked, body);
  if (method === "DELETE") {
    kept.objects.delete(asked.key);
    return { status: 204 };
  }
  return get(kept, asked);
}

function put({ objects }: Kept, { key, headers }: Asked, bytes: Buffer): Answer {
  const current = objects.get(key);
  const ifMatch = headers["if-match"]?.replace(/"/g, "");
  if (headers["if-none-match"] === "*" && current !== undefined) return precondition();
  if (ifMatch !== undefined && current === undefined) return errorAnswer({ status: 404, code: "NoSuchKey" });
  if (ifMatch !== undefined && current?.etag !== ifMatch) return precondition();
  const etag = createHash("md5").update(bytes).digest("hex");
  const notes = Object.entries(headers).filter(([name]) => name.startsWith("x-amz-meta-"));
  objects.set(key, {
    at: new Date(),
    bytes,
    etag,
    headers: Object.fromEntries(notes) as Record<string, string>,
  });
  return { status: 200, headers: { etag: `"${etag}"` } };
}

function get({ objects }: Kept, { key, headers }: Asked): Answer {
  const found = objects.get(key);
  if (found === undefined) return errorAnswer({ status: 404, code: "NoSuchKey" });
  const { bytes, etag } = found;
  const wanted = headers["if-match"]?.replace(/"/g, "");
  if (wanted !== undefined && wanted !== etag) return precondition();
  const common = { etag: `"${etag}"`, ...found.headers };
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? "") ?? [];
  if (first === undefined) return { status: 200, headers: common, body: bytes };
  if (Number(first) >= bytes.length) return errorAnswer({ status: 416, code: "InvalidRange" });
  const end = Math.min(Number(last), bytes.length - 1);
  const range = { "content-range": `bytes ${first}-${end}/${bytes.length}` };
  return { status: 206, headers: { ...common, ...range }, body: bytes.subarray(Number(first), end + 1) };
}

function copy({ objects }: Kept, { key, headers }: Asked): Answer {
  const source = decodeURIComponent(String(headers["x-amz-copy-source"])).split("/").slice(1).join("/");
  const found = objects.get(source);
  if (found === undefined) return errorAnswer({ status: 404, code: "NoSuchKey" });
  if (headers["x-amz-copy-source-if-match"] !== found.etag) return precondition();
  objects.set(key, found);
  return { status: 200, body: `<CopyObjectResult><ETag>"${found.etag}"</ETag></CopyObjectResult>` };
}

function multipart(kept: Kept, { method, key, query, headers }: Asked, body: Buffer): Answer {
  const id = query.get("uploadId") ?? `upload-${kept.uploads.size}`;
  if (query.has("uploads")) {
    kept.uploads.set(id, new Map());
    kept.objects.set(`uploads/${id}`, {
      at: new Date(),
      bytes: Buffer.alloc(0),
      etag: "",
      headers: notesOf(headers),
    });
    const ids = `<Key>${key}</Key><UploadId>${id}</UploadId>`;
    return { status: 200, body: `<InitiateMultipartUploadResult>${ids}</InitiateMultipartUploadResult>` };
  }
  const parts = kept.uploads.get(id);
  if (parts === undefined) return errorAnswer({ status: 404, code: "NoSuchUpload" });
  if (method === "PUT") {
    parts.set(Number(query.get("partNumber")), body);
    return { status: 200, headers: { etag: `"${createHash("md5").update(body).digest("hex")}"` } };
  }
  const started = kept.objects.get(`uploads/${id}`);
  const whole = { ...started?.headers, ...conditions(headers) };
  const answer =
    method === "DELETE" ? { status: 204 } : put(kept, asPut(key, whole), Buffer.concat([...parts.values()]));
  if (answer.status >= 300) return answer;
  kept.uploads.delete(id);
  kept.objects.delete(`uploads/${id}`);
  const etag = kept.objects.get(key)?.etag ?? "";
  return {
    status: answer.status,
    body: `<CompleteMultipartUploadResult><ETag>"${etag}"</ETag></CompleteMultipartUploadResult>`,
  };
}

function asPut(key: string, headers: Asked["headers"]): Asked {
  return { method: "PUT", key, headers, query: new URLSearchParams() };
}

function notesOf(headers: Asked["headers"]): Record<string, string> {
  const notes = Object.entries(headers).filter(([name]) => name.startsWith("x-amz-meta-"));
  return Object.fromEntries(notes) as Record<string, string>;
}

function conditions(headers: Asked["headers"]): Asked["headers"] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith("if-")));
}

function list({ objects }: Kept, query: URLSearchParams): Answer {
  const prefix = query.get("prefix") ?? "";
  const after = query.get("continuation-token") ?? "";
  const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
  const page = keys.slice(0, PAGE);
  const more = keys.length > PAGE;
  const next = more ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : "";
  const contents = page
    .map((key) => {
      const { at, bytes } = objects.get(key) ?? { at: new Date(), bytes: [] };
      return `<Contents><Key>${key}</Key><Size>${bytes.length}</Size><LastModified>${at.toISOString()}</LastModified></Contents>`;
    })
    .join("");
  return {
    status: 200,
    body: `<ListBucketResult><IsTruncated>${more}</IsTruncated>${contents}${next}</ListBucketResult>`,
  };
}

function precondition(): Answer {
  return errorAnswer({ status: 412, code: "PreconditionFailed" });
}

function errorAnswer({ status, code }: { readonly status: number; readonly code: string }): Answer {
  return { status, body: `<Error><Code>${code}</Code><Message>no</Message></Error>` };
}
