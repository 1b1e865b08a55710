import type { SessionHead } from "../session-view.ts";
import { element, fill } from "./dom.ts";
import { plural, short } from "./numbers.ts";
import type { Store } from "./store.ts";
import { firstLine } from "./visible-text.ts";

const SOURCES: Readonly<Record<SessionHead["source"], string>> = {
  transcript: "replayed",
  archive: "archive",
  events: "events",
};

/** The sessions to choose from, the newest first. */
export function createSessionsList(host: HTMLElement, store: Store, choose: (id: string) => void): void {
  const list = element("ul");
  const dropped = element("p", { class: "caption", hidden: true });
  host.append(list, dropped);
  host.addEventListener("click", ({ target }) => {
    const id =
      target instanceof Element
        ? target.closest<HTMLElement>("button[data-session]")?.dataset.session
        : undefined;
    if (id !== undefined) choose(id);
  });
  host.addEventListener("keydown", (event) => {
    const buttons = [...list.querySelectorAll("button")];
    const from = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const to = { ArrowDown: from + 1, ArrowUp: from - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (from < 0 || to === undefined) return;
    event.preventDefault();
    buttons[Math.max(0, Math.min(buttons.length - 1, to))]?.focus();
  });
  store.watch(["sessions", "session", "dropped"], ({ sessions, session, dropped: gone }) => {
    const focused = [...list.querySelectorAll("button")].indexOf(document.activeElement as HTMLButtonElement);
    fill(list, ...sessions.map((each) => element("li", {}, entry(each, each.id === session?.id))));
    if (focused >= 0) list.querySelectorAll("button")[focused]?.focus();
    dropped.hidden = gone === 0;
    dropped.textContent = `${plural(gone, "older session")} let go to make room.`;
  });
}

function entry(head: SessionHead, current: boolean): HTMLElement {
  const { id, title, live, source, counts } = head;
  const facts = [
    counts.messages > 0 ? plural(counts.messages, "message") : plural(counts.steps, "call"),
    live ? undefined : SOURCES[source],
  ].filter((fact) => fact !== undefined);
  return element(
    "button",
    {
      type: "button",
      "data-session": id,
      "aria-current": current ? "true" : undefined,
      title: firstLine(title),
    },
    element("span", { class: "title", dir: "auto" }, firstLine(title, 120) || "(no title)"),
    element(
      "span",
      { class: "facts" },
      live ? element("span", { class: "live" }, "live") : undefined,
      facts.join(" · "),
    ),
    counts.compactions === 0
      ? undefined
      : element(
          "span",
          { class: "amount", "aria-label": plural(counts.compactions, "compaction") },
          `↓${short(counts.compactions)}`,
        ),
  );
}
