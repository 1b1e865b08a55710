import type { CompactionView, Fate, FateView, SourceView } from "../session-view.ts";
import { createDetail, titleOf } from "./detail.ts";
import { element } from "./dom.ts";
import { createFateFilters } from "./fate-filters.ts";
import { drawRow } from "./message-row.ts";
import { plural } from "./numbers.ts";
import type { Shared } from "./shared.ts";
import { createVirtualList } from "./virtual-list.ts";

export interface FateList {
  readonly node: HTMLElement;
  show(compaction: CompactionView | undefined): void;
  /** Marks these messages and brings one of them into sight; one of another list is offered to be read. */
  reveal(sources: readonly SourceView[], nearest: SourceView): void;
  /** Takes the marks away; false where there were none. */
  clear(): boolean;
}

/** What became of each message; `chosen` hears which one is marked and says how many lines of the summary it is in. */
export function createFateList(
  { store, showMessage, announce }: Shared,
  chosen: (message: number | undefined) => number,
): FateList {
  let opened: CompactionView | undefined;
  let rows: readonly FateView[] = [];
  let hidden: ReadonlySet<Fate> = new Set();
  let sources: ReadonlySet<number> = new Set();

  const open = (index: number): void => {
    const row = rows[index];
    const wanted = row === undefined ? undefined : wantedOf(row);
    if (row === undefined || opened === undefined) return;
    if (wanted !== undefined) showMessage(opened.session, wanted, { title: titleOf(row) });
    else if (row.summaryOf !== undefined) store.set({ compaction: row.summaryOf });
  };
  const list = createVirtualList({
    label: "Messages and what became of them",
    empty: "What became of each message is not known here.",
    render(node, index) {
      const row = rows[index];
      const source = row?.message !== undefined && sources.has(row.message);
      drawRow(node, row, source ? "with-fate source" : "with-fate");
    },
    open,
    mark: (index) => tell(index, chosen(rows[index]?.message)),
  });
  const detail = createDetail("Choose a line of the summary to see where it comes from.", () =>
    open(list.marked()),
  );
  const tell = (index: number, lines: number): void => {
    const said = lines === 0 ? "" : `in ${plural(lines, "line")} of the summary`;
    detail.show(rows[index], [rows[index]?.reason ?? "", said]);
  };
  const filters = createFateFilters((left) => filter(left));
  const filter = (left: ReadonlySet<Fate>, top = false): void => {
    hidden = left;
    rows = opened?.messages.filter(({ fate }) => !hidden.has(fate)) ?? [];
    filters.show(opened?.messages ?? [], hidden);
    list.show(rows.length, top);
    if (list.marked() < 0) detail.show(undefined);
  };

  return {
    node: element("div", { class: "column" }, filters.node, list.node, detail.node),
    show(compaction) {
      list.wait(compaction === undefined);
      opened = compaction;
      sources = new Set();
      filter(new Set(), true);
    },
    reveal(all, nearest) {
      sources = new Set(all.flatMap(({ message }) => (message === undefined ? [] : [message])));
      const find = (): number =>
        rows.findIndex(({ message }) => message !== undefined && message === nearest.message);
      if (find() < 0 && hidden.size > 0) filter(new Set());
      list.redraw();
      const place = find();
      if (place >= 0) {
        list.reveal(place);
        tell(place, 0);
        return;
      }
      announce("That message left the window at an earlier compaction.");
      const wanted = wantedOf(nearest);
      if (wanted === undefined || opened === undefined) return;
      detail.offer("Its source left the window at an earlier compaction.", () => {
        if (opened !== undefined) showMessage(opened.session, wanted, { title: "Source of this line" });
      });
    },
    clear() {
      const marks = sources.size > 0;
      sources = new Set();
      list.redraw();
      return marks;
    },
  };
}

function wantedOf({
  message,
  archiveId,
}: FateView | SourceView): { message: number } | { archiveId: string } | undefined {
  if (message !== undefined) return { message };
  return archiveId === undefined ? undefined : { archiveId };
}
