import { afterEach, describe, expect, it } from "vitest";
import { CompactManager } from "../../../packages/compact-context/src/index.ts";
import { createMemoryDriver } from "../../../packages/compact-context/src/storage/memory/driver.ts";
import { compactFetch } from "../../../packages/compact-context/src/wire/index.ts";
import type { Answer, StubRequest } from "../../stubs/answers.ts";
import { type Stub, startStub } from "../../stubs/server.ts";

// OpenAI's compaction of Responses as the summarizer, against a stub that checks fields, seals, pairs and reasoning.

// biome-ignore lint/suspicious/noExplicitAny: the SDK is loaded at run time
type Loose = any;
const sdks: readonly (readonly [string, Loose])[] = await Promise.all(
  ["openai", "openai-v6"].map(
    async (name) => [name, await import(name as string).catch(() => undefined)] as const,
  ),
);

const MODEL = "gpt-5.5";
const RULE = "Never change the file ropes.sql by hand.";
const TOOLS = [
  { type: "function", name: "read", strict: false, parameters: { type: "object", properties: {} } },
];

let stub: Stub | undefined;
afterEach(async () => {
  await stub?.close();
  stub = undefined;
});

async function start(sdk: Loose, compaction: () => Answer = () => "sealed") {
  let calls = 0;
  stub = await startStub({
    window: 200_000,
    answers: ({ path }) => {
      if (path.endsWith("/compact")) return compaction();
      calls += 1;
      return {
        reasoning: `Part ${calls} is next.`,
        toolCalls: [{ name: "read", arguments: { path: `src/part-${calls}.ts` } }],
      };
    },
  });
  const warnings: string[] = [];
  const events: Loose[] = [];
  const storage = createMemoryDriver();
  const open = () => {
    const manager = new CompactManager(
      {
        model: MODEL,
        maxContextTokens: 20_000,
        summarizer: { kind: "provider" },
        policy: {
          keepRecentTurns: 1,
          keepToolIoPairs: 4,
          targetContextTokens: 8_000,
          clearToolResults: false,
        },
      },
      {
        storage,
        onWarning: (message) => warnings.push(message),
        exporters: [{ export: async (event) => void events.push(event) }],
      },
    );
    const fetch = compactFetch({ manager, sessionId: "harbour" });
    const client = new sdk.default({ apiKey: "test", baseURL: stub?.openAiUrl, maxRetries: 0, fetch });
    return { manager, client };
  };
  return { open, warnings, events };
}

const output = (call: number): string =>
  `part ${call} ${"const tide = ropes(ledger, harbour);\n".repeat(60)}`;

/** An agent's loop over whole lists: nothing is stored at the provider, reasoning goes back sealed. */
async function run(client: Loose, input: Loose[], rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const answer = await client.responses.create({
      model: MODEL,
      instructions: "You keep ledgers.",
      tools: TOOLS,
      store: false,
      include: ["reasoning.encrypted_content"],
      prompt_cache_key: "harbour",
      input,
    });
    input.push(...answer.output);
    for (const item of answer.output)
      if (item.type === "function_call")
        input.push({ type: "function_call_output", call_id: item.call_id, output: output(round) });
  }
}

const asked = (): Loose[] => [{ role: "user", content: `Move the ledger to the new tables. ${RULE}` }];
const requests = (): readonly StubRequest[] => stub?.requests ?? [];
const rejected = () => requests().filter(({ rejection }) => rejection !== undefined);
const compactions = () => requests().filter(({ path }) => path.endsWith("/compact"));
const calls = () => requests().filter(({ path }) => path.endsWith("/responses"));
const inputOf = (request: StubRequest | undefined): Loose[] => (request?.body.input ?? []) as Loose[];
const summariesIn = (list: Loose[]): number =>
  list.filter((item) => JSON.stringify(item).includes('"<COMPACT-SUMMARY v')).length;

describe.each(sdks)("the compaction of Responses as the summarizer, %s", (_, sdk) => {
  it.skipIf(sdk === undefined)(
    "opens the list with the newest sealed item, keeps reasoning and tells rules beside it",
    async () => {
      const { open, warnings, events } = await start(sdk);
      const { client } = open();
      await run(client, asked(), 60);
      expect(rejected()).toEqual([]);
      expect(warnings).toEqual([]);
      expect(compactions().length).toBeGreaterThanOrEqual(2);
      const first = calls().findIndex((request) => inputOf(request)[0]?.type === "compaction");
      for (const list of calls().slice(first).map(inputOf)) {
        expect(list.filter(({ type }) => type === "compaction")).toEqual([list[0]]);
        expect(summariesIn(list)).toBe(1);
        expect(JSON.stringify(list)).toContain(RULE);
        expect(list.some(({ type }) => type === "reasoning")).toBe(true);
      }
      const seals = new Set(calls().flatMap((request) => inputOf(request)[0]?.encrypted_content ?? []));
      expect(seals.size).toBe(compactions().length);
      const created = events.filter(({ name }) => name === "compact.summary_created");
      expect(created.map(({ properties }) => properties.summarizer)).toEqual(
        compactions().map(() => "provider"),
      );
    },
  );

  it.skipIf(sdk === undefined)(
    "asks as the SDK's own responses.compact does, with the call's model, instructions and key",
    async () => {
      const { open } = await start(sdk);
      await run(open().client, asked(), 40);
      const own = compactions().length;
      expect(own).toBeGreaterThan(0);
      const direct = new sdk.default({ apiKey: "test", baseURL: stub?.openAiUrl, maxRetries: 0 });
      const by = await direct.responses.compact({
        model: MODEL,
        instructions: "You keep ledgers.",
        input: asked(),
      });
      expect(by.object).toBe("response.compaction");
      const [ours, theirs] = [compactions()[0], compactions().at(-1)];
      expect(ours?.path).toBe(theirs?.path);
      expect(ours?.headers.authorization).toBe(theirs?.headers.authorization);
      expect(ours?.headers["content-type"]).toBe(theirs?.headers["content-type"]);
      expect(ours?.body).toMatchObject({
        model: MODEL,
        instructions: "You keep ledgers.",
        prompt_cache_key: "harbour",
      });
    },
  );

  it.skipIf(sdk === undefined)("goes on in another process with the same item, byte for byte", async () => {
    const { open } = await start(sdk);
    const input = asked();
    const { client, manager } = open();
    await run(client, input, 30);
    await manager.flush();
    const before = JSON.stringify(inputOf(calls().at(-1))[0]);
    expect(before).toContain('"compaction"');
    await run(open().client, input, 1);
    expect(JSON.stringify(inputOf(calls().at(-1))[0])).toBe(before);
    expect(rejected()).toEqual([]);
  });

  const failures: readonly (readonly [string, Answer])[] = [
    ["refuses", { status: 400, message: "This model does not support compaction." }],
    ["is down", { status: 503 }],
    ["gives no sealed item", { refusal: "no" }],
    ["answers with something else", { raw: "{}" }],
  ];
  it.skipIf(sdk === undefined).each(failures)(
    "the built-in summarizer writes where the provider %s",
    async (__, answer) => {
      const { open, events, warnings } = await start(sdk, () => answer);
      await run(open().client, asked(), 40);
      expect(compactions().length).toBeGreaterThan(0);
      expect(rejected()).toEqual([]);
      const list = inputOf(calls().at(-1));
      expect(JSON.stringify(list)).not.toContain('"compaction"');
      expect(summariesIn(list)).toBe(1);
      expect(JSON.stringify(list)).toContain(RULE);
      const created = events.filter(({ name }) => name === "compact.summary_created");
      expect(created[0].properties.summarizer).toBe("builtin");
      expect(warnings.join()).toContain("the summarizer provider failed");
    },
  );
});
