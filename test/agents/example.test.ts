import { expect, it, vi } from "vitest";

it("the example runs without a key: compactions, sub-agents, a new session", async () => {
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  await import("../../examples/agent.ts");
  const printed = log.mock.calls.flat().join("\n");
  log.mockRestore();
  expect(printed).toMatch(/^compacted: [\d,]+ to [\d,]+ tokens, \d+ messages summarized/m);
  expect(printed).toContain("the sub-agent checker answered");
  expect(printed).toMatch(/\d+ of 8000 tokens, \d+ compactions/);
  expect(printed).toContain("a new session; what the old one knew is within reach");
});
