import type { SpanView } from "../session-view.ts";

/** A span in its tree, with its place in time. */
export interface SpanRow {
  readonly span: SpanView;
  /** 0 for a root. */
  readonly depth: number;
  /** Plain words: the compactions are numbered, what happens in one says what it is. */
  readonly label: string;
  /** Milliseconds from the beginning of its root; 0 where there are no times. */
  readonly offset: number;
  /** Milliseconds from the beginning of the session. */
  readonly since: number;
  readonly duration: number;
  /** True for a root that something happened under, and for what is under it. */
  readonly busy: boolean;
}

/** All spans, parents before their children, roots in the order of time; a span whose parent is missing is a root. */
export function spanRows(spans: readonly SpanView[]): SpanRow[] {
  const { roots, children } = branches(spans);
  const begin = firstTime(spans);
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
      since: start - begin,
      duration,
      busy: root.busy,
    });
    for (const child of inTime(children.get(span.id) ?? [])) add(child, root, depth + 1);
  };
  // Spans that are each other's parents hang under no root: they come last.
  for (const root of [...inTime(roots), ...spans]) {
    const busy = children.has(root.id) || root.status === "error" || !CHECKS.has(root.name);
    add(root, { start: startOf(root) ?? begin, busy }, 0);
  }
  return rows;
}

interface Root {
  readonly start: number;
  readonly busy: boolean;
}

/** Looks at the window, which lead to nothing where nothing is under them. */
const CHECKS: ReadonlySet<string> = new Set(["compact.token_estimate", "compact.trigger_decision"]);

function branches(spans: readonly SpanView[]): {
  readonly roots: SpanView[];
  readonly children: ReadonlyMap<string, SpanView[]>;
} {
  const known = new Set(spans.map(({ id }) => id));
  const roots: SpanView[] = [];
  const children = new Map<string, SpanView[]>();
  for (const span of spans) {
    if (span.parent === undefined || !known.has(span.parent)) roots.push(span);
    else push(children, span.parent, span);
  }
  return { roots, children };
}

function push(children: Map<string, SpanView[]>, parent: string, span: SpanView): void {
  const those = children.get(parent);
  if (those === undefined) children.set(parent, [span]);
  else those.push(span);
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

function inTime(spans: SpanView[]): SpanView[] {
  return spans.sort((one, other) => (startOf(one) ?? 0) - (startOf(other) ?? 0));
}
