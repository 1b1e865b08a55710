import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { CompactManager } from "../create-manager.ts";

const demo = JSON.parse(
  readFileSync(new URL("../../../compact-context-cli/demo/session.json", import.meta.url), "utf8"),
) as {
  readonly messages: unknown[];
};
const settings = { maxContextTokens: 200_000, storage: { kind: "memory" } } as const;

const question = { role: "user", content: "What is in there?" };
const grown: Readonly<Record<string, readonly unknown[]>> = {
  anthropic: [
    { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "read", input: { path: "a.ts" } }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "export const a = 1;" }] },
  ],
  "openai-responses": [
    { type: "function_call", call_id: "c1", name: "read", arguments: '{"path":"a.ts"}' },
    { type: "function_call_output", call_id: "c1", output: "export const a = 1;" },
  ],
  "openai-chat": [
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c1", type: "function", function: { name: "read", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "c1", content: "export const a = 1;" },
  ],
};

it.each(Object.entries(grown))(
  "recognises %s once the list tells more than a first plain message",
  async (_, more) => {
    const manager = new CompactManager(settings);
    await manager.preflight("s", [question]);
    const { report } = await manager.preflight("s", [question, ...more]);
    const fresh = await new CompactManager(settings).preflight("s", [question, ...more]);
    expect(report.tokensBefore).toBe(fresh.report.tokensBefore);
  },
);

it("reads each list in the format that its call names, whatever a call before it named", async () => {
  const manager = new CompactManager(settings);
  const list = [question, ...(grown["openai-chat"] ?? [])];
  await manager.preflight("s", list, { format: "openai-chat" });
  const foreign = [{ role: "robot", content: 7 }];
  await expect(manager.preflight("s", foreign, { format: "gemini" })).rejects.toMatchObject({
    code: "InvalidMessages",
  });
  const more = [...list, { role: "assistant", content: "It exports a." }];
  const { messages, report } = await manager.preflight("s", more, { format: "openai-chat" });
  expect([messages, report.format]).toEqual([more, "openai-chat"]);
  const plain = [question, { role: "assistant", content: "Nothing." }];
  await manager.preflight("t", plain, { format: "openai-chat" });
  expect((await manager.preflight("t", plain, { format: "anthropic" })).report.format).toBe("anthropic");
});

it("counts a session that grew from one message as one that is seen whole", async () => {
  const manager = new CompactManager(settings);
  for (let length = 1; length <= 15; length++) await manager.preflight("s", demo.messages.slice(0, length));
  const list = demo.messages.slice(0, 16);
  const { report } = await manager.preflight("s", list);
  const fresh = await new CompactManager(settings).preflight("s", list);
  expect(report.tokensBefore).toBe(fresh.report.tokensBefore);
});

it("takes a list that grew by 200,000 messages at once", { timeout: 300_000 }, async () => {
  const manager = new CompactManager({ ...settings, maxContextTokens: 50_000_000 });
  const list: unknown[] = Array.from({ length: 10 }, (_, n) => ({ role: "user", content: `a${n}` }));
  await manager.preflight("s", list);
  for (let n = 0; n < 200_000; n++) list.push({ role: n % 2 === 0 ? "assistant" : "user", content: "ok" });
  const { messages } = await manager.preflight("s", list);
  expect(messages).toBe(list);
});

it("counts a message that was put in the place of another; one that was changed in place stays as it was read", async () => {
  const manager = new CompactManager(settings);
  const count = async (list: readonly unknown[]): Promise<number> =>
    (await manager.preflight("s", list)).report.tokensBefore;
  const asked = { role: "user", content: "What is in there?" };
  const result = { role: "assistant", content: "word ".repeat(500) };
  const before = await count([asked, result]);
  result.content = "trimmed";
  expect(await count([asked, result])).toBe(before);
  expect(await count([asked, { ...result }])).toBeLessThan(before / 2);
});

it("PRT-6 gives back the newest objects of a list that comes as JSON at every call, counted as one that is seen whole", async () => {
  const small = { ...settings, maxContextTokens: 12_000, policy: { onOverflow: "elide" } } as const;
  const manager = new CompactManager(small);
  const lists: unknown[][] = [];
  let compactions = 0;
  for (let length = 1; length <= demo.messages.length; length += 3) {
    const list = structuredClone(demo.messages.slice(0, length));
    // A mark that moves, as clients set it for the provider's cache.
    Object.assign(list.at(-1) as object, { cache_control: { type: "ephemeral" } });
    lists.push(list);
    const { messages, report, summary } = await manager.preflight("s", list);
    compactions += report.compacted ? 1 : 0;
    const own = messages.filter((message) => list.includes(message));
    const older = lists.slice(0, -1).flat();
    expect(messages.filter((message) => older.includes(message))).toEqual([]);
    if (summary === undefined) expect(own).toEqual(list);
    else expect(own.length).toBeGreaterThan(0);
  }
  expect(compactions).toBeGreaterThan(0);
  const large = new CompactManager(settings);
  for (const list of lists) await large.preflight("t", list);
  const last = lists.at(-1) ?? [];
  const { report } = await large.preflight("t", structuredClone(last));
  const fresh = await new CompactManager(settings).preflight("t", last);
  expect(report.tokensBefore).toBe(fresh.report.tokensBefore);
});

it("reads only what is new of a list that comes as new objects", async () => {
  const manager = new CompactManager({ ...settings, maxContextTokens: 4_000_000 });
  const turns = Array.from({ length: 2_000 }, (_, n) => ({
    role: n % 2 === 0 ? "user" : "assistant",
    content: `${n} ${"all about words and numbers ".repeat(20)}`,
  }));
  const cost = async (list: readonly unknown[]): Promise<number> => {
    const before = process.cpuUsage();
    await manager.preflight("s", list);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  const first = await cost(turns.slice(0, -20));
  const again: number[] = [];
  for (let behind = 19; behind >= 0; behind--)
    again.push(await cost(structuredClone(turns.slice(0, turns.length - behind))));
  expect(Math.min(...again) * 5).toBeLessThan(first);
});

it.each([false, true])(
  "reads as much of a short list as of a long one that grew, repair %s",
  async (repair) => {
    let reads = 0;
    const entry = (role: string, text: string): object => ({
      role,
      get content() {
        reads += 1;
        return text;
      },
    });
    const readsOfAppend = async (length: number): Promise<number> => {
      const manager = new CompactManager(settings, { repair });
      const list = Array.from({ length }, (_, n) => entry(n % 2 === 0 ? "user" : "assistant", `text ${n}`));
      await manager.preflight("s", list, { format: "openai-chat" });
      // Where nothing is mended, the list is looked through between calls.
      await manager.flush();
      list.push(entry("user", "one"), entry("assistant", "more"));
      const before = reads;
      expect((await manager.preflight("s", list, { format: "openai-chat" })).messages).toBe(list);
      await manager.flush();
      return reads - before;
    };
    expect(await readsOfAppend(1000)).toBe(await readsOfAppend(10));
  },
);

it("counts a long list that is read in steps as one that is seen whole, in the format that its end shows", async () => {
  const plain = Array.from({ length: 150 }, (_, n) => ({
    role: n % 2 === 0 ? "user" : "assistant",
    content: `${n} says some words`,
  }));
  const list = [...plain, ...(grown.anthropic ?? []), ...plain];
  const { messages, report } = await new CompactManager(settings).preflight("s", list);
  const named = await new CompactManager(settings).preflight("s", list, { format: "anthropic" });
  const slowly = new CompactManager(settings);
  for (let length = 1; length < list.length; length += 40) await slowly.preflight("s", list.slice(0, length));
  const grownUp = await slowly.preflight("s", list);
  expect(messages).toBe(list);
  expect(report.format).toBe("anthropic");
  expect(report.tokensBefore).toBe(named.report.tokensBefore);
  expect(report.tokensBefore).toBe(grownUp.report.tokensBefore);
});

it("leaves the event loop its turns while a long list is read, checked and summarized", async () => {
  let now = 0;
  // Every look at the clock finds that the step has taken its time.
  const clock = (): number => (now += 10);
  const manager = new CompactManager({ ...settings, maxContextTokens: 30_000 }, { clock });
  const list = Array.from({ length: 2_000 }, (_, n) => ({
    role: n % 2 === 0 ? "user" : "assistant",
    content: `message ${n} ${"says some words about the work ".repeat(4)}`,
  }));
  let rounds = 0;
  let over = false;
  const count = (): void => {
    rounds += 1;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  const { report } = await manager.preflight("s", list);
  const whileCompacting = rounds;
  await manager.flush();
  over = true;
  expect(report).toMatchObject({ compacted: true, summarizer: "builtin" });
  // Reading takes a step for 64 messages, checking too, and the summary several for eight.
  expect(whileCompacting).toBeGreaterThan(500);
});
