import { expect, it } from "vitest";
import { canRun, runExample } from "../example.ts";

it.skipIf(!canRun("langchain"))(
  "examples/langchain.ts runs as a stranger would run it, with no key",
  async () => {
    const { status, stdout, stderr } = await runExample("langchain");
    expect(status, stderr).toBe(0);
    expect(stdout).toMatch(/^\d+ -> \d+ tokens$/m);
    expect(stdout).toMatch(/the state holds 80 messages, the last request had \d\d?$/m);
  },
);
