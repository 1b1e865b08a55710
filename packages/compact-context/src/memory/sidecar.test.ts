import { describe, expect, it, vi } from "vitest";
import type { TextModel, TextModelRequest } from "../core/ports.ts";
import { platform } from "../errors.ts";
import type { SidecarRecord, SidecarTask } from "./sidecar.ts";
import { createSidecar, runSidecarTask } from "./sidecar.ts";

type Said = string | Error | "never";

function scripted(...answers: readonly Said[]): TextModel & { readonly requests: TextModelRequest[] } {
  const requests: TextModelRequest[] = [];
  return {
    name: "scripted",
    requests,
    generate: async (request) => {
      requests.push(request);
      const said = answers[requests.length - 1] ?? answers.at(-1) ?? "";
      if (said === "never") return new Promise(() => undefined);
      if (said instanceof Error) throw said;
      return { text: said, stop: "end" };
    },
  };
}

const task: SidecarTask<string> = {
  name: "greeting",
  systemPrompt: "You greet.",
  prompt: "Greet Ann.",
  shape: "object",
  parse: (text) => {
    const { hello } = JSON.parse(text) as { hello?: unknown };
    if (typeof hello !== "string") throw new Error("the field hello is missing");
    return hello;
  },
};

describe("sidecar", () => {
  it("MEM-7 gives the output of an answer whose JSON needed repair, and says so", async () => {
    const records: SidecarRecord[] = [];
    const model = scripted("Sure! ```json\n{hello: 'Ann',}\n```");
    const outcome = await createSidecar({ model, onTask: (record) => records.push(record) }).run(task);
    expect(outcome).toMatchObject({ done: true, output: "Ann" });
    expect(records).toMatchObject([{ name: "greeting", outcome: "done", repaired: true, requests: 1 }]);
    expect(records[0]?.inputTokens).toBeGreaterThan(4);
    expect(records[0]?.outputTokens).toBeGreaterThan(4);
  });

  it("MEM-7 asks once more and says what was wrong, then gives up", async () => {
    const model = scripted('{"hi": "Ann"}', '{"hello": "Ann"}');
    expect(await createSidecar({ model }).run(task)).toMatchObject({ done: true, output: "Ann" });
    expect(model.requests).toHaveLength(2);
    expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual([
      "system",
      "user",
      "assistant",
      "user",
    ]);
    expect(model.requests[1]?.messages.at(-1)?.content).toContain("the field hello is missing");

    const stubborn = scripted("no");
    const outcome = await createSidecar({ model: stubborn }).run(task);
    expect(stubborn.requests).toHaveLength(2);
    expect(outcome).toMatchObject({
      done: false,
      record: { outcome: "failed", detail: "the answer holds no JSON" },
    });
  });

  it("MEM-7 is over at its deadline, both requests together, though the model never answers", async () => {
    const outcome = await createSidecar({ model: scripted("no", "never") }).run({ ...task, deadlineMs: 40 });
    expect(outcome.record).toMatchObject({ outcome: "timeout", requests: 2 });
    expect(outcome.record.milliseconds).toBeLessThan(20_000);
  });

  it("MEM-7 is called off by its caller's signal, and the model hears of it", async () => {
    const controller = new AbortController();
    const model = scripted("never");
    const running = createSidecar({ model }).run(task, controller.signal);
    controller.abort();
    expect((await running).record.outcome).toBe("aborted");
    expect(model.requests[0]?.signal?.aborted).toBe(true);
    expect((await createSidecar({ model }).run(task, controller.signal)).record).toMatchObject({
      outcome: "aborted",
      requests: 0,
    });
  });

  it("MEM-7 keeps tasks apart: one that fails, throws or listens badly touches no other", async () => {
    const model: TextModel = {
      name: "mixed",
      generate: async ({ messages }) => {
        if (messages[1]?.content === "break") throw new Error("no network");
        return { text: '{"hello": "Ann"}', stop: "end" };
      },
    };
    const sidecar = createSidecar({
      model,
      onTask: () => {
        throw new Error("listener");
      },
    });
    const [broken, wrong, fine] = await Promise.all([
      sidecar.run({ ...task, prompt: "break" }),
      sidecar.run({
        ...task,
        parse: () => {
          throw new TypeError("a bug");
        },
      }),
      sidecar.run(task),
    ]);
    expect(broken.record).toMatchObject({ outcome: "failed", detail: "no network" });
    expect(wrong.record).toMatchObject({ outcome: "failed", detail: "a bug" });
    expect(fine).toMatchObject({ done: true, output: "Ann" });
  });

  it("MEM-7 lets a model that fails again and again alone for a while", async () => {
    let time = 0;
    const model = scripted(new Error("down"));
    vi.spyOn(platform, "clock").mockImplementation(() => time);
    const sidecar = createSidecar({ model });
    for (let round = 0; round < 3; round += 1) await sidecar.run(task);
    expect((await sidecar.run(task)).record).toMatchObject({ outcome: "skipped", requests: 0 });
    time = 60_001;
    expect((await sidecar.run(task)).record).toMatchObject({ outcome: "failed", requests: 1 });
    vi.restoreAllMocks();
  });

  it("RED-1 sends no secrets", async () => {
    const secret = ["ghp", "16C7e42F292c6912E7710c838347Ae178B4a"].join("_");
    const model = scripted('{"hello": "Ann"}');
    await createSidecar({ model }).run({ ...task, prompt: `Greet ${secret}` });
    expect(model.requests[0]?.messages[1]?.content).not.toContain(secret);
  });

  it("runs a single task with its own model, and rejects with a hint", async () => {
    expect(await runSidecarTask({ ...task, model: scripted('{"hello": "Ann"}') })).toMatchObject({
      output: "Ann",
    });
    await expect(runSidecarTask({ ...task, model: scripted("no") })).rejects.toMatchObject({
      code: "SummarizerFailed",
      message: expect.stringContaining("greeting failed") as string,
    });
    const signal = AbortSignal.abort();
    await expect(runSidecarTask({ ...task, model: scripted("no"), signal })).rejects.toMatchObject({
      code: "Aborted",
    });
  });
});
