import { element } from "./dom.ts";

/** What a list needs to know about its rows; all of them are equally high (`--row` in the style sheet). */
export interface VirtualListOptions {
  /** What a screen reader calls the list. */
  readonly label: string;
  /** Fills a row element; it may hold what another row showed before. */
  readonly render: (row: HTMLElement, index: number) => void;
  /** What a row shows, where the same value shows the same: such a row is not drawn again. */
  readonly content?: (index: number) => unknown;
  /** A row was double-clicked, or Enter was pressed on it. */
  readonly open: (index: number) => void;
  /** Another row was marked: by arrow keys or by a click. */
  readonly mark: (index: number) => void;
  /** Said in place of rows where there are none. */
  readonly empty: string;
}

export interface VirtualList {
  readonly node: HTMLElement;
  /** Sets how many rows there are and draws those in sight again. The place stays; the end stays the end; `top` goes there. */
  show(length: number, top?: boolean): void;
  /** Draws the rows in sight again. */
  redraw(): void;
  /** While there are no rows because they are on their way, nothing else is said. */
  wait(on: boolean): void;
  /** Marks a row and brings it into the middle of the sight. */
  reveal(index: number): void;
  /** The marked row, -1 for none. */
  marked(): number;
}

/** Rows drawn above and below what is in sight, so that a flick of the wheel shows no gap. */
const SPARE = 8;
let lists = 0;

/** A list box of any length of which only the rows in sight are in the document. */
export function createVirtualList(options: VirtualListOptions): VirtualList {
  const sizer = element("div", { class: "rows", role: "presentation" });
  const empty = element("p", { class: "empty", hidden: true }, options.empty);
  const attributes = { class: "list", role: "listbox", tabindex: 0, "aria-label": options.label };
  const node = element("div", attributes, sizer, empty);
  const rows = createRows(sizer, options);
  let length = 0;
  let marked = -1;
  let height = 0;

  const measure = (): void => {
    height = Number.parseFloat(getComputedStyle(node).getPropertyValue("--row")) || 32;
  };
  const draw = (): void => {
    if (height === 0) measure();
    const first = Math.max(0, Math.floor(node.scrollTop / height) - SPARE);
    const last = Math.min(length, Math.ceil((node.scrollTop + node.clientHeight) / height) + SPARE);
    rows.keep(first, last, { length, marked, height });
  };
  const redraw = (): void => {
    if (height === 0) measure();
    sizer.style.height = `${length * height}px`;
    rows.forget();
    draw();
  };
  const unmark = (): void => {
    marked = -1;
    node.removeAttribute("aria-activedescendant");
  };
  const mark = (index: number): void => {
    if (length === 0) return;
    marked = Math.max(0, Math.min(length - 1, index));
    const top = marked * height;
    const lowest = top + height - node.clientHeight;
    node.scrollTop = Math.min(top, Math.max(lowest, node.scrollTop));
    draw();
    node.setAttribute("aria-activedescendant", rows.select(marked));
  };

  listen(node, options, { mark, marked: () => marked, length: () => length, height: () => height });
  node.addEventListener("scroll", oncePerFrame(draw), { passive: true });
  new ResizeObserver(() => {
    measure();
    redraw();
  }).observe(node);

  return {
    node,
    redraw,
    wait: (on) => {
      empty.textContent = on ? "…" : options.empty;
      node.setAttribute("aria-busy", String(on));
    },
    marked: () => marked,
    show(now, top = false) {
      const atEnd = node.scrollTop > 0 && node.scrollTop + node.clientHeight >= length * height - 2;
      length = now;
      empty.hidden = length > 0;
      if (marked >= length || top) unmark();
      if (top) node.scrollTop = 0;
      redraw();
      if (atEnd && !top) node.scrollTop = length * height;
    },
    reveal(index) {
      if (height === 0) measure();
      node.scrollTop = Math.max(0, (index + 0.5) * height - node.clientHeight / 2);
      mark(index);
    },
  };
}

function oncePerFrame(run: () => void): () => void {
  let queued = false;
  return () => {
    if (queued) return;
    queued = true;
    requestAnimationFrame(() => {
      queued = false;
      run();
    });
  };
}

interface Shape {
  readonly length: number;
  readonly marked: number;
  /** Of one row, in pixels. */
  readonly height: number;
}

interface Rows {
  /** Sees to it that just these rows are in the document. */
  keep(first: number, last: number, shape: Shape): void;
  /** What the rows show may be out of date. */
  forget(): void;
  /** Shows a row as the marked one; gives its id. */
  select(index: number): string;
}

interface Row {
  readonly node: HTMLElement;
  readonly content: unknown;
}

function createRows(sizer: HTMLElement, { render, content }: VirtualListOptions): Rows {
  lists += 1;
  const prefix = `list-${lists}-row-`;
  const shown = new Map<number, Row>();
  /** Rows in the document that may be drawn again, by the place that they had. */
  const stale = new Map<number, Row>();
  const free: HTMLElement[] = [];

  const place = (index: number, { length, marked, height }: Shape): void => {
    const before = stale.get(index);
    const now = content?.(index);
    const node = before?.node ?? free.pop() ?? element("div", { role: "option" });
    stale.delete(index);
    node.id = `${prefix}${index}`;
    node.dataset.index = String(index);
    node.setAttribute("aria-setsize", String(length));
    node.setAttribute("aria-posinset", String(index + 1));
    node.setAttribute("aria-selected", String(index === marked));
    node.style.transform = `translateY(${index * height}px)`;
    if (now === undefined || now !== before?.content) {
      node.className = "row";
      render(node, index);
    }
    shown.set(index, { node, content: now });
    if (node.parentNode === null) sizer.append(node);
  };
  /** Frees the rows of a map that are outside. */
  const release = (rows: Map<number, Row>, first: number, last: number): void => {
    for (const [index, { node }] of [...rows]) {
      if (index >= first && index < last) continue;
      rows.delete(index);
      free.push(node);
    }
  };
  return {
    keep(first, last, shape) {
      release(shown, first, last);
      release(stale, first, last);
      for (let index = first; index < last; index += 1) if (!shown.has(index)) place(index, shape);
      for (const node of free.splice(0)) node.remove();
    },
    forget() {
      for (const [index, row] of shown) stale.set(index, row);
      shown.clear();
    },
    select(marked) {
      for (const [index, { node }] of shown) node.setAttribute("aria-selected", String(index === marked));
      return `${prefix}${marked}`;
    },
  };
}

interface Marking {
  mark(index: number): void;
  marked(): number;
  length(): number;
  height(): number;
}

function listen(node: HTMLElement, options: VirtualListOptions, list: Marking): void {
  const page = (): number => Math.max(1, Math.floor(node.clientHeight / Math.max(1, list.height())) - 1);
  const moves: Readonly<Record<string, () => number>> = {
    ArrowDown: () => list.marked() + 1,
    ArrowUp: () => list.marked() - 1,
    PageDown: () => list.marked() + page(),
    PageUp: () => list.marked() - page(),
    Home: () => 0,
    End: () => list.length() - 1,
  };
  const mark = (index: number): void => {
    list.mark(index);
    if (list.marked() >= 0) options.mark(list.marked());
  };
  node.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const move = moves[event.key];
    if (move !== undefined) mark(move());
    else if (event.key === "Enter" && list.marked() >= 0) options.open(list.marked());
    else return;
    event.preventDefault();
  });
  node.addEventListener("click", (event) => {
    const index = rowAt(event);
    if (index !== undefined) mark(index);
  });
  node.addEventListener("dblclick", (event) => {
    const index = rowAt(event);
    if (index !== undefined) options.open(index);
  });
}

function rowAt({ target }: Event): number | undefined {
  const row = target instanceof Element ? target.closest<HTMLElement>(".row") : null;
  return row === null ? undefined : Number(row.dataset.index);
}
