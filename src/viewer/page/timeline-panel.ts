import { button, element, fill } from "./dom.ts";
import { createInspector } from "./inspector.ts";
import { count, duration, plural } from "./numbers.ts";
import type { Shared } from "./shared.ts";
import { type SpanRow, spanRows } from "./span-tree.ts";
import { createVirtualList } from "./virtual-list.ts";
import { firstLine } from "./visible-text.ts";

/** The spans as a tree with bars, and what one of them says. */
export function createTimelinePanel({ store }: Shared): HTMLElement {
  let all: readonly SpanRow[] = [];
  let rows: readonly SpanRow[] = [];
  let checks = false;
  let aligned = true;
  let longest = 1;
  const inspector = createInspector();
  const list = createVirtualList({
    label: "Spans",
    empty: "No span has come in yet.",
    render: (node, index) => drawSpan(node, rows[index], { aligned, longest }),
    open: (index) => inspector.show(rows[index]?.span),
    mark: (index) => inspector.show(rows[index]?.span),
  });
  const switchChecks = button("", () => update({ checks: !checks }), { class: "filter" });
  const switchScale = button("Aligned at their start", () => update({ aligned: !aligned }), {
    class: "filter",
  });
  const ruler = element("div", { class: "ruler", "aria-hidden": "true" });
  const caption = element("p", { class: "caption" });

  const update = (change: { readonly checks?: boolean; readonly aligned?: boolean } = {}): void => {
    checks = change.checks ?? checks;
    aligned = change.aligned ?? aligned;
    const marked = rows[list.marked()]?.span;
    const busy = all.filter((row) => row.busy);
    rows = checks ? all : busy;
    longest = longestOf(rows, aligned);
    const idle = all.length - busy.length;
    switchChecks.hidden = idle === 0;
    switchChecks.textContent = plural(idle, "check that changed nothing", "checks that changed nothing");
    switchChecks.setAttribute("aria-pressed", String(checks));
    switchScale.setAttribute("aria-pressed", String(aligned));
    fill(ruler, ...[0, 0.25, 0.5, 0.75, 1].map((part) => mark(part, longest)));
    caption.textContent = captionOf(rows.length, all.length, aligned);
    list.show(rows.length);
    if (marked === undefined || !rows.some(({ span }) => span === marked)) inspector.show(undefined);
  };
  store.watch(["session"], ({ session }) => {
    all = spanRows(session?.spans ?? []);
    update();
  });

  return element(
    "div",
    { class: "stack" },
    element("div", { class: "filters" }, switchScale, switchChecks, caption),
    element(
      "div",
      { class: "beside" },
      element("div", { class: "column" }, ruler, list.node),
      element("div", { class: "column inspector-column" }, inspector.node),
    ),
  );
}

/** Milliseconds that the whole width stands for. */
function longestOf(rows: readonly SpanRow[], aligned: boolean): number {
  let longest = 1e-6;
  for (const row of rows) longest = Math.max(longest, (aligned ? row.offset : row.since) + row.duration);
  return longest;
}

function captionOf(shown: number, all: number, aligned: boolean): string {
  const number = shown === all ? plural(all, "span") : `${count(shown)} of ${plural(all, "span")}`;
  return all === 0
    ? ""
    : `${number}, ${aligned ? "each tree from its own beginning" : "in the time of the session"}`;
}

function mark(part: number, longest: number): HTMLElement {
  const node = element(
    "span",
    { class: part === 1 ? "end" : "" },
    part === 0 ? "0" : duration(longest * part),
  );
  node.style.left = `${part * 100}%`;
  return node;
}

function drawSpan(
  node: HTMLElement,
  row: SpanRow | undefined,
  { aligned, longest }: { readonly aligned: boolean; readonly longest: number },
): void {
  if (row === undefined) return;
  const { span, depth, offset, since, duration: took } = row;
  node.className = `row span ${span.status === "error" ? "failed" : ""} ${depth === 0 ? "root" : ""}`;
  const name = element(
    "span",
    { class: "span-name" },
    span.status === "error" ? "! " : "",
    firstLine(span.name, 120),
  );
  name.style.paddingInlineStart = `${Math.min(depth, 12) * 14}px`;
  const start = ((aligned ? offset : since) / longest) * 100;
  const width = (took / longest) * 100;
  const bar = element("span", { class: `span-bar ${kindOf(span.name)}` });
  bar.style.left = `${Math.min(start, 100)}%`;
  bar.style.width = `${Math.min(width, 100 - Math.min(start, 100))}%`;
  const failed = span.status === "error" ? element("span", { class: "unseen" }, "failed") : undefined;
  const words = span.durationMs === undefined ? "" : took === 0 ? "moment" : duration(took);
  fill(
    node,
    name,
    element("span", { class: "lane", "aria-hidden": "true" }, bar),
    element("span", { class: "took" }, words),
    failed,
  );
}

function kindOf(name: string): string {
  if (name.includes("summary")) return "of-summary";
  if (name.includes("archiv")) return "of-archive";
  return name.includes("error") || name.includes("warning") ? "of-error" : "";
}
