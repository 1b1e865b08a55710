import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { CompactionHead, SessionView } from "../session-view.ts";
import { columnsOf, maxTokens, zoomed } from "./columns.ts";
import { rove } from "./list.tsx";
import { compaction, goTo, openCompaction, session, step, tab } from "./state.ts";
import { clockAfter, count, sentence, short } from "./text.ts";

/** Which calls the plot shows, and where it stands in the chart, in pixels. */
interface Sight {
  readonly min: number;
  readonly max: number;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

const sight = signal<Sight | undefined>(undefined);
let plot: uPlot | undefined;
/** The session and layers that the plot was made for. */
let about = "";
/** The last call that it has drawn. */
let last = 0;

/** Shows fewer calls around the one that is looked at, or more; `Infinity` for all of them. */
export function zoom(by: number): void {
  const { value: seen } = sight;
  if (plot === undefined || seen === undefined) return;
  plot.setScale("x", zoomed(seen, by, { around: step.value, last }));
}

/** True while not all calls are in sight. */
export function isZoomed(): boolean {
  return sight.value !== undefined && (sight.value.min > 0 || sight.value.max < last);
}

/** The window over the session's life; a click moves to a call, a drag shows a part of it larger. */
export function Chart(): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const now = session.value;
  useEffect(() => {
    if (host.current !== null && now !== undefined) draw(host.current, now);
  }, [now]);
  useEffect(() => {
    const { current } = host;
    if (current === null) return;
    const observer = new ResizeObserver(() => {
      if (current.clientWidth > 0)
        plot?.setSize({ width: current.clientWidth, height: current.clientHeight });
    });
    observer.observe(current);
    const repaint = (): void => {
      about = "";
      if (session.value !== undefined) draw(current, session.value);
    };
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", repaint);
    return () => {
      observer.disconnect();
      scheme.removeEventListener("change", repaint);
    };
  }, []);
  return (
    <>
      <div ref={host} class="plot" aria-hidden="true" onPointerDown={pressed} onPointerMove={touched} />
      <Playhead />
      <Flags />
    </>
  );
}

function Playhead(): JSX.Element | null {
  const seen = sight.value;
  const at = step.value;
  if (seen === undefined || (session.value?.steps.length ?? 0) === 0 || at < seen.min || at > seen.max)
    return null;
  const style = { transform: `translate(${placeOf(at, seen)}px, ${seen.top}px)`, height: `${seen.height}px` };
  return <div class="playhead" style={style} />;
}

function placeOf(at: number, { min, max, left, width }: Sight): number {
  return left + ((at - min) / Math.max(1, max - min)) * width;
}

/** A press that does not move is a click; one that does is the plot's own zoom. */
function pressed(event: PointerEvent): void {
  const host = event.currentTarget as HTMLElement;
  const go = (up: PointerEvent): void => {
    if (Math.abs(up.clientX - event.clientX) < 4) goToPlace(host, up.clientX);
  };
  if (event.button === 0) host.addEventListener("pointerup", go, { once: true });
}

/** A finger moves the call that is looked at. */
function touched(event: PointerEvent): void {
  if (event.pointerType === "touch") goToPlace(event.currentTarget as HTMLElement, event.clientX);
}

function goToPlace(host: HTMLElement, clientX: number): void {
  const { value: seen } = sight;
  if (seen === undefined) return;
  const x = clientX - host.getBoundingClientRect().left - seen.left;
  goTo(Math.round(seen.min + (x / Math.max(1, seen.width)) * (seen.max - seen.min)));
}

/** Pixels under which a compaction is drawn without its number, and under which it is left to its neighbour. */
const NEAR = 20;
const TOO_NEAR = 7;
/** Pixels right of the plot, in which the number of a compaction before the last call has room. */
const EDGE = 14;

/** The buttons above the compactions: one tab stop, arrow keys go from one to the next. */
function Flags(): JSX.Element {
  const seen = sight.value;
  const compactions = session.value?.compactions ?? [];
  const opened = compaction.value;
  const isOpen = tab.value === "compaction";
  const flags: { readonly each: CompactionHead; readonly x: number }[] = [];
  for (const each of compactions) {
    if (seen === undefined || each.step < seen.min || each.step > seen.max) continue;
    const x = placeOf(each.step, seen);
    const isFree = x - (flags.at(-1)?.x ?? Number.NEGATIVE_INFINITY) >= TOO_NEAR;
    if (isFree || (isOpen && each.index === opened)) flags.push({ each, x });
  }
  const stop = flags.some(({ each }) => each.index === opened) ? opened : flags[0]?.each.index;
  return (
    <fieldset class="cliffs" aria-label="Compactions" onKeyDown={rove}>
      {flags.map(({ each, x }, place) => {
        const [before, next] = [flags[place - 1]?.x, flags[place + 1]?.x];
        const room = (next ?? (seen?.left ?? 0) + (seen?.width ?? 0) + EDGE) - x;
        const isNear = (next !== undefined && next - x < NEAR) || (before !== undefined && x - before < NEAR);
        return (
          <button
            key={each.index}
            type="button"
            class={isNear ? "flag near" : "flag"}
            data-rove
            tabIndex={each.index === stop ? 0 : -1}
            aria-label={sentence(each)}
            aria-pressed={isOpen && each.index === opened}
            title={sentence(each)}
            style={{ transform: `translateX(${x}px)` }}
            onClick={() => openCompaction(each.index)}
          >
            <span class="number">{isNear ? "" : each.index + 1}</span>
            {room >= 118 && (
              <span class="fall">{`${short(each.tokensBefore)} → ${short(each.tokensAfter)}`}</span>
            )}
          </button>
        );
      })}
    </fieldset>
  );
}

function draw(host: HTMLElement, now: SessionView): void {
  const { clientWidth: width, clientHeight: height } = host;
  const { x, stack, without, reported } = columnsOf(now);
  const data = [x, ...stack, without, reported] as uPlot.AlignedData;
  const key = `${now.id} ${now.layers.join()}`;
  const part = isZoomed() && key === about ? sight.value : undefined;
  last = now.steps.length - 1;
  if (key !== about || plot === undefined) {
    plot?.destroy();
    about = key;
    plot = new uPlot(optionsOf(now, width, height), data, host);
    return;
  }
  plot.setData(data, part === undefined);
  if (part !== undefined) plot.setScale("x", { min: part.min, max: part.max });
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function optionsOf(now: SessionView, width: number, height: number): uPlot.Options {
  const ink = colour("ink-soft");
  const line = { stroke: ink, points: { show: false } };
  const axis = {
    stroke: ink,
    font: `11px ${getComputedStyle(document.body).fontFamily}`,
    ticks: { show: false },
  };
  const isTimed = now.steps.some(({ at }) => at !== undefined);
  return {
    width,
    height,
    padding: [28, EDGE, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, dist: 4 } },
    scales: {
      x: { time: false, range: (_, min, max) => [min, Math.max(max, min + 1)] },
      y: { range: ({ height: all }) => [0, maxTokens(session.value ?? now, all - 70)] },
    },
    axes: [
      {
        ...axis,
        size: isTimed ? 36 : 22,
        space: 84,
        grid: { show: false },
        incrs: INCREMENTS,
        values: callsAt,
      },
      {
        ...axis,
        size: 48,
        space: 36,
        grid: { stroke: colour("line"), width: 1 },
        values: (_, splits) => splits.map(short),
      },
    ],
    series: [
      {},
      ...now.layers.toReversed().map(
        (layer): uPlot.Series => ({
          label: layer,
          fill: colour(`layer-${layer}`),
          stroke: colour("ground"),
          width: 0.75,
          points: { show: false },
        }),
      ),
      { ...line, label: "without", width: 2, dash: [1, 4] },
      { ...line, label: "reported", width: 1.5, stroke: colour("ink") },
    ],
    hooks: { draw: [drawLimits], setScale: [see], setSize: [see], ready: [see] },
  };
}

/** Whole calls alone have a name. */
const INCREMENTS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000];

function callsAt(_: uPlot, splits: number[]): string[] {
  const { steps = [] } = session.value ?? {};
  return splits.map((at, place) => {
    const found = steps[at];
    if (found === undefined) return "";
    const before = steps[splits[place - 1] ?? at];
    return `${at === 0 ? "call 1" : count(at + 1)}\n${clockAfter(found.at, before?.at)}`;
  });
}

function see(made: uPlot): void {
  const { min, max } = made.scales.x ?? {};
  const { left, top, width, height } = made.bbox;
  const ratio = devicePixelRatio;
  if (min == null || max == null || width === 0) return;
  const found = {
    min,
    max,
    left: left / ratio,
    top: top / ratio,
    width: width / ratio,
    height: height / ratio,
  };
  // Not while the plot draws itself.
  queueMicrotask(() => {
    if (JSON.stringify(sight.value) !== JSON.stringify(found)) sight.value = found;
  });
}

/** The window and the trigger as lines with their names, over the areas. */
function drawLimits(made: uPlot): void {
  const { window: whole, trigger, steps } = session.value ?? { window: 0, trigger: 0, steps: [] };
  const { ctx, bbox } = made;
  const most = made.scales.y?.max ?? 0;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.font = `${11 * ratio}px ${getComputedStyle(document.body).fontFamily}`;
  ctx.lineJoin = "round";
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  const write = (text: string, y: number, colourName: string): void => {
    ctx.lineWidth = 3 * ratio;
    ctx.strokeStyle = colour("ground");
    ctx.fillStyle = colour(colourName);
    ctx.strokeText(text, bbox.left + 6 * ratio, y);
    ctx.fillText(text, bbox.left + 6 * ratio, y);
  };
  const limit = (tokens: number, text: string, dash: readonly number[], colourName: string): void => {
    if (tokens <= 0 || tokens > most) return;
    const y = Math.round(made.valToPos(tokens, "y", true));
    ctx.strokeStyle = colour(colourName);
    ctx.lineWidth = 1.25 * ratio;
    ctx.setLineDash(dash.map((each) => each * ratio));
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.setLineDash([]);
    if (text !== "") write(text, y - 5 * ratio, colourName);
  };
  const isClose = made.valToPos(trigger, "y") - made.valToPos(whole, "y") < 15;
  const names = [`window ${count(whole)}`, `trigger ${count(trigger)}`] as const;
  limit(trigger, isClose ? "" : names[1], [5, 4], "ink-soft");
  limit(whole, isClose && trigger > 0 && trigger <= most ? names.join(", ") : names[0], [], "ink");
  const last = steps.at(-1)?.without ?? 0;
  if (last > most) {
    ctx.textAlign = "right";
    ctx.fillStyle = colour("ink-soft");
    ctx.fillText(
      bbox.width < 420 * ratio ? `without: ${short(last)}` : `without compaction, up to ${short(last)}`,
      bbox.left + bbox.width - 4 * ratio,
      bbox.top + 10 * ratio,
    );
  }
  ctx.restore();
}
