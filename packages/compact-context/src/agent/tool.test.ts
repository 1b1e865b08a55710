import { expect, it } from "vitest";
import { runCalls } from "./tool.ts";

it("runs no tool whose call the user stopped in the tick in which it was permitted", async () => {
  const controller = new AbortController();
  let ran = false;
  const execute = (): void => {
    ran = true;
  };
  const tool = { name: "write", description: "", schema: {}, execute };
  const running = runCalls([{ type: "tool-call", toolCallId: "c1", toolName: "write", input: {} }], {
    tools: new Map([["write", tool]]),
    refuse: async () => undefined,
    limits: { toolMs: 1_000, outputCharacters: 1_000 },
    emit: () => undefined,
    clock: () => 0,
    signal: controller.signal,
  });
  controller.abort();
  expect((await running).content).toMatchObject([
    { output: { type: "error-text", value: "Interrupted by the user: this call was not run." } },
  ]);
  expect(ran).toBe(false);
});
