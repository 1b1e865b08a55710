import { describe, expect, it, vi } from "vitest";
import { CompactManager } from "../create-manager.ts";
import type { Json } from "../providers/request.ts";
import { createWire } from "./index.ts";
import { withRetry } from "./streamed.ts";

const event = (data: object | string): string =>
  typeof data === "string"
    ? `data: ${data}\n\n`
    : `event: ${"type" in data}\ndata: ${JSON.stringify(data)}\n\n`;

/** A streamed answer in pieces of this many characters. */
function streamOf(events: readonly (object | string)[], size = 1_000): Response {
  const text = events.map(event).join("");
  const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream", "content-length": "9" } });
}

/** A stream that breaks behind these events. */
function brokenStream(events: readonly object[]): Response {
  const pieces = events.map(event);
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = pieces.shift();
      if (piece === undefined) controller.error(new Error("terminated"));
      else controller.enqueue(new TextEncoder().encode(piece));
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

async function readUntilBroken(response: Response): Promise<string> {
  const reader = response.body!.getReader();
  let text = "";
  for (;;) {
    const piece = await reader.read().catch(() => undefined);
    if (piece?.value === undefined) return text;
    text += new TextDecoder().decode(piece.value);
  }
}

const created = { type: "response.created", response: { status: "in_progress", error: null } };
const working = { type: "response.in_progress", response: { status: "in_progress", error: null } };
const said = { type: "response.output_text.delta", delta: "aye" };
const overflow = {
  code: "context_length_exceeded",
  message: "Your input exceeds the context window of this model.",
};
const failed = { type: "response.failed", response: { status: "failed", error: overflow } };
const busy = { type: "error", error: { code: "server_is_overloaded", message: "Come back later." } };

const list = Array.from({ length: 14 }, (_, turn) => [
  { role: "user", content: `question ${turn} ${"the clerk writes about tides ".repeat(20)}` },
  { role: "assistant", content: `answer ${turn} ${"the clerk writes about tides ".repeat(20)}` },
]).flat();

const createManager = (): CompactManager =>
  new CompactManager({ model: "gpt-4o", storage: { kind: "memory" } }, { onWarning: () => undefined });

/** What a client reads of a call that is answered with these, and the lists that were sent. */
async function answered(...answers: Response[]): Promise<{ text: string; sent: number[] }> {
  const wire = createWire({ manager: createManager(), onWarning: () => undefined });
  const input = [...list, { role: "user", content: "And now?" }];
  const call = await wire("https://x.example/v1/responses", {}, { model: "m", stream: true, input });
  const sent: number[] = [];
  const answer = await call.send(async (body: Json) => {
    sent.push(JSON.stringify(body.input).length);
    return answers[sent.length - 1]!;
  });
  return { text: await answer.text(), sent };
}

describe("a stream that begins with an error", () => {
  it.each([
    ["its last event", [created, working, failed]],
    ["an event of its own", [created, { type: "error", error: overflow }, failed]],
    ["its only piece", [{ error: overflow }]],
    ["an event with its own code", [created, { type: "error", ...overflow }]],
  ])("that the list is too long, in %s, gives way to that of a shorter list", async (_, events) => {
    for (const size of [1, 7, 1_000]) {
      const { text, sent } = await answered(streamOf(events, size), streamOf([created, said], size));
      expect(text).toBe([created, said].map(event).join(""));
      expect(sent).toHaveLength(2);
      expect(sent[1]).toBeLessThan(sent[0]! * 0.8);
    }
  });

  it("gives way also where the connection breaks behind the error", async () => {
    const again = (): Promise<Response> => Promise.resolve(streamOf([created, said]));
    const text = await withRetry(brokenStream([created, failed]), again).text();
    expect(text).toBe([created, said].map(event).join(""));
  });

  it("is passed on up to where it breaks, and where nothing can be sent again", async () => {
    const none = (): Promise<Response> => Promise.reject(new Error("fetch failed"));
    const opened = await readUntilBroken(withRetry(brokenStream([created]), none));
    expect(opened).toBe(event(created));
    const told = await withRetry(streamOf([created, failed]), none).text();
    expect(told).toBe([created, failed].map(event).join(""));
  });

  it("is held back only for a moment", async () => {
    vi.useFakeTimers();
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    void writable.getWriter().write(new TextEncoder().encode(event(created)));
    const response = new Response(readable, { headers: { "content-type": "text/event-stream" } });
    const reader = withRetry(response, () => Promise.resolve(undefined)).body!.getReader();
    const first = reader.read();
    await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
    vi.runAllTimers();
    vi.useRealTimers();
    expect(new TextDecoder().decode((await first).value)).toBe(event(created));
  });

  it("is not sent again for a client that has gone", async () => {
    let retried = 0;
    const again = (): Promise<Response> => {
      retried += 1;
      return Promise.resolve(streamOf([created, said]));
    };
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const response = new Response(readable, { headers: { "content-type": "text/event-stream" } });
    const reader = withRetry(response, again).body!.getReader();
    const read = reader.read();
    await reader.cancel();
    await read;
    await writable.getWriter().closed.catch(() => undefined);
    expect(retried).toBe(0);
  });

  it("is not sent again for a client that leaves while the list is compacted", async () => {
    const manager = createManager();
    let [begun, go] = [(): void => undefined, (): void => undefined];
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const mayGo = new Promise<void>((resolve) => {
      go = resolve;
    });
    let made: Promise<unknown> = Promise.resolve();
    const manualCompact: CompactManager["manualCompact"] = async (...given) => {
      begun();
      await mayGo;
      const result = manager.manualCompact(...given);
      made = result;
      return result;
    };
    const slow = {
      manualCompact,
      preflight: manager.preflight.bind(manager),
      isOverBudget: manager.isOverBudget.bind(manager),
      getState: manager.getState.bind(manager),
      warn: () => undefined,
    };
    const call = await createWire({ manager: slow })("https://x.example/v1/responses", {}, { input: list });
    let sent = 0;
    const answer = await call.send(async () => {
      sent += 1;
      return streamOf([created, failed]);
    });
    const reader = answer.body!.getReader();
    const read = reader.read();
    await hasBegun;
    await reader.cancel();
    go();
    await read;
    await made;
    await new Promise((done) => setImmediate(done));
    expect(sent).toBe(1);
  });

  it("gives way also where a request without its reasoning came before", async () => {
    const reasoning = Response.json({ error: { code: "invalid_encrypted_content" } }, { status: 400 });
    const { text, sent } = await answered(reasoning, streamOf([created, failed]), streamOf([created, said]));
    expect(text).toBe([created, said].map(event).join(""));
    expect(sent).toHaveLength(3);
    expect(sent[2]).toBeLessThan(sent[0]! * 0.8);
  });

  it("passes as it is where the shorter list is refused too, and where it is another error", async () => {
    const refused = Response.json({ error: overflow }, { status: 400 });
    expect((await answered(streamOf([created, failed]), refused)).text).toBe(
      [created, failed].map(event).join(""),
    );
    const { text, sent } = await answered(streamOf([created, busy], 5));
    expect([text, sent.length]).toEqual([[created, busy].map(event).join(""), 1]);
  });
});

describe("any other stream", () => {
  const never = (): never => {
    throw new Error("nothing is sent again");
  };

  it.each([
    [[created, said, failed]],
    [[{ choices: [{ delta: { content: "aye" } }] }, "[DONE]"]],
    [[{ type: "message_start" }, { type: "error", error: overflow }]],
    [[]],
  ])("passes byte for byte: %j", async (events) => {
    const response = withRetry(streamOf(events, 3), never);
    expect(response.headers.has("content-length")).toBe(false);
    expect(await response.text()).toBe(events.map(event).join(""));
  });

  it("is read no further than its reader reads, and ends with it", async () => {
    let reads = 0;
    let ended: unknown;
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          reads += 1;
          controller.enqueue(new TextEncoder().encode(event(reads === 1 ? created : said)));
        },
        cancel: (reason) => {
          ended = reason;
        },
      },
      { highWaterMark: 0 },
    );
    const response = withRetry(
      new Response(body, { headers: { "content-type": "text/event-stream" } }),
      never,
    );
    const reader = response.body!.getReader();
    const first = await reader.read();
    expect(new TextDecoder().decode(first.value)).toBe(event(created));
    expect(reads).toBe(2);
    await reader.cancel("enough");
    expect(ended).toBe("enough");
  });

  it("that breaks, breaks", async () => {
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.error(new Error("cut off"));
      },
    });
    const response = withRetry(
      new Response(body, { headers: { "content-type": "text/event-stream" } }),
      never,
    );
    await expect(response.text()).rejects.toThrow("cut off");
  });
});

describe("a refusal", () => {
  const URL = "https://x.example/v1/messages";
  const thought = { role: "assistant", content: [{ type: "thinking", thinking: "hm", signature: "s" }] };
  const unsigned = "messages.1.content.0: Invalid `signature` in `thinking` block";

  /** The answer to one call for which the provider always answers this, and how often it was sent. */
  async function refused(answer: () => Response): Promise<{ response: Response; sent: number }> {
    const wire = createWire({ manager: createManager(), onWarning: () => undefined });
    const call = await wire(URL, {}, { messages: [list[0], thought, list[2]] });
    let sent = 0;
    const response = await call.send(async () => {
      sent += 1;
      return answer();
    });
    return { response, sent };
  }

  it.each([400, 500, 502])("with status %i passes byte for byte, whatever its encoding", async (status) => {
    const bytes = new Uint8Array([0xef, 0xbb, 0xbf, 0xc4, 0xe3, 0xff]);
    const given = new Response(bytes, { status, headers: { "content-length": "6" } });
    const { response } = await refused(() => given);
    expect(response).toBe(given);
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytes);
  });

  it.each([429, 529])(
    "with status %i comes with its headers though its body does not end",
    async (status) => {
      vi.useFakeTimers();
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      void writable.getWriter().write(new TextEncoder().encode("{"));
      const answer = refused(() => new Response(readable, { status, headers: { "retry-after": "3" } }));
      await vi.waitFor(() => expect(readable.locked || status === 529).toBe(true));
      await vi.advanceTimersByTimeAsync(2_000);
      vi.useRealTimers();
      const { response } = await answer;
      expect([response.status, response.headers.get("retry-after")]).toEqual([status, "3"]);
    },
  );

  it("comes with its headers though its body breaks", async () => {
    const body = (): ReadableStream =>
      new ReadableStream({
        pull(controller) {
          controller.error(new Error("cut off"));
        },
      });
    const { response } = await refused(() => new Response(body(), { status: 429 }));
    expect(response.status).toBe(429);
    await expect(response.text()).rejects.toThrow("cut off");
  });

  it.each([401, 403, 404, 429, 500])("with status %i is no refused reasoning", async (status) => {
    const { sent } = await refused(() => Response.json({ message: "Invalid signature." }, { status }));
    expect(sent).toBe(1);
  });

  it("with a status beyond those of HTTP passes", async () => {
    const given = Object.defineProperty(new Response("no", { status: 599 }), "status", { value: 999 });
    expect((await refused(() => given)).response).toBe(given);
  });

  it("of the reasoning is mended once by each of two calls at once", async () => {
    const wire = createWire({ manager: createManager(), sessionId: "s", onWarning: () => undefined });
    let sent = 0;
    const send = async (): Promise<Response> => {
      sent += 1;
      if (sent > 20) throw new Error("sent without end");
      await new Promise((done) => setImmediate(done));
      return Response.json({ error: { message: unsigned } }, { status: 400 });
    };
    const lists = [
      [list[0], thought, list[2]],
      [list[0], thought, list[2], thought, list[4]],
    ];
    const calls = await Promise.all(lists.map((messages) => wire(URL, {}, { messages })));
    await Promise.all(calls.map((call) => call.send(send)));
    expect(sent).toBe(4);
  });
});
