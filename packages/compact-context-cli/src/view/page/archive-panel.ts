import type { SearchHitView, SearchView } from "../session-view.ts";
import { element, fill } from "./dom.ts";
import { reasonOf } from "./message-dialog.ts";
import { count, plural } from "./numbers.ts";
import type { Shared } from "./shared.ts";
import { createVirtualList } from "./virtual-list.ts";
import { firstLine } from "./visible-text.ts";
import { marked } from "./word-marks.ts";

type Search = (query: string, session: string | undefined, signal: AbortSignal) => Promise<SearchView>;

/** Milliseconds without a key after which the search begins. */
const PAUSE = 180;

/** Search over the originals, and expand by id. */
export function createArchivePanel({ store, showMessage }: Shared, search: Search): HTMLElement {
  let hits: readonly SearchHitView[] = [];
  let words: readonly string[] = [];
  const form = createForm(() => void run());
  const status = element("p", { class: "caption", role: "status" });
  const open = (index: number): void => {
    const hit = hits[index];
    if (hit !== undefined) showMessage(hit.session, { archiveId: hit.archiveId }, { title: titleOf(hit) });
  };
  const list = createVirtualList({
    label: "Found messages",
    empty: "What left the window is in the archive, word for word. Search it here.",
    render: (node, index) => drawHit(node, hits[index], words),
    open,
    mark: () => undefined,
  });
  list.node.addEventListener("click", () => open(list.marked()));
  const show = (found: readonly SearchHitView[], said: string): void => {
    hits = found;
    status.textContent = said;
    list.show(hits.length, true);
  };

  let running = new AbortController();
  const run = async (): Promise<void> => {
    running.abort();
    running = new AbortController();
    const { signal } = running;
    const query = form.query();
    if (query === "") return show([], "");
    try {
      const session = form.everywhere() ? undefined : store.get().session?.id;
      const found = await search(query, session, signal);
      words = query.toLowerCase().split(/\s+/);
      show(found.hits, said(found));
    } catch (error) {
      if (!signal.aborted) show([], reasonOf(error));
    }
  };

  form.node.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" || hits.length === 0) return;
    event.preventDefault();
    list.node.focus();
    list.reveal(0);
  });
  let about: string | undefined;
  store.watch(["session"], ({ session }) => {
    if (about === session?.id) return;
    about = session?.id;
    const searchable = session?.searchable === true;
    show([], searchable ? "" : "This session keeps no originals that could be searched.");
    if (searchable) void run();
  });
  return element("div", { class: "stack" }, form.node, status, list.node);
}

interface Form {
  readonly node: HTMLElement;
  query(): string;
  everywhere(): boolean;
}

function createForm(run: () => void): Form {
  const placeholder = "Words, a file, an error, an archive id …";
  const attributes = { type: "search", id: "search", autocomplete: "off", spellcheck: "false", placeholder };
  const field = element("input", attributes);
  const everywhere = element("input", { type: "checkbox" });
  const node = element(
    "form",
    { class: "search", role: "search" },
    element("label", { class: "unseen", for: "search" }, "Search the archive"),
    field,
    element("label", { class: "check" }, everywhere, "all sessions"),
  );
  let timer = 0;
  field.addEventListener("input", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(run, PAUSE);
  });
  everywhere.addEventListener("change", run);
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    window.clearTimeout(timer);
    run();
  });
  return { node, query: () => field.value.trim(), everywhere: () => everywhere.checked };
}

function said({ hits, problems, query }: SearchView): string {
  const lost = problems === 0 ? "" : ` ${plural(problems, "line")} of the archive could not be read.`;
  if (hits.length === 0) return `Nothing was found for “${firstLine(query, 60)}”.${lost}`;
  return `${plural(hits.length, "message")} found.${lost}`;
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
    element("span", { class: "gist", dir: "auto" }, ...texts(marked(firstLine(hit.snippet, 400), words))),
    element("span", { class: "tokens" }, `step ${count(hit.step)}`),
  );
}

function texts(pieces: ReturnType<typeof marked>): (HTMLElement | string)[] {
  return pieces.map(({ text, found }) => (found ? element("mark", {}, text) : text));
}
