import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ContentRow } from "./data.ts";
import { count, firstLine, GLOSSARY, KINDS, OUTCOMES, plural } from "./text.ts";

/** What a list box needs to know about its rows; all of them are equally high (`--row` in the style sheet). */
interface ListProps {
  /** What a screen reader calls the list. */
  readonly label: string;
  readonly length: number;
  /** The marked row, -1 for none. */
  readonly marked: number;
  /** Another row was marked: by arrow keys or by a click. */
  mark(index: number): void;
  /** A row was double-clicked, or Enter was pressed on it. */
  open(index: number): void;
  /** What stands in a row, and its class. */
  row(index: number): { readonly kind: string; readonly content: ComponentChildren };
  /** Said in place of rows where there are none. */
  readonly empty: string;
  /** There are no rows because they are on their way. */
  readonly isWaiting?: boolean;
  /** The list begins at its top again when this becomes another. */
  readonly about: unknown;
  /** A row to bring into the middle of the sight whenever the object becomes another. */
  readonly reveal?: { readonly index: number };
  /** Named so that others can give it the focus. */
  readonly id?: string;
}

/** Rows drawn above and below what is in sight, so that a flick of the wheel shows no gap. */
const SPARE = 8;
let lists = 0;

/** A list box of any length of which only the rows in sight are in the document. */
export function List(props: ListProps): JSX.Element {
  const { label, length, marked, empty, isWaiting = false, about, reveal, id } = props;
  const node = useRef<HTMLDivElement>(null);
  const [prefix] = useState(() => {
    lists += 1;
    return `list-${lists}-row-`;
  });
  const [sight, setSight] = useState({ top: 0, height: 0, row: 30 });
  const measure = (): void => {
    const { current } = node;
    if (current === null) return;
    const row = Number.parseFloat(getComputedStyle(current).getPropertyValue("--row")) || 30;
    const { scrollTop: top, clientHeight: height } = current;
    setSight((known) =>
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
  }, [about]);
  // Who looks at the end stays there.
  useLayoutEffect(() => {
    if (wasAtEnd.current && node.current !== null) node.current.scrollTop = length * sight.row;
  }, [length]);
  useLayoutEffect(() => {
    if (reveal === undefined || node.current === null) return;
    node.current.scrollTop = Math.max(0, (reveal.index + 0.5) * sight.row - node.current.clientHeight / 2);
    measure();
  }, [reveal]);

  const scrolled = (): void => {
    const { current } = node;
    if (current !== null) {
      const { scrollTop, clientHeight } = current;
      wasAtEnd.current = scrollTop > 0 && scrollTop + clientHeight >= length * sight.row - 2;
    }
    measure();
  };
  const move = (to: number): void => {
    const { current } = node;
    if (length === 0 || current === null) return;
    const index = Math.max(0, Math.min(length - 1, to));
    const top = index * sight.row;
    current.scrollTop = Math.min(top, Math.max(top + sight.row - current.clientHeight, current.scrollTop));
    measure();
    props.mark(index);
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(sight.height / sight.row) - 1);
    const to = {
      ArrowDown: marked + 1,
      ArrowUp: marked - 1,
      PageDown: marked + page,
      PageUp: marked - page,
      Home: 0,
      End: length - 1,
    }[event.key];
    if (to !== undefined) move(to);
    else if (event.key === "Enter" && marked >= 0) props.open(marked);
    else return;
    event.preventDefault();
  };

  const first = Math.max(0, Math.floor(sight.top / sight.row) - SPARE);
  const last = Math.min(length, Math.ceil((sight.top + sight.height) / sight.row) + SPARE);
  return (
    <div
      ref={node}
      id={id}
      class="list"
      role="listbox"
      tabIndex={0}
      aria-label={label}
      aria-busy={isWaiting}
      aria-activedescendant={marked >= first && marked < last ? `${prefix}${marked}` : undefined}
      onScroll={scrolled}
      onKeyDown={pressed}
      onClick={(event) => at(event, move)}
      onDblClick={(event) => at(event, props.open)}
    >
      <div class="rows" role="presentation" style={{ height: `${length * sight.row}px` }}>
        <Rows {...props} prefix={prefix} first={first} last={last} height={sight.row} />
      </div>
      {length === 0 && <p class="empty">{isWaiting ? "…" : empty}</p>}
    </div>
  );
}

interface Drawn {
  readonly prefix: string;
  readonly first: number;
  readonly last: number;
  /** Of one row, in pixels. */
  readonly height: number;
}

/** Does something with the row that an event of the list happened on. */
function at(event: MouseEvent, act: (index: number) => void): void {
  const row = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-index]") : null;
  if (row !== null) act(Number(row.dataset.index));
}

/** The rows in sight. */
function Rows({ prefix, first, last, height, length, marked, row }: ListProps & Drawn): JSX.Element {
  const places = Array.from({ length: Math.max(0, last - first) }, (_, place) => first + place);
  return (
    <>
      {places.map((index) => {
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
            aria-selected={index === marked}
            style={{ transform: `translateY(${index * height}px)` }}
          >
            {content}
          </div>
        );
      })}
    </>
  );
}

/** Moves the focus among the buttons of a group by arrow keys: one tab stop for all of them. */
export function rove(event: KeyboardEvent): void {
  const group = event.currentTarget as HTMLElement;
  const buttons = [...group.querySelectorAll<HTMLButtonElement>("button[data-rove]")];
  const from = buttons.indexOf(document.activeElement as HTMLButtonElement);
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const to = step === undefined ? { Home: 0, End: buttons.length - 1 }[event.key] : from + step;
  if (from < 0 || to === undefined) return;
  event.preventDefault();
  buttons[Math.max(0, Math.min(buttons.length - 1, to))]?.focus();
}

/** Tokens of the largest row that bars are measured against; a few giants do not make all others invisible. */
const FULL_BAR = 4000;

interface RowShape extends ContentRow {
  /** Tokens after a compaction, where the row tells of one. */
  readonly tokensAfter?: number;
}

const ROLES = ["user", "assistant", "tool", "system", "developer", "summary"];

/** One message on one line: number, role, what became of it, its beginning, its tokens with a bar. */
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

/** What a row is, in a line. */
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

/** The strip under a list that says more about its marked row. */
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
  const said = [...facts, id].filter((fact) => fact !== "").join(" · ");
  return (
    <div class="detail">
      <p title={said}>
        {row === undefined ? hint : <strong>{titleOf(row)}</strong>}
        {row !== undefined && said !== "" && ` · ${said}`}
      </p>
      {open !== undefined && (
        <button type="button" class="quiet" onClick={open}>
          Show whole
        </button>
      )}
    </div>
  );
}

/** A word of the page with plain words about it where the pointer rests. */
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

/** A box to tick. */
export function Tick({
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
