import { expect, it } from "vitest";
import { startStub } from "../../stubs/server.ts";
import { canRun, runExample } from "../example.ts";

it.skipIf(!canRun("openai", "clients"))("examples/openai.ts runs against OpenAI's protocol", async () => {
  const stub = await startStub({ answers: () => `An answer. ${"It adds two. ".repeat(40)}`, window: 8_000 });
  try {
    const env = { OPENAI_API_KEY: "test", OPENAI_BASE_URL: stub.openAiUrl };
    const { status, stdout, stderr } = await runExample("openai", { folder: "clients", env });
    expect(status, stderr).toBe(0);
    expect(stdout).toMatch(/the app holds 160 messages, \d\d? are sent$/m);
    expect(stub.requests.filter(({ rejection }) => rejection !== undefined)).toEqual([]);
  } finally {
    await stub.close();
  }
});

it.skipIf(!canRun("anthropic", "clients"))(
  "examples/anthropic.ts runs against Anthropic's protocol",
  async () => {
    const stub = await startStub({
      answers: () => `An answer. ${"It adds two. ".repeat(40)}`,
      window: 12_000,
    });
    try {
      const env = { ANTHROPIC_API_KEY: "test", ANTHROPIC_BASE_URL: stub.anthropicUrl };
      const { status, stdout, stderr } = await runExample("anthropic", { folder: "clients", env });
      expect(status, stderr).toBe(0);
      expect(stdout).toMatch(/the app holds 160 messages, \d\d? are sent$/m);
      expect(stub.requests.filter(({ rejection }) => rejection !== undefined)).toEqual([]);
    } finally {
      await stub.close();
    }
  },
);
