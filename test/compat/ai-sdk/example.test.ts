import { expect, it } from "vitest";
import { canRun, runExample } from "../example.ts";

it.skipIf(!canRun("ai-sdk"))("examples/ai-sdk.ts runs as a stranger would run it, with no key", async () => {
  const { status, stdout, stderr } = await runExample("ai-sdk");
  expect(status, stderr).toBe(0);
  expect(stdout).toMatch(/the app holds 80 messages, the last request had \d\d?$/m);
});
