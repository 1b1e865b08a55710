// Clocks, draws and spreads that all benchmarks share.

/** Draws from 0 to 1, the same for the same seed (mulberry32, public domain). */
export function seeded(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const quantile = (values, share) =>
  values.toSorted((one, other) => one - other)[
    Math.min(values.length - 1, Math.floor(values.length * share))
  ];

/** Median, least and largest, 95th percentile. */
export const spread = (values) => ({
  median: quantile(values, 0.5),
  least: quantile(values, 0),
  p95: quantile(values, 0.95),
  most: quantile(values, 1),
});

const since = (before) => {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};

/** Processor time of a call in ms, and what it gave: other work on the machine only adds to the clock. */
export function processorTime(work) {
  const before = process.cpuUsage();
  const value = work();
  return { ms: since(before), value };
}

/** The same for work that is waited for. */
export async function processorTimeOf(work) {
  const before = process.cpuUsage();
  const value = await work();
  return { ms: since(before), value };
}

/** Milliseconds of the clock of a call, and what it gave. */
export async function clockTime(work) {
  const started = performance.now();
  const value = await work();
  return { ms: performance.now() - started, value };
}

/** Megabytes that this process holds after a collection of garbage; Node runs with --expose-gc here. */
export function heldMegabytes() {
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
}

/**
 * Takes turns: every contestant once a round, another one first each time. Gives the samples of each by name.
 * @template T
 * @param {readonly T[]} contestants
 */
export async function inTurns(contestants, rounds, sample) {
  const samples = new Map(contestants.map((contestant) => [contestant.name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < contestants.length; turn += 1) {
      const contestant = contestants[(turn + round) % contestants.length];
      samples.get(contestant.name).push(await sample(contestant, round));
    }
  }
  return samples;
}
