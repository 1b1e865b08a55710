import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { countText } from "../../packages/compact-context/src/tokens/count-tokens.ts";
import type {
  Answer,
  Failure,
  Fault,
  PromptUsage,
  Raw,
  Rejection,
  Reply,
  Script,
  StubRequest,
} from "./answers.ts";
import { createAnthropic } from "./anthropic.ts";
import { createOpenAiChat } from "./openai-chat.ts";
import { createOpenAiResponses } from "./openai-responses.ts";
import { type Answered, isObject, type Json, type ModelSettings, type Wire } from "./wire.ts";

export interface StubOptions {
  /** The model's answers. Default: `ok` to every request. An exhausted list answers 400. */
  readonly answers?: Script;
  /** Tokens of input and output together. Default: 128,000. */
  readonly window?: number;
  readonly maxOutput?: number;
  /** Parameters that the model rejects, such as `["temperature", "max_tokens"]`. */
  readonly unsupported?: readonly string[];
  readonly boundThinking?: ModelSettings["boundThinking"];
  readonly toolBlocksNeedTools?: boolean;
  /** The behaviour of OpenAI's cache. Default: `prefix`. */
  readonly openAiCache?: "prefix" | "whole";
  /** Whether requests without a key are rejected. Default: true; false for a local server. */
  readonly needsKey?: boolean;
  /** Counts the tokens of a text. Default: o200k_base. */
  countText?(text: string): number;
  /** Milliseconds; the clock of cache lifetimes. */
  now?(): number;
}

/** A loopback server for OpenAI's chat completions and responses and Anthropic's messages. */
export interface Stub {
  /** Base URL for OpenAI clients: `http://127.0.0.1:port/v1`. */
  readonly openAiUrl: string;
  /** Base URL for Anthropic clients: `http://127.0.0.1:port`. */
  readonly anthropicUrl: string;
  /** All requests so far, including rejected ones. */
  readonly requests: readonly StubRequest[];
  close(): Promise<void>;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/**
 * Starts a stub. Requests are validated as the provider does and rejected with its messages; `usage` is
 * counted and cached by its rules; answers come from the script. Close it after the test.
 *
 *     const stub = await startStub({ answers: [{ toolCalls: [{ name: "read", arguments: { path: "a.ts" } }] }, "done"] });
 *     const client = new OpenAI({ apiKey: "test", baseURL: stub.openAiUrl });
 */
export async function startStub(options: StubOptions = {}): Promise<Stub> {
  const settings: ModelSettings = {
    window: options.window ?? 128_000,
    maxOutput: options.maxOutput ?? 64_000,
    unsupported: options.unsupported ?? [],
    boundThinking: options.boundThinking ?? "free",
    toolBlocksNeedTools: options.toolBlocksNeedTools ?? false,
    countText: options.countText ?? ((text) => countText(text)),
  };
  const now = options.now ?? (() => Date.now());
  const openAiCache = options.openAiCache ?? "prefix";
  const wires = [
    createOpenAiChat(settings, { kind: openAiCache, now }),
    ...createOpenAiResponses(settings, { kind: openAiCache, now }),
    createAnthropic(settings, { now }),
  ];
  const requests: StubRequest[] = [];
  const next = scripted(options.answers ?? (() => "ok"));
  const context: Context = { wires, settings, requests, next, needsKey: options.needsKey ?? true, ids: 0 };
  const server = createServer((request, response) => {
    serve(context, request, response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    openAiUrl: `http://127.0.0.1:${port}/v1`,
    anthropicUrl: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Context {
  readonly wires: readonly Wire[];
  readonly settings: ModelSettings;
  readonly requests: StubRequest[];
  readonly needsKey: boolean;
  ids: number;
  next(request: StubRequest): Answer | Promise<Answer>;
}

function scripted(script: Script): Context["next"] {
  if (typeof script === "function") return script;
  let used = 0;
  return () => {
    const answer = script[used];
    used += 1;
    return answer ?? { status: 400, message: `the stub's ${script.length} answers are used up` };
  };
}

async function serve(context: Context, request: IncomingMessage, response: ServerResponse): Promise<void> {
  // Web sockets are not supported; clients fall back to plain requests.
  if (request.headers.upgrade !== undefined) {
    response.writeHead(426).end();
    return;
  }
  const raw = await bodyOf(request);
  const path = (request.url ?? "/").split("?")[0] ?? "/";
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value ?? "")]),
  );
  const body = parsed(raw);
  const entry: Mutable<StubRequest> = {
    index: context.requests.length,
    path,
    headers,
    raw,
    body: body ?? {},
    aborted: false,
  };
  context.requests.push(entry);
  response.on("close", () => {
    entry.aborted = !response.writableFinished;
  });
  if (request.method === "GET" && path === "/v1/models") {
    send(response, 200, { object: "list", data: [{ id: "stub-model", object: "model" }] });
    return;
  }
  const wire = context.wires.find((one) => one.path === path);
  if (wire === undefined) {
    const message = `Invalid URL (${request.method} ${path})`;
    send(response, 404, { error: { message, type: "invalid_request_error", param: null, code: null } });
    return;
  }
  const rejection =
    body === undefined
      ? unreadable(wire)
      : refused(context, wire, { body, headers }, (usage) => (entry.usage = usage));
  if (rejection !== undefined) {
    entry.rejection = rejection;
    send(response, rejection.status, wire.errorBody(rejection));
    return;
  }
  await respond({ context, wire, entry, response }, await context.next(entry));
}

function unreadable(wire: Wire): Rejection {
  return { ...wire.failure(400), message: "We could not parse the JSON body of your request." };
}

function refused(
  { settings, needsKey }: Context,
  wire: Wire,
  incoming: { readonly body: Json; readonly headers: Readonly<Record<string, string>> },
  counted: (usage: PromptUsage) => void,
): Rejection | undefined {
  const { authorization, "x-api-key": key } = incoming.headers;
  if (needsKey && authorization === undefined && key === undefined) return wire.failure(401);
  const fault = wire.check(incoming);
  if (fault !== undefined) return fault;
  const segments = wire.segments(incoming.body);
  const input = segments.reduce((total, { tokens }) => total + tokens, 0);
  const over = wire.overflow(input, incoming.body);
  if (over !== undefined) return over;
  counted(wire.cache.read(segments));
  return (wire.limit(incoming.body) ?? 0) > settings.maxOutput
    ? tooMuchOutput(wire, incoming.body, settings)
    : undefined;
}

function tooMuchOutput(wire: Wire, body: Json, { maxOutput }: ModelSettings): Rejection {
  const asked = wire.limit(body);
  const message =
    wire.path === "/v1/messages"
      ? `max_tokens: ${asked} > ${maxOutput}, which is the maximum allowed number of output tokens for ${String(body.model)}`
      : `max_tokens is too large: ${asked}. This model supports at most ${maxOutput} completion tokens, whereas you provided ${asked}.`;
  return { ...wire.failure(400), message, param: "max_tokens", code: "invalid_value" };
}

interface Exchange {
  readonly context: Context;
  readonly wire: Wire;
  readonly entry: StubRequest;
  readonly response: ServerResponse;
}

async function respond(exchange: Exchange, answer: Answer): Promise<void> {
  const { response } = exchange;
  const plain: Exclude<Answer, string> = typeof answer === "string" ? { text: answer } : answer;
  if ("delayMs" in plain && plain.delayMs !== undefined) await delay(plain.delayMs);
  if ("raw" in plain) sendRaw(response, plain);
  else if ("status" in plain) fail(exchange, plain);
  else if ("fault" in plain) misbehave(exchange, plain);
  else finish(exchange, bytesOf(exchange, answered(exchange, plain), plain.brokenBytes === true));
}

function sendRaw(
  response: ServerResponse,
  { raw, status = 200, contentType = "application/json" }: Raw,
): void {
  response.writeHead(status, { "content-type": contentType });
  response.end(raw);
}

function fail({ wire, response }: Exchange, { status, message, code, retryAfter }: Failure): void {
  if (retryAfter !== undefined) response.setHeader("retry-after", String(retryAfter));
  const usual = wire.failure(status);
  send(
    response,
    status,
    wire.errorBody({ ...usual, message: message || usual.message, code: code ?? usual.code }),
  );
}

function misbehave(exchange: Exchange, { fault, everyMs = 20 }: Fault): void {
  const { response, entry } = exchange;
  const streamed = entry.body.stream === true;
  if (fault === "noHeaders") return;
  if (fault === "reset") {
    response.socket?.resetAndDestroy();
    return;
  }
  const answer = answered(exchange, { text: "A half answer that never comes to its end." });
  response.writeHead(200, { "content-type": streamed ? "text/event-stream" : "application/json" });
  response.flushHeaders();
  if (fault === "drip") {
    const timer = setInterval(() => response.write(streamed ? answer.ping : " "), everyMs);
    response.on("close", () => clearInterval(timer));
  }
  if (fault === "resetMidway") {
    const bytes = bytesOf(exchange, answer, false);
    response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () =>
      setTimeout(() => response.socket?.resetAndDestroy(), 5),
    );
  }
}

/** The reply in the provider's format, truncated at the request's limit. */
function answered({ context, wire, entry }: Exchange, given: Reply): Answered {
  const { countText } = context.settings;
  const limit = given.ignoresLimit === true ? undefined : wire.limit(entry.body);
  const reasoning = given.reasoning ?? "";
  const reasoningTokens = countText(reasoning);
  const whole = given.text ?? "";
  const room = limit === undefined ? Number.POSITIVE_INFINITY : Math.max(0, limit - reasoningTokens);
  const text = cutTo(whole, room, countText);
  const toolCalls = given.toolCalls ?? [];
  const said = [text, given.refusal ?? "", ...toolCalls.map((call) => JSON.stringify(call))];
  return wire.answer({
    body: entry.body,
    reply: { ...given, text, reasoning, toolCalls },
    usage: entry.usage ?? { input: 0, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0 },
    outputTokens: said.reduce((total, part) => total + countText(part), reasoningTokens),
    reasoningTokens,
    cut: text !== whole || given.stop === "length",
    newId: (prefix) => {
      context.ids += 1;
      return `${prefix}${String(context.ids).padStart(24, "0")}`;
    },
  });
}

function cutTo(text: string, tokens: number, count: (text: string) => number): string {
  if (count(text) <= tokens) return text;
  const words = text.split(/(?<=\s)/);
  let low = 0;
  let high = words.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (count(words.slice(0, middle).join("")) <= tokens) low = middle;
    else high = middle - 1;
  }
  return words.slice(0, low).join("");
}

function bytesOf({ entry }: Exchange, { json, frames }: Answered, broken: boolean): Buffer {
  const text = entry.body.stream === true ? frames.map(frameText).join("") : JSON.stringify(json);
  if (!broken) return Buffer.from(text);
  const bytes = Buffer.from([0xff, 0xfe]);
  const parts = text.split(/(?<=The parser reads)/).map((part) => Buffer.from(part));
  return Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [bytes, part])));
}

function frameText({ event, data }: Answered["frames"][number]): string {
  const name = event === undefined ? "" : `event: ${event}\n`;
  return `${name}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}

function finish({ entry, response }: Exchange, bytes: Buffer): void {
  const type = entry.body.stream === true ? "text/event-stream; charset=utf-8" : "application/json";
  response.writeHead(200, { "content-type": type, "x-request-id": `req_${entry.index}` });
  response.end(bytes);
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function parsed(raw: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(raw);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function delay(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}
