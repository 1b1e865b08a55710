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

const CODES: Readonly<Record<Style, readonly [on: number, off: number]>> = {
  strong: [1, 22],
  faint: [2, 22],
  good: [32, 39],
  warn: [33, 39],
  bad: [31, 39],
  pinned: [35, 39],
  summary: [33, 39],
  recent: [32, 39],
  toolPairs: [36, 39],
  remainder: [34, 39],
};

/** Paints for a terminal that shows colours: not in a pipe, not with `NO_COLOR`, not on a dumb terminal. */
export function createPaint(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): Paint {
  const colours = isTerminal && (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb";
  if (!colours) return (_, text) => text;
  return (style, text) => {
    const [on, off] = CODES[style];
    return text === "" ? "" : `\u001b[${on}m${text}\u001b[${off}m`;
  };
}
