import { expect, it } from "vitest";
import { canRun, runExample } from "../example.ts";

it.skipIf(!canRun("langgraph"))(
  "examples/langgraph.ts runs as a stranger would run it, with no key",
  async () => {
    const { status, stdout, stderr } = await runExample("langgraph");
    expect(status, stderr).toBe(0);
    expect(stdout).toMatch(
      /the state holds 80 messages, the last request had \d\d?, summaries were made \d+ times$/m,
    );
  },
);
