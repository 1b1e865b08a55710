// Every benchmark by the name that asks for it, in the order of the page. A benchmark is
//   title       heading of its section
//   run({ quick })       measures, in a process of its own with --expose-gc, and gives its figures as plain data;
//                        `quick` is small enough for a test
//   timed?      false where no figure is a time, so that it may run beside others
//   headline(figures)    the line of the overview
//   section(figures)     Markdown of its section
//   pictures?(figures)   { name: svg }, written beside the page as docs/benchmarks/name.svg
//   pages?               [{ path, mark, render(figures, result) }]: longer pages, filled between <!-- mark --> and <!-- /mark -->

export const BENCHES = {
  counting: () => import("./counting.mjs"),
  preflight: () => import("./preflight.mjs"),
  plan: () => import("./plan.mjs"),
  summary: () => import("./summary.mjs"),
  loop: () => import("./loop.mjs"),
  floor: () => import("./floor.mjs"),
  proxy: () => import("./proxy.mjs"),
  memory: () => import("./memory.mjs"),
  exporters: () => import("./exporters/bench.mjs"),
  recall: () => import("./recall/bench.mjs"),
  work: () => import("./recall/work.mjs"),
  search: () => import("./search/bench.mjs"),
  redaction: () => import("./redaction/bench.mjs"),
  violations: () => import("./violations/bench.mjs"),
  retention: () => import("./retention.mjs"),
  drift: () => import("./drift.mjs"),
  cost: () => import("./cost.mjs"),
  import: () => import("./import.mjs"),
};

/** The benchmark of a name. */
export async function loadBench(name) {
  const { bench } = await BENCHES[name]();
  return bench;
}
