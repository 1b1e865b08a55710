// Queries over many made-up sections: words drawn by Zipf's law from 200,000, 60 a section, five words a query.
import { createRecallIndex } from "../../dist/memory/index.js";
import { processorTime, quantile } from "./measure.mjs";

const VOCABULARY = 200_000;
const QUERIES = 300;

function createDraw(seed) {
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const sums = new Float64Array(VOCABULARY);
  let total = 0;
  for (let rank = 0; rank < VOCABULARY; rank++) {
    total += 1 / (rank + 1);
    sums[rank] = total;
  }
  return () => {
    const wanted = random() * total;
    let low = 0;
    let high = VOCABULARY - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle] < wanted) low = middle + 1;
      else high = middle;
    }
    return `w${low.toString(26).replace(/\d/g, (digit) => "qrstuvwxyz"[digit])}`;
  };
}

export function scale(count) {
  const draw = createDraw(count);
  const words = (length) => Array.from({ length }, draw).join(" ");
  const candidates = Array.from({ length: count }, (_, place) => ({
    id: String(place),
    content: words(60),
    section: Math.floor(place / 20),
    order: place % 20,
  }));
  const [build, index] = processorTime(() => createRecallIndex(candidates));
  const queries = Array.from({ length: QUERIES }, () => words(5));
  for (const query of queries.slice(0, 50)) index.search(query);
  const times = queries.map((query) => processorTime(() => index.search(query))[0]);
  return { count, build, p50: quantile(times, 0.5), p95: quantile(times, 0.95) };
}
