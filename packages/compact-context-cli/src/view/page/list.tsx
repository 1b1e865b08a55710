import type { ComponentChildren, JSX, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ContentRow } from "./rows.ts";
import { count, firstLine, GLOSSARY, KINDS, OUTCOMES, plural } from "./text.ts";

/** All rows have the same height (`--row` in the style sheet). */
interface ListProps {
  /** The accessible name. */
  readonly label: string;
  readonly length: number;
  /** Index of the selected row; -1 for none. */
  readonly selected: number;
  /** Called when a key or a click selects a row. */
  select(index: number): void;
  /** Called on a double click, and on Enter. */
  open(index: number): void;
  /** The content of a row and its CSS classes. */
  row(index: number): { readonly kind: string; readonly content: ComponentChildren };
  /** Shown if there are no rows. */
  readonly empty: string;
  /** True while the rows are loading. */
  readonly isWaiting?: boolean;
  /** A change scrolls to the top. */
  readonly resetKey: unknown;
  /** A change scrolls this row to the middle. */
  readonly reveal?: { readonly index: number };
  /** The element id, to focus the list from elsewhere. */
  readonly id?: string;
}

/** Rows rendered above and below the visible ones, so that fast scrolling shows no gap. */
const OVERSCAN = 8;
let lists = 0;

/** The visible part of a list, in pixels. */
interface Viewport {
  readonly top: number;
  readonly height: number;
  /** Height of one row. */
  readonly row: number;
}

/** Measures the list's viewport and scrolls it: to a row, to the top on a reset, and with a growing end. */
function useViewport(
  node: RefObject<HTMLDivElement>,
  { length, resetKey, reveal }: Pick<ListProps, "length" | "resetKey" | "reveal">,
): { readonly viewport: Viewport; onScroll(): void; scrollTo(index: number): void } {
  const [viewport, setViewport] = useState<Viewport>({ top: 0, height: 0, row: 30 });
  const measure = (): void => {
    const { current } = node;
    if (current === null) return;
    const row = Number.parseFloat(getComputedStyle(current).getPropertyValue("--row")) || 30;
    const { scrollTop: top, clientHeight: height } = current;
    setViewport((known) =>
      known.top === top && known.height === height && known.row === row ? known : { top, height, row },
    );
  };
  const wasAtEnd = useRef(false);
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    if (node.current !== null) observer.observe(node.current);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (node.current !== null) node.current.scrollTop = 0;
    measure();
  }, [resetKey]);
  // A list scrolled to its end follows it.
  useLayoutEffect(() => {
    if (wasAtEnd.current && node.current !== null) node.current.scrollTop = length * viewport.row;
  }, [length]);
  useLayoutEffect(() => {
    if (reveal === undefined || node.current === null) return;
    node.current.scrollTop = Math.max(0, (reveal.index + 0.5) * viewport.row - node.current.clientHeight / 2);
    measure();
  }, [reveal]);
  return {
    viewport,
    onScroll() {
      const { current } = node;
      if (current !== null) {
        const { scrollTop, clientHeight } = current;
        wasAtEnd.current = scrollTop > 0 && scrollTop + clientHeight >= length * viewport.row - 2;
      }
      measure();
    },
    scrollTo(index) {
      const { current } = node;
      if (current === null) return;
      const top = index * viewport.row;
      const lowest = Math.max(top + viewport.row - current.clientHeight, current.scrollTop);
      current.scrollTop = Math.min(top, lowest);
      measure();
    },
  };
}

/** A virtualized list box: only the visible rows are in the document. */
export function List(props: ListProps): JSX.Element {
  const { label, length, selected, empty, isWaiting = false, id } = props;
  const node = useRef<HTMLDivElement>(null);
  const [prefix] = useState(() => {
    lists += 1;
    return `list-${lists}-row-`;
  });
  const { viewport, onScroll, scrollTo } = useViewport(node, props);
  const move = (to: number): void => {
    if (length === 0) return;
    const index = Math.max(0, Math.min(length - 1, to));
    scrollTo(index);
    props.select(index);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(viewport.height / viewport.row) - 1);
    const to = {
      ArrowDown: selected + 1,
      ArrowUp: selected - 1,
      PageDown: selected + page,
      PageUp: selected - page,
      Home: 0,
      End: length - 1,
    }[event.key];
    if (to !== undefined) move(to);
    else if (event.key === "Enter" && selected >= 0) props.open(selected);
    else return;
    event.preventDefault();
  };

  const first = Math.max(0, Math.floor(viewport.top / viewport.row) - OVERSCAN);
  const last = Math.min(length, Math.ceil((viewport.top + viewport.height) / viewport.row) + OVERSCAN);
  return (
    <div
      ref={node}
      id={id}
      class="list"
      role="listbox"
      tabIndex={0}
      aria-label={label}
      aria-busy={isWaiting}
      aria-activedescendant={selected >= first && selected < last ? `${prefix}${selected}` : undefined}
      onScroll={onScroll}
      onKeyDown={onKeyDown}
      onClick={(event) => withRow(event, move)}
      onDblClick={(event) => withRow(event, props.open)}
    >
      <div class="rows" role="presentation" style={{ height: `${length * viewport.row}px` }}>
        <Rows {...props} prefix={prefix} first={first} last={last} height={viewport.row} />
      </div>
      {length === 0 && <p class="empty">{isWaiting ? "…" : empty}</p>}
    </div>
  );
}

interface RenderedRange {
  readonly prefix: string;
  readonly first: number;
  readonly last: number;
  /** Of one row, in pixels. */
  readonly height: number;
}

/** Calls `act` with the index of the row that an event happened on. */
function withRow(event: MouseEvent, act: (index: number) => void): void {
  const row = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-index]") : null;
  if (row !== null) act(Number(row.dataset.index));
}

/** The rendered rows. */
function Rows({
  prefix,
  first,
  last,
  height,
  length,
  selected,
  row,
}: ListProps & RenderedRange): JSX.Element {
  const indexes = Array.from({ length: Math.max(0, last - first) }, (_, offset) => first + offset);
  return (
    <>
      {indexes.map((index) => {
        const { kind, content } = row(index);
        return (
          // biome-ignore lint/a11y/useFocusableInteractive: the list box has the focus and names the active row
          <div
            key={index}
            id={`${prefix}${index}`}
            class={`row ${kind}`}
            role="option"
            data-index={index}
            aria-setsize={length}
            aria-posinset={index + 1}
            aria-selected={index === selected}
            style={{ transform: `translateY(${index * height}px)` }}
          >
            {content}
          </div>
        );
      })}
    </>
  );
}

/** Roving tabindex: arrow keys move the focus among the buttons of a group, which is one tab stop. */
export function moveFocus(event: KeyboardEvent): void {
  const group = event.currentTarget as HTMLElement;
  const buttons = [...group.querySelectorAll<HTMLButtonElement>("button[data-rove]")];
  const from = buttons.indexOf(document.activeElement as HTMLButtonElement);
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const to = step === undefined ? { Home: 0, End: buttons.length - 1 }[event.key] : from + step;
  if (from < 0 || to === undefined) return;
  event.preventDefault();
  buttons[Math.max(0, Math.min(buttons.length - 1, to))]?.focus();
}

/** Tokens of a full bar; capped, so that a few huge messages do not shrink all other bars. */
const FULL_BAR = 4000;

interface RowShape extends ContentRow {
  /** Tokens after the compaction, in a list of one. */
  readonly tokensAfter?: number;
}

const ROLES = ["user", "assistant", "tool", "system", "developer", "summary"];

/** A message row: number, role, outcome, preview, tokens with a bar. */
export function messageRow(
  row: RowShape | undefined,
  more = "",
): { readonly kind: string; readonly content: ComponentChildren } {
  if (row === undefined) return { kind: `message waiting ${more}`, content: <span class="gist">…</span> };
  const { kind, message, outcome, tool, path, preview, tokens, tokensAfter = tokens } = row;
  const role = kind === "summary" ? "summary" : firstLine(row.role, 24);
  const word = kind === "summary" ? "" : KINDS[kind];
  const isChanged = tokensAfter !== tokens && outcome !== "summarized";
  const width = (size: number): { width: string } => ({
    width: `${Math.min(100, (size / FULL_BAR) * 100)}%`,
  });
  const content = (
    <>
      <span class="number">{message === undefined ? "" : count(message + 1)}</span>
      <span class={`role role-${ROLES.includes(role) ? role : "other"}`}>{role}</span>
      {outcome !== undefined && (
        <span class="outcome" title={OUTCOMES[outcome].means}>
          <span class="sign" aria-hidden="true">
            {OUTCOMES[outcome].sign}
          </span>
          {OUTCOMES[outcome].word}
        </span>
      )}
      <span class="gist" dir="auto">
        {word !== "" && <span class={preview.trim() === "" ? "kind alone" : "kind"}>{`${word} `}</span>}
        {tool !== undefined && <span class="tool">{`${firstLine(tool, 60)} `}</span>}
        {path !== undefined && <span class="path">{`${firstLine(path, 120)} `}</span>}
        {firstLine(preview)}
      </span>
      <span class="tokens">{isChanged ? `${count(tokens)} → ${count(tokensAfter)}` : count(tokens)}</span>
      <span class="bar" aria-hidden="true">
        <span class="gone" style={width(tokens)} />
        <span class="left" style={width(tokensAfter)} />
      </span>
    </>
  );
  const outcomeClass = outcome === undefined ? "" : `outcome-${outcome}`;
  return { kind: `message ${more} ${outcomeClass} ${kind === "summary" ? "is-summary" : ""}`, content };
}

/** A one-line description of a row. */
export function titleOf({ message, summaryOf, role, kind, tokens, tokensAfter, outcome }: RowShape): string {
  const name =
    message === undefined
      ? kind === "summary"
        ? `Summary of compaction ${(summaryOf ?? 0) + 1}`
        : "Messages of the list"
      : `Message ${count(message + 1)}`;
  const what = message === undefined ? "" : ` · ${[firstLine(role, 24), KINDS[kind]].join(" ").trim()}`;
  const now = outcome === "summarized" ? 0 : (tokensAfter ?? tokens);
  const cost = now === tokens ? plural(tokens, "token") : `${count(tokens)} → ${count(now)} tokens`;
  return `${name}${what} · ${cost}`;
}

/** The strip under a list with details of the selected row. */
export function Detail({
  row,
  facts = [],
  hint,
  open,
}: {
  readonly row: RowShape | undefined;
  readonly facts?: readonly string[];
  readonly hint: string;
  readonly open?: () => void;
}): JSX.Element {
  const id = row?.archiveId === undefined ? "" : `archive id ${firstLine(row.archiveId, 60)}`;
  const description = [...facts, id].filter((fact) => fact !== "").join(" · ");
  return (
    <div class="detail">
      <p title={description}>
        {row === undefined ? hint : <strong>{titleOf(row)}</strong>}
        {row !== undefined && description !== "" && ` · ${description}`}
      </p>
      {open !== undefined && (
        <button type="button" class="quiet" onClick={open}>
          Show message
        </button>
      )}
    </div>
  );
}

/** A term with its definition as a tooltip. */
export function Term({
  name,
  children,
}: {
  readonly name: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  const means = GLOSSARY[name];
  return means === undefined ? (
    <span>{children ?? name}</span>
  ) : (
    <abbr title={means}>{children ?? name}</abbr>
  );
}

export function Checkbox({
  label,
  on,
}: {
  readonly label: string;
  readonly on: { value: boolean };
}): JSX.Element {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={on.value}
        onChange={({ currentTarget }) => (on.value = currentTarget.checked)}
      />
      {label}
    </label>
  );
}
