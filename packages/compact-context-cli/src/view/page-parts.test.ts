import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chartColumns, maxTokens, sharesOf, spanRows, windowContent, zoomedRange } from "./page/rows.ts";
import { mergeSession } from "./page/state.ts";
import {
  clockTimeAfter,
  count,
  duration,
  firstLine,
  liveLabel,
  percent,
  plural,
  short,
  splitMatches,
  visibleText,
} from "./page/text.ts";
import type {
  CompactionView,
  MessageOutcome,
  MessageView,
  SessionView,
  SpanView,
  StepView,
} from "./session-view.ts";

const step = (index: number, tokens: number[], more: Partial<StepView> = {}): StepView => ({
  index,
  messages: index * 2 + 1,
  tokens,
  total: tokens.reduce((sum, each) => sum + each, 0),
  ...more,
});

function session(steps: readonly StepView[], more: Partial<SessionView> = {}): SessionView {
  return {
    id: "s",
    title: "",
    source: "transcript",
    live: false,
    window: 100,
    trigger: 85,
    budget: 90,
    counts: { messages: 9, steps: steps.length, compactions: 0, spans: 0 },
    dropped: 0,
    layers: ["system", "recent"],
    from: { steps: 0, compactions: 0, spans: 0 },
    steps,
    compactions: [],
    spans: [],
    ...more,
  };
}

describe("the chart", () => {
  it("stacks the layers, and a compaction has two columns at one position", () => {
    const steps = [step(0, [10, 20]), step(1, [10, 10], { before: [10, 70] })];
    expect(chartColumns(session(steps))).toMatchObject({
      x: [0, 1, 1],
      stack: [
        [30, 80, 20],
        [10, 10, 10],
      ],
    });
  });

  it("draws a single call over the whole width, and nothing without calls", () => {
    expect(chartColumns(session([step(0, [50, 0])]))).toMatchObject({
      x: [0, 1],
      stack: [
        [50, 50],
        [50, 50],
      ],
    });
    expect(chartColumns(session([])).x).toEqual([]);
  });

  it("draws what the provider reported, and the whole history from the first compaction on", () => {
    const steps = [0, 1, 2, 3].map((index) => step(index, [1], { without: index, reported: 5 }));
    const compactions = [{ step: 2 }] as unknown as SessionView["compactions"];
    const columns = chartColumns(session(steps, { compactions }));
    expect(columns.without).toEqual([null, 1, 2, 3]);
    expect(columns.reported).toEqual([5, 5, 5, 5]);
  });

  it("has room for the window's label and for requests over the window", () => {
    expect(maxTokens(session([]), 120)).toBe(120);
    expect(maxTokens(session([step(0, [10], { before: [400] })]), 120)).toBeGreaterThan(400);
    expect(maxTokens(session([], { window: 0 }), 120)).toBe(1);
  });

  it("zooms around a call, inside the session", () => {
    expect(zoomedRange({ min: 0, max: 100 }, 0.5, { around: 10, last: 100 })).toEqual({ min: 0, max: 50 });
    expect(zoomedRange({ min: 0, max: 100 }, 0.5, { around: 60, last: 100 })).toEqual({ min: 35, max: 85 });
    expect(zoomedRange({ min: 35, max: 85 }, Number.POSITIVE_INFINITY, { around: 60, last: 100 })).toEqual({
      min: 0,
      max: 100,
    });
  });
});

describe("text from outside", () => {
  it("is shown without invisible characters", () => {
    expect(visibleText("a\u001b[31m\u202e\ud800\u0000\tb\r\nc")).toBe("a\\x1b[31m\\u202e\\ud800\\x00\tb\nc");
    expect(visibleText("👩\u200d💻 ن\u200cن")).toBe("👩\u200d💻 ن\u200cن");
    expect(firstLine("  a\n\n b  ", 10)).toBe("a b");
    expect(firstLine("x😀", 2)).toBe("x");
  });

  it("is not changed by highlighting", () => {
    expect(splitMatches("src/Plan.ts", ["plan"])).toEqual([
      { text: "src/", found: false },
      { text: "Plan", found: true },
      { text: ".ts", found: false },
    ]);
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.array(fc.string()), (text, words) => {
        const pieces = splitMatches(
          text,
          words.map((word) => word.toLowerCase()),
        );
        expect(pieces.map((piece) => piece.text).join("")).toBe(text);
      }),
    );
  });
});

describe("numbers", () => {
  it("are short and plain", () => {
    expect([count(12_345), short(840), short(12_340), short(999_600)]).toEqual([
      "12,345",
      "840",
      "12.3k",
      "1M",
    ]);
    expect([percent(1, 3), percent(0, 3), percent(1, 1000), percent(1, 0)]).toEqual([
      "33%",
      "0%",
      "<1%",
      "0%",
    ]);
    expect([plural(1, "call"), plural(2, "call")]).toEqual(["1 call", "2 calls"]);
    expect([119_700, 3_599_900].map(duration)).toEqual(["2 min 0 s", "1 h 0 min"]);
    expect([0, 0.4, 840, 12_300, 245_000, 7_500_000].map(duration)).toEqual([
      "0 ms",
      "0.4 ms",
      "840 ms",
      "12.3 s",
      "4 min 5 s",
      "2 h 5 min",
    ]);
  });
});

describe("a time", () => {
  const at = (day: number, hour: number): string => new Date(2026, 6, day, hour, 0, 9).toISOString();

  it("includes the day where it differs from the one before", () => {
    expect(clockTimeAfter(at(7, 23), at(7, 22))).toBe("23:00:09");
    expect(clockTimeAfter(at(8, 0), at(7, 23))).toBe("8 Jul, 00:00:09");
    expect(clockTimeAfter(at(8, 0), undefined)).toBe("00:00:09");
    expect(clockTimeAfter(undefined, at(7, 23))).toBe("");
  });

  it("is not live while a file is replayed", () => {
    expect(liveLabel({ live: true, source: "transcript" })).toBe("replaying");
    expect(liveLabel({ live: true, source: "events" })).toBe("live");
    expect(liveLabel({ live: false, source: "transcript" })).toBe("");
  });
});

describe("a session", () => {
  it("is extended, and overlapping items are replaced", () => {
    const known = session([step(0, [1]), step(1, [2])]);
    const more = session([step(1, [3]), step(2, [4])], { from: { steps: 1, compactions: 0, spans: 0 } });
    expect(mergeSession(known, more).steps.map(({ total }) => total)).toEqual([1, 3, 4]);
    expect(mergeSession(session([], { id: "other" }), more)).toBe(more);
  });

  it("has what the last compaction left and the messages since", () => {
    const outcome = (message: number, word: MessageOutcome["outcome"]): MessageOutcome => ({
      message,
      role: "user",
      kind: "text",
      outcome: word,
      tokens: 9,
      tokensAfter: 3,
      preview: "",
    });
    const compaction = {
      index: 0,
      step: 1,
      messages: [outcome(0, "kept"), outcome(1, "summarized"), outcome(2, "cleared")],
      summary: [{ text: "So far.", kind: "line", sources: [] }],
    } as unknown as CompactionView;
    const message = (index: number): MessageView => ({
      message: index,
      role: "user",
      kind: "text",
      tokens: 1,
      preview: "",
    });
    const { rows } = windowContent(
      session([step(0, [1]), step(1, [1]), step(2, [1])]),
      2,
      compaction,
      message,
    );
    expect(rows.map((row) => row?.message ?? row?.kind)).toEqual([0, "summary", 2, 3, 4]);
    expect(rows.map((row) => row?.tokens)).toEqual([3, 0, 3, 1, 1]);
  });
});

describe("what fills the window", () => {
  it("is grouped by tool, file and role, the largest first", () => {
    const row = { role: "tool", kind: "toolResult", preview: "" } as const;
    const rows = [
      { ...row, tool: "read", path: "a.ts", tokens: 5 },
      { ...row, tool: "run", tokens: 30 },
      { ...row, tool: "read", path: "b.ts", tokens: 7 },
      { role: "summary", kind: "summary", preview: "", tokens: 3 } as const,
      undefined,
    ];
    expect(sharesOf(rows, "tool").map(({ name, messages, tokens }) => [name, messages, tokens])).toEqual([
      ["run", 1, 30],
      ["read", 2, 12],
      ["summary", 1, 3],
    ]);
    expect(sharesOf(rows, "file").map(({ name }) => name)).toEqual(["(no file)", "b.ts", "a.ts", "summary"]);
    expect(sharesOf(rows, "role")[0]).toEqual({ name: "tool", messages: 3, tokens: 42 });
  });
});

describe("spans", () => {
  const span = (id: string, start: number, more: Partial<SpanView> = {}): SpanView => ({
    id,
    name: "compact",
    status: "ok",
    attributes: [],
    durationMs: 5,
    start: new Date(start).toISOString(),
    ...more,
  });

  it("follow their parents by time, each with its offset", () => {
    const rows = spanRows([span("b", 20, { parent: "r" }), span("a", 12, { parent: "r" }), span("r", 10)]);
    expect(rows.map((row) => [row.span.id, row.depth, row.offset])).toEqual([
      ["r", 0, 0],
      ["a", 1, 2],
      ["b", 1, 10],
    ]);
  });

  it("are all shown once, whatever their parents are", () => {
    const ids = fc.constantFrom("a", "b", "c", "d", "gone");
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.record({ id: ids, parent: ids }), { selector: ({ id }) => id }),
        (links) => {
          const rows = spanRows(links.map(({ id, parent }, index) => span(id, index, { parent })));
          expect(rows.map((row) => row.span.id).sort()).toEqual(links.map(({ id }) => id).sort());
        },
      ),
    );
  });

  it("that are checks without effect are recognized", () => {
    const rows = spanRows([span("x", 1, { name: "compact.token_estimate" }), span("y", 2)]);
    expect(rows.map(({ busy }) => busy)).toEqual([false, true]);
  });
});
