import type { SessionView, StepView } from "../session-view.ts";
import { button, element, fill } from "./dom.ts";
import { LAYERS } from "./layers.ts";
import { clockTime, count, plural } from "./numbers.ts";
import type { Store } from "./store.ts";

const PAGE = 100;

/** The chart's figures as a table, a page of calls at a time; drawn only while it is open. */
export function createTable(host: HTMLElement, store: Store): { toggle(): void } {
  const table = element("table");
  const said = element("p", { class: "caption" });
  let page = 0;
  const before = button("Earlier", () => turn(-1), { class: "quiet" });
  const after = button("Later", () => turn(1), { class: "quiet" });
  const node = element(
    "div",
    {
      class: "table",
      id: "table",
      hidden: true,
      role: "region",
      "aria-label": "The window, call by call",
      tabindex: 0,
    },
    element("div", { class: "pages" }, before, said, after),
    table,
  );
  host.append(node);

  const draw = (): void => {
    const { session } = store.get();
    if (node.hidden || session === undefined) return;
    const from = page * PAGE;
    const steps = session.steps.slice(from, from + PAGE);
    before.disabled = page === 0;
    after.disabled = from + PAGE >= session.steps.length;
    said.textContent = `Calls ${count(from + 1)} to ${count(from + steps.length)} of ${plural(session.steps.length, "call")}`;
    fill(table, head(session), element("tbody", {}, ...steps.map((step) => row(session, step))));
  };
  const turn = (by: number): void => {
    page += by;
    draw();
    node.scrollTop = 0;
  };
  store.watch(["session"], () => {
    const pages = Math.ceil((store.get().session?.steps.length ?? 0) / PAGE);
    page = Math.max(0, Math.min(page, pages - 1));
    draw();
  });
  return {
    toggle() {
      node.hidden = !node.hidden;
      page = Math.floor(store.get().step / PAGE);
      draw();
    },
  };
}

function head({ layers }: SessionView): HTMLElement {
  const names = ["call", "time", ...layers.map((layer) => LAYERS[layer].name), "total", "compaction"];
  const cells = names.map((name) => element("th", { scope: "col" }, name));
  return element("thead", {}, element("tr", {}, ...cells));
}

function row({ compactions }: SessionView, step: StepView): HTMLElement {
  const compaction = step.compaction === undefined ? undefined : compactions[step.compaction];
  const fall =
    compaction === undefined ? "" : `${count(compaction.tokensBefore)} → ${count(compaction.tokensAfter)}`;
  const cells = [clockTime(step.at), ...step.tokens.map(count), count(step.total), fall];
  const call = element("th", { scope: "row" }, count(step.index + 1));
  return element("tr", {}, call, ...cells.map((text) => element("td", {}, text)));
}
