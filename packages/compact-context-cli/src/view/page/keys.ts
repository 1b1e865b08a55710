import { button, element } from "./dom.ts";

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "search the archive"],
  ["[  ]", "compaction before, compaction after"],
  ["?", "this list"],
  ["Tab", "from part to part"],
  ["← → ↑ ↓", "inside a part: calls, tabs, compactions, rows, lines of a summary"],
  ["Page ↑ ↓", "ten calls, or a page of rows"],
  ["Home  End", "first, last"],
  ["Enter", "a message whole"],
  ["Escape", "closes; takes marks away"],
];
const SETTING = "compact-view-keys";

export interface KeyPorts {
  search(): void;
  compaction(by: number): void;
}

/** The keys that work everywhere, and the dialog that lists them and turns the single ones off. */
export function createKeys(opener: HTMLElement, ports: KeyPorts): void {
  const on = element("input", { type: "checkbox", checked: remembered() });
  on.addEventListener("change", () => remember(on.checked));
  const rows = KEYS.map(([key, does]) =>
    element("div", {}, element("dt", {}, element("kbd", {}, key)), element("dd", {}, does)),
  );
  const close = button("Close", () => dialog.close(), { class: "quiet" });
  const dialog = element(
    "dialog",
    { class: "keys-dialog", "aria-labelledby": "keys-title" },
    element("header", {}, element("h2", { id: "keys-title" }, "Keys"), close),
    element("dl", {}, ...rows),
    element("label", { class: "check" }, on, "single keys ( / [ ] ? ) do something"),
  );
  document.body.append(dialog);
  opener.addEventListener("click", () => dialog.showModal());

  const act: Readonly<Record<string, () => void>> = {
    "/": ports.search,
    "[": () => ports.compaction(-1),
    "]": () => ports.compaction(1),
    "?": () => dialog.showModal(),
  };
  document.addEventListener("keydown", (event) => {
    const typing =
      event.target instanceof HTMLElement && event.target.matches("input[type=search], textarea");
    const run = act[event.key];
    if (run === undefined || typing || !on.checked) return;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]") !== null)
      return;
    event.preventDefault();
    run();
  });
}

// Storage may be forbidden: the keys then are on until the page is left.
function remembered(): boolean {
  try {
    return localStorage.getItem(SETTING) !== "off";
  } catch {
    return true;
  }
}

function remember(on: boolean): void {
  try {
    localStorage.setItem(SETTING, on ? "on" : "off");
  } catch {
    // Nothing to do: it is on or off for this page.
  }
}
