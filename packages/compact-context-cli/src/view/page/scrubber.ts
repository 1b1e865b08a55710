import { element } from "./dom.ts";
import { count } from "./numbers.ts";
import type { Store } from "./store.ts";

/** A whole session is played in about this many milliseconds, but no call is shown longer than `LONGEST`. */
const WHOLE = 24_000;
const LONGEST = 450;

/** The slider under the chart, and the button that moves it by itself. */
export function createScrubber(host: HTMLElement, store: Store): void {
  const play = element("button", { type: "button", class: "play" });
  const slider = element("input", { type: "range", min: 0, step: 1, "aria-label": "Model call" });
  host.append(play, slider);

  slider.addEventListener("input", () => store.set({ step: Number(slider.value), playing: false }));
  slider.addEventListener("keydown", (event) => {
    // The native page step is a tenth of the session: too far in long ones to see what happens.
    const far = { PageUp: 10, PageDown: -10 }[event.key];
    const { session, step } = store.get();
    if (far === undefined || session === undefined) return;
    event.preventDefault();
    store.set({ step: Math.max(0, Math.min(session.steps.length - 1, step + far)), playing: false });
  });
  play.addEventListener("click", () => {
    const { session, step, playing } = store.get();
    const last = (session?.steps.length ?? 0) - 1;
    store.set({ playing: !playing, step: playing || step < last ? step : 0 });
  });

  store.watch(["session", "step"], ({ session, step }) => {
    const steps = session?.steps ?? [];
    slider.max = String(Math.max(0, steps.length - 1));
    slider.value = String(step);
    slider.disabled = steps.length < 2;
    play.disabled = steps.length < 2;
    const tokens = `${count(steps[step]?.total ?? 0)} tokens`;
    slider.setAttribute("aria-valuetext", `call ${count(step + 1)} of ${count(steps.length)}, ${tokens}`);
  });
  store.watch(["playing"], ({ playing }) => {
    play.setAttribute("aria-label", playing ? "Pause" : "Play the session");
    play.title = playing ? "Pause" : "Play the session";
    play.classList.toggle("playing", playing);
    if (playing) run(store);
  });
}

function run(store: Store): void {
  let last = performance.now();
  let due = 0;
  const frame = (now: number): void => {
    const { session, step, playing } = store.get();
    if (!playing || session === undefined) return;
    const end = session.steps.length - 1;
    due += now - last;
    last = now;
    const each = Math.min(LONGEST, WHOLE / Math.max(1, end));
    const steps = Math.floor(due / each);
    due -= steps * each;
    const next = Math.min(end, step + steps);
    if (next !== step) store.set({ step: next });
    if (next === end && !session.live) store.set({ playing: false });
    else requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}
