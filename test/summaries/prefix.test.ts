import { afterEach, describe, expect, it } from "vitest";
import { textModelFromUrl } from "../../packages/compact-context/src/adapters/http/index.ts";
import type { TextModel } from "../../packages/compact-context/src/core/ports.ts";
import { CompactManager } from "../../packages/compact-context/src/create-manager.ts";
import { createMemoryDriver } from "../../packages/compact-context/src/storage/memory/driver.ts";
import { type Answer, reset, type StubRequest, stale } from "../stubs/answers.ts";
import { type Stub, startStub } from "../stubs/server.ts";

type Api = "chat" | "anthropic";
type Json = Record<string, unknown>;

const stubs: Stub[] = [];
afterEach(async () => {
  for (const stub of stubs.splice(0)) await stub.close();
});

const countText = (text: string): number => Math.ceil(text.length / 4);
const SYSTEM = `You mend programs. ${"Keep to the rules of the house. ".repeat(150)}`;
const NOTES = "### State\n- src/part3.ts and src/part4.ts were read and mended.";

const TOOLS = {
  chat: [{ type: "function", function: { name: "read", parameters: { type: "object", properties: {} } } }],
  anthropic: [{ name: "read", input_schema: { type: "object", properties: {} } }],
} as const;

/** One step of an agent: a call and its result. */
function step(api: Api, index: number): Json[] {
  const content = `part ${index} ${"of the file reads like this. ".repeat(60)}`;
  if (api === "chat") {
    const call = {
      id: `c${index}`,
      type: "function",
      function: { name: "read", arguments: `{"path":"src/part${index}.ts"}` },
    };
    return [
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: `c${index}`, content },
    ];
  }
  return [
    {
      role: "assistant",
      content: [{ type: "tool_use", id: `c${index}`, name: "read", input: { path: `src/part${index}.ts` } }],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: `c${index}`, content }] },
  ];
}

/** What the agent sends; Anthropic's cache is asked for by a mark on the newest block. */
function agentCall(api: Api, messages: readonly Json[]): Json {
  if (api === "chat")
    return {
      model: "writer",
      tools: TOOLS.chat,
      messages: [{ role: "system", content: SYSTEM }, ...messages],
    };
  return {
    model: "writer",
    max_tokens: 500,
    system: SYSTEM,
    tools: TOOLS.anthropic,
    messages: marked(messages),
  };
}

function marked(messages: readonly Json[]): Json[] {
  return messages.map((message, index) => {
    if (index !== messages.length - 1 || !Array.isArray(message.content)) return message;
    const blocks = message.content as Json[];
    return {
      ...message,
      content: blocks.map((block, at) =>
        at === blocks.length - 1 ? { ...block, cache_control: { type: "ephemeral" } } : block,
      ),
    };
  });
}

interface Played {
  /** The request for the summary. */
  readonly asked: StubRequest | undefined;
  readonly share: number;
  readonly summary: string | undefined;
  readonly attempts: readonly { readonly input: string; readonly outcome: string }[];
}

/** An agent of thirty steps whose list is compacted before the next call. */
async function play(
  api: Api,
  input: "text" | "prefix",
  {
    cache = "prefix",
    answer = NOTES,
  }: { cache?: "prefix" | "whole"; answer?: Answer | ((request: StubRequest) => Answer) } = {},
): Promise<Played> {
  let summarizing = false;
  const stub = await startStub({
    countText,
    openAiCache: cache,
    answers: (request) => (summarizing ? (typeof answer === "function" ? answer(request) : answer) : "ok"),
  });
  stubs.push(stub);
  const url = api === "anthropic" ? stub.anthropicUrl : stub.openAiUrl;
  const path = api === "anthropic" ? "/v1/messages" : "/chat/completions";
  const model: TextModel = textModelFromUrl({ url, api, model: "writer", key: "test", window: 128_000 });
  const manager = new CompactManager(
    { maxContextTokens: 16_000, summarizer: { input, verify: "off" }, policy: { hardCapBuffer: 500 } },
    { summarizer: model, storage: createMemoryDriver() },
  );
  let messages: Json[] = [{ role: "user", content: "Mend every part, and never touch part 9." }];
  for (let index = 0; index < 30; index += 1) {
    messages = [...messages, ...step(api, index)];
    const sent = api === "anthropic" ? marked(messages) : messages;
    const before = stub.requests.length;
    summarizing = true;
    const made = await manager.preflight("s", sent, {
      system: SYSTEM,
      tools: TOOLS[api],
      format: api === "chat" ? "openai-chat" : "anthropic",
    });
    summarizing = false;
    if (made.report.compacted) {
      const asked = stub.requests[before];
      const usage = asked?.usage;
      return {
        asked,
        share: usage === undefined ? 0 : usage.cacheRead / usage.input,
        summary: made.summary,
        attempts: made.report.attempts,
      };
    }
    const response = await fetch(`${url}${path}`, {
      method: "POST",
      headers: { authorization: "Bearer test", "x-api-key": "test", "anthropic-version": "2023-06-01" },
      body: JSON.stringify(agentCall(api, messages)),
    });
    expect(response.status).toBe(200);
  }
  throw new Error("nothing was compacted");
}

describe("a request behind the live conversation", () => {
  it.each([
    ["chat", "prefix"],
    ["chat", "whole"],
    ["anthropic", "prefix"],
  ] as const)(
    "SUM-12 is served by the cache, over %s with a cache of kind %s; written out it is not",
    async (api, cache) => {
      const riding = await play(api, "prefix", { cache });
      const apart = await play(api, "text", { cache });
      if (process.env.CACHE_REPORT !== undefined) {
        const row = ({ share, asked }: Played) =>
          `${asked?.usage?.input} tokens, ${(share * 100).toFixed(1)} % cached`;
        console.log(`${api} ${cache}: prefix ${row(riding)}; text ${row(apart)}`);
      }
      expect(riding.attempts).toMatchObject([{ input: "prefix", outcome: "accepted" }]);
      expect(riding.share).toBeGreaterThan(0.85);
      expect(apart.share).toBeLessThan(0.05);
      expect(riding.summary).toContain("src/part3.ts");
      expect(riding.asked?.body.tools).toEqual(TOOLS[api]);
    },
  );

  it("FIT-3 writes the messages out when the conversation cannot be sent, and takes no repeated answer", async () => {
    let asked = 0;
    const made = await play("chat", "prefix", {
      answer: () => {
        asked += 1;
        return asked === 1 ? reset : NOTES;
      },
    });
    expect(made.attempts).toMatchObject([
      { input: "prefix", outcome: "error" },
      { input: "text", outcome: "accepted" },
    ]);
    const repeated = await play("anthropic", "prefix", { answer: (request) => stale(request) });
    expect(repeated.attempts.every((attempt) => attempt.outcome !== "accepted")).toBe(true);
  });
});
