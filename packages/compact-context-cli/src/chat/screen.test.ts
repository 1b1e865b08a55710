import type { Agent } from "compact-context/agents";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTerminal, processPorts } from "../ports.ts";
import { displayWidth } from "../render/text.ts";
import { costText, statusLines } from "./lines.ts";
import { callText, changeLines, FIRST_LINES, resultText } from "./permissions.ts";
import { type ChatScreen, createChatScreen, TextFlow } from "./screen.ts";

function screen(isTerminal = false): { screen: ChatScreen; shown: () => string } {
  let out = "";
  const stdout = { write: () => undefined, isTerminal, columns: 80 };
  const terminal = createTerminal({ ...processPorts(), stdout, env: {} });
  const made = createChatScreen({
    isTerminal,
    terminal: () => terminal,
    write: (text) => {
      out += text;
    },
  });
  return { screen: made, shown: () => out };
}

describe("text in pieces", () => {
  const flowed = (pieces: readonly string[], width = 40): string => {
    const flow = new TextFlow(() => width, "  ");
    return pieces.map((piece) => flow.push(piece)).join("") + flow.end();
  };

  it("is laid out the same however it is split", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 200 }),
        fc.nat(200),
        fc.nat(200),
        (text, one, other) => {
          const [from, to] = [Math.min(one, other), Math.max(one, other)];
          const pieces = [text.slice(0, from), text.slice(from, to), text.slice(to)];
          expect(flowed(pieces)).toBe(flowed([text]));
        },
      ),
    );
  });

  it("never is wider than the screen, and keeps every word", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme", maxLength: 60 }), { maxLength: 30 }), (words) => {
        const out = flowed([words.join(" ")]);
        for (const line of out.split("\n")) expect(displayWidth(line)).toBeLessThanOrEqual(41);
      }),
    );
    const text = "The quick brown fox\n  jumps over 東京都の犬 ".repeat(9);
    expect(flowed([text]).replace(/\s/g, "")).toBe(text.replace(/\s/g, ""));
  });

  it("renders Markdown, however it was cut, and leaves code and globs alone", () => {
    const paint = (style: string, words: string): string => `<${style}>${words}</>`;
    const shown = (pieces: readonly string[]): string => {
      const flow = new TextFlow(() => 30, "  ", paint);
      return pieces.map((piece) => flow.push(piece)).join("") + flow.end();
    };
    const text = [
      "## A heading",
      "Some **bold** and `code` words.",
      "- an item that is longer than a line",
      "1. one",
      "look at **/*.ts or 2 ** 3",
      "```ts",
      "- const a = **b**;",
      "```",
    ].join("\n");
    expect(shown([text]).split("\n")).toEqual([
      "  <strong>A</> <strong>heading</>",
      "  Some <strong>bold</> and <toolPairs>code</> words.",
      "  <faint>•</> an item that is longer",
      "    than a line",
      "  <faint>1.</> one",
      "  look at **/*.ts or 2 ** 3",
      "  <faint>```ts</>",
      "  - const a = **b**;",
      "  <faint>```</>",
      "",
    ]);
    expect(shown([...text])).toBe(shown([text]));
  });

  it("keeps emoji of several parts together, even across pieces", () => {
    const family = "👩‍👩‍👧‍👦 done 🇩🇪 👍🏽";
    expect(flowed([...family])).toBe(`  ${family}\n`);
  });

  it("keeps the indent of code and escapes what a terminal acts on", () => {
    expect(flowed(["a:\n", "    deep\u001b[2Jx\r"])).toBe("  a:\n      deep\\x1b[2Jx\\x0d\n");
    expect(flowed(["\ud83d", "\ude00"])).toBe("  😀\n");
  });
});

describe("the screen", () => {
  it("aligns labels, bounds lines and ends what the model was saying", () => {
    const { screen: one, shown } = screen();
    one.stream("Hello ");
    one.stream("there");
    one.notify("tool", "read  a.ts");
    one.notify("failed", "x\n".repeat(30), 3);
    expect(shown().split("\n")).toEqual([
      "  Hello there",
      "",
      "  tool     read  a.ts",
      "  failed   x",
      "           x",
      "           (29 lines more)",
      "",
    ]);
  });

  it("the status line is replaced, and shown only on a terminal", () => {
    const { screen: piped, shown: inPipe } = screen(false);
    piped.showStatus("working");
    expect(inPipe()).toBe("");
    const { screen: one, shown } = screen(true);
    one.showStatus("working");
    one.notify("ok", "done");
    expect(shown().replaceAll("\u001b", "^")).toMatch(/working.*\^\[K\r\^\[K {2}.*ok/);
  });
});

describe("words for people", () => {
  it("calls, changes and results are short and safe", () => {
    expect(callText("read", { path: "a" })).toBe("read  a");
    expect(callText("search", { q: "x\u001b[1m" })).toContain("\\u001b");
    expect(changeLines("edit", { old: "a\nb\n", new: "c" }, FIRST_LINES)).toEqual(["- a", "- b", "+ c"]);
    expect(changeLines("write", { content: "l\n".repeat(20) }, FIRST_LINES)).toHaveLength(10);
    expect(resultText("read", "1\n2\n")).toBe("2 lines");
    const run = resultText("run", `${"line\n".repeat(20)}[exit code 0]`).split("\n");
    expect(run).toEqual(["(14 lines before)", ...Array(6).fill("line"), "[exit code 0]"]);
  });

  it("AGT-3 the status shows tokens and cost, also an unknown cost", () => {
    const spent = {
      requests: 2,
      inputTokens: 12_000,
      cachedTokens: 9_000,
      outputTokens: 40,
      dollars: 0.0123,
    };
    const agent = (name: string, window: number) =>
      ({ model: { name }, spent, context: () => ({ tokens: 6_000, window }) }) as unknown as Agent;
    expect(statusLines(agent("openai:x", 200_000), 80)).toEqual([
      "  context 6,000 of 200k (3.0%) · 12k in, 9k cached, 40 out · $0.0123 · openai:x",
    ]);
    expect(statusLines(agent("openai:x", 200_000), 60)).toEqual([
      "  context 6,000 of 200k (3.0%) · 12k in, 9k cached, 40 out ·",
      "  $0.0123 · openai:x",
    ]);
    const [named = ""] = statusLines(agent("x\u001b[2J", 4_000), 120);
    expect(named).toContain("(150.0%)");
    expect(named.endsWith(" · x\\x1b[2J")).toBe(true);
    expect(costText({ ...spent, dollars: undefined })).toBe("cost unknown");
    expect(costText({ ...spent, requests: 0, dollars: undefined })).toBe("$0");
  });
});
