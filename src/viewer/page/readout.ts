import type { SessionView } from "../session-view.ts";
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
    element("p", { class: "total" }, total, " tokens", share),
    list,
    without,
  );
  let values: HTMLElement[] = [];
  let legend = "";

  const rebuild = ({ layers }: SessionView): void => {
    values = layers.map(() => element("dd"));
    const rows = layers.map((layer, index) =>
      element(
        "div",
        { class: `layer layer-${layer}`, title: LAYERS[layer].holds },
        element("dt", {}, element("span", { class: "swatch" }), LAYERS[layer].name),
        values[index],
      ),
    );
    // As they are stacked: the uppermost first.
    fill(list, ...rows.reverse());
  };

  store.watch(["session", "step"], ({ session, step }) => {
    if (session === undefined) return;
    const key = `${session.id} ${session.layers.join()}`;
    if (key !== legend) rebuild(session);
    legend = key;
    const now = session.steps[step];
    call.textContent =
      now === undefined ? "No call yet" : `Call ${count(step + 1)} of ${count(session.steps.length)}`;
    time.textContent = clockTime(now?.at);
    total.textContent = count(now?.total ?? 0);
    share.textContent = session.window > 0 ? `${percent(now?.total ?? 0, session.window)} of the window` : "";
    values.forEach((value, index) => {
      const tokens = now?.tokens[index] ?? 0;
      value.textContent = tokens === 0 ? "–" : count(tokens);
    });
    const whole = now?.without ?? 0;
    without.textContent = now === undefined || whole <= now.total ? "" : `${count(whole)} without compaction`;
  });
}
