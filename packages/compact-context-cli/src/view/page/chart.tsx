import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { CompactionHead, SessionView } from "../session-view.ts";
import { moveFocus } from "./list.tsx";
import { chartColumns, maxTokens, zoomedRange } from "./rows.ts";
import { compaction, goTo, openCompaction, session, step, tab } from "./state.ts";
import { clockTimeAfter, count, sentence, short } from "./text.ts";

/** The visible calls, and the position of the plot in the chart in pixels. */
interface PlotArea {
  readonly min: number;
  readonly max: number;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

const plotArea = signal<PlotArea | undefined>(undefined);
let plot: uPlot | undefined;
/** Identifies the session and layers of the plot. */
let plotKey = "";
/** Index of the last call in the plot. */
let last = 0;

/** Zooms around the selected call: 0.5 shows half as many calls, `Infinity` all. */
export function zoom(by: number): void {
  const { value: area } = plotArea;
  if (plot === undefined || area === undefined) return;
  plot.setScale("x", zoomedRange(area, by, { around: step.value, last }));
}

/** True while some calls are out of view. */
export function isZoomed(): boolean {
  return plotArea.value !== undefined && (plotArea.value.min > 0 || plotArea.value.max < last);
}

/** The window over the session; a click selects a call, a drag zooms. */
export function Chart(): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const now = session.value;
  useEffect(() => {
    if (host.current !== null && now !== undefined) drawChart(host.current, now);
  }, [now]);
  useEffect(() => {
    const { current } = host;
    if (current === null) return;
    const observer = new ResizeObserver(() => {
      if (current.clientWidth > 0)
        plot?.setSize({ width: current.clientWidth, height: current.clientHeight });
    });
    observer.observe(current);
    const redraw = (): void => {
      plotKey = "";
      if (session.value !== undefined) drawChart(current, session.value);
    };
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", redraw);
    return () => {
      observer.disconnect();
      scheme.removeEventListener("change", redraw);
    };
  }, []);
  return (
    <>
      <div
        ref={host}
        class="plot"
        aria-hidden="true"
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
      />
      <Playhead />
      <Flags />
    </>
  );
}

function Playhead(): JSX.Element | null {
  const area = plotArea.value;
  const at = step.value;
  if (area === undefined || (session.value?.steps.length ?? 0) === 0 || at < area.min || at > area.max)
    return null;
  const style = { transform: `translate(${xOf(at, area)}px, ${area.top}px)`, height: `${area.height}px` };
  return <div class="playhead" style={style} />;
}

function xOf(at: number, { min, max, left, width }: PlotArea): number {
  return left + ((at - min) / Math.max(1, max - min)) * width;
}

/** A press without movement is a click; a drag is the zoom of uPlot. */
function onPointerDown(event: PointerEvent): void {
  const host = event.currentTarget as HTMLElement;
  const go = (up: PointerEvent): void => {
    if (Math.abs(up.clientX - event.clientX) < 4) goToPointer(host, up.clientX);
  };
  if (event.button === 0) host.addEventListener("pointerup", go, { once: true });
}

/** On touch screens, moving selects calls. */
function onPointerMove(event: PointerEvent): void {
  if (event.pointerType === "touch") goToPointer(event.currentTarget as HTMLElement, event.clientX);
}

function goToPointer(host: HTMLElement, clientX: number): void {
  const { value: area } = plotArea;
  if (area === undefined) return;
  const x = clientX - host.getBoundingClientRect().left - area.left;
  goTo(Math.round(area.min + (x / Math.max(1, area.width)) * (area.max - area.min)));
}

/** Pixels between compactions: below `NEAR` a flag has no number, below `TOO_NEAR` it is omitted. */
const NEAR = 20;
const TOO_NEAR = 7;
/** Pixels right of the plot, for the number of a compaction before the last call. */
const EDGE = 14;

/** The buttons above the compactions; they are one tab stop. */
function Flags(): JSX.Element {
  const area = plotArea.value;
  const compactions = session.value?.compactions ?? [];
  const opened = compaction.value;
  const isOpen = tab.value === "compaction";
  const flags: { readonly each: CompactionHead; readonly x: number }[] = [];
  for (const each of compactions) {
    if (area === undefined || each.step < area.min || each.step > area.max) continue;
    const x = xOf(each.step, area);
    const isFree = x - (flags.at(-1)?.x ?? Number.NEGATIVE_INFINITY) >= TOO_NEAR;
    if (isFree || (isOpen && each.index === opened)) flags.push({ each, x });
  }
  const stop = flags.some(({ each }) => each.index === opened) ? opened : flags[0]?.each.index;
  return (
    <fieldset class="cliffs" aria-label="Compactions" onKeyDown={moveFocus}>
      {flags.map(({ each, x }, index) => {
        const [before, next] = [flags[index - 1]?.x, flags[index + 1]?.x];
        const room = (next ?? (area?.left ?? 0) + (area?.width ?? 0) + EDGE) - x;
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

function drawChart(host: HTMLElement, now: SessionView): void {
  const { clientWidth: width, clientHeight: height } = host;
  const { x, stack, without, reported } = chartColumns(now);
  const data = [x, ...stack, without, reported] as uPlot.AlignedData;
  const key = `${now.id} ${now.layers.join()}`;
  const part = isZoomed() && key === plotKey ? plotArea.value : undefined;
  last = now.steps.length - 1;
  if (key !== plotKey || plot === undefined) {
    plot?.destroy();
    plotKey = key;
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
    hooks: { draw: [drawLimits], setScale: [updateArea], setSize: [updateArea], ready: [updateArea] },
  };
}

/** Axis ticks are whole calls. */
const INCREMENTS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000];

function callsAt(_: uPlot, splits: number[]): string[] {
  const { steps = [] } = session.value ?? {};
  return splits.map((at, index) => {
    const found = steps[at];
    if (found === undefined) return "";
    const before = steps[splits[index - 1] ?? at];
    return `${at === 0 ? "call 1" : count(at + 1)}\n${clockTimeAfter(found.at, before?.at)}`;
  });
}

function updateArea(chart: uPlot): void {
  const { min, max } = chart.scales.x ?? {};
  const { left, top, width, height } = chart.bbox;
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
  // Deferred: uPlot calls this hook while it draws.
  queueMicrotask(() => {
    if (JSON.stringify(plotArea.value) !== JSON.stringify(found)) plotArea.value = found;
  });
}

/** Draws the window and the trigger as labelled lines over the areas. */
function drawLimits(chart: uPlot): void {
  const { window: whole, trigger, steps } = session.value ?? { window: 0, trigger: 0, steps: [] };
  const { ctx, bbox } = chart;
  const max = chart.scales.y?.max ?? 0;
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
    if (tokens <= 0 || tokens > max) return;
    const y = Math.round(chart.valToPos(tokens, "y", true));
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
  const isClose = chart.valToPos(trigger, "y") - chart.valToPos(whole, "y") < 15;
  const names = [`window ${count(whole)}`, `trigger ${count(trigger)}`] as const;
  limit(trigger, isClose ? "" : names[1], [5, 4], "ink-soft");
  limit(whole, isClose && trigger > 0 && trigger <= max ? names.join(", ") : names[0], [], "ink");
  const last = steps.at(-1)?.without ?? 0;
  if (last > max) {
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
