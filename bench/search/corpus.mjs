// Made-up agent sessions, the same on every machine: words by Zipf's law from a vocabulary of 200,000, every fourth
// message a call with a path, every fourth its output.

import { clockTime, quantile, seeded } from "../measure.mjs";

const VOCABULARY = 200_000;
const WORDS = 60;
const SYLLABLES = "ka lo mi ru te sa no vi pe du gra stel mont fir bel qua zen tor lim ash".split(" ");

/** The word of a rank: short for common ones. */
function wordOf(rank) {
  let word = "";
  for (let rest = rank + 1; rest > 0; rest = Math.floor(rest / SYLLABLES.length))
    word += SYLLABLES[rest % SYLLABLES.length];
  return word;
}

/** Ranks by Zipf's law, exponent 1: the inverse of its (approximate) distribution. */
function zipf(random) {
  return Math.min(VOCABULARY - 1, Math.floor(Math.exp(random() * Math.log(VOCABULARY))) - 1);
}

function textOf(random, words) {
  return Array.from({ length: words }, () => wordOf(zipf(random))).join(" ");
}

/** So many messages, about 60 words each, in turns of question, call, output, answer. */
export function* messages(count) {
  const random = seeded(7);
  for (let index = 0; index < count; index++) {
    const id = `m${index}`;
    const text = textOf(random, Math.floor(WORDS * (0.5 + random())));
    const kind = index % 4;
    const path = `src/${wordOf(zipf(random))}/${wordOf(zipf(random))}.ts`;
    if (kind === 0) yield { id, role: "user", parts: [{ type: "text", text }] };
    else if (kind === 1) {
      const call = { type: "toolCall", id: `c${index}`, name: "read_file", arguments: { path, why: text } };
      yield { id, role: "assistant", parts: [call] };
    } else if (kind === 2) {
      yield {
        id,
        role: "tool",
        parts: [{ type: "toolResult", id: `c${index - 1}`, content: `${path}\n${text}` }],
      };
    } else yield { id, role: "assistant", parts: [{ type: "text", text }] };
  }
}

/** Queries of five words each, by the same law as the texts. */
export function queries(count) {
  const random = seeded(11);
  return Array.from({ length: count }, () => textOf(random, 5));
}

/** What a library is asked to index of a message: as the archive's own index reads it. */
export function plainText({ parts: [part] }) {
  if (part.type === "text") return part.text;
  if (part.type === "toolCall") return `${part.name} ${JSON.stringify(part.arguments)}`;
  return part.content;
}

/** Median and 95th percentile of the quickest of three times of each query, all warm: other work on the machine only adds. */
export async function timeQueries(texts, search) {
  const times = texts.map(() => Number.POSITIVE_INFINITY);
  let hits = 0;
  for (let round = 0; round < 4; round++) {
    for (const [index, text] of texts.entries()) {
      const { ms, value } = await clockTime(() => search(text));
      if (round > 0) times[index] = Math.min(times[index], ms);
      else hits += value;
    }
  }
  return { p50: quantile(times, 0.5), p95: quantile(times, 0.95), hits };
}
