import type { Fate, FateView } from "../session-view.ts";
import { button, element, fill } from "./dom.ts";
import { FATES } from "./layers.ts";
import { count, plural } from "./numbers.ts";

export interface FateFilters {
  readonly node: HTMLElement;
  show(messages: readonly FateView[], hidden: ReadonlySet<Fate>): void;
}

/** Buttons that choose among messages by what became of them, with how many there are and what they cost. */
export function createFateFilters(change: (hidden: ReadonlySet<Fate>) => void): FateFilters {
  const node = element("div", { class: "filters", role: "group", "aria-label": "Show messages that were" });
  return {
    node,
    show(messages, hidden) {
      const fates = (Object.keys(FATES) as Fate[]).filter((fate) =>
        messages.some((each) => each.fate === fate),
      );
      const focused = [...node.children].indexOf(document.activeElement as Element);
      const toggles = fates.map((fate) => {
        const those = messages.filter((each) => each.fate === fate);
        const tokens = those.reduce((total, each) => total + each.tokens, 0);
        return toggle(fate, { messages: those.length, tokens, on: !hidden.has(fate) }, () => {
          const others = new Set([...hidden].filter((each) => each !== fate));
          change(hidden.has(fate) ? others : others.add(fate));
        });
      });
      fill(node, ...toggles);
      if (focused >= 0) toggles[focused]?.focus();
    },
  };
}

function toggle(
  fate: Fate,
  { messages, tokens, on }: { readonly messages: number; readonly tokens: number; readonly on: boolean },
  press: () => void,
): HTMLElement {
  const { word, sign } = FATES[fate];
  const label = `${word}: ${plural(messages, "message")}, ${count(tokens)} tokens`;
  const node = button("", press, {
    class: `filter fate-${fate}`,
    "aria-pressed": String(on),
    "aria-label": label,
    title: label,
  });
  node.append(
    element("span", { class: "sign", "aria-hidden": "true" }, sign),
    `${count(messages)} ${word}`,
    element("span", { class: "amount" }, count(tokens)),
  );
  return node;
}
