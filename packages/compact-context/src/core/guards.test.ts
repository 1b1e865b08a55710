import { describe, expect, it } from "vitest";
import { compact } from "../compact.ts";
import type { CompactConfigInput } from "../config/settings.ts";
import { CompactManager, type ManagerPorts } from "../create-manager.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import { type Message, wireBytes } from "./message.ts";
import type { StorageDriver } from "./ports.ts";
import type { CompactEvent } from "./report.ts";

type Chat = Record<string, unknown> & { role: string; content: unknown };
const say = (role: string, content: unknown, extra: Record<string, unknown> = {}): Chat => ({
  role,
  content,
  ...extra,
});
const words = (seed: number, count: number): string =>
  Array.from({ length: count }, (_, index) => `word${(seed * 31 + index * 7) % 997}`).join(" ");
const turns = (from: number, to: number, size = 60): Chat[] =>
  Array.from({ length: to - from }, (_, index) => [
    say("user", `question ${from + index} ${words(from + index, size)}`),
    say("assistant", `answer ${from + index} ${words(from + index + 500, size)}`),
  ]).flat();
const call = (id: string): Chat =>
  say("assistant", null, {
    tool_calls: [{ id, type: "function", function: { name: "read", arguments: '{"path":"a.txt"}' } }],
  });
const output = (id: string, text: string): Chat => say("tool", text, { tool_call_id: id });
const image = (bytes: number): object => ({
  type: "image_url",
  image_url: { url: `data:image/png;base64,${"A".repeat(bytes)}` },
});

function setUp(config: CompactConfigInput = {}, ports: ManagerPorts = {}) {
  const events: CompactEvent[] = [];
  const warnings: string[] = [];
  const manager = new CompactManager(
    { maxContextTokens: 8000, ...config, policy: { hardCapBuffer: 500, ...config.policy } },
    {
      storage: createMemoryDriver(),
      exporters: [{ export: (event) => void events.push(event) }],
      onWarning: (message) => warnings.push(message),
      ...ports,
    },
  );
  return { manager, events, warnings };
}

/** Storage whose archive cannot be written, and how often it was tried. */
function brokenStorage(): { readonly storage: StorageDriver; tried(): number; mend(works: boolean): void } {
  const memory = createMemoryDriver();
  let tried = 0;
  let works = false;
  return {
    storage: {
      ...memory,
      put: (key, value, options) => {
        if (works || !key.includes("transcript")) return memory.put(key, value, options);
        tried += 1;
        return Promise.reject(new Error("disk on fire"));
      },
      append: () => Promise.reject(new Error("disk on fire")),
    },
    tried: () => tried,
    mend(now) {
      works = now;
    },
  };
}

describe("tool results over their limit", () => {
  const limit = { policy: { maxToolResultTokens: 200 } };
  const long = words(1, 900);
  const list = [...turns(0, 2), say("user", "read it"), call("a"), output("a", long)];

  it("are cut before a model sees them first, and stay the same bytes in every later call", async () => {
    const { manager, events } = setUp(limit);
    const first = await manager.preflight("s", list);
    expect(first.report).toMatchObject({ compacted: true, reason: "tool_output", elidedCount: 1 });
    expect(first.messages.slice(0, -1)).toEqual(list.slice(0, -1));
    const shown = String((first.messages.at(-1) as Chat).content);
    expect(shown.length).toBeLessThan(long.length / 2);
    expect(shown).toMatch(/archive id [0-9a-f]+/);
    const next = [...list, say("assistant", "read"), say("user", "go on")];
    const second = await manager.preflight("s", next);
    expect(second.report.compacted).toBe(false);
    expect(JSON.stringify(second.messages.slice(0, first.messages.length))).toBe(
      JSON.stringify(first.messages),
    );
    const own = await manager.preflight("s", [...first.messages, ...next.slice(list.length)] as Chat[]);
    expect(JSON.stringify(own.messages)).toBe(JSON.stringify(second.messages));
    await manager.flush();
    expect(events.filter((event) => event.name === "compact.archival")).toHaveLength(1);
  });

  it("are left whole once a model has seen them: cutting then would break the cached prefix", async () => {
    const { manager } = setUp(limit);
    const sent = [...list, say("assistant", "read")];
    expect((await manager.preflight("s", sent)).messages).toBe(sent);
  });

  it("are left whole where no limit is set", async () => {
    const { manager } = setUp();
    expect((await manager.preflight("s", list)).messages).toBe(list);
  });

  it("fit their limit with the marker, whatever the text", async () => {
    for (const text of [long, "字".repeat(3000), "x".repeat(9000), `${"\n".repeat(4000)}end`]) {
      const { manager } = setUp({ maxContextTokens: 100_000, ...limit });
      const given = [say("user", "read it"), call("a"), output("a", text)];
      const { messages } = await manager.preflight("s", given);
      const again = await manager.preflight("s", messages);
      expect(again.messages).toBe(messages);
    }
  });

  it("are never changed where they are pinned, alone or by what they stand with", async () => {
    const roles = setUp({ policy: { ...limit.policy, rolesNeverPrune: ["system", "tool"] } });
    expect((await roles.manager.preflight("s", list)).messages).toBe(list);
    const { manager } = setUp(limit);
    const neutral: Message[] = [
      { id: "u", role: "user", parts: [{ type: "text", text: "read it" }] },
      {
        id: "a",
        role: "assistant",
        parts: [{ type: "toolCall", id: "c", name: "read", arguments: {} }],
        meta: { protected: true },
      },
      { id: "t", role: "tool", parts: [{ type: "toolResult", id: "c", content: long }] },
    ];
    expect((await manager.preflight("s", neutral)).messages).toBe(neutral);
  });

  it("keep a summary that was there, and are followed by a compaction where that is due", async () => {
    const { manager } = setUp(limit);
    const before = await manager.preflight("s", turns(0, 40));
    const grown = [...before.messages, say("user", "read it"), call("a"), output("a", long)] as Chat[];
    const cut = await manager.preflight("s", grown);
    expect(cut.report.reason).toBe("tool_output");
    expect(cut.summary).toBe(before.summary);
    expect(manager.getState("s")).toMatchObject({ summaryCount: 1, summaryVersion: 1 });
    const full = [...cut.messages, ...turns(50, 90), call("b"), output("b", long)] as Chat[];
    const both = await manager.preflight("s", full);
    expect(both.report.reason).toBe("trigger_pct");
    expect(JSON.stringify(both.messages.at(-1))).toContain("tokens elided");
    expect(manager.getState("s").summaryCount).toBe(2);
  });
});

describe("the byte budget", () => {
  const policy = { maxRequestBytes: 100_000 };
  const shots = (count: number, bytes: number): Chat[] =>
    Array.from({ length: count }, (_, n) => [
      say("user", [{ type: "text", text: `look ${n}` }, image(bytes)]),
      say("assistant", `seen ${n}`),
    ]).flat();

  it("G2 leaves out the oldest media, and nothing else, until the request fits the wire", async () => {
    const { manager } = setUp({ maxContextTokens: 100_000, policy });
    const list = [...shots(6, 20_000), say("user", "and now?")];
    const { messages, report } = await manager.preflight("s", list);
    expect(report).toMatchObject({ reason: "max_bytes", prunedCount: 0, compacted: true });
    expect(messages).toHaveLength(list.length);
    expect(JSON.stringify(messages).length).toBeLessThan(60_000);
    expect(JSON.stringify(messages[0])).toContain("image/png left out: 20 KB; archive id");
    expect(messages.at(-3)).toBe(list.at(-3));
    const grown = [...list, say("assistant", "well"), say("user", [image(20_000)])];
    const next = await manager.preflight("s", grown);
    expect(next.report.compacted).toBe(false);
    expect(JSON.stringify(next.messages.slice(0, messages.length))).toBe(JSON.stringify(messages));
  });

  it("holds after a compaction by tokens too, and in one shot", async () => {
    const list = [...shots(3, 40_000), ...turns(0, 80, 120), ...shots(5, 40_000), say("user", "and now?")];
    const { messages, report } = await compact(list, { maxTokens: 20_000, policy });
    expect(report.prunedCount).toBeGreaterThan(0);
    expect(JSON.stringify(messages).length).toBeLessThanOrEqual(policy.maxRequestBytes + 20_000);
    const small = [...shots(6, 20_000), say("user", "and now?")];
    const light = await compact(small, { maxTokens: 100_000, policy });
    expect(light.report.elidedCount).toBeGreaterThan(0);
    expect(light.messages).toHaveLength(small.length);
  });

  it("is an error with a hint when the newest message alone is over it", async () => {
    const { manager } = setUp({ maxContextTokens: 100_000, policy });
    const list = [say("user", [{ type: "text", text: "look" }, image(200_000)])];
    await expect(manager.preflight("s", list)).rejects.toMatchObject({
      code: "InsufficientBudget",
      hint: expect.stringContaining("maxRequestBytes"),
    });
  });

  it("counts base64, text and results", () => {
    const parts = [
      { type: "text", text: "four" },
      { type: "media", mediaType: "image/png", bytes: 10 },
      { type: "toolResult", id: "a", content: [{ type: "media", mediaType: "image/png", bytes: 5 }] },
      { type: "reasoning", text: "ab", opaqueLength: 3 },
      { type: "toolCall", id: "b", name: "f", arguments: "{}" },
    ] as const;
    expect(wireBytes({ id: "1", role: "user", parts })).toBe(4 + 10 + 5 + 5 + 2);
  });
});

describe("the image budget of Anthropic's format", () => {
  const shots = (from: number, to: number): object[] =>
    Array.from({ length: to - from }, (_, n) => [
      { role: "assistant", content: [{ type: "tool_use", id: `t${from + n}`, name: "shot", input: {} }] },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: `t${from + n}`,
            content: [
              {
                type: "image",
                source: { type: "base64", media_type: "image/png", data: btoa(`picture ${from + n}`) },
              },
            ],
          },
        ],
      },
    ]).flat();
  const imagesOf = (list: readonly unknown[]): number => JSON.stringify(list).split('image/png"').length - 1;

  it.each([true, false])("archives the oldest images before they leave, with repair: %s", async (repair) => {
    const { manager } = setUp({ maxContextTokens: 200_000, policy: {} }, { repair });
    const list = [{ role: "user", content: "look around" }, ...shots(0, 101)];
    const { messages, report } = await manager.preflight("s", list);
    expect(report).toMatchObject({ reason: "max_images", prunedCount: 0, compacted: true });
    expect(imagesOf(messages)).toBe(80);
    expect(JSON.stringify(messages[2])).toMatch(/image\/png left out: 1 KB; archive id/);
    expect(messages.at(-1)).toBe(list.at(-1));
    const restored = await manager.recall("s").restore();
    expect(restored.messages).toEqual(list);
    const next = await manager.preflight("s", [...list, ...shots(101, 120)]);
    expect(next.report.compacted).toBe(false);
    expect(JSON.stringify(next.messages.slice(0, messages.length))).toBe(JSON.stringify(messages));
  });

  it("is larger for a large window, and for other formats there is none", async () => {
    const { manager } = setUp({ maxContextTokens: 1_000_000, policy: {} });
    const list = [{ role: "user", content: "look around" }, ...shots(0, 101)];
    expect((await manager.preflight("s", list)).messages).toBe(list);
  });

  it("sends a list whose newest message alone has more: nothing of it can leave", async () => {
    const { manager } = setUp({ maxContextTokens: 200_000, policy: {} });
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
    const list = [{ role: "user", content: Array.from({ length: 101 }, () => image) }];
    const { messages, report } = await manager.preflight("s", list, { format: "anthropic" });
    expect(messages).toBe(list);
    expect(report).toMatchObject({ compacted: false, reason: "nothing_eligible" });
  });

  it("holds in one shot", async () => {
    const list = [{ role: "user", content: "look around" }, ...shots(0, 101)];
    const { messages, report } = await compact(list, { maxTokens: 190_000 });
    expect(report.reason).toBe("manual");
    expect(imagesOf(messages)).toBe(80);
  });
});

describe("repeated attempts", () => {
  it("stop after two that came to nothing, until the list has grown", async () => {
    const broken = brokenStorage();
    const { manager } = setUp({}, { storage: broken.storage });
    const list = turns(0, 20);
    while ((await manager.preflight("p", list)).report.reason === "below_trigger") list.push(...turns(0, 1));
    const reasons: string[] = [];
    for (let attempt = 0; attempt < 5; attempt += 1)
      reasons.push((await manager.preflight("s", list)).report.reason);
    expect(reasons).toEqual(Array.from({ length: 5 }, () => "attempts_failed"));
    expect(broken.tried()).toBe(3);
    list.push(...turns(3, 5, 60));
    await expect(manager.preflight("s", list).then(({ report }) => report.reason)).resolves.toBe(
      "attempts_failed",
    );
    expect(broken.tried()).toBe(4);
  });

  it("are counted anew after one that worked", async () => {
    const broken = brokenStorage();
    const { manager } = setUp({}, { storage: broken.storage });
    const list = turns(0, 1);
    const growToTrigger = async (): Promise<void> => {
      while ((await manager.preflight("s", list)).report.reason === "below_trigger")
        list.push(...turns(list.length, list.length + 1));
      await manager.preflight("s", list);
      await manager.preflight("s", list);
    };
    await growToTrigger();
    expect(broken.tried()).toBe(2);
    broken.mend(true);
    expect((await manager.manualCompact("s", list)).report.compacted).toBe(true);
    broken.mend(false);
    await growToTrigger();
    expect(broken.tried()).toBe(4);
  });

  it("are made whatever happened before once the list is over the budget", async () => {
    const broken = brokenStorage();
    const { manager } = setUp({}, { storage: broken.storage });
    const list = turns(0, 60);
    for (let attempt = 0; attempt < 4; attempt += 1)
      await expect(manager.preflight("s", list)).rejects.toMatchObject({ code: "StorageFailed" });
    expect(broken.tried()).toBe(4);
  });

  it("are not made at all where the system prompt and tools alone are over the trigger", async () => {
    const broken = brokenStorage();
    const { manager, warnings, events } = setUp({}, { storage: broken.storage });
    const system = words(9, 3450);
    const list = turns(0, 1, 5);
    const first = await manager.preflight("s", list, { system });
    expect(first.report.reason).toBe("fixed_over_trigger");
    expect(first.messages).toBe(list);
    await manager.preflight("s", list, { system });
    expect(broken.tried()).toBe(0);
    expect(warnings.filter((warning) => warning.includes("over the trigger"))).toHaveLength(1);
    await manager.flush();
    const told = events.filter((event) => event.properties.code === "fixed_over_trigger");
    expect(told).toHaveLength(1);
  });

  it("FIT-2 fail before anything is stored when the system prompt alone is over the budget", async () => {
    const broken = brokenStorage();
    const { manager } = setUp({}, { storage: broken.storage });
    const system = words(9, 6000);
    await expect(manager.preflight("s", turns(0, 1), { system })).rejects.toMatchObject({
      code: "InsufficientBudget",
    });
    expect(broken.tried()).toBe(0);
  });
});

describe("a cold cache", () => {
  const policy = { coldTriggerPct: 0.3, cacheTtlSeconds: 60 };
  const list = turns(0, 20, 40);

  it("is used for a compaction that would otherwise come later", async () => {
    let now = 0;
    const { manager } = setUp({ policy }, { now: () => new Date(now) });
    expect((await manager.preflight("s", list)).report.reason).toBe("below_trigger");
    now += 59_000;
    expect((await manager.preflight("s", list)).report.reason).toBe("below_trigger");
    now += 61_000;
    const { report } = await manager.preflight("s", list);
    expect(report).toMatchObject({ reason: "cold_cache", compacted: true });
    now += 61_000;
    expect((await manager.preflight("s", list)).report.compacted).toBe(false);
  });

  it("is known to a process that resumes, and to a host that says so", async () => {
    let now = 0;
    const ports = { storage: createMemoryDriver(), now: () => new Date(now) };
    const before = setUp({ policy }, ports).manager;
    await before.preflight("s", list);
    await before.flush();
    now += 3_600_000;
    expect((await setUp({ policy }, ports).manager.preflight("s", list)).report.reason).toBe("cold_cache");
    const told = setUp({ policy }).manager;
    const { report } = await told.preflight("t", list, { cacheCold: true });
    expect(report.reason).toBe("cold_cache");
  });

  it("changes nothing where it was not asked for", async () => {
    const { manager } = setUp();
    expect((await manager.preflight("s", list, { cacheCold: true })).messages).toBe(list);
  });
});

describe("the summary's place", () => {
  it("G10 stays where it was when a message that came later is protected", async () => {
    const { manager } = setUp({ policy: { keepRecentTurns: 1 } });
    const pinned = (text: string): Chat => say("user", text, { metadata: { protected: true } });
    const list = [pinned("rule one"), ...turns(0, 40), pinned("go on")];
    const first = await manager.manualCompact("s", list);
    const at = first.messages.findIndex(({ content }) => String(content).startsWith("<COMPACT-SUMMARY"));
    const grown = [...list, pinned("rule two"), say("assistant", "noted")];
    for (const given of [grown, structuredClone(grown), [...first.messages, ...grown.slice(-2)] as Chat[]]) {
      const { messages } = await manager.preflight("s", given);
      expect(JSON.stringify(messages.slice(0, first.messages.length))).toBe(JSON.stringify(first.messages));
      expect(messages.findIndex(({ content }) => String(content).startsWith("<COMPACT-SUMMARY"))).toBe(at);
    }
  });
});

it("G10 a message that was cut twice has the same bytes whether it is cut again or cut anew", async () => {
  const { manager } = setUp({ maxContextTokens: 3000, policy: { onOverflow: "elide", hardCapBuffer: 100 } });
  const raw: Chat[] = [say("user", words(1, 2500))];
  const first = await manager.preflight("s", raw);
  expect(first.report.elidedCount).toBeGreaterThan(0);
  raw.push(call("a"), output("a", words(2, 1200)));
  const second = await manager.preflight("s", raw);
  expect(JSON.stringify(second.messages[0])).not.toBe(JSON.stringify(first.messages[0]));
  const later = [...raw, say("assistant", "done")];
  for (const given of [later, structuredClone(later)]) {
    const { messages } = await manager.preflight("s", given);
    expect(JSON.stringify(messages.slice(0, second.messages.length))).toBe(JSON.stringify(second.messages));
  }
});

describe("a list over its budget", () => {
  it("is refused with its events also where planning rounds it to one that fits", async () => {
    const lists = (size: number): Chat[][] => {
      const list = [size, size * 5, 30].map((count) => say("user", "word ".repeat(count)));
      return [list.slice(0, 1), list.slice(0, 2), list];
    };
    for (const part of [0.1, 0.3, 0.45]) {
      for (let size = 20; size < 28; size += 1) {
        const { manager, events } = setUp({ maxContextTokens: 4000, policy: { hardCapBuffer: 0 } });
        const [first = [], second = [], all = []] = lists(size);
        const usage = (tokens: number) => ({ usage: { prompt_tokens: Math.round(tokens * 1.37) } });
        await manager.preflight("s", first);
        await manager.preflight("s", second, usage(size));
        await manager.preflight("s", all, usage(size * 6));
        const maxOutputTokens = 4000 - manager.getState("s").totalTokens + part;
        const asked = manager.preflight("s", all, { maxOutputTokens });
        await expect(asked).rejects.toMatchObject({ code: "InsufficientBudget" });
        await manager.flush();
        expect(events.slice(-2).map(({ name }) => name)).toEqual([
          "compact.trigger_decision",
          "compact.error",
        ]);
      }
    }
  });
});

it("learns nothing from the usage of a call whose request cannot be counted", async () => {
  const { manager } = setUp();
  const list = turns(0, 1);
  await manager.preflight("s", list);
  const before = manager.getState("s").totalTokens;
  const unreadable = {
    get name(): string {
      throw new Error("no name");
    },
  };
  const asked = manager.preflight("s", list, { tools: [unreadable], usage: { prompt_tokens: 3000 } });
  await expect(asked).rejects.toThrow("no name");
  await manager.preflight("s", list);
  expect(manager.getState("s").totalTokens).toBe(before);
});
