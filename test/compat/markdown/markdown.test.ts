import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scanMarkdown } from "../../../packages/compact-context/src/memory/markdown.ts";

const ENTRY = join(import.meta.dirname, "node_modules/micromark/index.js");

interface Token {
  readonly type: string;
  readonly start: { readonly line: number };
  readonly end: { readonly line: number; readonly column: number };
}
type Event = readonly ["enter" | "exit", Token];
interface Micromark {
  parse(): { document(): { write(chunks: unknown): unknown } };
  preprocess(): (text: string, encoding: undefined, end: true) => unknown;
  postprocess(events: unknown): readonly Event[];
}

/** The lines of headings and of fenced code, as the reference reads them. */
function reference({ parse, preprocess, postprocess }: Micromark, text: string): Lines {
  const events = postprocess(
    parse()
      .document()
      .write(preprocess()(text, undefined, true)),
  );
  const headings: number[] = [];
  const code: number[] = [];
  for (const [kind, { type, start, end }] of events) {
    if (kind !== "enter") continue;
    if (type === "atxHeading") headings.push(start.line);
    if (type !== "codeFenced") continue;
    for (let line = start.line; line <= end.line; line++) code.push(line);
  }
  return { headings, code };
}

interface Lines {
  readonly headings: readonly number[];
  readonly code: readonly number[];
}

function ours(text: string): Lines {
  const lines = scanMarkdown(text);
  return {
    headings: lines.filter(({ kind }) => kind === "heading").map(({ number }) => number),
    code: lines.filter(({ kind }) => kind === "code").map(({ number }) => number),
  };
}

const LINES = [
  ..."# one|## two ##|### |#no|####### no|    # code|   # three|text|```|~~~|````|``` js|  ```|    ```|~~~~ x|``` `".split(
    "|",
  ),
  ..."<!--|-->|<!-- a -->|<!-- # a|b --> c|text <!-- x --> more|## four <!-- x -->|\t# tab|# 标题|".split(
    "|",
  ),
];
const texts = fc
  .tuple(
    fc.array(fc.constantFrom(...LINES), { minLength: 1, maxLength: 10 }),
    fc.constantFrom("\n", "\r\n", "\r"),
  )
  .map(([lines, end]) => lines.join(end))
  // Meant to differ: a comment that nothing closes hides nothing here.
  .filter((text) => !/<!--(?![\s\S]*-->)/.test(text));

describe.skipIf(!existsSync(ENTRY))("the reader of memory files", () => {
  it("MEM-2 finds the headings and fenced lines that micromark finds, whatever comments stand between", async () => {
    const micromark = (await import(pathToFileURL(ENTRY).href)) as Micromark;
    fc.assert(
      fc.property(texts, (text) => {
        expect(ours(text)).toEqual(reference(micromark, text));
      }),
      { numRuns: 1_000 },
    );
  });
});
