import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  afterCompaction,
  answerRoom,
  type Calibration,
  calibrated,
  emptyCalibration,
  fadeRefusal,
  observeRefusal,
  observeUsage,
  runningRatio,
  strictnessOf,
  type TooLong,
} from "./request.ts";

const counterId = "cl100k_base*1.26";
const by = { counterId, of: "m openai-chat", maxContextTokens: 100_000 };

/** A session whose true count is `hidden + ratio * estimate`, observed at each of the estimates. */
function observeAll(estimates: readonly number[], ratio: number, hidden = 0): Calibration {
  return estimates.reduce(
    (calibration, estimated) =>
      observeUsage(calibration, { estimated, reported: Math.round(hidden + ratio * estimated), ...by }),
    emptyCalibration(),
  );
}

const steps = (count: number, size: number): number[] =>
  Array.from({ length: count }, (_, index) => (index + 1) * size);

describe("calibration", () => {
  it("changes nothing before anything was reported", () => {
    expect(calibrated(12_345, emptyCalibration())).toBe(12_345);
    expect(runningRatio(emptyCalibration())).toBe(1);
  });

  it("TOK-7 gives back what was reported for the same messages", () => {
    const calibration = observeUsage(emptyCalibration(), { reported: 31_000, estimated: 12_000, ...by });
    expect(calibrated(12_000, calibration, counterId)).toBe(31_000);
    expect(calibrated(12_500, calibration, counterId)).toBe(31_500);
  });

  it("TOK-7 foresees the next report within 5 % after a few calls, for any ratio and hidden prompt", () => {
    const ratio = fc.double({ min: 0.75, max: 1.6, noNaN: true });
    fc.assert(
      fc.property(
        ratio,
        fc.nat(40_000),
        fc.array(fc.integer({ min: 50, max: 2_000 }), { minLength: 8, maxLength: 40 }),
        (scale, hidden, growth) => {
          let estimated = 10_000;
          let calibration = observeUsage(emptyCalibration(), {
            estimated,
            reported: hidden + scale * estimated,
            ...by,
          });
          for (const more of growth) {
            estimated += more;
            const truth = hidden + scale * estimated;
            expect(Math.abs(calibrated(estimated, calibration) / truth - 1)).toBeLessThan(0.07);
            calibration = observeUsage(calibration, { estimated, reported: truth, ...by });
          }
          const next = calibrated(estimated + 1_000, calibration);
          expect(Math.abs(next / (hidden + scale * (estimated + 1_000)) - 1)).toBeLessThan(0.05);
        },
      ),
    );
  });

  it("learns the ratio from growth, not from what was hidden all along", () => {
    expect(runningRatio(observeAll(steps(40, 2_000), 1.3, 50_000))).toBeCloseTo(1.3, 1);
    expect(runningRatio(observeAll([20_000], 3))).toBe(1);
  });

  it("keeps the ratio between 0.5 and 2", () => {
    expect(runningRatio(observeAll(steps(60, 5_000), 4.5))).toBe(2);
    expect(runningRatio(observeAll(steps(60, 5_000), 0.25))).toBe(0.5);
  });

  it("does not learn from growth that is none, but anchors on it", () => {
    const before = observeAll(steps(20, 1_000), 1.1);
    const dropped = observeUsage(before, { estimated: 25_000, reported: 9_000, ...by });
    expect(runningRatio(dropped)).toBe(runningRatio(before));
    expect(calibrated(25_000, dropped)).toBe(9_000);
    const cut = observeUsage(before, { estimated: 5_000, reported: 6_000, ...by });
    expect(runningRatio(cut)).toBe(runningRatio(before));
  });

  it("starts anew with another counter, and leaves that counter's estimates alone until then", () => {
    const before = observeAll(steps(20, 1_000), 1.5, 9_000);
    expect(calibrated(4_000, before, "o200k_base*1")).toBe(4_000);
    const after = observeUsage(before, {
      estimated: 21_000,
      reported: 21_000,
      ...by,
      counterId: "o200k_base*1",
    });
    expect(runningRatio(after)).toBe(1);
    expect(after).toEqual(
      observeUsage(emptyCalibration(), {
        estimated: 21_000,
        reported: 21_000,
        ...by,
        counterId: "o200k_base*1",
      }),
    );
  });

  it("TOK-7 keeps ratio and hidden prompt over a compaction, and forgets the anchor", () => {
    const before = observeAll(steps(40, 2_000), 1.2, 18_000);
    const after = afterCompaction(before);
    expect(after.anchor).toBeNull();
    expect(runningRatio(after)).toBeCloseTo(runningRatio(before), 6);
    expect(Math.abs(calibrated(20_000, after) / (18_000 + 1.2 * 20_000) - 1)).toBeLessThan(0.05);
    const next = observeUsage(after, { estimated: 20_000, reported: 30_000, ...by });
    expect(runningRatio(next)).toBeCloseTo(runningRatio(before), 6);
    expect(calibrated(20_000, next)).toBe(30_000);
  });

  it("never lets a report below our count shrink what follows a compaction to nothing", () => {
    const before = observeUsage(emptyCalibration(), { estimated: 100_000, reported: 40_000, ...by });
    expect(calibrated(8_000, afterCompaction(before))).toBe(8_000);
  });

  it("ignores what cannot be a report", () => {
    const before = observeAll([10_000], 1);
    for (const reported of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(observeUsage(before, { reported, estimated: 11_000, ...by })).toBe(before);
    }
    expect(observeUsage(before, { reported: 11_000, estimated: 0, ...by })).toBe(before);
  });

  it("survives being stored as JSON", () => {
    const calibration = observeAll(steps(5, 3_000), 1.17, 2_000);
    const stored = JSON.parse(JSON.stringify(calibration)) as Calibration;
    expect(stored).toEqual(calibration);
    expect(calibrated(20_000, stored, counterId)).toBe(calibrated(20_000, calibration, counterId));
  });
});

describe("refusals", () => {
  const counted = { ...by, estimated: 50_000 };
  const after = (refused: TooLong, before = emptyCalibration()): Calibration =>
    observeRefusal(before, refused, counted);
  const strictness = (calibration: Calibration, of = counted.of): number =>
    strictnessOf(counted.estimated, calibration, { ...counted, of });

  it.each<[string, TooLong, number]>([
    ["the provider's count over ours", { input: 90_000, limit: 100_000 }, 1.8],
    ["its count where it names no limit", { input: 75_000 }, 1.5],
    ["its limit where that is smaller than our window", { input: 50_000, limit: 40_000 }, 2.5],
    ["both, where its window is larger", { input: 90_000, limit: 150_000 }, 1.2],
    ["a small step where it names no number", {}, 1.25],
    ["a small step where its count is beyond belief", { input: 9_000_000, limit: 100_000 }, 1.25],
    ["nothing of a limit beyond belief", { input: 50_000, limit: 3 }, 1],
    ["nothing where the answer was too large", { input: 50_000, limit: 100_000, answer: 60_000 }, 1],
  ])("teach %s", (_, refused, expected) => {
    expect(strictness(after(refused))).toBeCloseTo(expected, 6);
  });

  it("count for the model and format that were refused", () => {
    expect(strictness(after({ input: 90_000 }), "other openai-chat")).toBe(1);
  });

  it("are kept for each model: another model's refusals, usage and compactions leave them", () => {
    const first = after({ input: 90_000 });
    const other = { ...counted, of: "other openai-chat" };
    const both = observeRefusal(first, { input: 60_000 }, other);
    const used = observeUsage(both, { ...by, of: other.of, reported: 50_000, estimated: 50_000 });
    const faded = fadeRefusal(used, other.of);
    expect(strictness(faded)).toBeCloseTo(1.8, 6);
    expect(strictness(faded, other.of)).toBe(1);
  });

  it("scale the room of the answer only where they counted it, and leave some of the window", () => {
    const limit = counted.maxContextTokens / 4;
    const room = (refused: TooLong, answer: number): number => answerRoom(answer, after(refused), counted);
    const withAnswer = { input: 50_000, limit, answer: 100 };
    expect(room(withAnswer, 6_000)).toBeCloseTo(24_000, 6);
    expect(room({ input: 50_000, limit }, 6_000)).toBe(6_000);
    expect(room(withAnswer, limit)).toBe(limit);
  });

  it("with a limit below that of nearly all models teach it when it is repeated", () => {
    const narrow = after({ input: 50_000, limit: 2_000 });
    expect(strictness(narrow)).toBe(1);
    expect(strictness(after({ input: 50_000, limit: 3_000 }, narrow))).toBe(1);
    expect(strictness(after({ input: 50_000, limit: 2_000 }, narrow))).toBeCloseTo(50, 6);
    const tiny = { input: 50_000, limit: 12 };
    expect(strictness(after(tiny, after(tiny)))).toBe(1);
  });

  it("without a number raise step by step what is known, up to what was sent", () => {
    const twice = after({}, after({}));
    expect(strictness(twice)).toBeCloseTo(1.25 ** 2, 6);
    const often = [1, 2, 3, 4].reduce((calibration) => after({}, calibration), twice);
    expect(strictness(often)).toBe(2);
  });

  it("are corrected by usage at once, and never raise what usage lowered", () => {
    const lied = after({ input: 100_000, limit: 100_000 });
    const told = observeUsage(lied, { reported: 40_000, estimated: 50_000, ...by });
    expect(strictnessOf(calibrated(50_000, told), told, counted)).toBe(1);
    const narrow = after({ input: 50_000, limit: 40_000 });
    const usage = { reported: 80_000, estimated: 80_000 };
    const answered = observeUsage(narrow, { ...usage, ...by });
    expect(strictnessOf(calibrated(50_000, answered), answered, counted)).toBe(1.25);
    const elsewhere = observeUsage(narrow, { ...usage, ...by, of: "other openai-chat" });
    expect(strictnessOf(calibrated(50_000, elsewhere), elsewhere, counted)).toBe(2.5);
    const honest = after({ input: 90_000, limit: 100_000 });
    const usual = observeUsage(honest, { reported: 54_000, estimated: 30_000, ...by });
    expect(strictnessOf(calibrated(50_000, usual), usual, counted) * calibrated(50_000, usual)).toBeCloseTo(
      90_000,
      -3,
    );
  });

  it("fade with every compaction, those that were repeated more slowly", () => {
    const said = { input: 90_000, limit: 100_000 };
    const once = after(said);
    const faded = fadeRefusal(once, counted.of);
    expect(strictness(faded)).toBeLessThan(strictness(once));
    expect(strictness(fadeRefusal(after(said, faded), counted.of))).toBeGreaterThan(strictness(faded));
    const long = Array.from({ length: 12 }).reduce<Calibration>((one) => fadeRefusal(one, counted.of), once);
    expect(strictness(long)).toBeLessThan(1.05);
    const burst = Array.from({ length: 20 }).reduce<Calibration>((one) => after(said, one), once);
    const later = Array.from({ length: 20 }).reduce<Calibration>(
      (one) => fadeRefusal(one, counted.of),
      burst,
    );
    expect(strictness(later)).toBeLessThan(1.15);
  });
});
