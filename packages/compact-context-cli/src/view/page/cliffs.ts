import type { CompactionHead, SessionView } from "../session-view.ts";
import type { Plot, Scale } from "./chart-geometry.ts";
import { element, fill } from "./dom.ts";
import { reasonWords } from "./layers.ts";
import { count, percent, short } from "./numbers.ts";
import type { Store } from "./store.ts";

export interface Cliffs {
  readonly node: HTMLElement;
  place(session: SessionView, plot: Plot, scale: Scale): void;
}

/** The buttons above the cliffs: one tab stop, arrow keys go from one to the next. */
export function createCliffs(store: Store, open: (compaction: number) => void): Cliffs {
  const node = element("div", { class: "cliffs", role: "group", "aria-label": "Compactions" });
  let buttons: HTMLButtonElement[] = [];

  const select = (): void => {
    const { compaction, tab } = store.get();
    const reachable = buttons[compaction] === undefined ? 0 : compaction;
    for (const [index, each] of buttons.entries()) {
      each.tabIndex = index === reachable ? 0 : -1;
      each.setAttribute("aria-pressed", String(tab === "compaction" && index === compaction));
    }
  };

  node.addEventListener("click", ({ target }) => {
    const index = target instanceof Element ? buttons.indexOf(target.closest("button") ?? noButton) : -1;
    if (index >= 0) open(index);
  });
  node.addEventListener("keydown", (event) => {
    const from = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const to = { ArrowRight: from + 1, ArrowLeft: from - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (to === undefined || from < 0) return;
    event.preventDefault();
    buttons[Math.max(0, Math.min(buttons.length - 1, to))]?.focus();
  });
  store.watch(["compaction", "tab", "session"], select);

  return {
    node,
    place(session, plot, scale) {
      const focused = buttons.indexOf(document.activeElement as HTMLButtonElement);
      const places = session.compactions.map(({ step }) => scale.x(step));
      buttons = session.compactions.map((compaction, index) => {
        const x = places[index] ?? 0;
        const room = (places[index + 1] ?? plot.left + plot.width + 14) - x;
        const near = Math.min(room, x - (places[index - 1] ?? Number.NEGATIVE_INFINITY)) < 20;
        return cliffButton(compaction, { x, room, near });
      });
      fill(node, ...buttons);
      select();
      if (focused >= 0) buttons[focused]?.focus();
    },
  };
}

const noButton = document.createElement("button");

function cliffButton(
  compaction: CompactionHead,
  { x, room, near }: { readonly x: number; readonly room: number; readonly near: boolean },
): HTMLButtonElement {
  const { index, tokensBefore, tokensAfter } = compaction;
  const label = sentence(compaction);
  const node = element(
    "button",
    { type: "button", class: near ? "flag near" : "flag", "aria-label": label, title: label },
    element("span", { class: "number" }, near ? "" : String(index + 1)),
    room < 118
      ? undefined
      : element("span", { class: "fall" }, `${short(tokensBefore)} → ${short(tokensAfter)}`),
  );
  node.style.transform = `translateX(${x}px)`;
  return node;
}

/** A compaction in one sentence, for a label. */
export function sentence({ index, step, tokensBefore, tokensAfter, reason }: CompactionHead): string {
  const why = reason === undefined ? "" : `: ${reasonWords(reason)}`;
  const saved = percent(tokensBefore - tokensAfter, tokensBefore);
  return `Compaction ${index + 1}, before call ${count(step + 1)}${why}. ${count(tokensBefore)} to ${count(tokensAfter)} tokens, ${saved} less.`;
}
