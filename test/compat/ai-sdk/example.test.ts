import { expect, it } from "vitest";
import { canRun, runExample } from "../example.ts";

const versions: readonly Readonly<Record<string, string>>[] = [{}, { ai: "ai-v7", "ai/test": "ai-v7/test" }];

it.skipIf(!canRun("ai-sdk")).each(versions)(
  "examples/ai-sdk.ts runs as a stranger would run it, with no key, and keeps every step's messages: %o",
  async (aliases) => {
    const { status, stdout, stderr } = await runExample("ai-sdk", { aliases });
    expect(status, stderr).toBe(0);
    expect(stdout).toMatch(/the app holds 160 messages, the last request had \d\d?$/m);
  },
);
