import type {
  CompactionView,
  MessageOutcome,
  MessageView,
  SessionView,
  SpanView,
  StepView,
} from "../session-view.ts";

// What the page draws of a session: the columns of the chart, the rows of a window, those of the spans.

/** The data of the chart: x positions, then one series for each line, all of equal length. */
export interface Columns {
  readonly x: number[];
  /** Cumulative tokens up to each layer, the whole stack first, so that each area covers the one before. */
  readonly stack: readonly (readonly number[])[];
  readonly without: (number | null)[];
  readonly reported: (number | null)[];
}

/** A compaction has two columns at the same x, which draws a vertical drop. */
export function chartColumns({ steps, layers, compactions }: SessionView): Columns {
  const x: number[] = [];
  const without: (number | null)[] = [];
  const reported: (number | null)[] = [];
  const stack = layers.map((): number[] => []);
  // Before the first compaction the whole history is what was sent: the line would repeat the stack.
  const first = (compactions[0]?.step ?? Number.POSITIVE_INFINITY) - 1;
  const add = (position: number, tokens: readonly number[], step: StepView): void => {
    x.push(position);
    without.push(step.index >= first ? (step.without ?? null) : null);
    reported.push(step.reported ?? null);
    let top = 0;
    for (let layer = 0; layer < layers.length; layer += 1) {
      top += tokens[layer] ?? 0;
      stack[layers.length - 1 - layer]?.push(top);
    }
  };
  for (const step of steps) {
    if (step.before !== undefined) add(step.index, step.before, step);
    add(step.index, step.tokens, step);
  }
  // A single call spans the whole width.
  const [only] = steps;
  if (steps.length === 1 && only !== undefined) add(1, only.tokens, only);
  return { x, stack, without, reported };
}

/** Pixels above the window's line, for its label. */
const LABEL_HEIGHT = 20;

/** Tokens at the top edge: the window plus its label, or the largest request if that is more. */
export function maxTokens({ window, steps }: SessionView, height: number): number {
  let max = window * (1 + LABEL_HEIGHT / Math.max(LABEL_HEIGHT, height - LABEL_HEIGHT));
  for (const { total, before, reported = 0 } of steps)
    max = Math.max(max, total * 1.06, sum(before ?? []) * 1.06, reported * 1.06);
  return max > 0 ? max : 1;
}

/** The visible range of calls after a zoom around one of them: `by` 0.5 shows half as many. */
export function zoomedRange(
  { min, max }: { readonly min: number; readonly max: number },
  by: number,
  { around, last }: { readonly around: number; readonly last: number },
): { readonly min: number; readonly max: number } {
  const width = Math.max(4, (max - min) * by);
  if (width >= last) return { min: 0, max: Math.max(1, last) };
  const from = Math.max(0, Math.min(last - width, around - width / 2));
  return { min: from, max: from + width };
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

/** One row of the window: a message as it was sent, original or compacted. */
export type ContentRow = Omit<MessageOutcome, "outcome" | "tokensAfter" | "reason"> &
  Partial<Pick<MessageOutcome, "outcome">>;

/** The window at a step. */
export interface WindowContent {
  /** `undefined` for a message that is loading. */
  readonly rows: readonly (ContentRow | undefined)[];
  /** True if the outcome of the last compaction is unknown: the rows are those before it. */
  readonly isUnknown: boolean;
}

/** The last compaction at or before a step. */
export function compactionAt(session: SessionView, step: number): number | undefined {
  return session.compactions.findLast(({ step: at }) => at <= step)?.index;
}

/** The window at a step: what the last compaction left, then the messages since. */
export function windowContent(
  session: SessionView,
  step: number,
  compaction: CompactionView | undefined,
  message: (index: number) => MessageView | undefined,
): WindowContent {
  const end = session.steps[step]?.messages ?? 0;
  const isUnknown = compaction?.messages.some(({ outcome }) => outcome === "unknown") === true;
  const head = compaction === undefined ? [] : compactedRows(compaction, isUnknown);
  const start = compaction === undefined ? 0 : (session.steps[compaction.step]?.messages ?? 0);
  const since = Array.from({ length: Math.max(0, end - start) }, (_, offset) => message(start + offset));
  return { rows: [...head, ...since], isUnknown };
}

const rowsOfCompactions = new WeakMap<CompactionView, ContentRow[]>();

/** The list after a compaction, its summary in place of the first replaced message; else the list before. */
function compactedRows(compaction: CompactionView, isUnknown: boolean): ContentRow[] {
  const known = rowsOfCompactions.get(compaction);
  if (known !== undefined) return known;
  const rows: ContentRow[] = [];
  let hasSummary = isUnknown || compaction.summary.length === 0;
  for (const { tokensAfter, tokens: _, reason: __, ...rest } of compaction.messages) {
    if (rest.outcome !== "summarized") rows.push({ ...rest, tokens: tokensAfter });
    else if (!hasSummary) {
      hasSummary = true;
      rows.push(summaryRow(compaction));
    }
  }
  if (!hasSummary) rows.unshift(summaryRow(compaction));
  rowsOfCompactions.set(compaction, rows);
  return rows;
}

function summaryRow({ index, summary, summaryTokens }: CompactionView): ContentRow {
  const preview = summary
    .slice(0, 12)
    .map(({ text }) => text)
    .join("")
    .slice(0, 240);
  return { summaryOf: index, role: "summary", kind: "summary", tokens: summaryTokens ?? 0, preview };
}

/** How the rows of a window are grouped. */
export type Grouping = "tool" | "file" | "role";

/** The share of one tool, file or role. */
export interface Share {
  readonly name: string;
  readonly messages: number;
  readonly tokens: number;
}

/** The group that a row belongs to. */
export function groupOf({ kind, role, tool, path }: ContentRow, by: Grouping): string {
  if (kind === "summary") return "summary";
  if (by === "role") return role;
  if (by === "file") return path ?? "(no file)";
  return tool ?? (kind === "reasoning" ? "reasoning" : role);
}

/** The shares of a window, the largest first; rows that are still loading are omitted. */
export function sharesOf(rows: Iterable<ContentRow | undefined>, by: Grouping): Share[] {
  const sums = new Map<string, { messages: number; tokens: number }>();
  for (const row of rows) {
    if (row === undefined) continue;
    const name = groupOf(row, by);
    const sum = sums.get(name) ?? { messages: 0, tokens: 0 };
    sums.set(name, { messages: sum.messages + 1, tokens: sum.tokens + row.tokens });
  }
  return [...sums]
    .map(([name, sum]) => ({ name, ...sum }))
    .sort((one, other) => other.tokens - one.tokens || one.name.localeCompare(other.name));
}

/** A span with its depth in the tree and its position in time. */
export interface SpanRow {
  readonly span: SpanView;
  /** 0 for a root. */
  readonly depth: number;
  /** A readable name; compactions are numbered. */
  readonly label: string;
  /** Milliseconds since the start of its root; 0 without times. */
  readonly offset: number;
  /** Milliseconds since the start of the session. */
  readonly since: number;
  readonly duration: number;
  /** False for a check without effect, see `CHECKS`. */
  readonly busy: boolean;
}

/** All spans in depth-first order, siblings by time; a span whose parent is missing is a root. */
export function spanRows(spans: readonly SpanView[]): SpanRow[] {
  const { roots, children } = treeOf(spans);
  const sessionStart = firstTime(spans);
  const rows: SpanRow[] = [];
  const seen = new Set<string>();
  let compactions = 0;
  const labelOf = ({ name }: SpanView, depth: number): string => {
    if (depth > 0 || name !== "compact") return name.replace(/^compact\./, "").replaceAll("_", " ");
    compactions += 1;
    return `compaction ${compactions}`;
  };
  const add = (span: SpanView, root: Root, depth: number): void => {
    if (seen.has(span.id)) return;
    seen.add(span.id);
    const start = startOf(span) ?? root.start;
    const duration = Math.max(0, span.durationMs ?? 0);
    const offset = Math.max(0, start - root.start);
    rows.push({
      span,
      depth,
      label: labelOf(span, depth),
      offset,
      since: start - sessionStart,
      duration,
      busy: root.busy,
    });
    for (const child of byTime(children.get(span.id) ?? [])) add(child, root, depth + 1);
  };
  // Spans in a parent cycle have no root: they come last.
  for (const root of [...byTime(roots), ...spans]) {
    const busy = children.has(root.id) || root.status === "error" || !CHECKS.has(root.name);
    add(root, { start: startOf(root) ?? sessionStart, busy }, 0);
  }
  return rows;
}

interface Root {
  readonly start: number;
  readonly busy: boolean;
}

/** Checks of the window size; without children they had no effect. */
const CHECKS: ReadonlySet<string> = new Set(["compact.token_estimate", "compact.trigger_decision"]);

function treeOf(spans: readonly SpanView[]): {
  readonly roots: SpanView[];
  readonly children: ReadonlyMap<string, SpanView[]>;
} {
  const known = new Set(spans.map(({ id }) => id));
  const roots: SpanView[] = [];
  const children = new Map<string, SpanView[]>();
  for (const span of spans) {
    const siblings = children.get(span.parent ?? "");
    if (span.parent === undefined || !known.has(span.parent)) roots.push(span);
    else if (siblings === undefined) children.set(span.parent, [span]);
    else siblings.push(span);
  }
  return { roots, children };
}

function firstTime(spans: readonly SpanView[]): number {
  let first = Number.POSITIVE_INFINITY;
  for (const span of spans) first = Math.min(first, startOf(span) ?? first);
  return Number.isFinite(first) ? first : 0;
}

function startOf({ start }: SpanView): number | undefined {
  const time = Date.parse(start ?? "");
  return Number.isNaN(time) ? undefined : time;
}

function byTime(spans: SpanView[]): SpanView[] {
  return spans.sort((one, other) => (startOf(one) ?? 0) - (startOf(other) ?? 0));
}
