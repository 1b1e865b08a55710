import type { Message, Role } from "compact-context/internal/core/message";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { SummaryPiece } from "./session-view.ts";
import { indexSources, type SourceIndex, summaryPieces } from "./source-index.ts";

const said = (role: Role, text: string): { readonly message: Message } => ({
  message: { id: text, role, parts: [{ type: "text", text }] },
});

const sources = [
  said("user", "Please never touch the lockfile, and always run the linter first."),
  said("assistant", "The trigger compares tokens with the window. It fires at 85 percent."),
  said("tool", "src/policy/trigger.ts:32 export function decideTrigger"),
  said("assistant", "As you said: never touch the lockfile."),
];

let index: SourceIndex;
beforeAll(async () => {
  index = await indexSources(sources);
});
const pieces = (text: string, isReplaced = (_: number) => true): SummaryPiece[] =>
  summaryPieces(text, index, isReplaced);

const found = (line: string): (number | undefined)[] =>
  pieces(line)[0]?.sources.map(({ message }) => message) ?? [];

describe("the sources of a summary", () => {
  it("a line leads to the message whose words it repeats, preferring the named speaker", () => {
    expect(found("> Please never touch the lockfile")).toEqual([0]);
    expect(found("- never touch the lockfile")).toEqual([0]);
    expect(found("[assistant] never touch the lockfile")).toEqual([3]);
    expect(found("[output of search] src/policy/trigger.ts:32 export function")).toEqual([2]);
    expect(found("What nobody in this conversation ever said to anybody.")).toEqual([]);
  });

  it("distinguishes exact from likely matches, and finds several sources", () => {
    const [exact] = pieces("- the trigger compares … fires at 85 percent");
    expect(exact?.sources).toEqual([{ message: 1, match: "exact" }]);
    const [mixed] = pieces("always run the linter first; fires at 85 percent");
    expect(mixed?.sources).toEqual([
      { message: 0, match: "likely" },
      { message: 1, match: "likely" },
    ]);
  });

  it("ignores messages that were not replaced", () => {
    const [line] = pieces("- never touch the lockfile", (place) => place !== 0);
    expect(line?.sources).toEqual([{ message: 3, match: "exact" }]);
  });

  it("finds messages in every part of a long session, including a very short one", async () => {
    const texts = Array.from({ length: 400 }, (_, number) =>
      said("tool", `number${number} stands here, ${"and many other words follow it ".repeat(60)}`),
    );
    const long = await indexSources([...texts, said("user", "Ja.")]);
    for (const message of [0, 137, 399]) {
      const [line] = summaryPieces(`- number${message} stands here`, long, () => true);
      expect(line?.sources).toEqual([{ message, match: "exact" }]);
    }
    const [line] = summaryPieces("> ja", long, () => true);
    expect(line?.sources).toEqual([{ message: 400, match: "exact" }]);
  });

  it("headings and blank lines have no sources", () => {
    const found = pieces("## The trigger compares tokens\n\nThe trigger compares tokens\n");
    expect(found.map(({ kind }) => kind)).toEqual(["heading", "blank", "line"]);
    expect(found.map((piece) => piece.sources.length)).toEqual([0, 0, 1]);
  });

  it("the pieces joined are the summary", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string(), fc.constant("\n"), fc.constant(`${"word ".repeat(40)}. `))),
        (parts) => {
          const text = parts.join("");
          expect(
            pieces(text)
              .map((piece) => piece.text)
              .join(""),
          ).toBe(text);
        },
      ),
    );
  });
});
