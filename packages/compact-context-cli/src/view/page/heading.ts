import type { SessionView } from "../session-view.ts";
import { element, fill } from "./dom.ts";
import { count, percent, plural } from "./numbers.ts";
import type { Store } from "./store.ts";
import { firstLine } from "./visible-text.ts";

/** The session's title and what it came to. */
export function createHeading(host: HTMLElement, store: Store, toggleTable: () => void): void {
  const title = element("h2", { dir: "auto" });
  const facts = element("p", { class: "facts" });
  const table = element(
    "button",
    { type: "button", class: "quiet", "aria-expanded": "false", "aria-controls": "table" },
    "As a table",
  );
  table.addEventListener("click", () => {
    toggleTable();
    const open = table.getAttribute("aria-expanded") === "true";
    table.setAttribute("aria-expanded", String(!open));
    table.textContent = open ? "As a table" : "As a picture";
  });
  host.append(element("div", { class: "words" }, title, facts), table);
  store.watch(["session"], ({ session }) => {
    if (session === undefined) return;
    const name = firstLine(session.title, 200) || "(no title)";
    title.textContent = name;
    title.title = name;
    document.title = `${name.slice(0, 60)} · compact view`;
    fill(
      facts,
      ...(session.live ? [element("span", { class: "live" }, "live"), " "] : []),
      factsOf(session).join(" · "),
    );
  });
}

function factsOf(session: SessionView): string[] {
  const { format, model, window, counts, cost, dropped, source } = session;
  return [
    [format, model]
      .filter((part) => part !== undefined)
      .map((part) => firstLine(part, 60))
      .join(" "),
    window > 0 ? `window ${count(window)}` : "window unknown",
    counts.messages > 0 ? plural(counts.messages, "message") : "",
    plural(counts.steps, "call"),
    counts.compactions === 0 ? "no compaction" : plural(counts.compactions, "compaction"),
    cost === undefined ? "" : costOf(cost),
    source === "archive" ? "read from an archive" : "",
    dropped > 0 ? `${count(dropped)} older spans and calls let go` : "",
  ].filter((fact) => fact !== "");
}

/** Simulated, so it says about. */
function costOf({ compact, none }: NonNullable<SessionView["cost"]>): string {
  const own = `prompts about $${compact.toFixed(2)}`;
  return none !== undefined && none > compact
    ? `${own}, ${percent(none - compact, none)} less than without`
    : own;
}
