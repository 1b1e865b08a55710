// Curves: what several contestants need, by size. A curve is plain data, so that it can be stored:
// { by, unit, more, sizes: [...], series: [{ name, own, points: [{ median, least, most } | null] }] }
// `by` names the sizes, `more` says that a larger number is better. The first series is what others are compared with;
// `own` ones are ours too.
import { digits, number, table } from "./markdown.mjs";

/** How many times worse a point is than ours at the same size. */
export function timesWorse(curve, point, ours) {
  if (point === null || ours === null) return undefined;
  return curve.more ? ours.median / point.median : point.median / ours.median;
}

/** A table with a row a size; in brackets least and most of ours, and how many times worse the others are. */
export function curveTable(curve) {
  const [ours, ...others] = curve.series;
  const head = [`${curve.by}`, `**${ours.name}**, ${curve.unit}`, ...others.map(({ name }) => name)];
  const rows = curve.sizes.map((size, index) => {
    const own = ours.points[index];
    const cells = others.map(({ points, own: alsoOurs }) => {
      const times = timesWorse(curve, points[index], own);
      if (times === undefined) return "–";
      return alsoOurs ? digits(points[index].median) : `${digits(points[index].median)} (${digits(times)} x)`;
    });
    return [
      number(size),
      own === null ? "–" : `**${digits(own.median)}** (${digits(own.least)} – ${digits(own.most)})`,
      ...cells,
    ];
  });
  return table(head, rows);
}

/** A curve that is filled point by point. */
export function createCurve(shape) {
  const series = new Map();
  return {
    put(name, index, point, { own = false } = {}) {
      if (!series.has(name))
        series.set(name, { name, own, points: new Array(shape.sizes.length).fill(null) });
      series.get(name).points[index] = point;
    },
    curve: () => ({ ...shape, series: [...series.values()] }),
  };
}

const WIDTH = 720;
const HEIGHT = 320;
const LEFT = 60;
const RIGHT = 250;
const TOP = 24;
const BOTTOM = 44;
const COLOURS = ["#0b6bcb", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#475569", "#be185d"];

/** Powers of ten that enclose the values. */
function decades(values) {
  const low = Math.floor(Math.log10(Math.min(...values)) + 1e-9);
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values)) - 1e-9));
  return { low, high, ticks: Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index)) };
}

const short = (value) => {
  if (value >= 1e6) return `${value / 1e6}M`;
  if (value >= 1e3) return `${value / 1e3}k`;
  return String(Number(value.toPrecision(2)));
};
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** Names at the ends of their lines, pushed apart where they would touch. */
function labels(ends) {
  let last = Number.NEGATIVE_INFINITY;
  return ends
    .toSorted((one, other) => one.y - other.y)
    .map((end) => {
      last = Math.max(end.y, last + 15);
      return { ...end, y: last };
    });
}

/** The curve as a picture, both axes by powers of ten. */
export function curvePicture(curve, title) {
  const drawn = curve.series.map(({ name, points }, index) => ({
    name,
    colour: COLOURS[index % COLOURS.length],
    points: points.flatMap((point, at) => (point === null ? [] : [[curve.sizes[at], point]])),
  }));
  const across = { low: Math.log10(curve.sizes[0]), high: Math.log10(curve.sizes.at(-1)) };
  const up = decades(drawn.flatMap(({ points }) => points.map(([, { median }]) => median)));
  const x = (size) =>
    LEFT + ((Math.log10(size) - across.low) / (across.high - across.low)) * (WIDTH - LEFT - RIGHT);
  const y = (value) =>
    HEIGHT - BOTTOM - ((Math.log10(value) - up.low) / (up.high - up.low)) * (HEIGHT - TOP - BOTTOM);
  const at = (value) => value.toFixed(1);
  const text = (left, top, words, extra = "") =>
    `<text x="${at(left)}" y="${at(top)}" ${extra}>${escaped(words)}</text>`;
  const line = (x1, y1, x2, y2) =>
    `<line x1="${at(x1)}" y1="${at(y1)}" x2="${at(x2)}" y2="${at(y2)}" stroke="#d0d7de"/>`;
  const right = WIDTH - RIGHT;
  const lines = drawn.map(({ points, colour }, index) => {
    const path = points.map(([size, { median }]) => `${at(x(size))},${at(y(median))}`).join(" ");
    const dots = points.map(
      ([size, { median }]) =>
        `<circle cx="${at(x(size))}" cy="${at(y(median))}" r="${index === 0 ? 3.5 : 2.5}" fill="${colour}"/>`,
    );
    return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="${index === 0 ? 3 : 1.5}"/>${dots.join("")}`;
  });
  const ends = drawn
    .filter(({ points }) => points.length > 0)
    .map(({ name, colour, points }) => ({ name, colour, y: y(points.at(-1)[1].median) }));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" fill="#24292f" role="img" aria-label="${escaped(title)}">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    text(LEFT, 14, `${title}, ${curve.unit}`, 'font-weight="bold"'),
    ...up.ticks.flatMap((tick) => [
      line(LEFT, y(tick), right, y(tick)),
      text(LEFT - 6, y(tick) + 4, short(tick), 'text-anchor="end"'),
    ]),
    ...curve.sizes.flatMap((size) => [
      line(x(size), TOP, x(size), HEIGHT - BOTTOM),
      text(x(size), HEIGHT - BOTTOM + 16, short(size), 'text-anchor="middle"'),
    ]),
    text((LEFT + right) / 2, HEIGHT - 8, curve.by, 'text-anchor="middle"'),
    ...lines,
    ...labels(ends).map(({ name, colour, y: top }) => text(right + 10, top + 4, name, `fill="${colour}"`)),
    "</svg>",
    "",
  ].join("\n");
}
