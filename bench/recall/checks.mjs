// Our Markdown reader and stemmer against the reference ones, on drawn texts and on the words of the conversations.
import { createRequire } from "node:module";
import { scanMarkdown } from "../../dist/memory/markdown.js";
import { englishStem } from "../../dist/memory/ranking/stem.js";

const LINES = [
  ..."# one|## two ##|### |#no|####### no|    # code|   # three|text|- item|1. item|```|~~~|````|``` js|  ```|    ```".split(
    "|",
  ),
  ..."<!--|-->|<!-- a -->|<!-- # a|b --> c|text <!-- x --> more|## four <!-- x -->|> quote| |".split("|"),
];

/** Headings that a reference parser finds in drawn texts, against ours; the texts on which they differ. */
export async function markdownDifferences(count) {
  const { parse, postprocess, preprocess } = await import("micromark");
  let state = 1;
  const random = (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
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

/** Words whose stem is not the reference's. */
export function stemDifferences(words) {
  const reference = createRequire(import.meta.url)("snowball-stemmers").newStemmer("english");
  return words.filter((word) => englishStem(word) !== reference.stem(word));
}
