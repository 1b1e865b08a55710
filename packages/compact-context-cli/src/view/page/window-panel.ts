import { createDetail, titleOf } from "./detail.ts";
import { element } from "./dom.ts";
import { drawRow } from "./message-row.ts";
import { count, plural } from "./numbers.ts";
import { type ContentRow, compactionAt, type WindowContent, windowContent } from "./session-data.ts";
import type { Shared } from "./shared.ts";
import { createVirtualList } from "./virtual-list.ts";

const NOTHING: WindowContent = { length: 0, isUnknown: false, row: () => undefined };

/** What the window holds at the step that is looked at, message by message. */
export function createWindowPanel({ store, originals, showMessage }: Shared): HTMLElement {
  let content = NOTHING;
  const open = (index: number): void => {
    const row = content.row(index);
    const { session } = store.get();
    if (row === undefined || session === undefined) return;
    if (row.message !== undefined) showMessage(session.id, { message: row.message }, { title: titleOf(row) });
    else store.set({ tab: "compaction", compaction: row.summaryOf ?? 0 });
  };
  const list = createVirtualList({
    label: "Messages in the window",
    empty: "Nothing is in the window yet.",
    render: (node, index) => drawRow(node, plain(content.row(index))),
    content: (index) => content.row(index),
    open,
    mark: (index) => detail.show(content.row(index)),
  });
  const detail = createDetail("Enter, or a double click, shows a message whole.", () => open(list.marked()));
  const caption = element("p", { class: "caption" });
  let shown: string | undefined;

  store.watch(["session", "step", "arrivals"], ({ session, step }) => {
    if (session === undefined) return;
    const last = compactionAt(session, step);
    const compaction = last === undefined ? undefined : originals.compaction(last);
    const waiting = last !== undefined && compaction === undefined;
    content = waiting ? NOTHING : windowContent(session, step, { compaction, message: originals.message });
    caption.textContent = captionOf(session.steps[step]?.messages ?? 0, content, {
      step,
      last,
      waiting,
    });
    const top = shown !== undefined && shown !== session.id;
    shown = session.id;
    list.wait(waiting);
    list.show(content.length, top);
    if (list.marked() < 0) detail.show(undefined);
  });

  return element("div", { class: "stack" }, caption, list.node, detail.node);
}

/** In the window a kept message is nothing special. */
function plain(row: ContentRow | undefined): ContentRow | undefined {
  if (row?.fate !== "kept") return row;
  const { fate: _, ...rest } = row;
  return rest;
}

function captionOf(
  messages: number,
  { length: shown, isUnknown }: WindowContent,
  {
    step,
    last,
    waiting,
  }: { readonly step: number; readonly last: number | undefined; readonly waiting: boolean },
): string {
  if (waiting) return "…";
  const sent = `Sent with call ${count(step + 1)}: ${plural(shown, "message")}`;
  if (last === undefined)
    return messages === 0 && shown === 0
      ? "Which messages were sent is not known here."
      : `${sent}, the whole session so far.`;
  if (isUnknown)
    return `What compaction ${count(last + 1)} left of these ${plural(shown, "message")} is not known: its archive does not say.`;
  return `${sent} of ${count(messages)}, as compaction ${count(last + 1)} left them and what came since.`;
}
