// How long the built-in summarizer takes by the size of what it reads, beside counting the same text with tiktoken: any
// summary by a model needs at least that, and the model's time.
import { countTokens, decode } from "../packages/compact-context/dist/index.js";
import { builtinSummarizer } from "../packages/compact-context/dist/summarizers/extractive/builtin.js";
import { createCurve, curvePicture, curveTable } from "./curve.mjs";
import { digits, number, table } from "./markdown.mjs";
import { clockTime, inTurns, processorTimeOf, spread } from "./measure.mjs";
import { session } from "./sessions.mjs";
import { recordedSessions } from "./violations/histories.mjs";

const SIZES = [50_000, 100_000, 200_000, 400_000, 800_000, 1_600_000, 4_000_000];
const MAX_TOKENS = 8_192;
/** A recorded session with fewer tokens says little about long ones. */
const LONG = 80_000;
const WARM_UP = 4;
const RUNS = 9;

/** Milliseconds of the clock of runs one after the other, as in an agent that goes on: no collection of garbage is forced. */
async function warmTimes(messages) {
  const samples = [];
  for (let run = 0; run < WARM_UP + RUNS; run += 1) {
    const { ms } = await clockTime(() => builtinSummarizer.summarize(messages, { maxTokens: MAX_TOKENS }));
    if (run >= WARM_UP) samples.push(ms);
  }
  return spread(samples);
}

/** The same per 100,000 tokens for each long recorded session. */
async function recordedPaces() {
  const paces = [];
  for (const messages of await recordedSessions()) {
    const { tokens } = countTokens(messages);
    if (tokens >= LONG) paces.push(((await warmTimes(messages)).median / tokens) * 100_000);
  }
  return paces;
}

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
  const warm = await warmTimes(decode(session(quick ? 8_000 : 400_000), "openai-chat"));
  return { curve: curve(), given, warm, recorded: quick ? [] : await recordedPaces() };
}

const perHundredThousand = ({ series: [{ points }] }, given) =>
  points.map(({ median }, index) => (median / given[index].tokens) * 100_000);

function warmText(warm, recorded) {
  const said = `Before each of these runs a collection of garbage is forced, and the two take turns. One run after the other, by the clock, 400,000 tokens take **${digits(warm.median)} ms** (${digits(warm.least)} – ${digits(warm.most)}, ${RUNS} runs).`;
  if (recorded.length === 0) return said;
  const { median, least, most } = spread(recorded);
  return `${said} Every line of these sessions names something new. Recorded ones say many things again: ${recorded.length} of ${number(LONG)} tokens and more take **${digits(median)} ms** per 100,000 tokens in the same way (${digits(least)} – ${digits(most)}).`;
}

export const bench = {
  title: "The built-in summary",
  run,
  headline({ curve }) {
    const at = Math.max(0, curve.sizes.indexOf(400_000));
    const last = curve.series[0].points.at(-1).median;
    return `${number(curve.sizes[at])} tokens summarized in ${digits(curve.series[0].points[at].median)} ms, ${number(curve.sizes.at(-1))} in ${digits(last / 1000)} s`;
  },
  section({ curve, given, warm, recorded }) {
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
      warmText(warm, recorded),
      "![Time of the built-in summary by the size of the session](benchmarks/summary.svg)",
    ].join("\n\n");
  },
  pictures: ({ curve }) => ({ summary: curvePicture(curve, "The built-in summary") }),
};
