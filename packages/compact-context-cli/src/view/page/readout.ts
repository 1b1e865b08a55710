import type { LayerKey, SessionView, StepView } from "../session-view.ts";
import { element, fill } from "./dom.ts";
import { LAYERS } from "./layers.ts";
import { clockTime, count, percent } from "./numbers.ts";
import type { Store } from "./store.ts";

/** The legend, which says what each layer has at the step that is looked at. */
export function createReadout(host: HTMLElement, store: Store): void {
  const call = element("span", { class: "call" });
  const time = element("span", { class: "when" });
  const total = element("strong");
  const share = element("span", { class: "share" });
  const without = element("p", { class: "saved" });
  const list = element("dl");
  host.append(
    element("p", { class: "place" }, call, time),
    element("p", { class: "total" }, total, element("span", {}, " tokens"), share),
    list,
    without,
  );
  let values = new Map<number, HTMLElement>();
  let legend = "";

  const rebuild = (layers: readonly LayerKey[], used: readonly number[]): void => {
    values = new Map(used.map((index) => [index, element("dd")]));
    const rows = used.map((index) => {
      const layer = layers[index] ?? "messages";
      const name = element("dt", {}, element("span", { class: "swatch" }), LAYERS[layer].name);
      return element(
        "div",
        { class: `layer layer-${layer}`, title: LAYERS[layer].holds },
        name,
        values.get(index),
      );
    });
    // As they are stacked: the uppermost first.
    fill(list, ...rows.reverse());
  };

  store.watch(["session"], ({ session }) => {
    if (session === undefined) return;
    const used = usedLayers(session);
    const key = `${session.id} ${used.join()}`;
    if (key !== legend) rebuild(session.layers, used);
    legend = key;
  });
  store.watch(["session", "step"], ({ session, step }) => {
    if (session === undefined) return;
    const now = session.steps[step] ?? NO_STEP;
    const { length } = session.steps;
    without.textContent = savedWords(now);
    call.textContent = length === 0 ? "No call yet" : `Call ${count(step + 1)} of ${count(length)}`;
    time.textContent = clockTime(now.at);
    total.textContent = count(now.total);
    share.textContent = session.window > 0 ? `${percent(now.total, session.window)} of the window` : "";
    for (const [index, value] of values) showTokens(value, now.tokens[index] ?? 0);
  });
}

const NO_STEP: StepView = { index: 0, messages: 0, tokens: [], total: 0 };

function savedWords({ total, without = 0 }: StepView): string {
  return without > total ? `${count(without)} without compaction` : "";
}

function showTokens(value: HTMLElement, tokens: number): void {
  value.textContent = tokens === 0 ? "–" : count(tokens);
  value.parentElement?.classList.toggle("none", tokens === 0);
}

/** The layers that ever hold anything. */
function usedLayers({ layers, steps }: SessionView): number[] {
  return [...layers.keys()].filter((index) =>
    steps.some(({ tokens, before }) => (tokens[index] ?? 0) > 0 || (before?.[index] ?? 0) > 0),
  );
}
