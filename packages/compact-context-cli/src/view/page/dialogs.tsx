import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ExpandedView } from "../session-view.ts";
import { api } from "./data.ts";
import { Tick } from "./list.tsx";
import { compaction, openCompaction, session, shown, step, tab } from "./state.ts";
import { count, firstLine, GLOSSARY, reasonOf, visibleText } from "./text.ts";

/** A dialog with the whole text of a message, piece by piece; Escape closes it and gives the focus back. */
export function MessageDialog(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const pieces = useSignal<readonly ExpandedView[]>([]);
  const problem = useSignal<string | undefined>(undefined);
  const about = shown.value;
  const load = async (offset: number): Promise<void> => {
    if (about === undefined) return;
    try {
      const piece = await api.expand(about.session, about.wanted, offset);
      // Meanwhile another message may have been opened.
      if (shown.value === about) pieces.value = offset === 0 ? [piece] : [...pieces.value, piece];
    } catch (error) {
      if (shown.value === about) problem.value = reasonOf(error);
    }
  };
  useEffect(() => {
    pieces.value = [];
    problem.value = undefined;
    if (about === undefined) return;
    if (dialog.current?.open === false) dialog.current.showModal();
    void load(0);
  }, [about]);
  const [first] = pieces.value;
  const last = pieces.value.at(-1);
  const next = last?.next;
  return (
    <dialog
      ref={dialog}
      class="message-dialog"
      aria-labelledby="message-title"
      onClose={() => (shown.value = undefined)}
      closedby="any"
    >
      <header>
        <div>
          <h2 id="message-title">{about?.title}</h2>
          <p class="facts">{first === undefined ? "" : factsOf(first)}</p>
        </div>
        <button type="button" class="quiet" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and keys scroll only what has the focus */}
      <section class="whole" tabIndex={0} aria-label="Text">
        {problem.value !== undefined && <p class="problem">{problem.value}</p>}
        {first === undefined && problem.value === undefined && <p class="empty">…</p>}
        {first?.characters === 0 && <p class="empty">This message has no text.</p>}
        {pieces.value.flatMap(({ text, offset }) =>
          blocks(text).map((block, place) => (
            <pre key={`${offset} ${place}`} dir="auto">
              {block}
            </pre>
          )),
        )}
      </section>
      {last !== undefined && next !== undefined && (
        <button type="button" class="more" onClick={() => void load(next)}>
          {`Show more (${count(next)} of ${count(last.characters)} characters)`}
        </button>
      )}
    </dialog>
  );
}

/** Lines in blocks, so that the browser lays out only those in sight. */
function blocks(text: string): string[] {
  const lines = visibleText(text).split("\n");
  return Array.from({ length: Math.ceil(lines.length / 100) }, (_, block) =>
    lines.slice(block * 100, (block + 1) * 100).join("\n"),
  );
}

function factsOf({ role, characters, archiveId, redacted }: ExpandedView): string {
  return [
    firstLine(role, 24),
    `${count(characters)} characters`,
    archiveId === undefined ? "" : `archive id ${firstLine(archiveId, 80)}`,
    redacted ? "secrets were taken out" : "",
  ]
    .filter((part) => part !== "")
    .join(" · ");
}

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "search the archive"],
  ["[  ]", "compaction before, compaction after"],
  ["+  −  0", "fewer calls in the chart, more, all"],
  ["?", "this list"],
  ["Tab", "from part to part"],
  ["← → ↑ ↓", "inside a part: calls, tabs, compactions, rows, lines of a summary"],
  ["Page ↑ ↓", "ten calls, or a page of rows"],
  ["Home  End", "first, last"],
  ["Enter", "a message whole"],
  ["Escape", "closes; takes marks away"],
];
const SETTING = "compact-view-keys";

/** The keys that work everywhere, and the dialog that lists them, turns the single ones off, and explains the words. */
export function Keys({ zoom }: { zoom(by: number): void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOn = useSignal(remembered());
  useEffect(() => remember(isOn.value), [isOn.value]);
  useEffect(() => {
    const act: Readonly<Record<string, () => void>> = {
      "/": toSearch,
      "[": () => turn(-1),
      "]": () => turn(1),
      "+": () => zoom(0.5),
      "-": () => zoom(2),
      "0": () => zoom(Number.POSITIVE_INFINITY),
      "?": () => dialog.current?.showModal(),
    };
    const pressed = (event: KeyboardEvent): void => {
      const isTyping =
        event.target instanceof HTMLElement && event.target.matches("input[type=search], textarea");
      const run = act[event.key];
      if (run === undefined || isTyping || !isOn.value || event.ctrlKey || event.metaKey || event.altKey)
        return;
      if (document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      run();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
  return (
    <>
      <button
        type="button"
        id="keys-button"
        class="quiet"
        aria-haspopup="dialog"
        onClick={() => dialog.current?.showModal()}
      >
        Keys and words
      </button>
      <dialog ref={dialog} class="keys-dialog" aria-labelledby="keys-title">
        <header>
          <h2 id="keys-title">Keys and words</h2>
          <button type="button" class="quiet" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </header>
        <dl>
          {KEYS.map(([key, does]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
        <Tick label="single keys do something" on={isOn} />
        <dl class="glossary">
          {Object.entries(GLOSSARY).map(([word, means]) => (
            <div key={word}>
              <dt>{word}</dt>
              <dd>{means}</dd>
            </div>
          ))}
        </dl>
      </dialog>
    </>
  );
}

function toSearch(): void {
  tab.value = "archive";
  requestAnimationFrame(() => requestAnimationFrame(() => document.getElementById("search")?.focus()));
}

/** To the compaction before or after the one that is opened, or the call that is looked at. */
function turn(by: number): void {
  const { compactions = [] } = session.value ?? {};
  if (compactions.length === 0) return;
  const at = step.value;
  const before = compactions.findLastIndex((each) => each.step < at);
  const after = compactions.findIndex((each) => each.step > at);
  const nearest = by < 0 ? before : after < 0 ? compactions.length - 1 : after;
  const next = tab.value === "compaction" ? compaction.value + by : nearest;
  openCompaction(Math.max(0, Math.min(compactions.length - 1, next)));
}

// Storage may be forbidden: the keys then are on until the page is left.
function remembered(): boolean {
  try {
    return localStorage.getItem(SETTING) !== "off";
  } catch {
    return true;
  }
}

function remember(isOn: boolean): void {
  try {
    localStorage.setItem(SETTING, isOn ? "on" : "off");
  } catch {
    // Nothing to do: it is on or off for this page.
  }
}
