import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { SearchHitView, SearchView, SessionView } from "../session-view.ts";
import { Checkbox, List } from "./list.tsx";
import { openMessage, search, session } from "./state.ts";
import { count, errorText, firstLine, plural, splitMatches } from "./text.ts";

const DEBOUNCE_MS = 180;

/** The search and its results. */
function useSearch(active: SessionView | undefined) {
  const query = useSignal("");
  const everywhere = useSignal(false);
  const hits = useSignal<readonly SearchHitView[]>([]);
  const words = useSignal<readonly string[]>([]);
  const status = useSignal("");
  const selected = useSignal(-1);
  const timer = useRef(0);
  const running = useRef(new AbortController());
  const run = async (): Promise<void> => {
    window.clearTimeout(timer.current);
    running.current.abort();
    running.current = new AbortController();
    const { signal } = running.current;
    const show = (found: readonly SearchHitView[], message: string): void => {
      hits.value = found;
      status.value = message;
      selected.value = -1;
    };
    const text = query.value.trim();
    if (text === "") return show([], "");
    try {
      const found = await search(text, everywhere.value ? undefined : session.value?.id, signal);
      words.value = text.toLowerCase().split(/\s+/);
      show(found.hits, resultText(found));
    } catch (error) {
      if (!signal.aborted) show([], errorText(error));
    }
  };
  useEffect(() => void run(), [active?.id, everywhere.value]);
  /** Runs after a pause in typing. */
  const runSoon = (): void => {
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => void run(), DEBOUNCE_MS);
  };
  return { query, everywhere, hits, words, status, selected, run, runSoon };
}

/** Full-text search over the originals, and lookup by archive id. */
export function ArchivePanel(): JSX.Element {
  const active = session.value;
  const { query, everywhere, hits, words, status, selected, run, runSoon } = useSearch(active);
  const open = (index: number): void => {
    const hit = hits.value[index];
    if (hit !== undefined)
      openMessage.value = { session: hit.session, ref: { archiveId: hit.archiveId }, title: titleOf(hit) };
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
            selected.value = 0;
            document.getElementById("hits")?.focus();
          }}
        >
          <label class="visually-hidden" for="search">
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
              runSoon();
            }}
          />
          <Checkbox label="all sessions" on={everywhere} />
        </form>
      </search>
      <p class="caption" role="status">
        {active?.source === "events" && !everywhere.value
          ? "This session has no searchable originals."
          : status.value}
      </p>
      <List
        id="hits"
        label="Found messages"
        empty="The archive holds every message that left the window. Search it here."
        length={hits.value.length}
        resetKey={hits.value}
        selected={selected.value}
        select={(index) => (selected.value = index)}
        open={open}
        row={(index) => hitRow(hits.value[index], words.value)}
      />
    </div>
  );
}

function resultText({ hits, problems, query }: SearchView): string {
  const unreadable = problems === 0 ? "" : ` ${plural(problems, "line")} of the archive could not be read.`;
  if (hits.length === 0) return `No results for “${firstLine(query, 60)}”.${unreadable}`;
  return `${plural(hits.length, "message")} found.${unreadable}`;
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
  const pieces = splitMatches(firstLine(hit.snippet, 400), words);
  const content = (
    <>
      <span class="number">{hit.message === undefined ? "" : count(hit.message + 1)}</span>
      <span class="role">{firstLine(hit.role, 24)}</span>
      <span class="gist" dir="auto">
        {pieces.map(({ text, found }, index) => (found ? <mark key={index}>{text}</mark> : text))}
      </span>
      <span class="tokens">{`step ${count(hit.step)}`}</span>
    </>
  );
  return { kind: "hit", content };
}
