import { createRandom } from "./random.ts";
import type { Results, Row } from "./run.ts";
import { mean, type Scores } from "./score.ts";

/** What a method comes to over sessions. */
interface Line {
  readonly method: string;
  readonly used: number;
  readonly scores: Scores;
  /** RS = ½·(V − X) + ½·F ÷ F of the whole prefix. */
  readonly score: number;
  /** 95 % of the bootstrap over sessions. */
  readonly low: number;
  readonly high: number;
  readonly ms: number;
}

const RESAMPLES = 400;
const GUARD: Readonly<Record<string, number>> = { "0.025": 0.3, "0.1": 0.5 };
const HEAD =
  "| method | used | V | V distant | V from user | X | C | F | **RS** | 95 % |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---|";

/** The page of figures. */
export function renderRetention({ cuts, rows }: Results, budgets: readonly number[]): string {
  const cutRows = rows.filter(({ budget }) => budget !== "own");
  const ownRows = rows.filter(({ budget }) => budget === "own");
  const whole = wholeLookup(cutRows);
  const small: Scored = { rows: cutRows, budgets: budgets.slice(0, 2), whole };
  const files = new Set(cuts.map(({ file }) => file)).size;
  const average = (of: (cut: (typeof cuts)[number]) => number): number => Math.round(mean(cuts.map(of)) ?? 0);
  return [
    `${cuts.length} cuts in ${files} sessions. On average a prefix has ${average((cut) => cut.prefixTokens)} tokens and ${average((cut) => cut.facts)} facts; ${average((cut) => cut.needed)} are needed later, ${average((cut) => cut.never)} never, ${average((cut) => cut.resupplied)} are said again by a tool or the user first. F of the whole prefix is ${figure(whole)}.`,
    ...budgets.flatMap((budget) => [
      `### ${percent(budget)} of the prefix`,
      table(
        cutRows.filter((row) => row.budget === budget),
        whole,
        GUARD[String(budget)],
      ),
    ]),
    "### By corpus",
    corpora(small),
    "### By the length of the prefix",
    lengths(small),
    "### The agents' own compactions, each method at the size of the agent's summary",
    ownRows.length === 0
      ? "None among these sessions."
      : `${new Set(ownRows.map(({ file }) => file)).size} sessions; so few that only large differences mean anything.\n\n${table(ownRows, wholeLookup(ownRows))}`,
  ].join("\n\n");
}

/** F of the text that nothing was taken from: the ceiling of looking up. */
function wholeLookup(rows: readonly Row[]): number {
  const whole = rows.filter(({ method }) => method === "the whole prefix");
  return perSession(whole, "lookedUp") ?? 1;
}

function table(rows: readonly Row[], whole: number, guard?: number): string {
  const lines = linesOf(rows, whole);
  return [
    HEAD,
    ...lines.map(({ method, used, scores, score, low, high }) => {
      const context = figure(scores.inContext);
      const guarded = guard !== undefined && (scores.inContext ?? 0) < guard ? `${context} †` : context;
      const own = /^(?:built-in|compact)/.test(method) ? `**${method}**` : method;
      const cells = [scores.present, scores.distant, scores.fromUser, scores.control].map(figure);
      return `| ${own} | ${percent(used)} | ${cells.join(" | ")} | ${guarded} | ${figure(scores.lookedUp)} | **${figure(score)}** | ${figure(low)} – ${figure(high)} |`;
    }),
    ...(guard === undefined ? [] : ["", `† below the guard C ≥ ${guard}: a list, not something to read.`]),
  ].join("\n");
}

function linesOf(rows: readonly Row[], whole: number): Line[] {
  const methods = [...new Set(rows.map(({ method }) => method))].filter(
    (name) => name !== "the whole prefix",
  );
  return methods.map((method) => {
    const own = rows.filter((row) => row.method === method);
    const keys = ["present", "distant", "fromUser", "control", "inContext", "lookedUp"] as const;
    const scores = Object.fromEntries(keys.map((key) => [key, perSession(own, key)]));
    const [low, high] = interval(own, whole);
    return {
      method,
      used: mean(own.map(({ used }) => used)) ?? 0,
      scores: { tokens: 0, ...scores } as Scores,
      score: retention(own, whole),
      low,
      high,
      ms: mean(own.map(({ ms }) => ms)) ?? 0,
    };
  });
}

function retention(rows: readonly Row[], whole: number): number {
  const gained = Math.max(0, (perSession(rows, "present") ?? 0) - (perSession(rows, "control") ?? 0));
  const found = Math.min(1, (perSession(rows, "lookedUp") ?? 0) / whole);
  return (gained + found) / 2;
}

/** Sessions count alike, however many cuts they have. */
function perSession(rows: readonly Row[], key: keyof Scores): number | undefined {
  const sessions = grouped(rows);
  return mean([...sessions.values()].map((own) => mean(own.map(({ scores }) => scores[key]))));
}

function grouped(rows: readonly Row[]): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(row.file, [...(groups.get(row.file) ?? []), row]);
  return groups;
}

function interval(rows: readonly Row[], whole: number): [number, number] {
  const random = createRandom(17);
  const sessions = [...grouped(rows).values()];
  const scores = Array.from({ length: RESAMPLES }, () => {
    const drawn = sessions.flatMap((_, n) => {
      const own = sessions[Math.floor(random() * sessions.length)] ?? [];
      return own.map((row) => ({ ...row, file: `${n}` }));
    });
    return retention(drawn, whole);
  }).sort((one, other) => one - other);
  return [scores[Math.floor(RESAMPLES * 0.025)] ?? 0, scores[Math.floor(RESAMPLES * 0.975)] ?? 0];
}

const SLICE_METHODS = [
  "compact(), one shot",
  "built-in summary alone",
  "mask, then head and tail",
  "weighed lines",
  "index card",
  "oracle lines (knows the future)",
];

/** Cuts that are looked at by themselves. */
interface Slice {
  readonly name: string;
  holds(row: Row): boolean;
}

function corporaOf(rows: readonly Row[]): Slice[] {
  const names = [...new Set(rows.map(({ corpus }) => corpus))];
  return names.map((name) => ({ name, holds: ({ corpus }) => corpus === name }));
}

/** Tokens of a prefix; 2.5 % of fewer are some 200 tokens at most, which hold the newest ask and hardly more. */
const LONG_PREFIX = 8000;
const LENGTHS: readonly Slice[] = [
  { name: "under 8,000 tokens", holds: ({ prefixTokens }) => prefixTokens < LONG_PREFIX },
  { name: "8,000 tokens and more", holds: ({ prefixTokens }) => prefixTokens >= LONG_PREFIX },
];

interface Scored {
  readonly rows: readonly Row[];
  readonly budgets: readonly number[];
  readonly whole: number;
}

function scoreOf({ rows, whole }: Scored, slice: Slice, method: string, budget: number): number | undefined {
  const own = rows.filter((row) => row.method === method && row.budget === budget && slice.holds(row));
  return own.length === 0 ? undefined : retention(own, whole);
}

function sliceTable(what: string, slices: readonly Slice[], scored: Scored): string[] {
  const cells = (slice: Slice): string[] =>
    SLICE_METHODS.map((method) =>
      scored.budgets.map((budget) => figure(scoreOf(scored, slice, method, budget))).join(" / "),
    );
  const cuts = (slice: Slice): number =>
    scored.rows.filter((row) => row.method === "the whole prefix" && slice.holds(row)).length;
  return [
    `| ${what} | cuts | ${SLICE_METHODS.join(" | ")} |`,
    `|---|---:|${SLICE_METHODS.map(() => "---:|").join("")}`,
    ...slices.map((slice) => `| ${slice.name} | ${cuts(slice)} | ${cells(slice).join(" | ")} |`),
  ];
}

function lengths(scored: Scored): string {
  return [
    `RS at ${scored.budgets.map(percent).join(" / ")}.`,
    "",
    ...sliceTable("prefix", LENGTHS, scored),
  ].join("\n");
}

function corpora(scored: Scored): string {
  const slices = corporaOf(scored.rows);
  const others = slices.map((slice): Slice => ({ name: slice.name, holds: (row) => !slice.holds(row) }));
  const last = (name: string, cell: (method: string, budget: number) => string): string => {
    const cells = SLICE_METHODS.map((method) =>
      scored.budgets.map((budget) => cell(method, budget)).join(" / "),
    );
    return `| ${name} | | ${cells.join(" | ")} |`;
  };
  const over = (some: readonly Slice[], method: string, budget: number): number[] =>
    some.flatMap((slice) => scoreOf(scored, slice, method, budget) ?? []);
  return [
    `RS at ${scored.budgets.map(percent).join(" / ")}. A corpus of a few cuts says little; the mean counts each corpus alike, and the last row is the range over all that is left when one corpus is left out.`,
    "",
    ...sliceTable("corpus", slices, scored),
    last("mean of the corpora", (method, budget) => figure(mean(over(slices, method, budget)))),
    last("without one corpus", (method, budget) => {
      const left = over(others, method, budget);
      return `${figure(Math.min(...left))}–${figure(Math.max(...left))}`;
    }),
  ].join("\n");
}

function figure(value: number | undefined): string {
  return value === undefined ? "–" : value.toFixed(2).replace(/^0\./, ".");
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(1))} %`;
}
