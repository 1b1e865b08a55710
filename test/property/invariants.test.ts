import { describe, expect, it } from "vitest";
import { FORMATS } from "../../packages/compact-context/src/codecs/formats.ts";
import type { Format } from "../../packages/compact-context/src/core/message.ts";
import { type SoakOutcome, soakHistory } from "../support/soak.ts";
import type { SoakFixed } from "../support/soak-history.ts";

/*
 * The invariants that a compaction can break, over generated histories of every format: each goes
 * through `compact()` and through a manager that gets the raw list, its own output, or now this, now that; with a model
 * that binds its reasoning and with one that does not. The checks read the wire by themselves
 * (test/support/provider-checks*.ts); what they see of broken lists is in provider-checks.test.ts.
 *
 * Not touched by a compaction, or not held as it is written, and so not claimed here:
 *
 * A9, R4  Requests to a summarizing model are written by the summarizers; see packages/compact-context/src/summarizers.
 * C3      Strict templates: `lint` and `repair` with `strict`; a compaction does not merge what the host wrote.
 * R3      "All reasoning and calls since the last user message, or none": a turn of 145 steps cannot be kept so. What is
 *         held is R1: every response that is kept is kept whole.
 * G8      The kept part is no suffix: pinned messages, tool pairs and texts have counts of their own. What is held: kept
 *         messages are the caller's own objects in their order, and the last message stays the last.
 * G12, U1-U5  Usage records: packages/compact-context/src/tokens/usage.test.ts and calibration.test.ts.
 * L1, L2, L4  Updates of a graph's state: the adapters.
 * S1, V2  Sessions of the Agents SDK and `prepareStep`: the adapters.
 * A4      "The open loop's thinking is all kept or the loop is summarized whole": PRT-4 takes older exchanges of a long
 *         turn from the front, which is legal. What is held: A3, and every exchange that stays keeps its own thinking
 *         (C4), unless the model binds it to what left.
 * G14     What was brought back: packages/compact-context/src/recall and its tests.
 * G15     Tags in what people and tools say: test/summaries and packages/compact-context/src/recall/quote.ts.
 */

const SEEDS = Array.from({ length: 4 }, (_, index) => index * 97 + 3);

const RUNS: readonly (readonly [string, SoakFixed])[] = [
  ["compact()", { drive: "compact", bound: false }],
  ["compact(), reasoning bound", { drive: "compact", bound: true }],
  ["manager, raw lists", { drive: "manager", gives: "raw", bound: false }],
  ["manager, its own output", { drive: "manager", gives: "own", bound: false }],
  ["manager, both in turn", { drive: "manager", bound: false }],
  ["manager, reasoning bound", { drive: "manager", bound: true }],
];

/** What makes a history worth it: everything at once, but no giants. */
const RICH = {
  turns: 4,
  steps: 3,
  parallelCalls: 3,
  media: true,
  protect: true,
  reasoning: true,
  serverTools: true,
  approvals: true,
  compactions: true,
};

const outcomes = new Map<string, Promise<SoakOutcome[]>>();

function outcomesOf(format: Format, name: string, fixed: SoakFixed): Promise<SoakOutcome[]> {
  const key = `${format} ${name}`;
  const known = outcomes.get(key) ?? runAll(format, fixed);
  outcomes.set(key, known);
  return known;
}

async function runAll(format: Format, fixed: SoakFixed): Promise<SoakOutcome[]> {
  const all: SoakOutcome[] = [];
  for (const seed of SEEDS) {
    // Every other history is drawn as the soak draws it, with its empty texts, dead calls and giants.
    const options = seed % 2 === 0 ? {} : { options: RICH };
    all.push(await soakHistory(format, seed, { ...fixed, ...options }));
  }
  return all;
}

/** An invariant, the formats that know it, and the promises that it is made of. */
const INVARIANTS: readonly (readonly [name: string, formats: readonly Format[], promises: RegExp])[] = [
  [
    "G1 PRT-5 no rule of the provider is broken that was not",
    FORMATS,
    /^(generic|reasoning|items|[a-z-]+\/)/,
  ],
  ["G3 FIT-6 within the budget, or refused", FORMATS, /^(within budget|told tokens|no other error)$/],
  ["G6 what was made to fit is left alone", FORMATS, /^(second is identity|input untouched)$/],
  ["G7 PRT-1 PRT-2 the newest ask and what is pinned", FORMATS, /^(newest ask|pinned stay)$/],
  ["PRT-6 INT-4 the caller's own objects in their order", FORMATS, /^(order|own objects)$/],
  ["G9 SUM-1 one summary, never as system text", FORMATS, /^(one summary|summary is no system text)$/],
  [
    "G10 between two compactions a list begins with the one before, byte for byte",
    FORMATS,
    /^stable prefix$/,
  ],
  ["G11 calls that wait for their results stay", FORMATS, /^open calls$/],
  ["bound reasoning never stands behind another prefix", FORMATS, /^bound reasoning$/],
  ["A1 PRT-5 results in the next message, first, one each", ["anthropic"], /^A1$/],
  ["A2 the user begins", ["anthropic"], /^A2$/],
  ["A3 thinking is as it was signed", ["anthropic"], /^A3$/],
  ["A5 PRT-5 server tools and what they found", ["anthropic"], /^A5$/],
  ["A6 the newest compaction stays, first in its message", ["anthropic"], /^A6$/],
  ["A7 no more than four cache marks", ["anthropic"], /^A7$/],
  ["A8 of a cleared result only the content changes", ["anthropic"], /^A8$/],
  ["R1 PRT-5 reasoning is followed by what it led to", ["openai-responses", "openai-agents"], /^R1$/],
  ["R2 PRT-5 calls and outputs, one each", ["openai-responses", "openai-agents"], /^R2$/],
  ["R5 the newest compaction item stays as it is", ["openai-responses", "openai-agents"], /^R5$/],
  ["R6 ids once, phase and unknown fields as they were", ["openai-responses", "openai-agents"], /^R6$/],
  ["C1 PRT-5 tool messages right behind their call", ["openai-chat"], /^C1$/],
  ["C2 no message without content and calls", ["openai-chat"], /^C2$/],
  ["C4 the open loop has its reasoning or has none", ["openai-chat"], /^C4$/],
  ["M1 PRT-5 as many responses as calls, in their order", ["gemini"], /^M1$/],
  ["M2 signatures stay on their calls", ["gemini"], /^M2$/],
  ["M3 starts with the user", ["gemini"], /^M3$/],
  ["L3 ids stay what they were", ["langchain"], /^L3$/],
  ["L5 PRT-5 tool messages find their call by id", ["langchain"], /^L5$/],
  [
    "V1 PRT-5 approvals with their requests and calls",
    ["ai-sdk", "openai-responses", "openai-agents"],
    /^V1$/,
  ],
];

describe.each(RUNS)("%s", (name, fixed) => {
  describe.each(FORMATS)("%s", (format) => {
    it.each(INVARIANTS.filter(([, formats]) => formats.includes(format)))(
      "%s",
      async (_what, _formats, promises) => {
        const all = await outcomesOf(format, name, fixed);
        expect(
          all.flatMap(({ violations }) => violations).filter(({ promise }) => promises.test(promise)),
        ).toEqual([]);
      },
    );

    it("nothing else is broken, and something was compacted", async () => {
      const all = await outcomesOf(format, name, fixed);
      expect(all.flatMap(({ violations }) => violations)).toEqual([]);
      expect(all.reduce((sum, { compactions }) => sum + compactions, 0)).toBeGreaterThan(SEEDS.length / 2);
    });
  });
});
