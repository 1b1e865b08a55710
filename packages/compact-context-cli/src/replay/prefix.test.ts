import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Format } from "compact-context";
import { CompactManager } from "compact-context";
import { encode, FORMATS } from "compact-context/internal/codecs/formats";
import { describe, expect, it } from "vitest";
import { generateNativeList } from "../../../../test/support/native-lists.ts";
import { readTranscript } from "../transcripts/read.ts";

interface Played {
  readonly compactions: number;
  /** Calls whose request was compared with the one before. */
  readonly compared: number;
}

/** A preflight with the raw native list before each entry; each request must start with the previous one, byte for byte. */
async function playNative(list: readonly unknown[], format: Format, window: number): Promise<Played> {
  const manager = new CompactManager(
    {
      maxContextTokens: window,
      policy: { onOverflow: "elide", hardCapBuffer: 100 },
      storage: { kind: "memory" },
    },
    { onWarning: () => undefined },
  );
  let previous: readonly unknown[] = [];
  let compactions = 0;
  let compared = 0;
  for (let end = 1; end <= list.length; end += 1) {
    const { messages, report } = await manager.preflight("s", list.slice(0, end), { format });
    if (report.compacted) compactions += 1;
    else {
      expect(messages.length).toBeGreaterThan(previous.length);
      for (const [index, entry] of previous.entries()) {
        if (messages[index] === entry) continue;
        expect(JSON.stringify(messages[index]), `call ${end}, entry ${index}`).toBe(JSON.stringify(entry));
      }
      compared += 1;
    }
    previous = messages;
  }
  return { compactions, compared };
}

describe("between two compactions a request only grows", () => {
  it.each(FORMATS)("a generated session in %s", async (format) => {
    const options = { turns: 30, parallelCalls: 3, reasoning: true, system: true, protect: true };
    const { compactions, compared } = await playNative(generateNativeList(format, 7, options), format, 2000);
    expect(compactions).toBeGreaterThan(1);
    expect(compared).toBeGreaterThan(40);
  });

  const folder = fileURLToPath(new URL("../../../../../shared/transcripts/", import.meta.url));
  const recorded = [
    "codex-agentv/019efedf-a8dc-7b20-ba1d-f1c6ff7ea96e.jsonl",
    "claude-code-packmind/77e148b8-d479-4609-8980-471c85003c07.jsonl",
  ];
  it.skipIf(!existsSync(folder)).each(recorded)("the recorded session %s", async (file) => {
    const transcript = await readTranscript(readFileSync(folder + file, "utf8"), { name: file });
    const format = transcript.list;
    if (format === undefined) throw new Error("a session with native entries is needed here");
    const { compactions, compared } = await playNative(encode(transcript.messages, format), format, 32_000);
    expect(compactions).toBeGreaterThan(1);
    expect(compared).toBeGreaterThan(40);
  });
});
