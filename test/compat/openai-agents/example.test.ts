import { expect, it } from "vitest";
import { canRun, runExample } from "../example.ts";

it.skipIf(!canRun("openai-agents"))(
  "DOC-2 examples/openai-agents.ts runs as a stranger would run it, with no key",
  async () => {
    const { status, stdout, stderr } = await runExample("openai-agents");
    expect(status, stderr).toBe(0);
    expect(stderr).toContain("compact.summary_created");
    expect(stdout).toMatch(/the session holds 80 items, the last request had \d\d?$/m);
  },
);
