import { element, fill } from "./dom.ts";
import { count } from "./numbers.ts";
import { type State, type Store, TABS, type Tab } from "./store.ts";

const NAMES: Readonly<Record<Tab, string>> = {
  window: "Window",
  compaction: "Compactions",
  timeline: "Timeline",
  archive: "Archive",
};

/** The row of tabs; each panel is made when it is first opened. */
export function createTabs(
  host: { readonly tabs: HTMLElement; readonly panels: HTMLElement },
  store: Store,
  makers: Readonly<Record<Tab, () => HTMLElement>>,
): void {
  const panels = new Map<Tab, HTMLElement>();
  const buttons = TABS.map((tab) => {
    const attributes = { type: "button", role: "tab", id: `tab-${tab}`, "aria-controls": `panel-${tab}` };
    const node = element("button", attributes);
    node.addEventListener("click", () => store.set({ tab }));
    return node;
  });
  host.tabs.append(...buttons);
  host.tabs.addEventListener("keydown", (event) => {
    const from = TABS.indexOf(store.get().tab);
    const to = { ArrowRight: from + 1, ArrowLeft: from - 1, Home: 0, End: TABS.length - 1 }[event.key];
    const tab = to === undefined ? undefined : TABS[(to + TABS.length) % TABS.length];
    if (tab === undefined) return;
    event.preventDefault();
    store.set({ tab });
    buttons[TABS.indexOf(tab)]?.focus();
  });

  const panelOf = (tab: Tab): HTMLElement => {
    const known = panels.get(tab);
    if (known !== undefined) return known;
    const attributes = {
      role: "tabpanel",
      id: `panel-${tab}`,
      class: "panel",
      "aria-labelledby": `tab-${tab}`,
    };
    const panel = element("section", attributes, makers[tab]());
    panels.set(tab, panel);
    host.panels.append(panel);
    return panel;
  };
  store.watch(["tab"], ({ tab }) => {
    for (const [index, node] of buttons.entries()) {
      node.setAttribute("aria-selected", String(TABS[index] === tab));
      node.tabIndex = TABS[index] === tab ? 0 : -1;
    }
    const shown = panelOf(tab);
    for (const panel of panels.values()) panel.hidden = panel !== shown;
  });
  store.watch(["session"], (state) => {
    TABS.forEach((tab, index) => {
      const found = amount(tab, state);
      const badge = found === undefined ? undefined : element("span", { class: "amount" }, count(found));
      const button = buttons[index];
      if (button !== undefined) fill(button, NAMES[tab], badge);
    });
  });
}

function amount(tab: Tab, { session }: State): number | undefined {
  if (session === undefined) return undefined;
  if (tab === "compaction") return session.compactions.length;
  return tab === "timeline" ? session.spans.length : undefined;
}
