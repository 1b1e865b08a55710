import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { readTranscript } from "../../packages/compact-context-cli/src/transcripts/read.ts";
import { type AskOutcome, askAfter, replayedAsks } from "./newest-ask.ts";

const root = fileURLToPath(new URL("../../../shared/transcripts/", import.meta.url));
const present = existsSync(root);
const files = present
  ? readdirSync(root)
      .filter((folder) => statSync(join(root, folder)).isDirectory())
      .flatMap((folder) => readdirSync(join(root, folder)).map((file) => `${folder}/${file}`))
      .filter((file) => !file.endsWith("SOURCE.txt"))
  : [];

/** Above this share of what is left beside the system prompt, tools and protected messages an ask is cut. */
const ASK_SHARE = 0.75;
/** What an ask that is cut keeps at least. */
const LEFT_SHARE = 0.4;
/** Room in which the newest message has place beside the shortest summary, where nobody asks for anything. */
const ROOM = 100;

const LARGE_RESULTS = [
  "claude-code-packmind/00acd976-784c-4077-95cd-19aa1b51739b.jsonl",
  "opencode-nimbus/ses_33b284ff8ffebf1EpfplipGtF4.json",
];

describe.skipIf(!present)("the newest ask of recorded sessions", () => {
  const outcomes: AskOutcome[] = [];

  it.each(files.flatMap((file) => [0.25, 0.1].map((share) => [file, share] as const)))(
    "FIT-6 %s at %d of its tokens: a person's words stay whole, or the report says that they do not fit",
    async (file, share) => {
      const transcript = await readTranscript(readFileSync(join(root, file), "utf8"), { name: file });
      const outcome = await askAfter(transcript, share);
      outcomes.push(outcome);
      const { ask, left, room, refused, words, fate } = outcome;
      if (refused) expect(room).toBeLessThan(ask === 0 ? ROOM : ask);
      else if (fate === "cut") {
        expect(ask).toBeGreaterThan(room * ASK_SHARE);
        expect(left).toBeGreaterThan(room * LEFT_SHARE);
      } else expect(words).toBe(true);
    },
  );

  it.each(LARGE_RESULTS.filter((file) => files.includes(file)))(
    "FIT-6 %s in a window of 16,000 tokens, whose results take most of it: each call has the newest words whole",
    async (file) => {
      const transcript = await readTranscript(readFileSync(join(root, file), "utf8"), { name: file });
      const { rounds, without } = await replayedAsks(transcript, 16_000);
      expect(rounds).toBeGreaterThan(1);
      expect(without).toBe(0);
    },
  );

  it("most of them have an ask, and it stays", () => {
    expect(outcomes).toHaveLength(files.length * 2);
    const whole = outcomes.filter(({ fate }) => fate === "whole");
    expect(whole.length).toBeGreaterThan(outcomes.length * 0.6);
  });
});
