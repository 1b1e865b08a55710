import { describe, expect, it } from "vitest";
import { decode, encode } from "../../packages/compact-context/src/codecs/formats.ts";
import { lint, repair } from "../../packages/compact-context/src/lint/index.ts";
import { checkProvider } from "../support/provider-checks.ts";

// The eight broken conversations that OpenHands asks providers about, in two formats: each is found, and what `repair`
// returns passes its own lint and a reading of the wire that shares no code with it.

type Entry = Record<string, unknown>;

const user = (content: string): Entry => ({ role: "user", content });
const says = (content: string): Entry => ({ role: "assistant", content });
const calls = (...ids: string[]): Entry => ({
  role: "assistant",
  content: "I look.",
  tool_calls: ids.map((id) => ({
    id,
    type: "function",
    function: { name: "shell", arguments: '{"command":"ls quay"}' },
  })),
});
const result = (id: string, content = "ropes.txt"): Entry => ({ role: "tool", tool_call_id: id, content });

const ask = user("What lies on the quay?");
const LISTS: Readonly<Record<string, { readonly list: readonly Entry[]; readonly rule: string }>> = {
  "a call that nobody answered": { list: [ask, calls("c1"), user("And?")], rule: "generic/dead-call" },
  "a result that nobody asked for": {
    list: [ask, says("Which quay?"), result("c9")],
    rule: "generic/orphan-result",
  },
  "a user between call and result": {
    list: [ask, calls("c1"), user("Hidden ones too?"), result("c1")],
    rule: "in-place",
  },
  "the assistant between call and result": {
    list: [ask, calls("c1"), says("It runs."), result("c1")],
    rule: "in-place",
  },
  "a second result for one call": {
    list: [ask, calls("c1"), result("c1"), says("Ropes."), user("Again"), result("c1", "nets.txt")],
    rule: "generic/duplicate-result",
  },
  "a result under a wrong id": {
    list: [ask, calls("c1"), result("c2")],
    rule: "generic/orphan-result",
  },
  "one of three parallel calls without its result": {
    list: [ask, calls("c1", "c2", "c3"), result("c1"), result("c2"), user("What is there?")],
    rule: "generic/dead-call",
  },
  "results before their calls": {
    list: [ask, result("c1"), result("c2"), calls("c1", "c2")],
    rule: "generic/result-before-call",
  },
};

/** The same in Anthropic's shape, each entry by itself, so that nothing is mended on the way. */
function asAnthropic(list: readonly Entry[]): unknown[] {
  return list.flatMap((entry) => encode(decode([entry], "openai-chat"), "anthropic"));
}

describe.each(Object.entries(LISTS))("%s", (_, { list, rule }) => {
  const formats = [
    ["openai-chat", list],
    ["anthropic", asAnthropic(list)],
  ] as const;
  it.each(formats)("is found and mended, %s", (format, broken) => {
    const found = lint(broken, format).map((one) => one.rule);
    expect(found).not.toEqual([]);
    if (rule !== "in-place" && rule !== "generic/dead-call")
      expect(found.join()).toContain(rule.split("/")[1]);
    const { messages, mends } = repair(broken, format, { pendingAllowed: false });
    expect(mends).not.toEqual([]);
    expect(lint(messages, format, { pendingAllowed: false })).toEqual([]);
    expect(checkProvider(format, messages, messages)).toEqual([]);
    // What the person said is there.
    for (const { role, content } of list)
      if (role === "user") expect(JSON.stringify(messages)).toContain(String(content));
  });
});
