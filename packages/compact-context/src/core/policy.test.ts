import { describe, expect, it } from "vitest";
import type { Message, Part, Role } from "./message.ts";
import {
  availableOf,
  decideTrigger,
  defaultPolicy,
  type Growth,
  heldBack,
  type KeepCounts,
  partition,
  relaxations,
  type TriggerReason,
} from "./policy.ts";

const say = (id: string, role: Role, text = id): Message => ({ id, role, parts: [{ type: "text", text }] });
const parts = (id: string, role: Role, ...content: Part[]): Message => ({ id, role, parts: content });
const call = (id: string): Part => ({ type: "toolCall", id, name: "read", arguments: { path: id } });
const result = (id: string): Part => ({ type: "toolResult", id, content: `content of ${id}` });
const pair = (id: string): Message[] => [
  parts(`call-${id}`, "assistant", call(id)),
  parts(`result-${id}`, "tool", result(id)),
];
const turns = (count: number): Message[] =>
  Array.from({ length: count }, (_, turn) => [say(`u${turn}`, "user"), say(`a${turn}`, "assistant")]).flat();
const inLayer = (messages: Message[], keep: KeepCounts, layer: string) => {
  const { layers } = partition(messages, keep);
  return messages.filter((_, index) => layers[index] === layer).map((message) => message.id);
};

describe("decideTrigger", () => {
  const at = (tokens: number, policy = defaultPolicy) =>
    decideTrigger({ tokens, messageTokens: tokens, maxContextTokens: 128_000 }, policy);

  it("TRG-1 triggers at 108,800 of 128,000 and not at 96,000 or one token below", () => {
    expect(at(108_800)).toEqual({ triggered: true, reason: "trigger_pct" });
    expect(at(108_799).triggered).toBe(false);
    expect(at(96_000)).toEqual({ triggered: false, reason: "below_trigger" });
  });

  it("TRG-4 lets the first threshold that is reached win", () => {
    expect(at(50_000, { ...defaultPolicy, maxTokens: 50_000 }).reason).toBe("max_tokens");
    expect(at(50_000, { ...defaultPolicy, maxTokensBeforeSummary: 49_000 }).reason).toBe(
      "max_tokens_before_summary",
    );
    expect(at(127_000, { ...defaultPolicy, triggerPct: 1 }).reason).toBe("hard_cap");
    const list = { tokens: 52_000, messageTokens: 48_999, maxContextTokens: 128_000 };
    expect(decideTrigger(list, { ...defaultPolicy, maxTokensBeforeSummary: 49_000 }).triggered).toBe(false);
  });

  it("TOK-6 leaves the buffer free: 128,000 - 1,500 = 126,500", () => {
    expect(availableOf(128_000, defaultPolicy)).toBe(126_500);
    expect(availableOf(128_000, { ...defaultPolicy, maxTokens: 4000 })).toBe(4000);
  });
});

describe("heldBack", () => {
  const window = 100_000;
  const none: Growth = {
    tokens: 90_000,
    tokensAfter: undefined,
    addedMessages: 0,
    undone: false,
    stall: undefined,
    fixedTokens: 0,
  };
  const held = (since: Partial<Growth>, reached: TriggerReason = "trigger_pct", policy = defaultPolicy) =>
    heldBack(reached, { ...none, ...since }, policy, window);

  it("waits until the list has grown by 5 % of the window since the last compaction", () => {
    expect(held({})).toBeUndefined();
    expect(held({ tokens: 84_999, tokensAfter: 80_000 })).toBe("just_compacted");
    expect(held({ tokens: 84_999, tokensAfter: 80_000, undone: true })).toBe("undone");
    expect(held({ tokens: 85_000, tokensAfter: 80_000 })).toBeUndefined();
    expect(held({ tokens: 79_999, tokensAfter: 80_000 })).toBeUndefined();
  });

  it("counts messages where their number was the trigger", () => {
    const policy = { ...defaultPolicy, maxMessages: 100 };
    const byCount = (addedMessages: number) =>
      held({ tokens: 90_000, tokensAfter: 10_000, addedMessages }, "max_messages", policy);
    expect(byCount(4)).toBe("just_compacted");
    expect(byCount(5)).toBeUndefined();
  });

  it.each([
    [2, 5_000],
    [3, 10_000],
    [4, 20_000],
    [5, 40_000],
    [9, 40_000],
  ])("after %i failed attempts waits until the list has grown by %i tokens", (attempts, wait) => {
    const stall = { tokens: 50_000, attempts, reason: "attempts_failed" } as const;
    expect(held({ tokens: 50_000 + wait - 1, stall })).toBe("attempts_failed");
    expect(held({ tokens: 50_000 + wait, stall })).toBeUndefined();
    expect(held({ tokens: 49_999, stall })).toBeUndefined();
    expect(held({ tokens: 50_000, stall: { ...stall, attempts: 1 } })).toBeUndefined();
  });

  it("gives up where what no compaction removes reaches the threshold alone", () => {
    expect(held({ fixedTokens: 85_000 })).toBe("fixed_over_trigger");
    expect(held({ fixedTokens: 84_999 })).toBeUndefined();
    expect(held({ fixedTokens: 85_000 }, "hard_cap")).toBeUndefined();
    const policy = { ...defaultPolicy, coldTriggerPct: 0.3 };
    expect(held({ fixedTokens: 30_000 }, "cold_cache", policy)).toBe("fixed_over_trigger");
  });
});

describe("partition", () => {
  it("PRT-3 keeps the last six of twenty turns and leaves fourteen", () => {
    const list = turns(20);
    expect(inLayer(list, defaultPolicy, "recent")).toEqual(list.slice(28).map((message) => message.id));
    expect(inLayer(list, defaultPolicy, "remainder")).toHaveLength(28);
    expect(partition(list, defaultPolicy).counts.recentTurns).toBe(6);
  });

  it("PRT-4 keeps the last four of ten tool pairs and leaves six", () => {
    const list = [say("ask", "user"), ...Array.from({ length: 10 }, (_, index) => pair(`${index}`)).flat()];
    expect(inLayer(list, defaultPolicy, "toolPairs")).toEqual(
      ["6", "7", "8", "9"].flatMap((id) => [`call-${id}`, `result-${id}`]),
    );
    expect(inLayer(list, defaultPolicy, "remainder")).toHaveLength(12);
  });

  it("PRT-4 lets a turn of 145 steps keep its user message, its text answers and its last pairs", () => {
    const steps = Array.from({ length: 145 }, (_, index) => pair(`${index}`)).flat();
    const list = [say("ask", "user"), ...steps.slice(0, 100), say("note", "assistant"), ...steps.slice(100)];
    expect(inLayer(list, defaultPolicy, "recent")).toEqual(["ask", "note"]);
    expect(inLayer(list, defaultPolicy, "toolPairs")).toEqual(
      ["141", "142", "143", "144"].flatMap((id) => [`call-${id}`, `result-${id}`]),
    );
  });

  it("PRT-4 keeps a parallel batch whole when it straddles the limit", () => {
    const batch = [
      parts("batch", "assistant", call("a"), call("b"), call("c")),
      ...["a", "b", "c"].map((id) => parts(`r${id}`, "tool", result(id))),
    ];
    const list = [say("ask", "user"), ...pair("old"), ...batch, ...pair("x"), ...pair("y"), ...pair("z")];
    expect(inLayer(list, defaultPolicy, "remainder")).toEqual(["call-old", "result-old"]);
    expect(partition(list, defaultPolicy).counts.toolPairs).toBe(6);
  });

  it("PRT-1 and PRT-2 pin protected messages and the roles that are never pruned", () => {
    const kept: Message = { ...say("keep me", "user"), meta: { protected: true } };
    const list = [say("s", "system"), say("d", "developer"), kept, ...turns(20)];
    expect(inLayer(list, defaultPolicy, "pinned")).toEqual(["s", "d", "keep me"]);
  });

  it("PRT-5 pins the whole exchange of a protected result", () => {
    const [before, after] = pair("p");
    const list = [
      say("ask", "user"),
      ...(before && after ? [before, { ...after, meta: { protected: true } }] : []),
      ...turns(20),
    ];
    expect(inLayer(list, defaultPolicy, "pinned")).toEqual(["call-p", "result-p"]);
  });

  it("always keeps the newest ask and a call that is still under way", () => {
    const list = [say("ask", "user"), ...pair("0"), parts("open", "assistant", call("open"))];
    const keep = { ...defaultPolicy, keepRecentTurns: 1, keepToolIoPairs: 0 };
    expect(inLayer(list, keep, "recent")).toEqual(["ask"]);
    expect(inLayer(list, keep, "toolPairs")).toEqual(["open"]);
  });

  it("lets an exchange that has all its results go where no pair is to be kept", () => {
    const list = [say("ask", "user"), ...pair("0")];
    expect(inLayer(list, { ...defaultPolicy, keepToolIoPairs: 0 }, "remainder")).toEqual([
      "call-0",
      "result-0",
    ]);
  });

  it("TRG-4 keeps the newest messages by count when asked to", () => {
    const list = [...turns(3), ...pair("p"), say("last", "user")];
    const keep = { ...defaultPolicy, keepRecentMessages: 3, keepToolIoPairs: 0 };
    expect(inLayer(list, keep, "remainder")).toEqual(["u0", "a0", "u1", "a1", "u2", "a2"]);
  });
});

describe("relaxations", () => {
  it("FIT-1 lowers turns by one, then pairs by one, until both are one", () => {
    const keep = { ...defaultPolicy, keepRecentTurns: 3, keepToolIoPairs: 2 };
    const counts = [...relaxations(keep)].map((each) => [each.keepRecentTurns, each.keepToolIoPairs]);
    expect(counts).toEqual([
      [3, 2],
      [2, 2],
      [2, 1],
      [1, 1],
    ]);
    const pairs = [...relaxations({ ...defaultPolicy, keepRecentTurns: 1, keepToolIoPairs: 3 })];
    expect(pairs.map((each) => each.keepToolIoPairs)).toEqual([3, 2, 1]);
  });

  it("gives up messages instead of turns when those are counted", () => {
    const keep = { ...defaultPolicy, keepRecentMessages: 4, keepToolIoPairs: 1 };
    expect([...relaxations(keep)].map((each) => each.keepRecentMessages)).toEqual([4, 2, 1]);
  });
});
