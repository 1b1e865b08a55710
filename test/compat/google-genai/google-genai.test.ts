import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { recallTools } from "../../../packages/compact-context/src/recall/index.ts";
import { compactFetch } from "../../../packages/compact-context/src/wire/index.ts";
import { ANSWERS, createProvider, createWatched, interview, survey, WINDOW } from "../scripted-agent.ts";

// biome-ignore lint/suspicious/noExplicitAny: the SDK is loaded at run time
type Loose = any;

const genai: Loose = await import("@google/genai" as string).catch(() => undefined);
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** Gemini's interface on this machine; the scripted provider answers. */
async function startStub(provider: ReturnType<typeof createProvider>) {
  const paths = new Set<string>();
  const server = createServer(async (request, response) => {
    paths.add(request.url?.replace(/\?.*/, "").split(":").at(-1) ?? "");
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { contents } = JSON.parse(Buffer.concat(chunks).toString()) as { contents: unknown[] };
    try {
      const { text, calls } = provider.answer(contents);
      const said = text === "" ? [] : [{ text }];
      const parts = [...said, ...calls.map(({ id, name, args }) => ({ functionCall: { id, name, args } }))];
      const body = JSON.stringify({
        candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }],
      });
      const streams = request.url?.includes("alt=sse") === true;
      response.setHeader("content-type", streams ? "text/event-stream" : "application/json");
      response.end(streams ? `data: ${body}\n\n` : body);
    } catch (error) {
      response.statusCode = 400;
      response.end(
        JSON.stringify({ error: { code: 400, message: String(error), status: "INVALID_ARGUMENT" } }),
      );
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => server.close());
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, paths };
}

describe.skipIf(genai === undefined)("compactFetch in Google's Gen AI SDK", () => {
  for (const streams of [false, true]) {
    const method = streams ? "sendMessageStream" : "sendMessage";
    it(`INT-3 carries a chat of ${method} over three windows, every fact in context or recalled, its history complete`, async () => {
      const { manager, compactions } = createWatched();
      const provider = createProvider({
        format: "gemini",
        recall: (query) => ({ name: "compact_search", args: { query } }),
      });
      const { baseUrl, paths } = await startStub(provider);
      const fetch = compactFetch({ manager, sessionId: "one" });
      const ai = new genai.GoogleGenAI({ apiKey: "test", httpOptions: { baseUrl, fetch } });
      const chat = ai.chats.create({ model: "gemini-2.5-flash" });
      const recall = recallTools(manager, "one");
      const send = async (message: unknown): Promise<Loose> => {
        if (!streams) return chat.sendMessage({ message });
        let last: unknown;
        for await (const piece of await chat.sendMessageStream({ message })) last = piece;
        return last;
      };
      const answers = await interview(async (text) => {
        let answer = await send(text);
        while (answer.functionCalls !== undefined) {
          const results = answer.functionCalls.map(async ({ id, name, args }: Loose) => {
            const output =
              name === "survey"
                ? survey(args)
                : await recall.find((tool) => tool.name === name)?.execute(args);
            return { functionResponse: { id, name, response: { output } } };
          });
          answer = await send(await Promise.all(results));
        }
        return answer.text;
      });
      expect(answers).toEqual(ANSWERS);
      expect(compactions()).toBeGreaterThanOrEqual(4);
      expect(provider.figures.largest).toBeLessThanOrEqual(WINDOW);
      expect([...paths]).toEqual([streams ? "streamGenerateContent" : "generateContent"]);
      const history = chat.getHistory();
      expect(JSON.stringify(history)).not.toContain("COMPACT-SUMMARY");
      const asked = history.filter(
        ({ role, parts }: Loose) => role === "user" && parts[0].text !== undefined,
      );
      expect(asked).toHaveLength(34);
    });
  }
});
