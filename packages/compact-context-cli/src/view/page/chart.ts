import type { SessionView, StepView } from "../session-view.ts";
import {
  createScale,
  layerPaths,
  linePath,
  mostTokens,
  type Plot,
  type Scale,
  stepTicks,
  sum,
  ticks,
} from "./chart-geometry.ts";
import { createCliffs } from "./cliffs.ts";
import { drawing, element, fill } from "./dom.ts";
import { clockTime, count, short } from "./numbers.ts";
import type { Store } from "./store.ts";

const LEFT = 48;
const RIGHT = 14;
const TOP = 28;
const BOTTOM = 20;
const BOTTOM_WITH_TIMES = 33;

/** Draws the window over the session's life into `host`; a click or drag in it moves to a step. */
export function createChart(host: HTMLElement, store: Store, open: (compaction: number) => void): void {
  const picture = drawing("svg", { "aria-hidden": "true", focusable: "false" });
  const playhead = element("div", { class: "playhead" });
  const cliffs = createCliffs(store, open);
  host.append(picture, playhead, cliffs.node);
  let scale: Scale | undefined;
  let plot: Plot | undefined;

  const movePlayhead = (): void => {
    const { session, step } = store.get();
    playhead.hidden = session === undefined || session.steps.length === 0 || scale === undefined;
    if (scale === undefined || plot === undefined) return;
    playhead.style.transform = `translate(${scale.x(step)}px, ${plot.top}px)`;
    playhead.style.height = `${plot.height}px`;
  };

  const draw = (): void => {
    const { session } = store.get();
    const { clientWidth: width, clientHeight: height } = host;
    if (session === undefined || width === 0 || height === 0) return;
    plot = plotOf(session, width, height);
    scale = createScale(plot, session.steps.length, mostTokens(session.window, session.steps, plot.height));
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    fill(
      picture,
      ...grid(session, plot, scale),
      clipped(session, plot, scale),
      ...limits(session, plot, scale),
    );
    cliffs.place(session, plot, scale);
    movePlayhead();
  };

  new ResizeObserver(draw).observe(host);
  store.watch(["session"], draw);
  store.watch(["step"], movePlayhead);
  listen(host, (x) => {
    const { session } = store.get();
    if (scale === undefined || session === undefined || session.steps.length === 0) return;
    store.set({ step: scale.stepAt(x), playing: false });
  });
}

/** Where the plot stands in a drawing of that size; the scrubber keeps to the same edges. */
function plotOf(session: SessionView, width: number, height: number): Plot {
  const times = session.steps.some(({ at }) => at !== undefined);
  const bottom = times ? BOTTOM_WITH_TIMES : BOTTOM;
  return {
    left: LEFT,
    top: TOP,
    width: Math.max(1, width - LEFT - RIGHT),
    height: Math.max(1, height - TOP - bottom),
  };
}

function listen(host: HTMLElement, go: (x: number) => void): void {
  const move = (event: PointerEvent): void => go(event.clientX - host.getBoundingClientRect().left);
  host.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || (event.target instanceof Element && event.target.closest("button") !== null))
      return;
    host.setPointerCapture(event.pointerId);
    move(event);
  });
  host.addEventListener("pointermove", (event) => {
    if (host.hasPointerCapture(event.pointerId)) move(event);
  });
}

function grid({ steps }: SessionView, plot: Plot, scale: Scale): SVGElement[] {
  const right = plot.left + plot.width;
  const bottom = plot.top + plot.height;
  const lines = ticks(scale.most, Math.max(2, plot.height / 36)).flatMap((tokens) => {
    const y = Math.round(scale.y(tokens)) + 0.5;
    const label = drawing(
      "text",
      { class: "tick", x: plot.left - 8, y: y + 4, "text-anchor": "end" },
      short(tokens),
    );
    return [drawing("line", { class: "grid", x1: plot.left, x2: right, y1: y, y2: y }), label];
  });
  const times = stepTicks(steps.length, plot.width, 84).flatMap((step) => {
    const x = scale.x(step);
    const attributes = { class: "tick", x, "text-anchor": x > right - 24 ? "end" : "middle" };
    const time = clockTime(steps[step]?.at);
    return [
      drawing("line", { class: "notch", x1: x, x2: x, y1: bottom, y2: bottom + 4 }),
      drawing("text", { ...attributes, y: bottom + 16 }, step === 0 ? "call 1" : count(step + 1)),
      ...(time === "" ? [] : [drawing("text", { ...attributes, class: "tick time", y: bottom + 29 }, time)]),
    ];
  });
  return steps.length === 0 ? lines : [...lines, ...times];
}

/** What must not leave the plot: the stack, and the line of what there would have been without compaction. */
function clipped({ steps, layers, compactions }: SessionView, plot: Plot, scale: Scale): SVGElement {
  const { left, top, width, height } = plot;
  const frame = drawing("svg", {
    x: 0,
    y: top,
    width: left + width + 2,
    height: height + 1,
    viewBox: `0 ${top} ${left + width + 2} ${height + 1}`,
  });
  layerPaths(steps, layers.length, scale).forEach((d, index) => {
    frame.append(drawing("path", { class: `area layer-${layers[index]}`, d }));
  });
  const dense = compactions.length > width / 20;
  for (const { step } of compactions) {
    const at = steps[step];
    if (at?.before === undefined) continue;
    const x = scale.x(step);
    const [y1, y2] = [scale.y(sum(at.before)), scale.y(at.total)];
    frame.append(drawing("line", { class: dense ? "cliff dense" : "cliff", x1: x, x2: x, y1, y2 }));
  }
  frame.append(
    drawing("path", {
      class: "without",
      d: linePath(
        steps,
        scale,
        fromFirst(compactions, ({ without }) => without),
      ),
    }),
  );
  return frame;
}

/** Before the first compaction the whole history is what was sent: a line along it would say nothing. */
function fromFirst(
  compactions: SessionView["compactions"],
  of: (step: StepView) => number | undefined,
): (step: StepView) => number | undefined {
  const first = compactions[0]?.step ?? Number.POSITIVE_INFINITY;
  return (step) => (step.index >= first - 1 ? of(step) : undefined);
}

/**
 * The window and the trigger as lines with their names, and where the line of the whole history leaves the plot.
 * The names stand on the other side than that.
 */
function limits({ window, trigger, steps }: SessionView, plot: Plot, scale: Scale): SVGElement[] {
  const right = plot.left + plot.width;
  const over = steps.findIndex(({ without }) => without !== undefined && without > scale.most);
  const early = over >= 0 && scale.x(over) < plot.left + plot.width / 2;
  const side = early ? { x: right - 6, "text-anchor": "end" } : { x: plot.left + 6, "text-anchor": "start" };
  const close = window > 0 && trigger > 0 && scale.y(trigger) - scale.y(window) < 15;
  const line = (name: string, tokens: number, text: string): SVGElement[] => {
    if (tokens <= 0 || tokens > scale.most) return [];
    const y = Math.round(scale.y(tokens)) + 0.5;
    return [
      drawing("line", { class: `limit ${name}`, x1: plot.left, x2: right, y1: y, y2: y }),
      drawing("text", { class: `limit-name ${name}`, ...side, y: y - 5 }, text),
    ];
  };
  const names = [`window ${count(window)}`, `trigger ${count(trigger)}`];
  const lines = [
    ...line("window", window, close ? names.join(", ") : (names[0] ?? "")),
    ...line("trigger", trigger, close ? "" : (names[1] ?? "")),
  ];
  if (over < 0) return lines;
  const most = Math.max(...steps.slice(-1).map(({ without }) => without ?? 0));
  const x = scale.x(over);
  const place = { x: early ? x + 8 : x - 8, y: plot.top + 10, "text-anchor": early ? "start" : "end" };
  const text = plot.width < 420 ? `without: ${short(most)}` : `without compaction, up to ${short(most)}`;
  return [...lines, drawing("text", { class: "limit-name", ...place }, text)];
}
