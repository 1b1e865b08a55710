import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { SearchHitView, SearchView } from "../session-view.ts";
import { api } from "./data.ts";
import { List, Tick } from "./list.tsx";
import { session, shown } from "./state.ts";
import { count, firstLine, marked as markedPieces, plural, reasonOf } from "./text.ts";

/** Milliseconds without a key after which the search begins. */
const PAUSE = 180;

/** Search over the originals, and expand by id. */
export function ArchivePanel(): JSX.Element {
  const query = useSignal("");
  const everywhere = useSignal(false);
  const hits = useSignal<readonly SearchHitView[]>([]);
  const words = useSignal<readonly string[]>([]);
  const status = useSignal("");
  const marked = useSignal(-1);
  const timer = useRef(0);
  const running = useRef(new AbortController());
  const about = session.value;
  const run = async (): Promise<void> => {
    window.clearTimeout(timer.current);
    running.current.abort();
    running.current = new AbortController();
    const { signal } = running.current;
    const show = (found: readonly SearchHitView[], text: string): void => {
      hits.value = found;
      status.value = text;
      marked.value = -1;
    };
    const asked = query.value.trim();
    if (asked === "") return show([], "");
    try {
      const found = await api.search(asked, everywhere.value ? undefined : session.value?.id, signal);
      words.value = asked.toLowerCase().split(/\s+/);
      show(found.hits, said(found));
    } catch (error) {
      if (!signal.aborted) show([], reasonOf(error));
    }
  };
  useEffect(() => void run(), [about?.id, about?.searchable, everywhere.value]);
  const open = (index: number): void => {
    const hit = hits.value[index];
    if (hit !== undefined)
      shown.value = { session: hit.session, wanted: { archiveId: hit.archiveId }, title: titleOf(hit) };
  };
  return (
    <div class="stack">
      <search>
        <form
          class="search"
          onSubmit={(event) => {
            event.preventDefault();
            void run();
          }}
          onKeyDown={(event) => {
            if (event.key !== "ArrowDown" || hits.value.length === 0) return;
            event.preventDefault();
            marked.value = 0;
            document.getElementById("hits")?.focus();
          }}
        >
          <label class="unseen" for="search">
            Search the archive
          </label>
          <input
            type="search"
            id="search"
            autocomplete="off"
            spellcheck={false}
            placeholder="Words, a file, an error, an archive id …"
            value={query.value}
            onInput={({ currentTarget }) => {
              query.value = currentTarget.value;
              window.clearTimeout(timer.current);
              timer.current = window.setTimeout(() => void run(), PAUSE);
            }}
          />
          <Tick label="all sessions" on={everywhere} />
        </form>
      </search>
      <p class="caption" role="status">
        {about?.searchable === false && !everywhere.value
          ? "This session keeps no originals that could be searched."
          : status.value}
      </p>
      <List
        id="hits"
        label="Found messages"
        empty="What left the window is in the archive, word for word. Search it here."
        length={hits.value.length}
        about={hits.value}
        marked={marked.value}
        mark={(index) => (marked.value = index)}
        open={open}
        row={(index) => hitRow(hits.value[index], words.value)}
      />
    </div>
  );
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

function hitRow(
  hit: SearchHitView | undefined,
  words: readonly string[],
): { readonly kind: string; readonly content: JSX.Element | null } {
  if (hit === undefined) return { kind: "hit", content: null };
  const pieces = markedPieces(firstLine(hit.snippet, 400), words);
  const content = (
    <>
      <span class="number">{hit.message === undefined ? "" : count(hit.message + 1)}</span>
      <span class="role">{firstLine(hit.role, 24)}</span>
      <span class="gist" dir="auto">
        {pieces.map(({ text, found }, place) => (found ? <mark key={place}>{text}</mark> : text))}
      </span>
      <span class="tokens">{`step ${count(hit.step)}`}</span>
    </>
  );
  return { kind: "hit", content };
}
