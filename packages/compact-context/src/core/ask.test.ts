import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message, Part } from "./message.ts";
import { latestUserMessage, splitOwnWords } from "./units.ts";

const user = (text: string, ...more: Part[]): Message => ({
  id: text,
  role: "user",
  parts: [{ type: "text", text }, ...more],
});
const answer: Message = { id: "a", role: "assistant", parts: [{ type: "text", text: "Done." }] };
const reminder = "<system-reminder>\nThe list of todos is empty.\n</system-reminder>";
const own = (text: string): string[] =>
  splitOwnWords(text).flatMap((piece) => (piece.own ? [piece.text] : []));

describe("the newest ask", () => {
  it("is the newest message with words of a person: no reminder, notice or result behind it counts", () => {
    const result: Part = { type: "toolResult", id: "c", content: "ok" };
    const list = [
      user("Mend the parser."),
      answer,
      user(reminder, result),
      user("[Request interrupted by user]"),
    ];
    expect(latestUserMessage(list)).toBe(0);
    expect(latestUserMessage([...list, user(`${reminder}\nAnd the tests?`)])).toBe(4);
  });

  it("may be an image alone", () => {
    const image: Part = { type: "media", mediaType: "image/png", bytes: 3 };
    expect(latestUserMessage([user("Look at this."), answer, user(reminder, image)])).toBe(2);
  });

  it("is what a host wrote where nobody typed anything, and nothing where nobody speaks", () => {
    expect(latestUserMessage([answer, user(reminder)])).toBe(1);
    expect(latestUserMessage([answer])).toBe(-1);
  });
});

describe("the pieces of an ask", () => {
  it("tell the user's own words from what was injected and pasted", () => {
    const text = `Why does this fail?\n${reminder}\n\`\`\`log\nline 1\nline 2\n\`\`\`\nOnly on Linux.`;
    const pieces = splitOwnWords(text).filter((piece) => !piece.own);
    expect(pieces.map((piece) => piece.text)).toEqual([reminder, "line 1\nline 2\n"]);
    expect(own(text).join("")).toContain("Only on Linux.");
  });

  it("a fence that never closes hides nothing, nor does a shorter one end it", () => {
    expect(own("```\nfirst\nsecond")).toEqual(["```\nfirst\nsecond"]);
    expect(splitOwnWords("````\n```\ninner\n```\n````\nend").map((piece) => piece.text)).toEqual([
      "````\n",
      "```\ninner\n```\n",
      "````\nend",
    ]);
  });

  it("behind a fence that never closes, no other is taken for one", () => {
    const text = "~~~~\n~~~\ninner\n~~~\nend";
    expect(own(text)).toEqual([text]);
  });

  it("joined are the text, whatever it is", () => {
    const bit = fc.constantFrom(
      "```",
      "~~~",
      "\n",
      "words",
      reminder,
      "<system-reminder>",
      "[Request interrupted by user]",
    );
    fc.assert(
      fc.property(fc.array(bit, { maxLength: 30 }), (bits) => {
        const text = bits.join("");
        expect(
          splitOwnWords(text)
            .map((piece) => piece.text)
            .join(""),
        ).toBe(text);
      }),
    );
  });
});
