// How long the built-in summarizer takes by the size of what it reads, beside counting the same text with tiktoken: any
// summary by a model needs at least that, and the model's time.
import { countTokens, decode } from "../dist/index.js";
import { builtinSummarizer } from "../dist/summarizers/builtin.js";
import { createCurve, curvePicture, curveTable } from "./curve.mjs";
import { digits, number, table } from "./markdown.mjs";
import { inTurns, processorTimeOf, spread } from "./measure.mjs";
import { session } from "./sessions.mjs";

const SIZES = [50_000, 100_000, 200_000, 400_000, 800_000, 1_600_000, 4_000_000];
const MAX_TOKENS = 8_192;

async function run({ quick }) {
  const sizes = quick ? [4_000, 8_000] : SIZES;
  const { get_encoding: encodingOf } = await import("tiktoken");
  const encoding = encodingOf("o200k_base");
  const contestants = [
    {
      name: "built-in summary",
      work: ({ messages }) => builtinSummarizer.summarize(messages, { maxTokens: MAX_TOKENS }),
    },
    {
      name: "tiktoken, counting alone",
      work({ list }) {
        for (const { content } of list) encoding.encode_ordinary(content);
      },
    },
  ];
  const { put, curve } = createCurve({ by: "tokens", unit: "ms", more: false, sizes });
  const given = [];
  for (const [index, size] of [sizes[0], ...sizes].entries()) {
    const list = session(size);
    const messages = decode(list, "openai-chat");
    const rounds = quick ? 1 : index === 0 ? 4 : size > 1e6 ? 3 : 7;
    const samples = await inTurns(contestants, rounds, async ({ work }) => {
      globalThis.gc();
      return (await processorTimeOf(() => work({ list, messages }))).ms;
    });
    // The first size is measured twice: once to warm up.
    if (index === 0) continue;
    for (const { name } of contestants) put(name, index - 1, spread(samples.get(name)));
    given.push({ tokens: countTokens(list).tokens, messages: list.length });
  }
  return { curve: curve(), given };
}

const perHundredThousand = ({ series: [{ points }] }, given) =>
  points.map(({ median }, index) => (median / given[index].tokens) * 100_000);

export const bench = {
  title: "The built-in summary",
  run,
  headline({ curve }) {
    const at = Math.max(0, curve.sizes.indexOf(400_000));
    const last = curve.series[0].points.at(-1).median;
    return `${number(curve.sizes[at])} tokens summarized in ${digits(curve.series[0].points[at].median)} ms, ${number(curve.sizes.at(-1))} in ${digits(last / 1000)} s`;
  },
  section({ curve, given }) {
    const linear = table(
      ["tokens", ...given.map(({ tokens }) => number(tokens))],
      [
        ["messages", ...given.map(({ messages }) => number(messages))],
        ["ms per 100,000 tokens", ...perHundredThousand(curve, given).map(digits)],
      ],
    );
    return [
      `A whole session is turned into a summary of at most ${number(MAX_TOKENS)} tokens; the process is warm.`,
      curveTable(curve),
      linear,
      "![Time of the built-in summary by the size of the session](benchmarks/summary.svg)",
    ].join("\n\n");
  },
  pictures: ({ curve }) => ({ summary: curvePicture(curve, "The built-in summary") }),
};
