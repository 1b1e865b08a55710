import colours from "picocolors";

/** Kinds of emphasis; without colours every one gives back its text. */
export type Style =
  | "strong"
  | "faint"
  | "good"
  | "warn"
  | "bad"
  | "pinned"
  | "summary"
  | "recent"
  | "toolPairs"
  | "remainder";

export type Paint = (style: Style, text: string) => string;

const FORMATS = {
  strong: "bold",
  faint: "dim",
  good: "green",
  warn: "yellow",
  bad: "red",
  pinned: "magenta",
  summary: "yellow",
  recent: "green",
  toolPairs: "cyan",
  remainder: "blue",
} as const satisfies Readonly<Record<Style, keyof typeof colours>>;

/** Paints for a terminal that shows colours: not in a pipe, not with `NO_COLOR`, not on a dumb terminal. */
export function createPaint(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): Paint {
  const shown = colours.createColors(isTerminal && (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb");
  return (style, text) => (text === "" ? "" : shown[FORMATS[style]](text));
}
