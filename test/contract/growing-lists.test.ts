import fc from "fast-check";
import { expect, it } from "vitest";
import { FORMATS, listCodecs } from "../../packages/compact-context/src/codecs/formats.ts";
import { runAtOnce } from "../../packages/compact-context/src/errors.ts";
import { describeRules, lint, repair } from "../../packages/compact-context/src/lint/index.ts";
import { createGrowingList } from "../../packages/compact-context/src/lint/live.ts";
import { breakList, validList } from "../support/broken-lists.ts";
import { whole } from "../whole.ts";

const mendable = new Set(describeRules().flatMap((rule) => (rule.mend === undefined ? [] : [rule.id])));
const numRuns = whole ? 60 : 15;
const seeds = fc.integer({ min: 0, max: 2 ** 31 });
const steps = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 4, maxLength: 12 });

const hasErrors = (list: readonly unknown[], format: (typeof FORMATS)[number]): boolean =>
  lint(list, format).some(({ rule, severity }) => severity === "error" && mendable.has(rule));

/** The list as a host hands it over from call to call. */
function* growing(list: readonly unknown[], sizes: readonly number[]): Generator<unknown[]> {
  let end = 0;
  for (const size of sizes) {
    end += size;
    yield list.slice(0, end);
  }
}

it.each(FORMATS)("a growing %s list is found clean or broken as the whole list is", (format) => {
  fc.assert(
    fc.property(seeds, steps, fc.boolean(), (seed, sizes, broken) => {
      const valid = validList(format, seed, { turns: 4, reasoning: true });
      const list = broken ? breakList(seed, format) : valid;
      const known = createGrowingList();
      for (const given of growing(list, sizes)) {
        const found = runAtOnce(known.check(given, () => format)) !== undefined;
        expect(found).toBe(given.length > 0 && hasErrors(given, format));
      }
    }),
    { numRuns },
  );
});

it.each(FORMATS)(
  "a growing %s list of new objects is found clean or broken as the whole list is",
  (format) => {
    fc.assert(
      fc.property(seeds, steps, fc.boolean(), (seed, sizes, broken) => {
        const list = broken
          ? breakList(seed, format)
          : validList(format, seed, { turns: 4, reasoning: true });
        const known = createGrowingList();
        for (const given of growing(list, sizes)) {
          const found = runAtOnce(known.check(structuredClone(given), () => format)) !== undefined;
          expect(found).toBe(given.length > 0 && hasErrors(given, format));
        }
      }),
      { numRuns },
    );
  },
);

it.each(FORMATS)(
  "a long %s list that is looked at in steps is found clean or broken as the whole is",
  (format) => {
    fc.assert(
      fc.property(seeds, fc.boolean(), (seed, broken) => {
        const list = [...validList(format, seed, { turns: 60 }), ...(broken ? breakList(seed, format) : [])];
        const found = runAtOnce(createGrowingList().check(list, () => format));
        expect(found !== undefined).toBe(hasErrors(list, format));
      }),
      { numRuns: 20 },
    );
  },
);

it.each(FORMATS)("a growing %s list is mended to what the whole list is mended to", (format) => {
  fc.assert(
    fc.property(seeds, steps, (seed, sizes) => {
      const list = breakList(seed, format);
      const known = createGrowingList();
      for (const given of growing(list, sizes)) {
        const { messages } = runAtOnce(known.mend(given, () => format));
        const left = hasErrors(repair(given, format).messages, format);
        expect(hasErrors(messages, format) && !left).toBe(false);
        if (!hasErrors(given, format)) expect(messages).toBe(given);
      }
    }),
    { numRuns },
  );
});

it("a list of bare texts is looked at from the entry on that shows its format", () => {
  const known = createGrowingList();
  const asked: number[] = [];
  const format = (entries: readonly unknown[]) => {
    asked.push(entries.length);
    const { certain, format: found } = listCodecs.forList(entries, undefined);
    return certain ? found : undefined;
  };
  const list: unknown[] = Array.from({ length: 40 }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: `text ${index}`,
  }));
  const check = () => runAtOnce(known.check(list, format));
  expect(check()).toBeUndefined();
  list.push({ role: "user", content: "and now" });
  expect(check()).toBeUndefined();
  list.push({ role: "tool", tool_call_id: "nobody", content: "a result without a call" });
  expect(check()?.path).toBe("messages[41]");
  expect(asked).toEqual([40, 1, 1, 42]);
  list[1] = { role: "assistant", content: "another" };
  list.length = 40;
  expect(check()).toBeUndefined();
  expect(asked.at(-1)).toBe(40);
});

it.each([
  ["the same objects", (list: readonly object[]) => list],
  ["new objects at each call", (list: readonly object[]) => structuredClone(list)],
])("cache breakpoints are counted over the whole list: %s", (_, given) => {
  const known = createGrowingList();
  const list: object[] = [];
  for (let turn = 1; turn <= 8; turn += 1) {
    const content = [{ type: "text", text: `question ${turn}`, cache_control: { type: "ephemeral" } }];
    list.push({ role: "user", content });
    const { messages } = runAtOnce(known.mend(given([...list]), () => "anthropic"));
    expect(JSON.stringify(messages).match(/cache_control/g)).toHaveLength(Math.min(turn, 4));
    expect(lint(messages, "anthropic")).toEqual([]);
    list.push({ role: "assistant", content: `answer ${turn}` });
  }
});
