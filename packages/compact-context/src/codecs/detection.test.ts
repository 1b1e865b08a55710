import { describe, expect, it } from "vitest";
import { weighVotes } from "./detect.ts";

describe("weighVotes", () => {
  it("looks at a bounded number of entries, the first and the last among them", () => {
    const list = Array.from({ length: 100_000 }, (_, index) => ({ index }));
    const seen: unknown[] = [];
    weighVotes(list, (entry) => {
      seen.push(entry.index);
      return 0.5;
    });
    expect(seen.length).toBeLessThanOrEqual(256);
    expect(seen).toContain(0);
    expect(seen).toContain(99_999);
    expect(new Set(seen).size).toBe(seen.length);
  });

  it("takes the strongest vote, unless one speaks against the format", () => {
    expect(weighVotes([{ vote: 0.2 }, { vote: 0.9 }], (entry) => Number(entry.vote))).toBe(0.9);
    expect(weighVotes([{ vote: 1 }, { vote: -1 }], (entry) => Number(entry.vote))).toBe(0);
    expect(weighVotes(["text"], () => 1)).toBe(0);
  });
});
