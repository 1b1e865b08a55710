import type { SpanView } from "../session-view.ts";

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
