import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { SummaryStrategy } from "../../packages/compact-context/src/core/ports.ts";
import { builtinSummarizer } from "../../packages/compact-context/src/summarizers/extractive/builtin.ts";
import { VIEWS } from "../../packages/compact-context/src/summarizers/extractive/sections.ts";
import { manifest, present, read } from "../transcripts/sessions.ts";

/**
 * What the built-in summarizer makes of real sessions, which are no part of the repository: a hash for each. By default
 * a few short sessions are summarized anew. `SUMMARY_HASHES=all npx vitest run test/golden` does so with all of them,
 * `SUMMARY_HASHES=write` keeps what comes out.
 */
const mode = process.env.SUMMARY_HASHES;
const FILE = new URL("session-hashes.txt", import.meta.url);
const NAMES = Object.keys(VIEWS) as SummaryStrategy[];
const SIZES = [400, 2000];
const A_SESSION = 120_000;
/** Messages of a session that is short enough to be looked at in every run. */
const FEW_MESSAGES = 48;

/** `strategy-size hash` lines; of a hash, the first 16 digits. */
async function hashesOf(file: string): Promise<string[]> {
  const { messages } = await read(file);
  const lines: string[] = [];
  for (const strategy of NAMES) {
    for (const maxTokens of SIZES) {
      const { text } = await builtinSummarizer.summarize(messages, { strategy, maxTokens });
      const hash = createHash("sha256").update(text).digest("hex").slice(0, 16);
      lines.push(`${strategy}-${maxTokens} ${hash}`);
    }
  }
  return lines;
}

/** The kept hashes by session: a line with its name, then its hashes, each behind two blanks. */
function keptHashes(): Map<string, string[]> {
  const kept = new Map<string, string[]>();
  let name = "";
  for (const line of existsSync(FILE) ? readFileSync(FILE, "utf8").split("\n") : []) {
    if (line.startsWith("  ")) kept.get(name)?.push(line.trim());
    else if (line !== "") {
      name = line;
      kept.set(name, []);
    }
  }
  return kept;
}

const files = manifest.map(({ file }) => file).sort();

/** One short session of each format. */
function shortSessions(): string[] {
  const short = new Map<string, string>();
  for (const { file, format, messages } of [...manifest].sort((left, right) =>
    left.file < right.file ? -1 : 1,
  ))
    if (messages <= FEW_MESSAGES && messages > 8 && !short.has(format)) short.set(format, file);
  return [...short.values()];
}

describe.skipIf(!present)("built-in summaries of real sessions", () => {
  if (mode === "write") {
    it("are kept as hashes", { timeout: A_SESSION * 10 }, async () => {
      const blocks: string[] = [];
      for (const file of files)
        blocks.push([file, ...(await hashesOf(file)).map((line) => `  ${line}`)].join("\n"));
      writeFileSync(FILE, `${blocks.join("\n")}\n`);
    });
    return;
  }
  const kept = keptHashes();

  it.each(mode === "all" ? files : shortSessions())(
    "SUM-9 %s: every strategy gives the text it gave before",
    async (file) => {
      expect(await hashesOf(file)).toEqual(kept.get(file));
    },
    A_SESSION,
  );

  it("every session has a hash for each strategy and size", () => {
    expect([...kept.keys()]).toEqual(files);
    for (const lines of kept.values()) expect(new Set(lines).size).toBe(NAMES.length * SIZES.length);
  });
});
