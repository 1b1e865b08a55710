// The picture at the top of the README, from what `compact demo` prints: where the tokens of a session go.

/** Colours that read on a page of GitHub: of the card, its words, and what becomes of messages. */
export const THEMES = {
  light: {
    card: "#ffffff",
    edge: "#d1d9e0",
    words: "#1f2328",
    faint: "#59636e",
    window: "#cf222e",
    fixed: "#818b98",
    summary: "#bc4c00",
    emptied: "#8250df",
    kept: "#0969da",
    archive: "#eff2f5",
  },
  dark: {
    card: "#0d1117",
    edge: "#3d444d",
    words: "#f0f6fc",
    faint: "#9198a1",
    window: "#ff7b72",
    fixed: "#7d8590",
    summary: "#f0883e",
    emptied: "#a371f7",
    kept: "#4493f8",
    archive: "#1c2128",
  },
};

const WIDTH = 880;
const HEIGHT = 312;
const LEFT = 24;
const BAR_WIDTH = WIDTH - 2 * LEFT;
const BAR_HEIGHT = 36;
/** Tops of the bars. */
const BEFORE = 54;
const AFTER = 182;
const ARCHIVE = 252;
/** Where the meanings of the colours stand, and how far apart. */
const LEGEND = 500;
const LEGEND_TOP = 143;
const LEGEND_STEP = 24;

const count = (number) => number.toLocaleString("en-US");

/** The numbers of the demo's screen; throws when one is not there. */
export function figuresOf(screen) {
  const take = (what, pattern) => {
    const found = pattern.exec(screen);
    if (found === null) throw new Error(`the demo does not say ${what}`);
    return found.slice(1).map((digits) => Number(digits.replaceAll(",", "")));
  };
  const [window] = take("its window", /window of ([\d,]+)\s+tokens/);
  const [before] = take("what there was", /^ *before .*?([\d,]+) tokens$/m);
  const [after] = take("what is left", /^ *after .*?([\d,]+) tokens$/m);
  const [fixed] = take("what system prompt and tools take", /^ *system, tools +([\d,]+)/m);
  const [keptMessages, kept] = take("what is kept", /^ *kept as it is +([\d,]+) messages +([\d,]+) tokens$/m);
  const changed = (label) => {
    const pattern = new RegExp(`^ *${label} +([\\d,]+) messages +([\\d,]+) → ([\\d,]+) tokens$`, "m");
    const [messages, from, to] = take(label, pattern);
    return { messages, from, to };
  };
  const [told, toldFrom] = take(
    "what the summary covers",
    /^ *into the summary +([\d,]+) messages +([\d,]+) tokens$/m,
  );
  const [summary] = take("how large the summary is", /summary has ([\d,]+)\s+tokens/);
  const [messages] = take("how many messages are archived", /all ([\d,]+)\s+messages/);
  return {
    window,
    before,
    after,
    messages,
    parts: [
      { name: "fixed", from: fixed, to: fixed },
      { name: "summary", messages: told, from: toldFrom, to: summary },
      { name: "emptied", ...changed("tool output cleared") },
      { name: "kept", messages: keptMessages, from: kept, to: kept },
    ],
  };
}

/** What the picture says, in words. */
function describe({ window, before, after, messages, parts }) {
  const [, summary, emptied, kept] = parts;
  return [
    `Before: ${count(before)} tokens, over the window of ${count(window)}. After: ${count(after)}.`,
    `${kept.messages} messages stay as they were, the tool output of ${emptied.messages} is emptied,`,
    `${summary.messages} are summarized in ${count(summary.to)} tokens. All ${messages} are in the archive.`,
  ].join(" ");
}

/** The parts side by side, each with its place on the bar before and on the one after. */
function placed({ before, parts }) {
  const scale = BAR_WIDTH / before;
  let above = LEFT;
  let below = LEFT;
  return parts.map((part) => {
    const one = { ...part, above, below, wide: part.from * scale, narrow: part.to * scale };
    above += one.wide;
    below += one.narrow;
    return one;
  });
}

/** The picture as the README shows it, light or dark as its page is. */
export function pictureOf(figures) {
  const path = "docs/pictures/compaction";
  return [
    "<picture>",
    `  <source media="(prefers-color-scheme: dark)" srcset="${path}-dark.svg">`,
    `  <img src="${path}-light.svg" alt="${describe(figures)}">`,
    "</picture>",
  ].join("\n");
}

/** The picture as SVG. */
export function drawCompaction(figures, colours) {
  const { window, before, after, messages } = figures;
  const parts = placed(figures);
  const [, summary, emptied, kept] = parts;
  const number = (value) => String(Math.round(value * 10) / 10);
  const box = (x, y, width, name) =>
    `<rect x="${number(x)}" y="${y}" width="${number(width)}" height="${BAR_HEIGHT}" fill="${colours[name]}"/>`;
  const say = (x, y, words, { fill = colours.words, size = 14, weight = 400, anchor = "start" } = {}) =>
    `<text x="${number(x)}" y="${y}" fill="${fill}" font-size="${size}" font-weight="${weight}" text-anchor="${anchor}">${words}</text>`;
  const flow = ({ name, above, below, wide, narrow }) => {
    const [top, bottom] = [BEFORE + BAR_HEIGHT, AFTER];
    const middle = (top + bottom) / 2;
    const curve = (from, to) => `C${number(from)} ${middle} ${number(to)} ${middle}`;
    const left = `M${number(above)} ${top}${curve(above, below)} ${number(below)} ${bottom}`;
    const right = `L${number(below + narrow)} ${bottom}C${number(below + narrow)} ${middle} ${number(above + wide)} ${middle} ${number(above + wide)} ${top}Z`;
    return `<path d="${left}${right}" fill="${colours[name]}" fill-opacity="0.16"/>`;
  };
  const limit = LEFT + (window / before) * BAR_WIDTH;
  const behind = LEFT + (after / before) * BAR_WIDTH + 16;
  const share = `${(100 - (100 * after) / before).toFixed(1)} %`;
  const legend = [
    ["fixed", "system prompt and tools stay"],
    ["summary", `${summary.messages} messages → one summary, ${count(summary.to)} tokens`],
    ["emptied", `${emptied.messages} messages: old tool output cleared`],
    ["kept", `${kept.messages} messages stay as they were`],
  ];
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" role="img">`,
    `<title>${describe(figures)}</title>`,
    `<rect x="0.5" y="0.5" width="${WIDTH - 1}" height="${HEIGHT - 1}" rx="8" fill="${colours.card}" stroke="${colours.edge}"/>`,
    say(LEFT, BEFORE - 14, `before: ${count(before)} tokens`, { weight: 600, size: 16 }),
    ...parts.map(flow),
    ...parts.map((part) => box(part.above, BEFORE, part.wide, part.name)),
    ...[colours.card, colours.window].map(
      (colour, at) =>
        `<path d="M${number(limit)} ${BEFORE - 8}V${BEFORE + BAR_HEIGHT + 8}" stroke="${colour}" stroke-width="${6 - 4 * at}"/>`,
    ),
    say(limit - 8, BEFORE - 14, `window: ${count(window)}`, { fill: colours.window, anchor: "end" }),
    ...parts.map((part) => box(part.below, AFTER, part.narrow, part.name)),
    say(behind, AFTER + 15, `after: ${count(after)} tokens`, { weight: 600, size: 16 }),
    say(behind, AFTER + 34, `${share} less; the agent goes on`, { fill: colours.faint }),
    ...legend.flatMap(([name, words], at) => [
      `<circle cx="${LEGEND + 6}" cy="${LEGEND_TOP + 6 + at * LEGEND_STEP}" r="6" fill="${colours[name]}"/>`,
      say(LEGEND + 20, LEGEND_TOP + 11 + at * LEGEND_STEP, words),
    ]),
    `<rect x="${LEFT}" y="${ARCHIVE}" width="${BAR_WIDTH}" height="${BAR_HEIGHT}" rx="4" fill="${colours.archive}" stroke="${colours.edge}" stroke-dasharray="4 3"/>`,
    say(LEFT + 14, ARCHIVE + 23, `archive: all ${messages} messages, to search, to read and to bring back`),
    `</svg>`,
  ].join("\n")}\n`;
}
