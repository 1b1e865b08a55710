import { describe, expect, it } from "vitest";
import { decode, FORMATS } from "../../packages/compact-context/src/codecs/formats.ts";
import { compact, countTokens } from "../../packages/compact-context/src/compact.ts";
import { type Format, type Message, messageText } from "../../packages/compact-context/src/core/message.ts";
import { latestUserMessage } from "../../packages/compact-context/src/core/units.ts";
import { CompactManager } from "../../packages/compact-context/src/create-manager.ts";
import { findMalformations } from "../../packages/compact-context/src/lint/generic.ts";
import { lint } from "../../packages/compact-context/src/lint/index.ts";
import { generateNativeList } from "../support/native-lists.ts";
import { whole } from "../whole.ts";

/** Of each of eight formats: more than a hundred in any case. */
const SESSIONS_PER_FORMAT = whole ? 20 : 13;
const OPTIONS = { turns: 9, parallelCalls: 3, media: true, reasoning: true, protect: true, system: true };
const seeds = Array.from({ length: SESSIONS_PER_FORMAT }, (_, index) => index * 7919 + 13);

const summaries = (messages: readonly Message[]) =>
  messages.filter((message) => messageText(message).startsWith("<COMPACT-SUMMARY v"));
const pinned = (messages: readonly Message[]) =>
  messages.filter(({ role, meta }) => meta?.protected === true || role === "system" || role === "developer");
const faults = (messages: readonly Message[]) =>
  findMalformations(messages).filter(({ kind }) => kind !== "duplicate id").length;

/** Rules of the provider that a list breaks; the errors alone. */
const brokenRules = (list: readonly unknown[], format: Format) =>
  new Set(
    lint(list, format)
      .filter(({ severity }) => severity === "error")
      .map(({ rule }) => rule),
  );

/** Rules that are broken now and were not before. */
const newlyBroken = (before: readonly unknown[], after: readonly unknown[], format: Format) => {
  const known = brokenRules(before, format);
  return [...brokenRules(after, format)].filter((rule) => !known.has(rule));
};

/** A budget between all of it and little more than what is pinned. */
function budgetFor(list: readonly unknown[], format: Format, seed: number): number {
  const total = countTokens(list, { format }).tokens;
  const natives = pinned(decode(list, format)).map((message) => message.native);
  const floor = natives.length === 0 ? 0 : countTokens(natives, { format }).tokens;
  return Math.max(floor + 120, Math.floor(total * (0.15 + ((seed % 13) / 13) * 0.7)));
}

describe.each(FORMATS)("%s", (format) => {
  it.each(seeds)("TST-2 PRT-1 PRT-5 PRT-6 FIT-6 INT-4 session %i: one compaction", async (seed) => {
    const list = generateNativeList(format, seed, OPTIONS);
    const copy = structuredClone(list);
    const messages = decode(list, format);
    const maxTokens = budgetFor(list, format, seed);
    const { messages: natives, report } = await compact(list, { format, maxTokens, onOverflow: "elide" });
    const after = decode(natives, format);
    // At or under the budget, by a count made from nothing.
    expect(countTokens(natives, { format }).tokens).toBeLessThanOrEqual(maxTokens);
    // What came in was not touched.
    expect(list).toEqual(copy);
    // Pinned and protected messages are the caller's own objects, whatever happens around them.
    for (const message of pinned(messages)) expect(natives).toContain(message.native);
    // Kept messages are the caller's own objects in their order; only edited ones and the summary are new.
    const places = natives.map((native) => list.indexOf(native)).filter((place) => place >= 0);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(natives.length - places.length).toBeLessThanOrEqual(report.clearedCount + report.elidedCount + 1);
    // Still well formed, and with at most one summary.
    expect(faults(after)).toBeLessThanOrEqual(faults(messages));
    expect(newlyBroken(list, natives, format)).toEqual([]);
    expect(summaries(after).length).toBeLessThanOrEqual(1);
    // The newest ask is there, verbatim unless it alone was too large.
    const ask = messages[latestUserMessage(messages)];
    if (ask !== undefined && report.elidedCount === 0) expect(natives).toContain(ask.native);
  });

  it("TST-2 FIT-6 SUM-1 five compactions in a row stay in budget and well formed", async () => {
    for (const seed of seeds.slice(0, 4)) {
      let list = generateNativeList(format, seed, OPTIONS);
      let version = 0;
      for (let round = 0; round < 5; round += 1) {
        const before = decode(list, format);
        const maxTokens = Math.max(900, budgetFor(list, format, seed + round));
        const { messages: natives, report } = await compact(list, { format, maxTokens, onOverflow: "elide" });
        const after = decode(natives, format);
        expect(countTokens(natives, { format }).tokens).toBeLessThanOrEqual(maxTokens);
        expect(faults(after)).toBeLessThanOrEqual(faults(before));
        expect(newlyBroken(list, natives, format)).toEqual([]);
        expect(summaries(after).length).toBeLessThanOrEqual(1);
        if (report.summaryVersion !== undefined) {
          expect(report.summaryVersion).toBe(version + 1);
          version = report.summaryVersion;
        }
        const more = generateNativeList(format, seed + 1000 + round, {
          ...OPTIONS,
          system: false,
          protect: false,
        });
        list = [...natives, ...more];
      }
      expect(version).toBeGreaterThan(1);
    }
  });

  it("FIT-6 the manager keeps every call of a growing session within its budget, raw list each time", async () => {
    const manager = new CompactManager({
      maxContextTokens: 3000,
      policy: { hardCapBuffer: 200, onOverflow: "elide" },
      storage: { kind: "memory" },
    });
    const list: unknown[] = [];
    for (let turn = 0; turn < 12; turn += 1) {
      list.push(
        ...generateNativeList(format, turn * 31 + 5, {
          turns: 2,
          parallelCalls: 3,
          reasoning: true,
          system: false,
        }),
      );
      const { messages, report } = await manager.preflight("s", structuredClone(list), { format });
      expect(countTokens(messages, { format }).tokens).toBeLessThanOrEqual(2800);
      expect(report.tokensAfter).toBeLessThanOrEqual(2800);
      expect(faults(decode(messages, format))).toBeLessThanOrEqual(faults(decode(list, format)));
      expect(newlyBroken(list, messages, format)).toEqual([]);
    }
    expect(manager.getState("s").summaryCount).toBeGreaterThan(0);
  });

  it("FIT-6 a newest ask over the budget is refused, or cut where the caller allows it, and never sent whole", async () => {
    for (const seed of seeds.slice(0, 4)) {
      const list = generateNativeList(format, seed, OPTIONS);
      const messages = decode(list, format);
      const ask = messages[latestUserMessage(messages)];
      const maxTokens = countTokens([ask?.native], { format }).tokens - 1;
      const tokensOr = (onOverflow: "error" | "elide"): Promise<number | string> =>
        compact(list, { format, maxTokens, onOverflow }).then(
          (result) => countTokens(result.messages, { format }).tokens,
          (error: { code: string }) => error.code,
        );
      expect(await tokensOr("error")).toBe("InsufficientBudget");
      const cut = await tokensOr("elide");
      if (typeof cut === "number") expect(cut).toBeLessThanOrEqual(maxTokens);
      else expect(cut).toBe("InsufficientBudget");
    }
  });

  it("FIT-6 the buffer stays free where the trigger alone would use it up", async () => {
    const policy = { triggerPct: 1, hardCapBuffer: 1200, onOverflow: "elide" } as const;
    const manager = new CompactManager({ maxContextTokens: 3000, policy, storage: { kind: "memory" } });
    const list: unknown[] = [];
    let most = 0;
    for (let turn = 0; turn < 12; turn += 1) {
      list.push(...generateNativeList(format, turn * 31 + 5, { turns: 1, system: false }));
      const { messages } = await manager.preflight("s", structuredClone(list), { format });
      const { tokens } = countTokens(messages, { format });
      expect(tokens).toBeLessThanOrEqual(1800);
      most = Math.max(most, countTokens(list, { format }).tokens);
    }
    expect(most).toBeGreaterThan(1800);
  });
});
