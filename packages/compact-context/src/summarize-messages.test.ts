import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { countTokens } from "./compact.ts";
import type { Message, Part } from "./core/message.ts";
import { planRequest } from "./core/plan.ts";
import type { TextModel, TextModelRequest } from "./core/ports.ts";
import type { RunningSummary } from "./core/report.ts";
import { CompactError } from "./errors.ts";
import { type SummarizeMessagesOptions, summarizeMessages } from "./summarize-messages.ts";

vi.mock(import("./core/plan.ts"), async (load) => {
  const actual = await load();
  return { ...actual, planRequest: vi.fn(actual.planRequest) };
});

const text = (id: string, role: Message["role"], content: string): Message => ({
  id,
  role,
  parts: [{ type: "text", text: content }],
});
const user = (id: string, content = `Question ${id}`): Message => text(id, "user", content);
const assistant = (id: string, content = `Answer ${id}`): Message => text(id, "assistant", content);
const calls = (id: string, ...ids: string[]): Message => ({
  id,
  role: "assistant",
  parts: ids.map((call): Part => ({ type: "toolCall", id: call, name: "look", arguments: { at: call } })),
});
const result = (id: string, call: string, content = `Result of ${call}`): Message => ({
  id,
  role: "tool",
  parts: [{ type: "toolResult", id: call, content }],
});
const talk = (from: number, to: number): Message[] =>
  Array.from({ length: to - from + 1 }, (_, index) => {
    const id = String(from + index);
    return (from + index) % 2 === 1 ? user(id) : assistant(id);
  });

function scripted(...answers: string[]): TextModel & { readonly requests: TextModelRequest[] } {
  const requests: TextModelRequest[] = [];
  return {
    name: "scripted",
    requests,
    generate: async (request) => {
      requests.push(request);
      const answer = answers[requests.length - 1];
      if (answer === undefined) throw new Error("asked too often");
      return { text: answer, stop: "end" };
    },
  };
}

const said = (request: TextModelRequest | undefined): string =>
  request?.messages.map((message) => message.content).join("\n") ?? "";
const textOf = (message: Message | undefined): string => {
  const [part] = message?.parts ?? [];
  return part?.type === "text" ? part.text : "";
};
const ids = (messages: readonly Message[]): string[] => messages.map((message) => message.id);
/** One message is one token: the arithmetic can be done by hand. */
const counted = { countTokens: (messages: readonly Message[]) => messages.length } as const;

async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return CompactError.isInstance(error) ? error.code : String(error);
}

const run = (messages: readonly Message[], options: SummarizeMessagesOptions<Message>) =>
  summarizeMessages<Message>(messages, options);

describe("summarizeMessages", () => {
  it("keeps a system message that holds the words of a short summary by chance", async () => {
    const system = text("0", "system", "You are done when the tests pass.");
    const options = { maxTokens: 8, maxTokensBeforeSummary: 6, maxSummaryTokens: 2, ...counted };
    const model = scripted("done", "all done");
    const first = await summarizeMessages([system, ...talk(1, 8)], { model, ...options });
    expect(first.runningSummary?.summary).toBe("done");
    const { runningSummary } = first;
    const list = [...first.messages, ...talk(9, 10)];
    const second = await summarizeMessages(list, { model, runningSummary, ...options });
    expect(second.messages[0]).toBe(system);
    expect(second.messages.filter(({ role }) => role === "system")).toHaveLength(2);
  });

  it("gives nothing for nothing, and a system message alone back as it is", async () => {
    const model = scripted();
    expect(await run([], { model, maxTokens: 10, maxSummaryTokens: 1 })).toEqual({
      messages: [],
      runningSummary: undefined,
    });
    const list = [text("s", "system", "Be brief.")];
    const alone = await run(list, { model, maxTokens: 10, maxSummaryTokens: 1 });
    expect(alone.messages).toBe(list);
    expect(model.requests).toHaveLength(0);
  });

  it("leaves a list below the threshold alone: the caller's own array comes back", async () => {
    const model = scripted();
    const list = talk(1, 3);
    const made = await run(list, { ...counted, model, maxTokens: 10, maxSummaryTokens: 1 });
    expect(made.messages).toBe(list);
    expect(made.runningSummary).toBeUndefined();
    expect(model.requests).toHaveLength(0);
  });

  it("RUN-1 uses the initial prompt the first time and fills all three fields", async () => {
    const model = scripted("They talked about six things.");
    const list = talk(1, 9);
    const options = { ...counted, model, maxTokens: 6, maxSummaryTokens: 1, initialSummaryPrompt: "FIRST" };
    const made = await run(list, options);
    expect(said(model.requests[0])).toContain("FIRST");
    expect(made.runningSummary).toEqual({
      summary: "They talked about six things.",
      summarizedMessageIds: ["1", "2", "3", "4", "5", "6"],
      lastSummarizedMessageId: "6",
    });
    expect(made.messages[0]).toMatchObject({ role: "system" });
    expect(textOf(made.messages[0])).toBe(
      "Summary of the conversation so far: They talked about six things.",
    );
    expect(made.messages.slice(1)).toEqual(list.slice(6));
    expect(made.messages[1]).toBe(list[6]);
  });

  it("RUN-2 asks nothing again while no new summary is due, and still puts the summary first", async () => {
    const model = scripted("They talked about six things.");
    const list = talk(1, 9);
    const options = { ...counted, model, maxTokens: 6, maxSummaryTokens: 1 };
    const first = await run(list, options);
    const again = await run(list, { ...options, runningSummary: first.runningSummary });
    expect(model.requests).toHaveLength(1);
    expect(again.runningSummary).toBe(first.runningSummary);
    expect(ids(again.messages)).toEqual(ids(first.messages));
  });

  it("takes more before the first summary where maxTokensBeforeSummary says so", async () => {
    const model = scripted("They talked about eight things.");
    const list = talk(1, 9);
    const made = await run(list, {
      ...counted,
      model,
      maxTokens: 6,
      maxTokensBeforeSummary: 8,
      maxSummaryTokens: 1,
    });
    expect(made.runningSummary?.summarizedMessageIds).toHaveLength(8);
    expect(made.messages.slice(1)).toEqual(list.slice(8));
  });

  it("keeps a leading system message first, out of the summary and within the limit", async () => {
    const model = scripted("They talked about six things.");
    const list = [text("s", "system", "Be brief."), ...talk(1, 9)];
    const made = await run(list, { ...counted, model, maxTokens: 6, maxSummaryTokens: 1 });
    expect(made.messages[0]).toBe(list[0]);
    expect(textOf(made.messages[1])).toContain("six things");
    expect(made.messages.slice(2)).toEqual(list.slice(7));
    expect(said(model.requests[0])).not.toContain("Be brief.");
  });

  it("summarizes empty messages and long lists in one request", async () => {
    const empty = scripted("Hardly anything was said.");
    const list = talk(1, 9).map((message, index) =>
      index % 3 === 0 ? text(message.id, message.role, "") : message,
    );
    const made = await run(list, { ...counted, model: empty, maxTokens: 6, maxSummaryTokens: 1 });
    expect(made.runningSummary?.summarizedMessageIds).toHaveLength(6);
    const many = scripted("Much was said.");
    const long = await run(talk(1, 41), { ...counted, model: many, maxTokens: 22, maxSummaryTokens: 0 });
    expect(long.messages).toHaveLength(20);
    expect(many.requests).toHaveLength(1);
  });

  it("RUN-2 sends the existing summary and the new messages alone, extends the ids and moves the last", async () => {
    const model = scripted("Six things.", "Ten things.");
    const options = { ...counted, model, maxTokens: 6, maxSummaryTokens: 1 };
    const first = await run(talk(1, 7), options);
    const list = talk(1, 15);
    const second = await run(list, { ...options, runningSummary: first.runningSummary });
    const request = said(model.requests[1]);
    expect(request).toContain("Six things.");
    for (const id of ["7", "8", "9", "10", "11", "12"])
      expect(request).toMatch(new RegExp(`(?:Question|Answer) ${id}\\b`));
    for (const id of ["1", "2", "3", "4", "5", "6", "13"])
      expect(request).not.toMatch(new RegExp(`(?:Question|Answer) ${id}\\b`));
    expect(second.runningSummary?.summarizedMessageIds).toHaveLength(12);
    expect(second.runningSummary?.lastSummarizedMessageId).toBe("12");
    expect(second.messages.slice(1)).toEqual(list.slice(-3));
  });

  it("RUN-2 goes on from its own output with new messages behind it", async () => {
    const model = scripted("Six things.", "Ten things.");
    const options = { ...counted, model, maxTokens: 6, maxSummaryTokens: 1 };
    const first = await run(talk(1, 7), options);
    const list = [...first.messages, ...talk(8, 15)];
    const second = await run(list, { ...options, runningSummary: first.runningSummary });
    expect(said(model.requests[1])).not.toContain("Summary of the conversation so far: Six");
    expect(second.messages.filter((message) => textOf(message).startsWith("Summary"))).toHaveLength(1);
    expect(second.runningSummary?.summarizedMessageIds).toHaveLength(12);
    expect(second.messages.slice(1)).toEqual(list.slice(-3));
  });

  it("goes on from its own output behind a system message: neither is lost, the old summary leaves", async () => {
    const model = scripted("Six things.", "Ten things.");
    const options = { ...counted, model, maxTokens: 7, maxSummaryTokens: 1 };
    const system = text("s", "system", "Be brief.");
    const first = await run([system, ...talk(1, 8)], options);
    const second = await run([...first.messages, ...talk(9, 16)], {
      ...options,
      runningSummary: first.runningSummary,
    });
    expect(second.messages[0]).toBe(system);
    expect(textOf(second.messages[1])).toContain("Ten things.");
    expect(second.messages.filter((message) => textOf(message).includes("Six things."))).toHaveLength(0);
  });

  it("RUN-4 takes the results of a call at the edge with it, parallel and late ones too", async () => {
    const list = [
      user("1"),
      calls("2", "a", "b"),
      result("3", "a"),
      result("4", "b"),
      assistant("5"),
      user("6"),
    ];
    const edge = { ...counted, maxTokens: 6, maxTokensBeforeSummary: 2, maxSummaryTokens: 1 };
    const made = await run(list, { ...edge, model: scripted("Both were looked at.") });
    expect(made.runningSummary?.summarizedMessageIds).toEqual(["1", "2", "3", "4"]);
    expect(made.messages.slice(1)).toEqual(list.slice(4));
    const inside = await run(list, {
      ...edge,
      maxTokensBeforeSummary: 3,
      model: scripted("Both were looked at."),
    });
    expect(inside.runningSummary?.summarizedMessageIds).toEqual(["1", "2", "3", "4"]);
    const apart = [user("1"), calls("2", "a", "b"), result("3", "a"), user("x"), result("4", "b"), user("6")];
    const late = await run(apart, { ...edge, model: scripted("Both were looked at.") });
    expect(late.runningSummary?.summarizedMessageIds).toEqual(["1", "2", "3", "4"]);
    expect(ids(late.messages.slice(1))).toEqual(["x", "6"]);
  });

  it("RUN-4 a call that is still open stays, however old", async () => {
    const list = [user("1"), calls("2", "a"), user("3"), assistant("4"), user("5")];
    const made = await run(list, {
      ...counted,
      model: scripted("A question was answered."),
      maxTokens: 4,
      maxSummaryTokens: 1,
    });
    expect(made.runningSummary?.summarizedMessageIds).toEqual(["1", "3", "4"]);
    expect(ids(made.messages.slice(1))).toEqual(["2", "5"]);
  });

  it("keeps the newest request when the threshold is passed right behind it, and inside a tool loop", async () => {
    const asked = [assistant("1"), user("2", "Explain the algorithm.")];
    const behind = await run(asked, {
      ...counted,
      model: scripted("A greeting."),
      maxTokens: 3,
      maxTokensBeforeSummary: 2,
      maxSummaryTokens: 1,
    });
    expect(ids(behind.messages.slice(1))).toEqual(["2"]);
    const loop = [
      user("1"),
      assistant("2"),
      user("3", "Search and compare."),
      calls("4", "a"),
      result("5", "a"),
      calls("6", "b"),
      result("7", "b"),
    ];
    const model = scripted("Two look-ups.", "Three look-ups.");
    const options = { ...counted, model, maxTokens: 4, maxSummaryTokens: 1 };
    const made = await run(loop, options);
    expect(ids(made.messages.slice(1))).toContain("3");
    const longer = [...loop, calls("8", "c"), result("9", "c"), calls("10", "d"), result("11", "d")];
    const next = await run(longer, { ...options, runningSummary: made.runningSummary });
    expect(ids(next.messages.slice(1))).toContain("3");
    expect(next.runningSummary?.summarizedMessageIds).not.toContain("3");
  });

  it.each([
    [
      "langchain",
      (index: number) => ({
        type: index % 2 === 0 ? "human" : "ai",
        content: `Word ${index}`,
        id: `i${index}`,
      }),
    ],
    [
      "openai-chat",
      (index: number) => ({ role: index % 2 === 0 ? "user" : "assistant", content: `Word ${index}` }),
    ],
  ] as const)("INT-4 gives the caller's own objects back, in %s", async (format, make) => {
    const list: object[] = Array.from({ length: 9 }, (_, index) => make(index));
    const model = scripted("Six words.", "Ten words.");
    const limits = { model, format, maxTokens: 6, maxSummaryTokens: 1 } as const;
    const countTokens = (messages: readonly object[]): number => messages.length;
    const first = await summarizeMessages(list, { ...limits, countTokens });
    expect(first.messages.slice(1).every((message, index) => message === list[index + 6])).toBe(true);
    expect(JSON.stringify(first.messages[0])).toContain("Summary of the conversation so far: Six words.");
    const longer = [...first.messages, ...Array.from({ length: 6 }, (_, index) => make(index + 9))];
    const second = await summarizeMessages(longer, {
      ...limits,
      countTokens,
      runningSummary: first.runningSummary,
    });
    expect(JSON.stringify(second.messages)).not.toContain("Six words.");
    expect(second.messages.at(-1)).toBe(longer.at(-1));
    expect(second.runningSummary?.summarizedMessageIds.length).toBeGreaterThan(6);
  });

  it("names messages without an id, where the format has ids", async () => {
    const list = [
      { type: "human", content: "Hello there", id: "1" },
      { type: "ai", content: "Hello" },
    ];
    const made = summarizeMessages(list, {
      model: scripted(),
      maxTokens: 10,
      maxSummaryTokens: 1,
      format: "langchain",
    });
    await expect(made).rejects.toMatchObject({ code: "InvalidMessages", place: "messages[1]" });
  });

  it("RUN-2 refuses an id that was summarized already", async () => {
    const model = scripted("Two things.");
    const options = { ...counted, model, maxTokens: 2, maxSummaryTokens: 1 };
    const first = await run(talk(1, 3), options);
    const list = [...talk(1, 4), user("1", "Another one.")];
    const work = run(list, { ...options, maxTokens: 5, runningSummary: first.runningSummary });
    expect(await codeOf(work)).toBe("InvalidMessages");
  });

  it("refuses limits that contradict each other, and says when what must stay does not fit", async () => {
    const model = scripted();
    expect(await codeOf(run(talk(1, 3), { model, maxTokens: 256 }))).toBe("InvalidArgument");
    expect(await codeOf(run(talk(1, 3), { model, maxTokens: Number.NaN }))).toBe("InvalidArgument");
    const huge = [assistant("1"), user("2", "word ".repeat(500))];
    expect(await codeOf(run(huge, { model, maxTokens: 300, maxSummaryTokens: 50 }))).toBe(
      "InsufficientBudget",
    );
  });

  it("RUN-3 asks again for less while the answer is too long, twice at most, then lets the built-in one step in", async () => {
    const long = "Many words about little. ".repeat(100);
    const list = talk(1, 160);
    const options = { maxTokens: 900, maxSummaryTokens: 400 } as const;
    const model = scripted(long, long, "Little was said.");
    const made = await run(list, { ...options, model });
    const [first = 0, ...less] = model.requests.map((request) => request.maxOutputTokens);
    expect(first).toBeLessThan(400);
    expect(less).toEqual([Math.floor(first / 2), Math.floor(Math.floor(first / 2) / 2)]);
    expect(made.runningSummary?.summary).toContain("Little was said.");
    const failures: unknown[] = [];
    const stubborn = scripted(long, long, long);
    const safe = await run(list, { ...options, model: stubborn, onFailure: (error) => failures.push(error) });
    expect(failures).toHaveLength(1);
    expect(safe.runningSummary?.summary).not.toBe("");
    expect(
      await codeOf(run(list, { ...options, model: scripted(long, long, long), fallback: "error" })),
    ).toBe("SummarizerFailed");
  });

  it("FIT-3 an error, an error text or a refusal is never a summary: the built-in one writes it", async () => {
    const list = talk(1, 40).map((message) => ({
      ...message,
      parts: [{ type: "text" as const, text: `Look at module_${message.id}.` }],
    }));
    const answers = ["Error generating summary: 500", "I'm sorry, but I can't help with that.", ""];
    for (const answer of answers) {
      const made = await run(list, { maxTokens: 200, maxSummaryTokens: 60, model: scripted(answer) });
      expect(made.runningSummary?.summary).toMatch(/module_\d/);
    }
    const broken: TextModel = { name: "broken", generate: () => Promise.reject(new Error("ECONNRESET")) };
    const made = await run(list, { maxTokens: 200, maxSummaryTokens: 60, model: broken });
    expect(made.runningSummary?.lastSummarizedMessageId).toBeDefined();
  });

  it("takes its own prompts: where the messages and the summary stand, and the summary's role", async () => {
    const model = scripted("One.", "Two is more.");
    const options = {
      ...counted,
      model,
      maxTokens: 6,
      maxSummaryTokens: 1,
      initialSummaryPrompt: "before {messages} behind",
      existingSummaryPrompt: "so far: {existing_summary}",
      finalPrompt: { role: "user", text: "What was: {summary}" },
    } as const;
    const first = await run(talk(1, 9), { ...options, runningSummary: undefined });
    expect(said(model.requests[0])).toMatch(/before <records>[\s\S]+<\/records> behind/);
    expect(first.messages[0]).toMatchObject({ role: "user", parts: [{ text: "What was: One." }] });
    await run(talk(1, 15), { ...options, runningSummary: first.runningSummary });
    expect(said(model.requests[1])).toContain("so far: One.");
  });

  it("SUM-11 messages beyond the model's window are folded, every one of them read once", async () => {
    const requests: string[] = [];
    const model: TextModel = {
      name: "small",
      window: 1500,
      generate: async (request) => {
        requests.push(said(request));
        return { text: `Summary after ${requests.length} parts.`, stop: "end" };
      },
    };
    const list = Array.from({ length: 60 }, (_, index) =>
      user(`id-${index}`, `fact number ${index} ${"word ".repeat(40)}`),
    );
    const made = await run(list, { model, maxTokens: 1000, maxSummaryTokens: 100 });
    expect(requests.length).toBeGreaterThan(2);
    for (const id of made.runningSummary?.summarizedMessageIds ?? []) {
      const fact = `fact number ${id.slice(3)} `;
      expect(requests.filter((request) => request.includes(fact))).toHaveLength(1);
    }
  });

  it("throws Aborted when the caller's signal is", async () => {
    const never: TextModel = { name: "never", generate: () => new Promise(() => {}) };
    const controller = new AbortController();
    const work = run(talk(1, 40), {
      model: never,
      maxTokens: 200,
      maxSummaryTokens: 60,
      signal: controller.signal,
    });
    controller.abort();
    expect(await codeOf(work)).toBe("Aborted");
  });

  it("RUN-2, RUN-3 and RUN-4 hold over any conversation, call after call", async () => {
    const step = fc.oneof(
      fc.constantFrom("user" as const, "assistant" as const),
      fc.integer({ min: 1, max: 3 }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { maxLength: 12 }), { minLength: 1, maxLength: 5 }),
        async (rounds) => {
          const seen: string[] = [];
          const model: TextModel = {
            name: "any",
            generate: async () => ({ text: `Summary number ${seen.length} of this talk.`, stop: "end" }),
          };
          const list: Message[] = [user("0")];
          let running: RunningSummary | undefined;
          for (const round of rounds) {
            for (const what of round) grow(list, what);
            const made = await run(list, {
              ...counted,
              model,
              maxTokens: 9,
              maxSummaryTokens: 1,
              runningSummary: running,
            });
            const before = running?.summarizedMessageIds ?? [];
            const now = made.runningSummary?.summarizedMessageIds ?? [];
            expect(now.slice(0, before.length)).toEqual(before);
            expect(new Set(now).size).toBe(now.length);
            expect(made.messages.length).toBeLessThanOrEqual(9);
            const kept = made.messages.filter((message) => !message.id.startsWith("running-summary"));
            expect([...now, ...ids(kept)].toSorted()).toEqual(ids(list).toSorted());
            expectPaired(kept);
            expect(ids(kept)).toContain(list.findLast((message) => message.role === "user")?.id);
            running = made.runningSummary;
            seen.push("x");
          }
        },
      ),
      { numRuns: 120 },
    );
  });

  it("RUN-3 FIT-6 no list comes back over maxTokens, whatever is in it, however often it is restarted", async () => {
    const words = (count: number): string => "tide rope clerk ledger ".repeat(Math.ceil(count / 4));
    const turn = fc.record({
      kind: fc.constantFrom("user", "assistant", "call", "system", "protected"),
      size: fc.oneof({ weight: 5, arbitrary: fc.nat(60) }, { weight: 1, arbitrary: fc.nat(400) }),
    });
    const model: TextModel = {
      name: "any",
      generate: async ({ messages }) => ({ text: `They spoke for ${messages.length} tides.`, stop: "end" }),
    };
    let compactions = 0;
    let refusals = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.nat(900),
        fc.array(turn, { minLength: 10, maxLength: 50 }),
        fc.boolean(),
        fc.boolean(),
        async (system, turns, feedsBack, withModel) => {
          let list: Message[] = [text("s", "system", words(system))];
          let running: RunningSummary | undefined;
          const stays: Message[] = [];
          for (const [index, { kind, size }] of turns.entries()) {
            const id = `m${index}`;
            const said = words(size);
            if (kind === "call") list.push(calls(id, `c-${id}`), result(`r-${id}`, `c-${id}`, said));
            else if (kind === "protected") {
              const message = { ...user(id, words(size / 8)), meta: { protected: true } };
              list.push(message);
              stays.push(message);
            } else if (kind === "system") {
              const message = text(id, "system", words(size / 8));
              list.push(message);
              stays.push(message);
            } else list.push(text(id, kind as "user" | "assistant", said));
            const options = {
              model: withModel ? model : undefined,
              maxTokens: 1000,
              maxSummaryTokens: 200,
              runningSummary: running,
            };
            const made = await run(list, options).catch((error: unknown) => error);
            if (CompactError.isInstance(made)) {
              expect(made.code).toBe("InsufficientBudget");
              expect(made.hint).not.toBe("");
              refusals += 1;
              return;
            }
            const { messages, runningSummary } = made as Awaited<ReturnType<typeof run>>;
            expect(countTokens(messages).tokens).toBeLessThanOrEqual(1000);
            for (const message of stays) expect(messages).toContain(message);
            if (runningSummary !== running) compactions += 1;
            // As it comes back from a checkpoint.
            running = runningSummary && (JSON.parse(JSON.stringify(runningSummary)) as RunningSummary);
            if (feedsBack) list = [...messages];
          }
        },
      ),
      { numRuns: 60 },
    );
    expect(compactions).toBeGreaterThan(20);
    expect(refusals).toBeLessThan(40);
  });

  it("PRT-1 PRT-2 what is protected and system messages in mid-list stay and reach no summarizer", async () => {
    const inFrench = text("f", "system", "Answer in French from here on.");
    const secret = { ...user("p", "The plan is called Nightfall."), meta: { protected: true } };
    const list = [...talk(1, 5), inFrench, secret, ...talk(6, 20)];
    const model = scripted("They talked.", "They talked on.");
    const options = { model, maxTokens: 8, maxSummaryTokens: 1, ...counted };
    const first = await run(list, options);
    expect(first.messages).toEqual(expect.arrayContaining([inFrench, secret]));
    const more = [...first.messages, ...talk(21, 30)];
    const second = await run(more, { ...options, runningSummary: first.runningSummary });
    expect(second.messages).toContain(inFrench);
    expect(second.messages).toContain(secret);
    expect(second.runningSummary?.summarizedMessageIds).not.toContain("p");
    expect(model.requests.map(said).join()).not.toMatch(/French|Nightfall/);
  });

  it.each([
    ["openai-chat", { role: "user", content: "Keep this.", meta: { protected: true } }],
    [
      "langchain",
      { type: "human", id: "p", content: "Keep this.", additional_kwargs: { meta: { protected: true } } },
    ],
  ] as const)("PRT-1 protected is read from its own place in %s", async (format, kept) => {
    const make = (index: number): object =>
      format === "langchain"
        ? { type: index % 2 ? "ai" : "human", id: `m${index}`, content: `Word ${index}` }
        : { role: index % 2 ? "assistant" : "user", content: `Word ${index}` };
    const list: object[] = Array.from({ length: 12 }, (_, index) => (index === 2 ? kept : make(index)));
    const made = await summarizeMessages(list, {
      format,
      maxTokens: 6,
      maxSummaryTokens: 1,
      countTokens: (messages) => messages.length,
    });
    expect(made.messages).toContain(kept);
    expect(made.messages.length).toBeLessThanOrEqual(6);
  });

  it("changes nothing below the threshold, and nothing where all must stay", async () => {
    const model = scripted();
    const list = talk(1, 5);
    const below = await run(list, { model, maxTokens: 50_000, maxSummaryTokens: 256 });
    expect(below).toEqual({ messages: list, runningSummary: undefined });
    expect(below.messages).toBe(list);
    const protectedOnly = list.map((message) => ({ ...message, meta: { protected: true } }));
    const limits = { ...counted, maxTokens: 6, maxTokensBeforeSummary: 2, maxSummaryTokens: 1 };
    const held = await run(protectedOnly, { ...limits, model });
    expect(held.messages).toBe(protectedOnly);
    const later = { ...limits, maxTokensBeforeSummary: 6 };
    const fed = await run([...list, ...talk(6, 8)], { ...later, model: scripted("Some.") });
    const again = await run(fed.messages, { ...later, model, runningSummary: fed.runningSummary });
    expect(again.messages).toBe(fed.messages);
    expect(model.requests).toHaveLength(0);
  });

  it("refuses options that it does not know, with the one that was meant", async () => {
    const wrong = {
      maxTokens: 100,
      maxSummaryTokens: 10,
      max_tokens: 5,
    } as SummarizeMessagesOptions<Message>;
    await expect(run(talk(1, 3), wrong)).rejects.toMatchObject({
      code: "InvalidArgument",
      place: "options.max_tokens",
      message: expect.stringContaining("did you mean maxTokens?"),
    });
    const promptless = { maxTokens: 100, maxSummaryTokens: 10, finalPrompt: "In short:" };
    expect(await codeOf(run(talk(1, 3), promptless))).toBe("InvalidArgument");
  });

  it("RUN-5 hands on what is discarded, without secrets, without waiting; its errors go to onFailure", async () => {
    const flushed: string[][] = [];
    const failures: unknown[] = [];
    const key = `sk-proj-${"a1B2c3D4".repeat(5)}`;
    const list = [user("1", `The key is ${key}`), ...talk(2, 9)];
    const options = { ...counted, maxTokens: 6, maxSummaryTokens: 1, sessionId: "talk" };
    const made = await run(list, {
      ...options,
      memoryFlushHook: (messages, { sessionId }) => {
        flushed.push([sessionId, ...ids(messages)]);
        expect(JSON.stringify(messages)).not.toContain(key);
        return new Promise(() => {});
      },
    });
    expect(flushed).toEqual([["talk", ...(made.runningSummary?.summarizedMessageIds ?? [])]]);
    await run(list, {
      ...options,
      onFailure: (error) => failures.push(error),
      memoryFlushHook: () => {
        throw new Error("memory is full");
      },
    });
    await Promise.resolve();
    expect(String(failures[0])).toContain("memory is full");
    const nothing: unknown[] = [];
    await run(talk(1, 2), { ...options, memoryFlushHook: (messages) => void nothing.push(messages) });
    expect(nothing).toHaveLength(0);
  });

  it("goes on whatever onFailure throws or rejects with", async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", note);
    const thrower = (): never => {
      throw new Error("no log");
    };
    try {
      for (const onFailure of [thrower, async () => thrower()]) {
        const limits = { ...counted, maxTokens: 6, maxSummaryTokens: 1 };
        const made = await run(talk(1, 9), {
          ...{ ...limits, model: scripted(), memoryFlushHook: thrower, onFailure },
        });
        expect(made.runningSummary?.summarizedMessageIds).toHaveLength(6);
      }
      await new Promise((done) => setTimeout(done, 10));
    } finally {
      process.off("unhandledRejection", note);
    }
    expect(unhandled).toEqual([]);
  });

  it("throws what is no lack of room as it is", async () => {
    const bug = new TypeError("not a function");
    const options = { ...counted, model: scripted(), maxTokens: 6, maxSummaryTokens: 1 };
    vi.mocked(planRequest).mockImplementationOnce(() => {
      throw bug;
    });
    await expect(run(talk(1, 9), options)).rejects.toBe(bug);
  });

  it("lists what a model invented below its text, or takes it out, and puts facts back where they fit", async () => {
    const list = [user("0", "Never touch /srv/prod/db.sqlite, please."), ...talk(1, 100)];
    const invented = "They talked about ships. See /made/up/path.ts.";
    const options = { maxTokens: 500, maxSummaryTokens: 256 };
    const flagged = await run(list, { ...options, model: scripted(invented) });
    expect(flagged.runningSummary?.summary).toMatch(/Not found in the records\n- \/made\/up\/path\.ts/);
    expect(flagged.runningSummary?.summary).toContain("/srv/prod/db.sqlite");
    const removed = await run(list, { ...options, model: scripted(invented), verify: "remove" });
    expect(removed.runningSummary?.summary).not.toContain("/made/up");
    expect(countTokens(removed.messages).tokens).toBeLessThanOrEqual(500);
    const bare = await run(list, {
      ...options,
      ...counted,
      maxTokens: 20,
      maxSummaryTokens: 1,
      model: scripted(invented),
    });
    expect(bare.runningSummary?.summary).toBe(invented);
  });

  it("names the caller's own ids, also where one is used twice", async () => {
    const make = (id: string, index: number): object => ({
      type: index % 2 ? "ai" : "human",
      id,
      content: `Word ${index}`,
    });
    const list = ["1", "1", "x-2", "x-2", "5", "6", "7", "8"].map(make);
    const options = { format: "langchain", maxTokens: 6, maxSummaryTokens: 1 } as const;
    const made = await summarizeMessages(list, { ...options, countTokens: (messages) => messages.length });
    expect(made.runningSummary?.summarizedMessageIds).toEqual(["1", "x-2", "5", "6"]);
    const reused = [...list, make("1", 9), ...["10", "11", "12", "13", "14"].map(make)];
    const again = summarizeMessages(reused, { ...options, runningSummary: made.runningSummary });
    await expect(again).rejects.toThrow("message 1 has already been summarized");
  });

  it("takes a counter that needs time, and says when it fails", async () => {
    const options = { model: scripted("Six things."), maxTokens: 6, maxSummaryTokens: 1 };
    const made = await run(talk(1, 9), { ...options, countTokens: async (messages) => messages.length });
    expect(made.runningSummary?.summarizedMessageIds).toHaveLength(6);
    const broken = {
      ...options,
      countTokens: (): number => {
        throw new TypeError("no such method");
      },
    };
    await expect(run(talk(1, 9), broken)).rejects.toMatchObject({ code: "InvalidArgument" });
    await expect(run(talk(1, 9), { ...options, countTokens: () => Number.NaN })).rejects.toThrow(/NaN/);
  });

  it("keeps the results that no model has seen, where they fit", async () => {
    const list = [...talk(1, 7), calls("8", "a"), result("9", "a")];
    const limits = { ...counted, maxTokens: 9, maxTokensBeforeSummary: 9, maxSummaryTokens: 1 };
    const made = await run(list, { ...limits, model: scripted("Before the look.") });
    expect(ids(made.messages.slice(1))).toEqual(["7", "8", "9"]);
  });
});

function grow(list: Message[], what: "user" | "assistant" | number): void {
  const id = String(list.length);
  if (what === "user") list.push(user(id));
  else if (what === "assistant") list.push(assistant(id));
  else {
    const made = Array.from({ length: what }, (_, index) => `call-${id}-${index}`);
    list.push(calls(id, ...made));
    for (const call of made) list.push(result(String(list.length), call));
  }
}

function expectPaired(messages: readonly Message[]): void {
  const parts = messages.flatMap((message) => message.parts);
  const called = parts.flatMap((part) => (part.type === "toolCall" ? [part.id] : []));
  const answered = parts.flatMap((part) => (part.type === "toolResult" ? [part.id] : []));
  expect(called.toSorted()).toEqual(answered.toSorted());
}
