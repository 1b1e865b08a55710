import { describe, expect, it } from "vitest";
import type { Message } from "../../packages/compact-context/src/core/message.ts";
import { builtinSummarizer } from "../../packages/compact-context/src/summarizers/extractive/builtin.ts";
import { RULES, sectionTokens } from "./rules.ts";

const ROUNDS = 10;
/** Everything is there after each round. */
const WHOLE = Array.from({ length: ROUNDS }, () => 1);

const say = (id: string, role: Message["role"], text: string): Message => ({
  id,
  role,
  parts: [{ type: "text", text }],
});

/** A round of work that says nothing of the rules: a wish, a call with its output, an answer. */
function work(round: number): Message[] {
  const path = `src/part${round}/module_${round}.ts`;
  return [
    say(`u${round}`, "user", `Now look at ${path} and tell me what handler_${round} does.`),
    {
      id: `c${round}`,
      role: "assistant",
      parts: [{ type: "toolCall", id: `call${round}`, name: "read_file", arguments: { path } }],
    },
    {
      id: `t${round}`,
      role: "tool",
      parts: [
        {
          type: "toolResult",
          id: `call${round}`,
          content: Array.from(
            { length: 80 },
            (_, line) => `export const value_${round}_${line} = compute_${line}(${round * 1000 + line});`,
          ).join("\n"),
        },
      ],
    },
    say(`a${round}`, "assistant", `handler_${round} in ${path} adds the values up and gives their sum.`),
  ];
}

/** The summaries of ten compactions in a row; what the session is about is said before the first. */
async function summaries(opening: readonly Message[], maxTokens: number): Promise<string[]> {
  const texts: string[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const messages = round === 0 ? [...opening, ...work(0)] : work(round);
    const previous = texts.at(-1);
    const made = await builtinSummarizer.summarize(messages, { maxTokens, previous });
    expect(made.tokens).toBeLessThanOrEqual(maxTokens);
    texts.push(made.text);
  }
  return texts;
}

/** Rules said in the middle of a conversation, neither in its first request nor in its last. */
const told = (rules: readonly string[]): Message[] => [
  say("ask", "user", "Let us mend the totals in src/billing/invoice.ts before the yearly report."),
  say("ready", "assistant", "I read the invoice code first. Is there anything to look out for?"),
  say("rules", "user", rules.join("\n")),
  say("noted", "assistant", "Understood."),
];

const share = (text: string, wanted: readonly string[]): number =>
  wanted.filter((one) => text.includes(one)).length / wanted.length;

describe("ten compactions in a row", () => {
  it.each(Object.entries(RULES))("SUM-2 keep every rule of a person word by word: %s", async (_, rules) => {
    const texts = await summaries(told(rules), 1500);
    expect(texts.map((text) => share(text, rules))).toEqual(WHOLE);
  });

  it("SUM-2 keep two dozen rules in eight languages at once", async () => {
    const rules = Object.values(RULES).flat();
    const texts = await summaries(told(rules), 3000);
    expect(texts.map((text) => share(text, rules))).toEqual(WHOLE);
  });

  it("SUM-2 keep as many rules as a fifth of the summary holds, whatever its size", async () => {
    const all = Object.values(RULES).flat();
    for (const maxTokens of [130, 160, 239, 240, 320, 599, 600, 1000, 2400]) {
      const fitting = all.findIndex((_, index) => sectionTokens(all.slice(0, index + 1)) > maxTokens * 0.2);
      const rules = fitting < 0 ? all : all.slice(0, fitting);
      expect(rules.length).toBeGreaterThan(0);
      const texts = await summaries(told(rules), maxTokens);
      expect([maxTokens, ...texts.map((text) => share(text, rules))]).toEqual([maxTokens, ...WHOLE]);
    }
  });

  it("SUM-2 rules about different things are different rules, a newer limit replaces the older", async () => {
    const said = (...rules: string[]): Message[] =>
      rules.map((rule, index) => say(`r${index}`, "user", `Please go on with the page. ${rule}`));
    const text = async (...rules: string[]): Promise<string> =>
      (await builtinSummarizer.summarize(said(...rules), { maxTokens: 1500, strategy: "brief" })).text;
    const about = ["Never change the amount of ledger_a1.", "Never change the amount of ledger_b2."];
    for (const rule of about) expect(await text(...about, "Thanks.")).toContain(`- ${rule}`);
    const limits = [
      "Always keep at most 5 backups of the table.",
      "Always keep at most 7 backups of the table.",
    ];
    expect(await text(...limits, "Thanks.")).toContain(`- ${limits[1]}`);
    expect(await text(...limits, "Thanks.")).not.toContain(`- ${limits[0]}`);
  });

  it("SUM-2 keep rules when wishes leave no room for all", async () => {
    const wishes = Array.from(
      { length: 60 },
      (_, index) => `I would prefer style ${index} in view_${index}.`,
    );
    const rules = RULES.English ?? [];
    const texts = await summaries(told([...rules, ...wishes]), 1500);
    expect(texts.map((text) => share(text, rules))).toEqual(WHOLE);
  });

  it("SUM-2 keep what the work is about: the first request, changed files, what failed, what was decided", async () => {
    const facts = ["INV-4471", "src/billing/invoice.ts", "roundHalfEven", "TaxTableMissingError"];
    const opening: Message[] = [
      say(
        "ask",
        "user",
        "Fix ticket INV-4471: totals in src/billing/invoice.ts are off by a cent in the yearly report.",
      ),
      {
        id: "edit",
        role: "assistant",
        parts: [
          { type: "text", text: "I decided to use roundHalfEven because the report sums rounded rows." },
          {
            type: "toolCall",
            id: "edit1",
            name: "edit_file",
            arguments: { path: "src/billing/invoice.ts", new_string: "total = roundHalfEven(total);" },
          },
          { type: "toolCall", id: "test1", name: "bash", arguments: { command: "npm test -- invoice" } },
        ],
      },
      { id: "r1", role: "tool", parts: [{ type: "toolResult", id: "edit1", content: "ok" }] },
      {
        id: "r2",
        role: "tool",
        parts: [
          {
            type: "toolResult",
            id: "test1",
            content: "TaxTableMissingError: no table for 2031\nexit code 1",
            isError: true,
          },
        ],
      },
    ];
    const curve = (await summaries(opening, 1500)).map((text) => share(text, facts));
    expect(curve).toEqual(WHOLE);
  });
});
