import { expect, it } from "vitest";
import { piecesOf } from "./candidates.ts";
import { scanMarkdown } from "./markdown.ts";

const headings = (text: string): string[] =>
  scanMarkdown(text)
    .filter(({ kind }) => kind === "heading")
    .map(({ level, text: words }) => `${level} ${words}`);

it("MEM-2 headings in fences and comments are none; byte order marks and any line ends are taken", () => {
  expect(
    headings("\uFEFF# One\r\n```sh\r\n# no\r\n```\r\n<!--\n# no\n-->\r## Two ##\n    # code\n####### seven"),
  ).toEqual(["1 One", "2 Two"]);
  expect(headings("~~~\n# no\n```\n# no\n~~~~\n# yes")).toEqual(["1 yes"]);
  expect(headings("````\n```\n# no\n````\n#yes\n# yes <!-- but --> so")).toEqual(["1 yes  so"]);
});

it("MEM-2 a comment that nothing closes hides nothing", () => {
  expect(headings("<!-- oops\n# Kept")).toEqual(["1 Kept"]);
});

it("MEM-2 sections carry their headings, without the file's own title, and long ones are cut between items", () => {
  const long = Array.from(
    { length: 4 },
    (_, index) => `- item ${index} ${"word ".repeat(10).trim()}\n  more of it`,
  );
  const text = `# File\n\nHello.\n\n## A\n\n${long.join("\n")}\n\n### B\n<!-- only a comment -->\n\n### C\nLast.`;
  const sections = piecesOf(text, 160);
  expect(sections.map((section) => section.headings.join("/"))).toEqual(["", "A", "A", "A/C"]);
  expect(sections.map(({ first }) => first.line)).toEqual([3, 7, 11, 20]);
  expect(sections[1]?.content).toBe(long.slice(0, 2).join("\n"));
  expect(sections[3]?.content).toBe("Last.");
});

it("a piece may be as long as it may be, line ends counted", () => {
  const pieces = (maxChars: number): number => piecesOf("## A\n- aaaa\n- bbbb\n- cccc\n", maxChars).length;
  expect([pieces(13), pieces(14)]).toEqual([3, 2]);
});
