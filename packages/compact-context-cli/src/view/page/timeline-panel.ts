import { ticks } from "./chart-geometry.ts";
import { element, fill } from "./dom.ts";
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
    open: () => inspector.node.focus(),
    mark(index) {
      const span = rows[index]?.span;
      const inside = all.filter((row) => row.span.parent === span?.id && row.span !== span);
      inspector.show(
        span,
        inside.map((row) => row.span),
      );
    },
  });
  const idleWords = element("span");
  const switchChecks = tick(idleWords, false, (on) => update({ checks: on }));
  const switchScale = tick("each tree from its own beginning", true, (on) => update({ aligned: on }));
  const marks = element("span", { class: "lane" });
  const sides = [element("span", { class: "span-name" }), element("span", { class: "took" })];
  const ruler = element("div", { class: "ruler", "aria-hidden": "true" }, sides[0], marks, sides[1]);
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
    idleWords.textContent = plural(idle, "check that changed nothing", "checks that changed nothing");
    fill(marks, ...ticks(longest, 4).map((at) => mark(at, longest)));
    caption.textContent = captionOf(rows.length, all.length);
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
    element("div", { class: "filters" }, caption, switchScale, switchChecks),
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

function captionOf(shown: number, all: number): string {
  if (all === 0) return "";
  return shown === all ? plural(all, "span") : `${count(shown)} of ${plural(all, "span")}`;
}

/** A box to tick. */
function tick(label: string | HTMLElement, on: boolean, change: (on: boolean) => void): HTMLElement {
  const box = element("input", { type: "checkbox", checked: on });
  box.addEventListener("change", () => change(box.checked));
  return element("label", { class: "check" }, box, label);
}

function mark(at: number, longest: number): HTMLElement {
  const node = element("span", {}, at === 0 ? "0" : duration(at).replace(/\.0(?= )/, ""));
  node.style.left = `${(at / longest) * 100}%`;
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
