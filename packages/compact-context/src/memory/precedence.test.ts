import fc from "fast-check";
import { expect, it } from "vitest";
import type { MemoryCandidate, MemorySource } from "./candidates.ts";
import { inPrecedence, type ScoredMemory } from "./precedence.ts";

const hit = (
  id: string,
  source: MemorySource,
  more: Partial<MemoryCandidate> & { score?: number } = {},
): ScoredMemory => ({
  score: more.score ?? 1,
  candidate: {
    id,
    source,
    path: "",
    title: "",
    content: `alpha beta ${id}`,
    sectionKind: "other",
    priority: 0,
    line: 1,
    ...more,
  },
});
const ids = (hits: readonly ScoredMemory[]): string => hits.map(({ candidate }) => candidate.id).join(" ");

it("MEM-10 equal scores: session, memory, workspace, history; durable: workspace, memory, session, history", () => {
  const hits = [
    hit("h", "channel-history"),
    hit("w", "workspace-memory"),
    hit("m", "channel-memory"),
    hit("s", "channel-session"),
  ];
  expect(ids(inPrecedence(hits, "current", []))).toBe("s m w h");
  expect(ids(inPrecedence(hits, "durable", []))).toBe("w m s h");
});

it("MEM-10 the source decides between equals, not against much better ones; the kind only within a source", () => {
  const hits = [hit("s", "channel-session", { score: 1 }), hit("h", "channel-history", { score: 2 })];
  expect(ids(inPrecedence(hits, "current", []))).toBe("h s");
  const kinds = [hit("a", "channel-memory", { priority: 1 }), hit("b", "channel-memory", { priority: 2 })];
  expect(ids(inPrecedence(kinds, "current", []))).toBe("b a");
});

it("of a statement in two files, the line with its outcome is given", () => {
  const hits = [
    hit("s", "channel-session", { content: "- The webhook fails with 401." }),
    hit("h", "channel-history", {
      content: "- The webhook fails with 401. → Their signing key was rotated.",
    }),
  ];
  expect(ids(inPrecedence(hits, "current", []))).toBe("h");
});

it("of two bans that both hold, neither is out of date", () => {
  const [content, sectionKind] = ["- Never push to the stable branch.", "constraints"] as const;
  const hits = [
    hit("old", "channel-memory", { content, sectionKind, timestamp: "2026-09-02T09:00:00Z" }),
    hit("new", "channel-memory", {
      content: "- Never push to the nightly branch now.",
      timestamp: "2026-09-03T09:00:00Z",
    }),
  ];
  expect(inPrecedence(hits, "current", []).map(({ note }) => note)).toEqual([undefined, undefined]);
});

const drawn = fc.array(
  fc.record({
    words: fc.subarray(["deploy", "window", "redis", "queue", "billing", "report"], { minLength: 1 }),
    day: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
    score: fc.integer({ min: 1, max: 9 }),
  }),
  { maxLength: 8 },
);

it("MEM-10 among any notes of equal words the fresher comes first, none is lost, and scores fall", () => {
  fc.assert(
    fc.property(drawn, (notes) => {
      const hits = notes.map(({ words, day, score }, index) =>
        hit(String(index), "channel-memory", {
          content: `${words.join(" ")} ${index}`,
          score,
          timestamp: day === undefined ? undefined : `2026-01-0${day}`,
        }),
      );
      const ordered = inPrecedence(hits, "current", []);
      expect(ordered.map(({ candidate }) => candidate.id).toSorted()).toEqual(
        hits.map(({ candidate }) => candidate.id),
      );
      ordered.forEach(({ candidate, score }, place) => {
        expect(score).toBeLessThanOrEqual(ordered[place - 1]?.score ?? score);
        for (const { candidate: later } of ordered.slice(place + 1)) {
          const fresher = (later.timestamp ?? "") > (candidate.timestamp ?? "9");
          const words = (text: string): string => text.replace(/ \d+$/, "");
          const sameWords = words(later.content) === words(candidate.content);
          expect(fresher && sameWords).toBe(false);
        }
      });
    }),
  );
});
