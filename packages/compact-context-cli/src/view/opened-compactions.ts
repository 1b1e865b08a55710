import type { Originals } from "./session-record.ts";

/** Compactions of one session that stay opened: readers go back and forth, and reload. */
const MOST_OPENED = 16;

/** Opens each compaction once for all who look at it; what was looked at longest ago is forgotten first. */
export function rememberOpened(open: Originals["open"]): Originals["open"] {
  const opened = new Map<number, ReturnType<Originals["open"]>>();
  return (head) => {
    const found = opened.get(head.index) ?? open(head);
    opened.delete(head.index);
    opened.set(head.index, found);
    found.catch(() => opened.delete(head.index));
    for (const oldest of opened.keys()) {
      if (opened.size <= MOST_OPENED) break;
      opened.delete(oldest);
    }
    return found;
  };
}
