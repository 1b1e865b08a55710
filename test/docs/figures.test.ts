import { describe, expect, it } from "vitest";
import { pageText } from "./fences.ts";

// The README quotes figures; the page that it links for a figure is where that figure was measured.

const lines = pageText("README.md").split("\n");
const head = lines.indexOf("| measured | result | page |");
const end = lines.findIndex((line, index) => index > head && !line.startsWith("|"));
const rows = lines.slice(head + 2, end).map((line) => line.split("|").map((cell) => cell.trim()));

/** Figures in the units of the pages: `80.4 %`, `0.135 ms`, `.90`, `800,000`; ranges are two figures. */
function figuresIn(text: string): readonly string[] {
  return text.match(/(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d*\.\d+|\d+)(?!\w)/g) ?? [];
}

describe("the figures of the README", () => {
  it.each(rows)("%s%s", (_, measured = "", result = "", link = "") => {
    const page = pageText(/\((docs\/[^)]+)\)/.exec(link)?.[1] ?? "");
    const known = new Set(figuresIn(page));
    const figures = figuresIn(result).concat(figuresIn(measured).filter((figure) => figure.includes(",")));
    expect(figures.length).toBeGreaterThan(0);
    expect(figures.filter((figure) => !known.has(figure))).toEqual([]);
  });

  it("the names that are kept are those of the retention table for a tenth, row by row", () => {
    const page = pageText("docs/retention.md");
    const tenth = page.slice(page.indexOf("### 10 % of the prefix"));
    const kept = (method: string): string | undefined =>
      tenth
        .split("\n")
        .map((line) => line.split("|").map((cell) => cell.trim()))
        .find(([, name]) => name === method)?.[3];
    const [, , result = ""] = rows.find(([, measured = ""]) => measured.startsWith("names the agent")) ?? [];
    expect(figuresIn(result)).toEqual([kept("**built-in summary alone**"), kept("keep last")]);
  });
});
