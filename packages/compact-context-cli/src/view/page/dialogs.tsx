import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ExpandedView } from "../session-view.ts";
import { Checkbox } from "./list.tsx";
import { compaction, expand, openCompaction, openMessage, session, step, tab } from "./state.ts";
import { count, errorText, firstLine, GLOSSARY, visibleText } from "./text.ts";

/** A dialog with the full text of a message, loaded in chunks. */
export function MessageDialog(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const chunks = useSignal<readonly ExpandedView[]>([]);
  const problem = useSignal<string | undefined>(undefined);
  const target = openMessage.value;
  const load = async (offset: number): Promise<void> => {
    if (target === undefined) return;
    try {
      const chunk = await expand(target.session, target.ref, offset);
      // Another message may have been opened meanwhile.
      if (openMessage.value === target) chunks.value = offset === 0 ? [chunk] : [...chunks.value, chunk];
    } catch (error) {
      if (openMessage.value === target) problem.value = errorText(error);
    }
  };
  useEffect(() => {
    chunks.value = [];
    problem.value = undefined;
    if (target === undefined) return;
    if (dialog.current?.open === false) dialog.current.showModal();
    void load(0);
  }, [target]);
  const [first] = chunks.value;
  const last = chunks.value.at(-1);
  const next = last?.next;
  return (
    <dialog
      ref={dialog}
      class="message-dialog"
      aria-labelledby="message-title"
      onClose={() => (openMessage.value = undefined)}
      closedby="any"
    >
      <header>
        <div>
          <h2 id="message-title">{target?.title}</h2>
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
        {chunks.value.flatMap(({ text, offset }) =>
          blocks(text).map((block, index) => (
            <pre key={`${offset} ${index}`} dir="auto">
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

/** Blocks of lines: the browser lays out only the visible ones. */
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
    redacted ? "secrets redacted" : "",
  ]
    .filter((part) => part !== "")
    .join(" · ");
}

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "search the archive"],
  ["[  ]", "previous, next compaction"],
  ["+  −  0", "zoom the chart in, out, show all"],
  ["?", "this list"],
  ["Tab", "next part of the page"],
  ["← → ↑ ↓", "move in a part: calls, tabs, compactions, rows, lines of a summary"],
  ["Page ↑ ↓", "ten calls, or a page of rows"],
  ["Home  End", "first, last"],
  ["Enter", "open a message"],
  ["Escape", "close; clear the selection"],
];
const SETTING = "compact-view-keys";

/** The global shortcuts, and the dialog that lists them, turns single keys off and defines the terms. */
export function Keys({ zoom }: { zoom(by: number): void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOn = useSignal(readSetting());
  useEffect(() => writeSetting(isOn.value), [isOn.value]);
  useEffect(() => {
    const actions: Readonly<Record<string, () => void>> = {
      "/": focusSearch,
      "[": () => moveCompaction(-1),
      "]": () => moveCompaction(1),
      "+": () => zoom(0.5),
      "-": () => zoom(2),
      "0": () => zoom(Number.POSITIVE_INFINITY),
      "?": () => dialog.current?.showModal(),
    };
    const onKeyDown = (event: KeyboardEvent): void => {
      const isTyping =
        event.target instanceof HTMLElement && event.target.matches("input[type=search], textarea");
      const run = actions[event.key];
      if (run === undefined || isTyping || !isOn.value || event.ctrlKey || event.metaKey || event.altKey)
        return;
      if (document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      run();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
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
        Keys and terms
      </button>
      <dialog ref={dialog} class="keys-dialog" aria-labelledby="keys-title">
        <header>
          <h2 id="keys-title">Keys and terms</h2>
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
        <Checkbox label="enable single-key shortcuts" on={isOn} />
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

function focusSearch(): void {
  tab.value = "archive";
  requestAnimationFrame(() => requestAnimationFrame(() => document.getElementById("search")?.focus()));
}

/** Opens the compaction before or after the open one, or the selected call. */
function moveCompaction(by: number): void {
  const { compactions = [] } = session.value ?? {};
  if (compactions.length === 0) return;
  const at = step.value;
  const before = compactions.findLastIndex((each) => each.step < at);
  const after = compactions.findIndex((each) => each.step > at);
  const nearest = by < 0 ? before : after < 0 ? compactions.length - 1 : after;
  const next = tab.value === "compaction" ? compaction.value + by : nearest;
  openCompaction(Math.max(0, Math.min(compactions.length - 1, next)));
}

// Storage may be blocked: then the setting lasts as long as the page.
function readSetting(): boolean {
  try {
    return localStorage.getItem(SETTING) !== "off";
  } catch {
    return true;
  }
}

function writeSetting(isOn: boolean): void {
  try {
    localStorage.setItem(SETTING, isOn ? "on" : "off");
  } catch {
    // The setting is not stored.
  }
}
