import { afterEach, describe, expect, it, vi } from "vitest";
import { textModelFromUrl } from "../../packages/compact-context/src/adapters/http/index.ts";
import { decode } from "../../packages/compact-context/src/codecs/formats.ts";
import { compact } from "../../packages/compact-context/src/compact.ts";
import type { CompactConfigInput } from "../../packages/compact-context/src/config/settings.ts";
import type { SummaryAttempt, TextModel } from "../../packages/compact-context/src/core/ports.ts";
import type { CompactEvent } from "../../packages/compact-context/src/core/report.ts";
import { CompactManager } from "../../packages/compact-context/src/create-manager.ts";
import { CompactError, platform } from "../../packages/compact-context/src/errors.ts";
import { createMemoryDriver } from "../../packages/compact-context/src/storage/memory/driver.ts";
import { createModelSummarizer } from "../../packages/compact-context/src/summarizers/llm/create.ts";
import type { ModelSummarizerOptions } from "../../packages/compact-context/src/summarizers/llm/options.ts";
import {
  type Answer,
  brokenBytes,
  brokenJson,
  drip,
  empty,
  errorText,
  filtered,
  htmlPage,
  loneSurrogate,
  noHeaders,
  overLong,
  overloaded,
  rateLimited,
  reasoningOnly,
  refusal,
  reset,
  resetMidway,
  type Script,
  serverError,
  silent,
  truncated,
} from "../stubs/answers.ts";
import { type Stub, startStub } from "../stubs/server.ts";
import { HONEST_NOTES, loginSession } from "./conversations.ts";

const stubs: Stub[] = [];
afterEach(async () => {
  for (const stub of stubs.splice(0)) await stub.close();
});

type Api = "chat" | "responses" | "anthropic";

async function model(answers: Script, api: Api = "chat", window = 128_000): Promise<TextModel> {
  const stub = await startStub({ answers, window, countText: (text) => Math.ceil(text.length / 4) });
  stubs.push(stub);
  const url = api === "anthropic" ? stub.anthropicUrl : stub.openAiUrl;
  return textModelFromUrl({ url, api, model: "writer", key: "test", window, name: `${api}:writer` });
}

interface Made {
  readonly text: string | undefined;
  readonly error: unknown;
  readonly attempts: readonly SummaryAttempt[];
  readonly by: string | undefined;
}

/** What a summarizer makes of the same session, and every attempt on the way. */
async function summarize(options: ModelSummarizerOptions, maxTokens = 1200): Promise<Made> {
  const attempts: SummaryAttempt[] = [];
  const messages = loginSession();
  const before = structuredClone(messages);
  const outcome = await createModelSummarizer({ attemptDeadlineMs: 10_000, ...options })
    .summarize(messages, { maxTokens, onAttempt: (attempt) => attempts.push(attempt) })
    .then(
      (made) => ({ text: made.text, by: made.summarizer, error: undefined }),
      (error: unknown) => ({ text: undefined, by: undefined, error }),
    );
  expect(messages).toEqual(before);
  return { ...outcome, attempts };
}

const rungs = (made: Made): string[] =>
  made.attempts.map(({ outcome, fallback }) =>
    fallback === undefined ? outcome : `${outcome} -> ${fallback}`,
  );

describe("FIT-3 what is no summary leads to the next rung, the model that is there instead", () => {
  const misbehaviour: readonly (readonly [string, Answer, SummaryAttempt["outcome"]])[] = [
    ["an error of the provider", serverError, "error"],
    ["an overloaded provider", overloaded, "error"],
    ["a rate limit", rateLimited(), "error"],
    ["a broken connection", reset, "error"],
    ["a connection that breaks midway", resetMidway, "error"],
    ["a page of HTML", htmlPage, "error"],
    ["broken JSON", brokenJson, "error"],
    ["an empty answer", empty, "empty"],
    ["the words of an error", errorText, "error-text"],
    [
      "a page of HTML as the answer",
      "<!DOCTYPE html><html><body>502 Bad Gateway</body></html>",
      "error-text",
    ],
    ["a JSON error as the answer", '{"error":{"message":"overloaded","type":"server_error"}}', "error-text"],
    [
      "a provider's apology",
      "The server had an error while processing your request. Sorry about that!",
      "error-text",
    ],
    ["unreadable characters", `${"\ufffd".repeat(40)} and little else`, "malformed"],
    ["headings with nothing below", "### Goal\n\n### State\n-\n### Next", "empty"],
    ["no headers at all", noHeaders, "timeout"],
    ["headers, then nothing", silent, "timeout"],
    ["bytes without end", drip(10), "timeout"],
  ];

  it.each(misbehaviour)("FIT-3 %s", async (_name, answer, outcome) => {
    const second: TextModel = {
      name: "second",
      generate: async () => ({ text: HONEST_NOTES, stop: "end" }),
    };
    const made = await summarize({
      model: await model(() => answer),
      fallbackModels: [second],
      attemptDeadlineMs: outcome === "timeout" ? 200 : 10_000,
    });
    expect(rungs(made)).toEqual([`${outcome} -> second`, "accepted"]);
    expect(made.by).toBe("second");
    expect(made.text).toContain("umlaut");
  });

  it.each(["chat", "responses", "anthropic"] as const)(
    "FIT-3 over %s: all of them fail the same way",
    async (api) => {
      for (const [answer, outcome] of [
        [empty, "empty"],
        [errorText, "error-text"],
        [serverError, "error"],
        [silent, "timeout"],
      ] as const) {
        const made = await summarize({
          model: await model(() => answer, api),
          attemptDeadlineMs: answer === silent ? 200 : 10_000,
        });
        expect(rungs(made)).toEqual([outcome]);
        expect(made.error).toMatchObject({ code: "SummarizerFailed" });
      }
    },
  );
});

describe("the rungs of one model", () => {
  it("FIT-4 asks for half of the tokens when the text is too long, twice at most", async () => {
    const made = await summarize({ model: await model([overLong(3000), overLong(3000), HONEST_NOTES]) });
    expect(rungs(made)).toEqual(["too-long -> shorter", "too-long -> shorter", "accepted"]);
    const [first = 0, second, third] = made.attempts.map((attempt) => attempt.maxTokens);
    expect([second, third]).toEqual([Math.floor(first / 2), Math.floor(first / 4)]);
    const never = await summarize({ model: await model(() => overLong(3000)) });
    expect(rungs(never)).toEqual(["too-long -> shorter", "too-long -> shorter", "too-long"]);
    expect(never.error).toMatchObject({ code: "SummarizerFailed" });
  });

  it("FIT-4 takes a text that was cut off for too long", async () => {
    const made = await summarize({ model: await model([truncated, HONEST_NOTES]) });
    expect(rungs(made)).toEqual(["truncated -> shorter", "accepted"]);
    expect(made.text).not.toContain("keeping");
  });

  it.each(["chat", "responses", "anthropic"] as const)(
    "FIT-5 asks for brief after a refusal, over %s",
    async (api) => {
      const brief = "Login fails for umlauts; src/auth/step0.ts was read; the reset form is next.";
      for (const no of [
        refusal,
        filtered,
        "I'm sorry, but I can't help with summarizing this conversation.",
      ]) {
        const made = await summarize({ model: await model([no, brief], api) });
        expect(rungs(made)).toEqual(["refusal -> brief", "accepted"]);
        expect(made.attempts[1]?.prompt).toMatch(/^brief@\d+$/);
        expect(made.text).toContain(brief);
      }
    },
  );

  it("FIT-5 goes on to the next model when brief is refused too", async () => {
    const second = { ...(await model([HONEST_NOTES])), name: "second" };
    const made = await summarize({ model: await model(() => refusal), fallbackModels: [second] });
    expect(rungs(made)).toEqual(["refusal -> brief", "refusal -> second", "accepted"]);
  });

  it("gives a model that only thought room to think, and remembers it", async () => {
    const thinking = await model([reasoningOnly, HONEST_NOTES, `${HONEST_NOTES}\n- More of it.`]);
    const asked: number[] = [];
    const watched: TextModel = {
      ...thinking,
      generate: (request) => {
        asked.push(request.maxOutputTokens);
        return thinking.generate(request);
      },
    };
    const summarizer = createModelSummarizer({ model: watched });
    await summarizer.summarize(loginSession(), { maxTokens: 1200 });
    await summarizer.summarize(loginSession(), { maxTokens: 1200 });
    expect(asked[1]).toBeGreaterThan((asked[0] ?? 0) + 4000);
    expect(asked[2]).toBe(asked[1]);
  });

  it("mends a lone surrogate or a broken byte and keeps the text", async () => {
    for (const answer of [loneSurrogate, brokenBytes]) {
      const made = await summarize({ model: await model([answer]), ledger: false });
      expect(rungs(made)).toEqual(["accepted"]);
      expect(made.text).toMatch(/^The parser reads/);
      expect(made.text).not.toMatch(/[\ud800-\udfff]/u);
    }
  });

  it("takes nothing for a new summary that is the old one, or the answer to an earlier request", async () => {
    const summarizer = createModelSummarizer({ model: await model(() => HONEST_NOTES) });
    const first = await summarizer.summarize(loginSession(), { maxTokens: 1200 });
    const work = summarizer.summarize(loginSession(9), { maxTokens: 1200, previous: first.text });
    await expect(work).rejects.toMatchObject({
      code: "SummarizerFailed",
      message: expect.stringContaining("stale"),
    });
    const other = createModelSummarizer({ model: await model(() => HONEST_NOTES) });
    const again = other.summarize(loginSession(9), { maxTokens: 1200, previous: first.text });
    await expect(again).rejects.toMatchObject({ message: expect.stringContaining("stale") });
  });

  it("does not take the assistant's last words for a summary", async () => {
    const list = loginSession();
    const words = "I have looked at every step of the lookup, and the reset form is what I will do now.";
    const said = [...list, { id: "z", role: "assistant", parts: [{ type: "text", text: words }] } as const];
    const summarizer = createModelSummarizer({ model: await model([words]) });
    await expect(summarizer.summarize(said, { maxTokens: 1200 })).rejects.toThrow(/stale/);
  });
});

describe("time", () => {
  /** A clock that moves when somebody waits. */
  function virtualTime() {
    let now = 0;
    const wait = setTimeout;
    const pass = (milliseconds: number): void => {
      now += milliseconds;
    };
    vi.spyOn(platform, "clock").mockImplementation(() => now);
    // Connections kept open by other tests set timers too, with arguments of their own.
    vi.stubGlobal(
      "setTimeout",
      (callback: (...args: unknown[]) => void, milliseconds: number, ...args: unknown[]) =>
        wait(() => {
          pass(milliseconds);
          callback(...args);
        }, 0),
    );
    return { pass, clock: () => now };
  }
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
  });
  const never: TextModel = { name: "never", generate: () => new Promise(() => {}) };

  it("SUM-12 gives a model 10 seconds for an attempt of ordinary size, and in proportion more for a larger one", async () => {
    const waited = async (tokens: number): Promise<number> => {
      const { clock } = virtualTime();
      const said = "one two three four five six seven eight nine ten ".repeat(tokens / 10);
      const summarizer = createModelSummarizer({ model: { ...never, window: 400_000 } });
      await expect(
        summarizer.summarize(decode([{ role: "user", content: said }], "openai-chat"), { maxTokens: 1200 }),
      ).rejects.toThrow(/no answer within/);
      vi.unstubAllGlobals();
      return clock();
    };
    expect(await waited(20_000)).toBe(10_000);
    expect(await waited(100_000)).toBeGreaterThan(40_000);
    expect(await waited(100_000)).toBeLessThan(44_000);
  });

  it("SUM-12 a manager gives each attempt summarizer.deadlineSeconds, 10 when left out", async () => {
    const slow = (milliseconds: number): TextModel => ({
      name: "slow",
      generate: () =>
        new Promise((resolve) =>
          setTimeout(() => resolve({ text: HONEST_NOTES, stop: "end" }), milliseconds),
        ),
    });
    const attempts = async (model: TextModel, deadlineSeconds?: number): Promise<string[]> => {
      const warnings: string[] = [];
      const manager = new CompactManager(
        { storage: { kind: "memory" }, policy: { keepRecentTurns: 1 }, summarizer: { deadlineSeconds } },
        { summarizer: model, onWarning: (message) => void warnings.push(message) },
      );
      const { report } = await manager.manualCompact("s", loginSession());
      return [...report.attempts.map(({ outcome }) => outcome), ...warnings];
    };
    expect(new CompactManager().config.summarizer.deadlineSeconds).toBe(10);
    expect(await attempts(slow(1500), 1)).toEqual([
      "timeout",
      expect.stringMatching(/^the summarizer slow failed, the built-in summarizer writes instead: timeout/),
    ]);
    expect(await attempts(slow(10))).toEqual(["accepted"]);
  });

  it("gives up after 60 seconds in all when nothing is said, each model having had its share", async () => {
    const { clock } = virtualTime();
    const made = await summarize({
      model: never,
      fallbackModels: [{ ...never, name: "never too" }],
      attemptDeadlineMs: 30_000,
    });
    expect(rungs(made)).toEqual(["timeout -> never too", "timeout"]);
    expect(clock()).toBe(60_000);
  });

  it("leaves a model alone that failed three times, and tries it once after a while", async () => {
    const { pass } = virtualTime();
    let asked = 0;
    const broken: TextModel = {
      name: "broken",
      generate: () => {
        asked += 1;
        return Promise.reject(new Error("ECONNREFUSED"));
      },
    };
    const summarizer = createModelSummarizer({ model: broken });
    const attempt = (): Promise<unknown> =>
      summarizer.summarize(loginSession(), { maxTokens: 1200 }).catch((error: unknown) => error);
    for (let round = 0; round < 5; round += 1) await attempt();
    expect(asked).toBe(3);
    pass(60_001);
    await attempt();
    await attempt();
    expect(asked).toBe(4);
  });

  it("rejects with Aborted as soon as the caller's signal is, and tells the model to stop", async () => {
    let told: AbortSignal | undefined;
    let ask = (): void => undefined;
    const asked = new Promise<void>((resolve) => {
      ask = resolve;
    });
    const listening: TextModel = {
      name: "listening",
      generate: (request) => {
        told = request.signal;
        ask();
        return new Promise(() => {});
      },
    };
    const controller = new AbortController();
    const summarizer = createModelSummarizer({ model: listening });
    const work = summarizer.summarize(loginSession(), { maxTokens: 1200, signal: controller.signal });
    await asked;
    controller.abort();
    await expect(work).rejects.toMatchObject({ code: "Aborted" });
    expect(told?.aborted).toBe(true);
  });

  it("a model that ignores its signal is not waited for", async () => {
    const made = await summarize({ model: never, attemptDeadlineMs: 20 });
    expect(rungs(made)).toEqual(["timeout"]);
  });
});

describe("a manager with a model", () => {
  const list = Array.from({ length: 60 }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: `${index % 2 === 0 ? "question" : "answer"} ${index} about src/part${index}.ts ${"word ".repeat(50)}`,
  }));
  const notes = "### State\n- src/part2.ts and src/part3.ts were talked about.";

  function setUp(summarizer: TextModel, config: CompactConfigInput = {}) {
    const events: CompactEvent[] = [];
    const manager = new CompactManager(
      { maxContextTokens: 4000, ...config, policy: { hardCapBuffer: 200, ...config.policy } },
      {
        summarizer,
        storage: createMemoryDriver(),
        exporters: [{ export: (event) => void events.push(event) }],
      },
    );
    const named = (name: string) => events.filter((event) => event.name === name);
    return { manager, named };
  }

  it("OBS-2 tells the summary, who wrote it, what was read, and every attempt", async () => {
    const { manager, named } = setUp(await model([empty, notes]));
    await manager.manualCompact("s", list);
    const { manager: second, named: told } = setUp(await model([notes]));
    const made = await second.manualCompact("s", list);
    await Promise.all([manager.flush(), second.flush()]);
    expect(made.summary).toContain("src/part2.ts");
    expect(made.report).toMatchObject({
      summarizer: "chat:writer",
      coverage: 1,
      rungs: ["summary:chat:writer"],
    });
    expect(made.report.attempts).toMatchObject([{ outcome: "accepted", prompt: "task_state@2" }]);
    expect(told("compact.summary_created")[0]?.properties).toMatchObject({
      summarizer: "chat:writer",
      coverage: 1,
      unfound_count: 0,
      attempts: [{ outcome: "accepted", usage: { input: expect.any(Number), cache_read: 0 } }],
    });
    expect(named("compact.error")[0]?.properties).toMatchObject({
      error_type: "SummarizerFailed",
      fallback: "builtin",
      attempt: { outcome: "empty", model: "chat:writer" },
    });
  });

  it("FIT-3 completes on the built-in summarizer, with compact.error naming it", async () => {
    const { manager, named } = setUp(await model(() => serverError));
    const made = await manager.preflight("s", list);
    await manager.flush();
    expect(made.report).toMatchObject({ compacted: true, summarizer: "builtin" });
    expect(named("compact.error")[0]?.properties).toMatchObject({ fallback: "builtin" });
  });

  it("FIT-3 a model that fails at every call is told once, with what to do, and again once it had worked", async () => {
    const warnings: string[] = [];
    let key = "wrong";
    const keyed: TextModel = {
      name: "keyed",
      generate: async () => {
        if (key === "wrong") throw new CompactError("InvalidConfig", "HTTP 401: invalid x-api-key");
        return { text: HONEST_NOTES, stop: "end" };
      },
    };
    const config: CompactConfigInput = { storage: { kind: "memory" }, policy: { keepRecentTurns: 1 } };
    const onWarning = (message: string): void => void warnings.push(message);
    const manager = new CompactManager(config, { summarizer: keyed, onWarning });
    const compacted = async (session: string): Promise<boolean> =>
      (await manager.manualCompact(session, loginSession())).report.compacted;
    for (const session of ["a", "b"]) expect(await compacted(session)).toBe(true);
    expect(warnings).toEqual([
      expect.stringMatching(/^the summarizer keyed failed, the built-in .*HTTP 401.*check the model's key/),
    ]);
    key = "right";
    await compacted("c");
    key = "wrong";
    await compacted("d");
    expect(warnings).toHaveLength(2);
  });

  it.each(["pruning-only"] as const)("FIT-3 with fallback %s inserts no summary", async (fallback) => {
    const { manager, named } = setUp(await model(() => serverError), { summarizer: { fallback } });
    const made = await manager.preflight("s", list);
    await manager.flush();
    expect(made.report).toMatchObject({ compacted: true, summarizer: undefined, rungs: ["pruning-only"] });
    expect(JSON.stringify(made.messages)).not.toContain("COMPACT-SUMMARY");
    expect(named("compact.error")[0]?.properties).toMatchObject({ fallback: "pruning-only" });
  });

  it("FIT-4 and FIT-5: every rung is in the trace with its reason and what follows", async () => {
    const { manager, named } = setUp(await model([refusal, overLong(4000), refusal]));
    await manager.preflight("s", list);
    await manager.flush();
    expect(named("compact.error").map((event) => event.properties.fallback)).toEqual([
      "brief",
      "shorter",
      "builtin",
    ]);
    expect(named("compact.error").every((event) => event.status === "error")).toBe(true);
  });

  it("an aborted compaction leaves list and session as they were", async () => {
    const controller = new AbortController();
    const hanging: TextModel = {
      name: "hanging",
      generate: () => {
        controller.abort();
        return new Promise(() => {});
      },
    };
    const { manager } = setUp(hanging);
    const before = JSON.stringify(list);
    const work = manager.preflight("s", list, { signal: controller.signal });
    const error = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(CompactError.isInstance(error) && error.code).toBe("Aborted");
    expect(JSON.stringify(list)).toBe(before);
    expect(manager.getState("s")).toMatchObject({ summaryCount: 0, archiveSteps: 0 });
  });

  it("compact takes a model too", async () => {
    const made = await compact(list, { maxTokens: 2500, summarizer: await model([notes]) });
    expect(made.report.summarizer).toBe("chat:writer");
    expect(made.summary).toMatch(
      /src\/part3\.ts were talked about[\s\S]+\n> question 2 about src\/part2\.ts/,
    );
  });
});
