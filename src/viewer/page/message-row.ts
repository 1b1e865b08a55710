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
  const fate = row.fate === undefined || row.fate === "unknown" ? undefined : FATES[row.fate];
  if (row.fate !== undefined) node.classList.add(`fate-${row.fate}`);
  if (row.kind === "summary") node.classList.add("is-summary");
  const word = row.kind === "text" || row.kind === "summary" ? "" : KINDS[row.kind];
  fill(
    node,
    element("span", { class: "number" }, row.message === undefined ? "" : count(row.message + 1)),
    element("span", { class: `role role-${roleClass(row.role)}` }, firstLine(row.role, 24)),
    fate &&
      element(
        "span",
        { class: "fate" },
        element("span", { class: "sign", "aria-hidden": "true" }, fate.sign),
        fate.word,
      ),
    element(
      "span",
      { class: "gist", dir: "auto" },
      word === ""
        ? undefined
        : element("span", { class: "kind" }, row.tool === undefined ? word : `${word} `),
      row.tool === undefined ? undefined : element("span", { class: "tool" }, firstLine(row.tool, 60)),
      firstLine(row.preview),
    ),
    tokens(row),
    bar(row),
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
  const whole = element(
    "span",
    { class: "bar", "aria-hidden": "true" },
    element("span", { class: "gone" }),
    left,
  );
  const width = (tokens: number): string => `${Math.min(100, (tokens / FULL_BAR) * 100)}%`;
  left.style.width = width(tokensAfter);
  (whole.firstElementChild as HTMLElement).style.width = width(before);
  return whole;
}
