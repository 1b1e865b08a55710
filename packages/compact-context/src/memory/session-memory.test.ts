import fc from "fast-check";
import { expect, it } from "vitest";
import {
  emptySessionMemory,
  parseSessionMemory,
  renderSessionMemory,
  SESSION_SECTIONS,
  type SessionMemoryState,
} from "./session-memory.ts";

const state: SessionMemoryState = {
  ...emptySessionMemory(),
  title: "Move the queue",
  nextSteps: ["Run the migration", "Tell Ana"],
  currentState: ["Schema is ready"],
  constraints: ["No downtime"],
};

it("MEM-5 sections come in fixed order, whatever the order of the fields; low-value ones only with items", () => {
  const text = renderSessionMemory(state);
  expect(text).toBe(renderSessionMemory(Object.fromEntries(Object.entries(state).toReversed()) as never));
  expect(text.match(/^# .*$/gm)).toEqual([
    "# Session Title",
    "# Current State",
    "# User Intent",
    "# Constraints",
    "# Next Steps",
  ]);
  expect(text).toContain("# Next Steps\n\n- Run the migration\n- Tell Ana\n");
});

it("MEM-5 sections and items are capped: the newest work stays, and the first next steps", () => {
  const many = Array.from({ length: 30 }, (_, index) => `entry ${index} ${"x".repeat(400)}`);
  const parsed = parseSessionMemory(renderSessionMemory({ ...state, worklog: many, nextSteps: many }));
  expect(parsed.worklog).toHaveLength(12);
  expect(parsed.worklog[11]).toMatch(/^entry 29 x+ …$/);
  expect(parsed.worklog[11]).toHaveLength(300);
  expect(parsed.nextSteps[0]).toMatch(/^entry 0 /);
  expect(renderSessionMemory({ ...state, title: "t".repeat(500) }).split("\n")[2]).toHaveLength(120);
});

it("MEM-5 a state that says nothing is an empty but valid file", () => {
  const text = renderSessionMemory(emptySessionMemory());
  expect(text.match(/^# .*$/gm)).toEqual([
    "# Session Title",
    "# Current State",
    "# User Intent",
    "# Next Steps",
  ]);
  expect(parseSessionMemory(text)).toEqual(emptySessionMemory());
});

it("MEM-5 what people edit by hand is read", () => {
  const text =
    "\uFEFF# Current state\r\n* one\r\n  and on\r\n1. two\r\n```\r\n# not a heading\r\n```\r\n# Mine\r\n- lost\r\n# errors & corrections\r\nplain";
  const parsed = parseSessionMemory(text);
  expect(parsed.currentState).toEqual(["one and on", "two ``` # not a heading ```"]);
  expect(parsed.errorsAndCorrections).toEqual(["plain"]);
});

const line = fc.string({ unit: "grapheme", maxLength: 40 });
const drawn = fc.record({
  title: line,
  ...Object.fromEntries(
    SESSION_SECTIONS.filter(({ field }) => field !== "title").map(({ field }) => [
      field,
      fc.array(fc.oneof(line, fc.constantFrom("# heading", "```", "<!-- x", "--> y", "- - z", "~~~")), {
        maxLength: 5,
      }),
    ]),
  ),
}) as fc.Arbitrary<SessionMemoryState>;

it("MEM-5 any state: rendering is deterministic, no item opens a section, and what was read renders the same again", () => {
  fc.assert(
    fc.property(drawn, (any) => {
      const text = renderSessionMemory(any);
      const allowed = SESSION_SECTIONS.map(({ heading }) => `# ${heading}`);
      expect((text.match(/^# .*$/gm) ?? []).every((heading) => allowed.includes(heading))).toBe(true);
      const again = renderSessionMemory(parseSessionMemory(text));
      expect(renderSessionMemory(parseSessionMemory(again))).toBe(again);
    }),
  );
});
