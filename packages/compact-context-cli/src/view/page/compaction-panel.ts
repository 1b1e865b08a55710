import type { CompactionView } from "../session-view.ts";
import { createCompactionHead } from "./compaction-head.ts";
import { element } from "./dom.ts";
import { createFateList } from "./fate-list.ts";
import type { Shared } from "./shared.ts";
import { createSummaryView } from "./summary-view.ts";

/** One compaction, opened: what became of each message, and the summary beside what it replaced. */
export function createCompactionPanel(shared: Shared): HTMLElement {
  const { store, originals, announce } = shared;
  const head = createCompactionHead(store);
  const list = createFateList(shared, (message) => summary.markFrom(message));
  const summary = createSummaryView({ choose: list.reveal, announce });
  const sides = element(
    "div",
    { class: "beside" },
    list.node,
    element("div", { class: "column summary-column" }, element("h3", {}, "Summary"), summary.node),
  );
  const node = element("div", { class: "stack" }, head.node, sides);
  node.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    summary.clear();
    if (list.clear()) announce("Marks taken away.");
  });

  let opened: CompactionView | undefined;
  store.watch(["session", "compaction", "arrivals"], ({ session, compaction }) => {
    const known = session?.compactions[compaction];
    const view = known === undefined ? undefined : originals.compaction(compaction);
    head.show(session, known);
    sides.hidden = known === undefined;
    if (view === opened) return;
    opened = view;
    list.show(view);
    summary.show(view);
  });
  return node;
}
