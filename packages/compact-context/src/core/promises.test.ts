import { describe, expect, it } from "vitest";
import { countTokens } from "../compact.ts";
import type { CompactConfigInput } from "../config/settings.ts";
import { CompactManager, type ManagerPorts } from "../create-manager.ts";
import { CompactError } from "../errors.ts";
import type { CompactEvent } from "./report.ts";

const words = (count: number, seed = 0): string =>
  Array.from(
    { length: count },
    (_, index) => ["tide", "rope", "clerk", "ledger", "harbour"][(index * 7 + seed) % 5],
  ).join(" ");
const turn = (index: number, size: number) => [
  {
    role: "user",
    content: `ask ${index}: service s${index} listens on port ${5000 + index}. ${words(size, index)}`,
  },
  { role: "assistant", content: `answer ${index}. ${words(size, index + 1)}` },
];
const turns = (count: number, size = 100) =>
  Array.from({ length: count }, (_, index) => turn(index, size)).flat();
const tokensOf = (list: readonly unknown[]): number =>
  countTokens(list, { model: "gpt-4o", format: "openai-chat" }).tokens;

function managerWith(config: CompactConfigInput = {}, ports: ManagerPorts = {}) {
  const warnings: string[] = [];
  const events: CompactEvent[] = [];
  const manager = new CompactManager(
    { model: "gpt-4o", storage: { kind: "memory" }, ...config },
    {
      onWarning: (message) => warnings.push(message),
      exporters: [{ export: (event) => void events.push(event) }],
      ...ports,
    },
  );
  return { manager, warnings, events };
}

describe("a manual compaction", () => {
  it("FIT-8 repeated with little new between never makes the summary shorter", async () => {
    const { manager } = managerWith({ maxContextTokens: 32_000 });
    let list: readonly unknown[] = turns(40);
    const sizes: number[] = [];
    for (let round = 0; round < 7; round += 1) {
      const { messages, report } = await manager.manualCompact("s", list);
      if (report.compacted) sizes.push(report.summaryTokens);
      list = [...messages, { role: "user", content: "ok" }, { role: "assistant", content: "fine" }];
    }
    expect(sizes.length).toBeGreaterThan(0);
    // A little slack: the built-in summarizer fills its room to within a line.
    for (const size of sizes.slice(1)) expect(size).toBeGreaterThan((sizes[0] ?? 0) * 0.9);
  });

  it("FIT-8 of a list with nothing to compact gives back the same array and says why", async () => {
    const { manager } = managerWith({ maxContextTokens: 32_000 });
    const list = turns(3);
    const { messages, report } = await manager.manualCompact("s", list);
    expect(messages).toBe(list);
    expect(report).toMatchObject({ compacted: false, refused: "nothing_to_compact" });
    const before = await manager.preflight("t", list);
    expect(before.report.refused).toBeUndefined();
  });

  it("FIT-8 that would not make the list shorter is refused", async () => {
    const { manager } = managerWith({ maxContextTokens: 32_000, policy: { keepRecentTurns: 1 } });
    const list = [
      { role: "user", content: "Hi." },
      { role: "assistant", content: "Hello." },
      ...turns(1, 400),
    ];
    const { messages, report } = await manager.manualCompact("s", list);
    expect(messages).toBe(list);
    expect(report).toMatchObject({ compacted: false, refused: "no_gain" });
  });

  it("FIT-6 leaves no list over the window, or says that it cannot", async () => {
    const { manager } = managerWith({ maxContextTokens: 6_000, policy: { keepRecentTurns: 30 } });
    for (const [index, list] of [turns(60, 60), turns(20, 300), turns(3, 1800)].entries()) {
      const result = await manager.manualCompact(`s${index}`, list).catch((error: unknown) => error);
      if (CompactError.isInstance(result)) expect(result.code).toBe("InsufficientBudget");
      else expect(tokensOf((result as { messages: unknown[] }).messages)).toBeLessThanOrEqual(4_500);
    }
  });

  it("OBS-1 has its note in the event, and in the prompt of a model only", async () => {
    const note = "before the zebra migration";
    const { manager, events } = managerWith({ maxContextTokens: 32_000 });
    const { summary } = await manager.manualCompact("s", turns(40), { note });
    await manager.flush();
    expect(summary).not.toContain("zebra");
    const decision = events.find(({ name }) => name === "compact.trigger_decision");
    expect(decision?.properties.note).toBe(note);

    const prompts: string[] = [];
    const model = {
      name: "scripted",
      generate: async (request: unknown) => {
        prompts.push(JSON.stringify(request));
        return { text: "### State\n- service s1 listens on port 5001", stop: "end" as const };
      },
    };
    const asked = managerWith({ maxContextTokens: 32_000 }, { summarizer: model });
    await asked.manager.manualCompact("s", turns(40), { note });
    expect(prompts.join("\n")).toContain("zebra");
  });
});

describe("reported usage", () => {
  const policy = { hardCapBuffer: 200 };

  it("TOK-7 never lowers what was counted exactly: compaction stays on", async () => {
    for (const reported of [10, 500, 2_000]) {
      const { manager } = managerWith({ maxContextTokens: 4_000, policy });
      let compacted = 0;
      for (let end = 2; end <= 60; end += 2) {
        const usage = { prompt_tokens: reported, completion_tokens: 5, total_tokens: reported + 5 };
        const { messages, report } = await manager.preflight("s", turns(30, 60).slice(0, end), { usage });
        if (report.compacted) compacted += 1;
        expect(tokensOf(messages)).toBeLessThanOrEqual(3_800);
      }
      expect(compacted).toBeGreaterThan(0);
    }
  });

  it("TOK-7 may raise an estimate as far as it says", async () => {
    const { manager } = managerWith({ maxContextTokens: 40_000, policy });
    const list = turns(40, 60);
    await manager.preflight("s", list.slice(0, 78));
    const reported = Math.round(tokensOf(list.slice(0, 78)) * 6.5);
    const usage = { prompt_tokens: reported, completion_tokens: 5, total_tokens: reported + 5 };
    const { report } = await manager.preflight("s", list, { usage });
    expect(tokensOf(list)).toBeLessThan(7_000);
    expect(report.compacted).toBe(true);
  });
});

describe("room for the answer", () => {
  const policy = { hardCapBuffer: 500 };
  const list = turns(40, 90);

  it("TOK-9 is what the request asks for, where input and output share the window", async () => {
    const { manager } = managerWith({ maxContextTokens: 12_000, policy });
    expect(tokensOf(list)).toBeGreaterThan(8_000);
    expect(tokensOf(list)).toBeLessThan(10_200);
    const free = await manager.preflight("free", list);
    expect(free.report.compacted).toBe(false);
    const asked = await manager.preflight("asked", list, { maxOutputTokens: 6_000 });
    expect(asked.report.compacted).toBe(true);
    expect(tokensOf(asked.messages)).toBeLessThanOrEqual(6_000);
  });

  it("TOK-9 takes nothing from a window that limits inputs alone", async () => {
    const { manager } = managerWith({ model: "gemini-3.8-flash", maxContextTokens: 14_000, policy });
    const contents = list.map(({ role, content }) => ({
      role: role === "user" ? "user" : "model",
      parts: [{ text: content }],
    }));
    const { report } = await manager.preflight("s", contents, { maxOutputTokens: 8_000 });
    expect(report.compacted).toBe(false);
  });

  it("TOK-9 is named where it leaves too little", async () => {
    const { manager } = managerWith({ maxContextTokens: 12_000, policy });
    const failed = manager.preflight("s", turns(1, 1_000), { maxOutputTokens: 11_500 });
    await expect(failed).rejects.toMatchObject({
      code: "InsufficientBudget",
      hint: expect.stringContaining("11500"),
    });
  });
});

describe("keep counts", () => {
  it("PRT-3 hold while everything fits the budget", async () => {
    const { manager } = managerWith({ maxContextTokens: 12_800, policy: { hardCapBuffer: 150 } });
    const list = turns(7, 780);
    expect(tokensOf(list)).toBeGreaterThan(10_880);
    const { messages, report } = await manager.preflight("s", list);
    expect(report.compacted).toBe(true);
    expect(messages.slice(-12)).toEqual(list.slice(-12));
    expect(report.rungs.some((rung) => rung.startsWith("keep:"))).toBe(false);
  });

  it("FIT-1 that were lowered are named in the report", async () => {
    const { manager } = managerWith({ maxContextTokens: 6_000, policy: { hardCapBuffer: 150 } });
    const { report } = await manager.preflight("s", turns(7, 780).slice(0, 12));
    expect(report.compacted).toBe(true);
    expect(report.rungs[0]).toMatch(/^keep:[1-5]\/\d$/);
  });

  it("TRG-5 near the floor, one warning names the setting that helps", async () => {
    const { manager, warnings, events } = managerWith({
      maxContextTokens: 7_000,
      policy: { hardCapBuffer: 150 },
    });
    const list: object[] = [{ role: "user", content: "Work through all files." }];
    for (let index = 0; index < 40; index += 1) {
      const id = `c${index}`;
      const call = { id, type: "function", function: { name: "read", arguments: `{"path":"f${index}"}` } };
      list.push({ role: "assistant", content: null, tool_calls: [call] });
      list.push({ role: "tool", tool_call_id: id, content: words(1_300, index) });
      await manager.preflight("s", list);
    }
    await manager.flush();
    const often = warnings.filter((warning) => warning.includes("every few calls"));
    expect(often).toHaveLength(1);
    expect(often[0]).toContain("policy.maxToolResultTokens");
    expect(events.filter(({ properties }) => properties.code === "compacts_often")).toHaveLength(1);
  });

  it.each([
    [6, 4, 1],
    [5, 5, 0],
  ])(
    "with %i messages a call, a compaction every %i calls gives %i warnings",
    async (perCall, calls, told) => {
      const { manager, warnings } = managerWith({
        maxContextTokens: 100_000,
        policy: { maxMessages: 30, keepRecentTurns: 1 },
      });
      const list: object[] = [];
      const compactedAt: number[] = [];
      for (let call = 0; call < 40; call += 1) {
        for (let at = 0; at < perCall; at += 1)
          list.push({ role: at === 0 ? "user" : "assistant", content: `message ${call}.${at}` });
        if ((await manager.preflight("s", list)).report.compacted) compactedAt.push(call);
      }
      const between = compactedAt.slice(1).map((call, index) => call - (compactedAt[index] ?? 0));
      expect(new Set(between)).toEqual(new Set([calls]));
      expect(warnings).toHaveLength(told);
    },
  );
});

describe("ids", () => {
  it("RUN-1 of summarized messages are the caller's own, also where one is used twice", async () => {
    const { manager } = managerWith({ maxContextTokens: 4_000, policy: { hardCapBuffer: 150 } });
    const list = turns(30, 60).map(({ role, content }, index) => ({
      type: "message",
      id: `m${index % 4}`,
      role,
      content: [{ type: role === "user" ? "input_text" : "output_text", text: content }],
    }));
    await manager.preflight("s", list);
    const ids = manager.getRunningSummary("s")?.summarizedMessageIds ?? [];
    expect(ids.length).toBeGreaterThan(4);
    for (const id of ids) expect(id).toMatch(/^m[0-3]$/);
  });
});
