import type { SearchHitView, SearchView } from "../session-view.ts";
import { element, fill } from "./dom.ts";
import { reasonOf } from "./message-dialog.ts";
import { count, plural } from "./numbers.ts";
import type { Shared } from "./shared.ts";
import { createVirtualList } from "./virtual-list.ts";
import { firstLine } from "./visible-text.ts";

type Search = (query: string, session: string | undefined, signal: AbortSignal) => Promise<SearchView>;

/** Milliseconds without a key after which the search begins. */
const PAUSE = 180;

/** Search over the originals, and expand by id. */
export function createArchivePanel({ store, showMessage, announce }: Shared, search: Search): HTMLElement {
  let hits: readonly SearchHitView[] = [];
  let words: readonly string[] = [];
  let running = new AbortController();
  let timer = 0;
  const field = element("input", {
    type: "search",
    id: "search",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "Words, a file, an error, an archive id …",
  });
  const everywhere = element("input", { type: "checkbox", id: "everywhere" });
  const status = element("p", { class: "caption", role: "status" });
  const list = createVirtualList({
    label: "Found messages",
    empty: "What left the window is in the archive, word for word. Search it here.",
    render: (node, index) => drawHit(node, hits[index], words),
    mark: () => undefined,
    open(index) {
      const hit = hits[index];
      if (hit !== undefined) showMessage(hit.session, { archiveId: hit.archiveId }, { title: titleOf(hit) });
    },
  });

  const run = async (): Promise<void> => {
    running.abort();
    running = new AbortController();
    const query = field.value.trim();
    const { session } = store.get();
    if (query === "") return show([], "");
    try {
      const found = await search(query, everywhere.checked ? undefined : session?.id, running.signal);
      words = query.toLowerCase().split(/\s+/);
      const problems =
        found.problems === 0 ? "" : ` ${plural(found.problems, "line")} of the archive could not be read.`;
      show(
        found.hits,
        found.hits.length === 0
          ? `Nothing was found for “${firstLine(query, 60)}”.${problems}`
          : `${plural(found.hits.length, "message")} found.${problems}`,
      );
    } catch (error) {
      if (!running.signal.aborted) show([], reasonOf(error));
    }
  };
  const show = (found: readonly SearchHitView[], said: string): void => {
    hits = found;
    status.textContent = said;
    list.show(hits.length, true);
  };

  field.addEventListener("input", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => void run(), PAUSE);
  });
  everywhere.addEventListener("change", () => void run());
  let about: string | undefined;
  store.watch(["session"], ({ session }) => {
    field.disabled = session?.searchable !== true && !everywhere.checked;
    if (about === session?.id) return;
    about = session?.id;
    show([], "");
    if (field.value !== "") void run();
  });
  const form = element(
    "form",
    { class: "search", role: "search" },
    element("label", { class: "unseen", for: "search" }, "Search the archive"),
    field,
    element("label", { class: "check" }, everywhere, "all sessions"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    window.clearTimeout(timer);
    void run();
    announce("Searching.");
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" || hits.length === 0) return;
    event.preventDefault();
    list.node.focus();
    list.reveal(0);
  });
  return element("div", { class: "stack" }, form, status, list.node);
}

function titleOf({ message, role, step }: SearchHitView): string {
  const name = message === undefined ? "Archived message" : `Message ${count(message + 1)}`;
  return `${name} · ${firstLine(role, 24)} · archive step ${count(step)}`;
}

function drawHit(node: HTMLElement, hit: SearchHitView | undefined, words: readonly string[]): void {
  if (hit === undefined) return;
  node.className = "row hit";
  fill(
    node,
    element("span", { class: "number" }, hit.message === undefined ? "" : count(hit.message + 1)),
    element("span", { class: "role" }, firstLine(hit.role, 24)),
    element("span", { class: "gist", dir: "auto" }, ...marked(firstLine(hit.snippet, 400), words)),
    element("span", { class: "tokens" }, `step ${count(hit.step)}`),
  );
}

/** The text with the words that were looked for as marks. */
export function marked(text: string, words: readonly string[]): (HTMLElement | string)[] {
  const lower = text.toLowerCase();
  // Where lower case has another length, places would not agree.
  if (lower.length !== text.length) return [text];
  const found: (HTMLElement | string)[] = [];
  let from = 0;
  while (from < text.length) {
    const [at, length] = nextWord(lower, words, from);
    if (length === 0) break;
    found.push(text.slice(from, at), element("mark", {}, text.slice(at, at + length)));
    from = at + length;
  }
  return [...found, text.slice(from)];
}

function nextWord(text: string, words: readonly string[], from: number): [number, number] {
  let best: [number, number] = [text.length, 0];
  for (const word of words) {
    const at = word === "" ? -1 : text.indexOf(word, from);
    if (at >= 0 && at < best[0]) best = [at, word.length];
  }
  return best;
}
