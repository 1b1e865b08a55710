import { beforeEach, describe, expect, it } from "vitest";
import type { Message } from "../core/message.ts";
import { createRedactor } from "../redaction/redactor.ts";
import { type Archive, createArchive } from "../search/archive.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import { countText } from "../tokens/count-tokens.ts";
import { archiveTools } from "./tools.ts";

const message = (id: string, text: string): Message => ({
  id,
  role: "user",
  parts: [{ type: "text", text }],
});

let archive: Archive;
let ids: readonly string[];
beforeEach(async () => {
  archive = createArchive(createMemoryDriver(), { redact: createRedactor() });
  ids = (await archive.saveTranscript("monday", 1, [message("m1", "the parrot is called Coco")])).ids;
  await archive.saveTranscript("tuesday", 1, [message("t1", "the key is AKIAIOSFODNN7EXAMPLE, keep it")]);
});

async function call(name: string, args: unknown, sessionId?: string): Promise<string> {
  const options = sessionId === undefined ? {} : { sessionId };
  return (
    (await archiveTools(archive, options)
      .find((tool) => tool.name === name)
      ?.execute(args)) ?? "no such tool"
  );
}

describe("an archive of many sessions", () => {
  it("ARC-4 is searched whole, and what is found is read without naming its session", async () => {
    const found = await call("compact_search", { query: "parrot" });
    expect(found).toContain(`archive id ${ids[0]}, user, step 1, session "monday"`);
    expect(found).toContain("> the parrot is called Coco");
    expect(await call("compact_expand", { id: ids[0] })).toContain("> the parrot is called Coco");
    expect(await call("compact_expand", { id: "step 1", session: "monday" })).toContain(`${ids[0]} user`);
  });

  it("a session that is named, or the only one, bounds all tools", async () => {
    expect(await call("compact_search", { query: "parrot", session: "tuesday" })).toMatch(/^Nothing in/);
    expect(await call("compact_search", { query: "parrot" }, "tuesday")).toMatch(/^Nothing in/);
    expect(await call("compact_expand", { id: ids[0] }, "tuesday")).toMatch(/^Error: the archive of this/);
    expect(await call("compact_expand", { id: ids[0], session: "monday" }, "tuesday")).toMatch(/^Error: /);
    expect(await call("compact_sessions", {}, "tuesday")).toBe("no such tool");
  });

  it("RED-1 gives what is stored: secrets are out of it", async () => {
    const found = await call("compact_search", { query: "key keep" });
    expect(found).toContain('session "tuesday"');
    expect(found).not.toContain("AKIAIOSFODNN7EXAMPLE");
  });

  it("gives at most 20 results, however many are asked for", async () => {
    const parrots = Array.from({ length: 30 }, (_, n) => message(`p${n}`, `parrot ${n}`));
    await archive.saveTranscript("parrots", 1, parrots);
    for (const [limit, most] of [
      [3, 3],
      [30, 20],
    ]) {
      const found = await call("compact_search", { query: "parrot", limit });
      expect(found.match(/archive id /g)).toHaveLength(most ?? 0);
    }
  });

  it("lists sessions in pages that fit", async () => {
    for (let n = 0; n < 120; n++) {
      await archive.saveTranscript(`run-${String(n).padStart(3, "0")}-${"long ".repeat(8)}`, 1, [
        message(`r${n}`, `run ${n}`),
      ]);
    }
    const seen = new Set<string>();
    for (let offset = 0; ; ) {
      const page = await call("compact_sessions", { offset });
      expect(countText(page)).toBeLessThanOrEqual(2000);
      for (const [, id = ""] of page.matchAll(/^> "([^"]+)" steps 1$/gm)) seen.add(id);
      const next = /Go on with offset (\d+)\.$/.exec(page)?.[1];
      if (next === undefined) break;
      expect(Number(next)).toBeGreaterThan(offset);
      offset = Number(next);
    }
    expect(seen.size).toBe(122);
  });

  it.each([
    ["compact_search", {}],
    ["compact_search", { query: 7 }],
    ["compact_search", { query: "x".repeat(20_000) }],
    ["compact_search", { query: "parrot", limit: "many" }],
    ["compact_search", { query: "parrot", session: "nobody" }],
    ["compact_expand", { id: "../../etc/passwd" }],
    ["compact_expand", { id: "step 1" }],
    ["compact_expand", { id: "step 9", session: "monday" }],
    ["compact_sessions", { offset: -1 }],
    ["compact_sessions", "not JSON"],
    ["compact_sessions", null],
  ])("%s %j is told as an error", async (name, args) => {
    expect(await call(name, args)).toMatch(/^Error: .+\.$/);
  });
});
