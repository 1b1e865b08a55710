import { afterEach, describe, expect, it } from "vitest";
import { textModelFromUrl } from "../../packages/compact-context/src/adapters/http/index.ts";
import { CompactError } from "../../packages/compact-context/src/errors.ts";
import { drip, noHeaders } from "../stubs/answers.ts";
import { type Stub, type StubOptions, startStub } from "../stubs/server.ts";
import { type Api, describeTextModel, PREFIXES } from "./text-model.ts";

const baseOf = (api: Api, stub: Stub): string =>
  api === "anthropic" ? `${stub.anthropicUrl}/v1` : stub.openAiUrl;

for (const api of ["chat", "responses", "anthropic"] as const) {
  describeTextModel({
    title: `a plain URL, ${api}`,
    api,
    make: (stub) => textModelFromUrl({ url: baseOf(api, stub), api, model: "stub-model", key: "test" }),
    prefix: PREFIXES[api],
  });
}

describe("a text model behind a plain URL", () => {
  let stub: Stub | undefined;
  afterEach(async () => stub?.close());

  async function open(options: StubOptions = {}): Promise<Stub> {
    stub = await startStub({ countText: (text) => text.length, ...options });
    return stub;
  }

  const request = { messages: [{ role: "user" as const, content: "hi" }], maxOutputTokens: 50 };

  it("needs no key and no model where the server needs none", async () => {
    const { anthropicUrl: origin, requests } = await open({ needsKey: false });
    const model = textModelFromUrl({ url: origin });
    expect(model.name).toBe(new URL(origin).host);
    expect((await model.generate(request)).text).toBe("ok");
    await model.generate(request);
    expect(requests.map(({ path }) => path)).toEqual([
      "/v1/models",
      "/v1/chat/completions",
      "/v1/chat/completions",
    ]);
    expect(requests[1]?.body.model).toBe("stub-model");
    expect(requests[1]?.headers).not.toHaveProperty("authorization");
  });

  it("asks for the server's models with the query of its URL, from the path of a whole interface too", async () => {
    const asked: string[] = [];
    const fetch = (async (url: string) => {
      asked.push(String(url));
      return Response.json({ data: [{ id: "m" }], choices: [{ message: { content: "ok" } }] });
    }) as typeof globalThis.fetch;
    const url = "http://gateway.test/v1/chat/completions?tenant=7";
    await textModelFromUrl({ url, fetch }).generate(request);
    expect(asked).toEqual(["http://gateway.test/v1/models?tenant=7", url]);
  });

  it("knows the window of a model that it knows, and takes another", () => {
    expect(textModelFromUrl({ url: "http://x", model: "gpt-4o" }).window).toBe(128_000);
    expect(textModelFromUrl({ url: "http://x", model: "gpt-4o", window: 9000 }).window).toBe(9000);
    expect(textModelFromUrl({ url: "http://x", model: "nobody-knows-me" })).not.toHaveProperty("window");
  });

  it.each(["ftp://host", "localhost:1234", "", "http://me:secret-password@host/v1"])(
    "takes no URL like %s",
    (url) => {
      let thrown: unknown;
      try {
        textModelFromUrl({ url });
      } catch (error) {
        thrown = error;
      }
      expect(CompactError.isInstance(thrown) && thrown.code).toBe("InvalidArgument");
      expect(String(thrown)).not.toContain("secret-password");
    },
  );

  it("follows no redirect and sends its key nowhere else", async () => {
    const other = await startStub();
    const { openAiUrl } = await open({ answers: [{ raw: "moved", status: 302, contentType: "text/plain" }] });
    const model = textModelFromUrl({ url: openAiUrl, model: "m", key: "sk-secret-1234567890" });
    await expect(model.generate(request)).rejects.toThrow(/302 .*redirects are not followed/);
    expect(other.requests).toEqual([]);
    await other.close();
  });

  it("shows no key that a server repeats", async () => {
    const key = "sk-secret-1234567890";
    const { openAiUrl } = await open({
      answers: [{ status: 401, message: `Incorrect API key provided: ${key}.` }],
    });
    const model = textModelFromUrl({ url: openAiUrl, model: "m", key });
    const error = await model.generate(request).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain("Incorrect API key provided: <REDACTED>.");
    expect(JSON.stringify(error) + String(error)).not.toContain(key);
  });

  it("reads no more than so many bytes of an answer that does not end", async () => {
    const { openAiUrl } = await open({ answers: [drip(1)] });
    const model = textModelFromUrl({ url: openAiUrl, model: "m", key: "k", maxAnswerBytes: 20 });
    await expect(model.generate(request)).rejects.toThrow(/longer than 20 bytes/);
  });

  it("gives up on a server that never sends headers when its signal says so", async () => {
    const { openAiUrl } = await open({ answers: [noHeaders] });
    const model = textModelFromUrl({ url: openAiUrl, model: "m", key: "k" });
    await expect(model.generate({ ...request, signal: AbortSignal.timeout(40) })).rejects.toThrow(/timeout/);
  });

  it("tries the limit's other name where a server knows only that one", async () => {
    const { openAiUrl, requests } = await open({ unsupported: ["max_tokens"] });
    const model = textModelFromUrl({ url: openAiUrl, model: "m", key: "k" });
    await model.generate(request);
    await model.generate(request);
    expect(requests.map(({ body }) => [body.max_tokens, body.max_completion_tokens])).toEqual([
      [50, undefined],
      [undefined, 50],
      [undefined, 50],
    ]);
  });
});
