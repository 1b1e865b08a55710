// Queries over many made-up sections: words drawn by Zipf's law from 200,000, 60 a section, five words a query.
import { processorTime, seeded, spread } from "../measure.mjs";

const VOCABULARY = 200_000;
const QUERIES = 200;

function createDraw(seed) {
  const random = seeded(seed);
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

const SIZES = [300, 1_000, 3_000, 10_000, 30_000, 100_000];
/** What libraries beside ours are asked for at most: beyond, building their indexes takes minutes. */
const PEERS_MOST = 10_000;
/** Processor time of queries after which no more are asked. */
const PATIENCE_MS = 3_000;

function measureOne({ create }, candidates, queries) {
  const { ms: build, value: index } = processorTime(() => create(candidates));
  const timed = (list) => {
    const times = [];
    let spent = 0;
    for (const query of list) {
      const { ms } = processorTime(() => index.search(query, 10));
      times.push(ms);
      spent += ms;
      if (spent > PATIENCE_MS) break;
    }
    return times;
  };
  timed(queries.slice(0, 50));
  const times = timed(queries);
  index.close();
  return { build, queries: spread(times) };
}

/** Building and queries by system and number of sections; not measured where null. */
export function scale(systems, quick) {
  const sizes = quick ? [100, 200] : SIZES;
  const rows = sizes.map((count) => {
    const draw = createDraw(count);
    const words = (length) => Array.from({ length }, draw).join(" ");
    const candidates = Array.from({ length: count }, (_, place) => ({
      id: String(place),
      content: words(60),
      author: "",
      section: Math.floor(place / 20),
      order: place % 20,
    }));
    const queries = Array.from({ length: quick ? 10 : QUERIES }, () => words(5));
    return systems.map((system, index) =>
      index > 0 && count > PEERS_MOST ? null : measureOne(system, candidates, queries),
    );
  });
  return { sizes, names: systems.map(({ name }) => name), rows };
}

const curveOf = ({ sizes, names, rows }, point) => ({
  by: "sections",
  unit: "ms",
  more: false,
  sizes,
  series: names.map((name, index) => ({
    name,
    points: rows.map((row) => (row[index] === null ? null : point(row[index]))),
  })),
});

/** Time of a query. */
export const queryCurve = (measured) =>
  curveOf(measured, ({ queries: { median, least, p95 } }) => ({ median, least, most: p95 }));

/** Time of taking all sections in. */
export const buildCurve = (measured) =>
  curveOf(measured, ({ build }) => ({ median: build, least: build, most: build }));
