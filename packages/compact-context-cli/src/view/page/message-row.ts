import { element, fill } from "./dom.ts";
import { FATES, KINDS } from "./layers.ts";
import { count } from "./numbers.ts";
import type { ContentRow } from "./session-data.ts";
import { firstLine } from "./visible-text.ts";

/** Tokens of the largest row that bars are measured against; a few giants do not make all others invisible. */
const FULL_BAR = 4000;

export interface RowShape extends ContentRow {
  /** Tokens after a compaction, where the row tells of one. */
  readonly tokensAfter?: number;
}

/** Draws one message on one line: number, role, what became of it, its beginning, its tokens with a bar. */
export function drawRow(node: HTMLElement, row: RowShape | undefined, classes = ""): void {
  node.className = `row message ${classes}`;
  if (row === undefined) {
    node.classList.add("waiting");
    fill(node, element("span", { class: "gist" }, "…"));
    return;
  }
  const { kind, message, fate } = row;
  if (fate !== undefined) node.classList.add(`fate-${fate}`);
  if (kind === "summary") node.classList.add("is-summary");
  const role = kind === "summary" ? "summary" : firstLine(row.role, 24);
  fill(
    node,
    element("span", { class: "number" }, message === undefined ? "" : count(message + 1)),
    element("span", { class: `role role-${roleClass(role)}` }, role),
    fateOf(fate),
    gist(row),
    tokens(row),
    bar(row),
  );
}

function fateOf(fate: RowShape["fate"]): HTMLElement | undefined {
  if (fate === undefined) return undefined;
  const { word, sign } = FATES[fate];
  return element(
    "span",
    { class: "fate" },
    element("span", { class: "sign", "aria-hidden": "true" }, sign),
    word,
  );
}

function gist({ kind, tool, preview }: RowShape): HTMLElement {
  const word = kind === "summary" ? "" : KINDS[kind];
  return element(
    "span",
    { class: "gist", dir: "auto" },
    word === ""
      ? undefined
      : element("span", { class: preview.trim() === "" ? "kind alone" : "kind" }, `${word} `),
    tool === undefined ? undefined : element("span", { class: "tool" }, `${firstLine(tool, 60)} `),
    firstLine(preview),
  );
}

function roleClass(role: string): string {
  return ["user", "assistant", "tool", "system", "developer", "summary"].includes(role) ? role : "other";
}

function tokens({ tokens: before, tokensAfter, fate }: RowShape): HTMLElement {
  const changed = tokensAfter !== undefined && tokensAfter !== before && fate !== "summarized";
  return element(
    "span",
    { class: "tokens" },
    changed ? `${count(before)} → ${count(tokensAfter)}` : count(before),
  );
}

/** What is left stands full, what left stands pale. */
function bar({ tokens: before, tokensAfter = before }: RowShape): HTMLElement {
  const left = element("span", { class: "left" });
  const gone = element("span", { class: "gone" });
  const width = (tokens: number): string => `${Math.min(100, (tokens / FULL_BAR) * 100)}%`;
  left.style.width = width(tokensAfter);
  gone.style.width = width(before);
  return element("span", { class: "bar", "aria-hidden": "true" }, gone, left);
}
