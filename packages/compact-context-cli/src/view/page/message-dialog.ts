import type { ExpandedView } from "../session-view.ts";
import type { Wanted } from "./api.ts";
import { button, element, fill } from "./dom.ts";
import { count } from "./numbers.ts";
import { firstLine, visibleText } from "./visible-text.ts";

/** What the dialog says above the text. */
export interface Shown {
  readonly title: string;
  readonly facts?: string;
}

export interface MessageDialog {
  /** Shows a message whole, piece by piece. */
  open(session: string, wanted: Wanted, shown: Shown): void;
}

type Fetch = (session: string, wanted: Wanted, offset: number) => Promise<ExpandedView>;

/** A dialog with the whole text of a message; Escape closes it and gives the focus back. */
export function createMessageDialog(fetch: Fetch): MessageDialog {
  const title = element("h2", { id: "message-title" });
  const facts = element("p", { class: "facts" });
  const body = element("div", { class: "whole", tabindex: 0, role: "region", "aria-label": "Text" });
  const close = button("Close", () => dialog.close(), { class: "quiet" });
  const more = button("", () => void load?.(), { class: "more", hidden: true });
  const header = element("header", {}, element("div", {}, title, facts), close);
  const attributes = { class: "message-dialog", "aria-labelledby": "message-title" };
  const dialog = element("dialog", attributes, header, body, more);
  let load: (() => Promise<void>) | undefined;
  document.body.append(dialog);
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog) dialog.close();
  });

  const showPiece = (piece: ExpandedView, shown: Shown): void => {
    const { characters, next, offset, text } = piece;
    if (offset === 0) fill(body);
    body.append(...blocks(text));
    if (characters === 0) fill(body, element("p", { class: "empty" }, "This message has no text."));
    facts.textContent = factsOf(piece, shown);
    more.hidden = next === undefined;
    more.textContent = `Show more (${count(next ?? characters)} of ${count(characters)} characters)`;
  };

  return {
    open(session, wanted, shown) {
      let offset = 0;
      const mine = async (): Promise<void> => {
        more.disabled = true;
        try {
          const piece = await fetch(session, wanted, offset);
          offset = piece.next ?? piece.characters;
          // Meanwhile another message may have been opened.
          if (load === mine) showPiece(piece, shown);
        } catch (error) {
          if (load === mine) fill(body, element("p", { class: "problem" }, reasonOf(error)));
        }
        more.disabled = false;
      };
      load = mine;
      title.textContent = shown.title;
      facts.textContent = shown.facts ?? "";
      fill(body, element("p", { class: "empty" }, "…"));
      more.hidden = true;
      if (!dialog.open) dialog.showModal();
      body.scrollTop = 0;
      void mine();
    },
  };
}

/** Lines in blocks, so that the browser lays out only those in sight. */
function blocks(text: string): HTMLElement[] {
  const lines = visibleText(text).split("\n");
  const found: HTMLElement[] = [];
  for (let from = 0; from < lines.length; from += 100) {
    found.push(element("pre", { dir: "auto" }, lines.slice(from, from + 100).join("\n")));
  }
  return found;
}

function factsOf({ role, characters, archiveId, redacted }: ExpandedView, { facts }: Shown): string {
  const parts = [
    facts ?? firstLine(role, 24),
    `${count(characters)} characters`,
    archiveId === undefined ? undefined : `archive id ${firstLine(archiveId, 80)}`,
    redacted ? "secrets were taken out" : undefined,
  ];
  return parts.filter((part) => part !== undefined && part !== "").join(" · ");
}

/** What an error says, for a person. */
export function reasonOf(error: unknown): string {
  const { message = String(error) } = Object(error) as Partial<Error>;
  return visibleText(message).slice(0, 400);
}
