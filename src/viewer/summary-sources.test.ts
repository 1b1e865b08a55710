import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { summaryPieces } from "./summary-sources.ts";

const sources = [
  { message: 0, role: "user", text: "Please never touch the lockfile, and always run the linter first." },
  {
    message: 1,
    role: "assistant",
    text: "The trigger compares tokens with the window. It fires at 85 percent.",
  },
  { message: 2, role: "tool", text: "src/policy/trigger.ts:32 export function decideTrigger" },
  { message: 3, role: "assistant", text: "As you said: never touch the lockfile." },
];

const found = (line: string): (number | undefined)[] =>
  summaryPieces(line, sources)[0]?.sources.map(({ message }) => message) ?? [];

describe("the sources of a summary", () => {
  it("a line leads to the message whose words it repeats, first of all to who is named", () => {
    expect(found("> Please never touch the lockfile")).toEqual([0]);
    expect(found("- never touch the lockfile")).toEqual([0]);
    expect(found("[assistant] never touch the lockfile")).toEqual([3]);
    expect(found("[output of search] src/policy/trigger.ts:32 export function")).toEqual([2]);
    expect(found("What nobody in this conversation ever said to anybody.")).toEqual([]);
  });

  it("says whether all of its words stand there, and finds what comes from several messages", () => {
    const [exact] = summaryPieces("- the trigger compares … fires at 85 percent", sources);
    expect(exact?.sources).toEqual([{ message: 1, match: "exact" }]);
    const [mixed] = summaryPieces("always run the linter first; fires at 85 percent", sources);
    expect(mixed?.sources).toEqual([
      { message: 0, match: "likely" },
      { message: 1, match: "likely" },
    ]);
  });

  it("headings and blank lines have none", () => {
    const pieces = summaryPieces("## The trigger compares tokens\n\nThe trigger compares tokens\n", sources);
    expect(pieces.map(({ kind }) => kind)).toEqual(["heading", "blank", "line"]);
    expect(pieces.map((piece) => piece.sources.length)).toEqual([0, 0, 1]);
  });

  it("the pieces put together are the summary again", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string(), fc.constant("\n"), fc.constant(`${"word ".repeat(40)}. `))),
        (parts) => {
          const text = parts.join("");
          expect(
            summaryPieces(text, sources)
              .map((piece) => piece.text)
              .join(""),
          ).toBe(text);
        },
      ),
    );
  });
});
