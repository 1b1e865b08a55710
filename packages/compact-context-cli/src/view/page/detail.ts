import { button, element, fill } from "./dom.ts";
import { KINDS } from "./layers.ts";
import type { RowShape } from "./message-row.ts";
import { count, plural } from "./numbers.ts";
import { firstLine } from "./visible-text.ts";

export interface Detail {
  readonly node: HTMLElement;
  /** Says what a row is, with some facts; the hint where there is no row. */
  show(row: RowShape | undefined, facts?: readonly string[]): void;
  /** Offers something else to be read. */
  offer(text: string, open: () => void): void;
}

/** The strip under a list that says more about its marked row. */
export function createDetail(hint: string, openRow: () => void): Detail {
  let open = openRow;
  const words = element("p", {}, hint);
  const whole = button("Show whole", () => open(), { class: "quiet", hidden: true });
  return {
    node: element("div", { class: "detail" }, words, whole),
    show(row, facts = []) {
      open = openRow;
      whole.hidden = row === undefined;
      if (row === undefined) return fill(words, hint);
      const id = row.archiveId === undefined ? "" : `archive id ${firstLine(row.archiveId, 60)}`;
      const said = [...facts, id].filter((fact) => fact !== "").join(" · ");
      fill(words, element("strong", {}, titleOf(row)), said === "" ? "" : ` · ${said}`);
      words.title = said;
    },
    offer(text, instead) {
      open = instead;
      whole.hidden = false;
      fill(words, text);
    },
  };
}

/** `Message 12 · tool result · 3,210 tokens`. */
export function titleOf({ message, summaryOf, role, kind, tokens, tokensAfter, fate }: RowShape): string {
  const name =
    message === undefined ? `Summary of compaction ${(summaryOf ?? 0) + 1}` : `Message ${count(message + 1)}`;
  const what = message === undefined ? "" : ` · ${[firstLine(role, 24), KINDS[kind]].join(" ").trim()}`;
  const now = fate === "summarized" ? 0 : (tokensAfter ?? tokens);
  const cost = now === tokens ? plural(tokens, "token") : `${count(tokens)} → ${count(now)} tokens`;
  return `${name}${what} · ${cost}`;
}
