// Our Markdown reader against a reference one, on drawn texts.
import { scanMarkdown } from "../../packages/compact-context/dist/memory/markdown.js";
import { seeded } from "../measure.mjs";
import { optional } from "../peers.mjs";

const LINES = [
  ..."# one|## two ##|### |#no|####### no|    # code|   # three|text|- item|1. item|```|~~~|````|``` js|  ```|    ```".split(
    "|",
  ),
  ..."<!--|-->|<!-- a -->|<!-- # a|b --> c|text <!-- x --> more|## four <!-- x -->|> quote| |".split("|"),
];

/** Headings that a reference parser finds in drawn texts, against ours, and the texts on which they differ; null without the parser. */
export async function markdownDifferences(count) {
  const micromark = await optional("micromark");
  if (micromark === undefined) return null;
  const { parse, postprocess, preprocess } = micromark;
  const draw = seeded(1);
  const random = (below) => Math.floor(draw() * below);
  const reference = (text) => {
    const events = postprocess(
      parse()
        .document()
        .write(preprocess()(text, undefined, true)),
    );
    return events
      .filter(([kind, token]) => kind === "enter" && token.type === "atxHeading")
      .map(([, token]) => token.start.line);
  };
  const different = [];
  let headings = 0;
  for (let round = 0; round < count; round++) {
    const end = ["\n", "\r\n", "\r"][random(3)];
    const text = Array.from({ length: 1 + random(9) }, () => LINES[random(LINES.length)]).join(end);
    if (isOurOwn(text)) continue;
    const ours = scanMarkdown(text)
      .filter(({ kind }) => kind === "heading")
      .map(({ number }) => number);
    headings += ours.length;
    if (JSON.stringify(ours) !== JSON.stringify(reference(text))) different.push(text);
  }
  return { different, headings };
}

/** Where we mean to differ: a comment that is never closed is text; headings and fences inside lists and quotes are not looked for. */
function isOurOwn(text) {
  const open = text.lastIndexOf("<!--");
  const unclosed = open >= 0 && !text.slice(open).includes("-->");
  return unclosed || /^(?:- |1\. |> )/m.test(text);
}
