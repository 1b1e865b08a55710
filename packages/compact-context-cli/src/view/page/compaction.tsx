import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type {
  CompactionHead,
  CompactionView,
  MessageOutcome,
  Outcome,
  SessionView,
  SourceView,
  SummaryPiece,
} from "../session-view.ts";
import { Detail, List, messageRow, moveFocus, Term, titleOf } from "./list.tsx";
import { sum } from "./rows.ts";
import {
  announcement,
  compaction,
  type MessageRef,
  openCompaction,
  openMessage,
  originals,
  revision,
  session,
} from "./state.ts";
import {
  clockTimeAfter,
  count,
  duration,
  firstLine,
  LAYERS,
  OUTCOMES,
  percent,
  plural,
  reasonText,
  visibleText,
} from "./text.ts";

/** One compaction: the outcome of each message, and the summary next to the messages it replaced. */
export function CompactionPanel(): JSX.Element | null {
  const active = session.value;
  void revision.value;
  const head = active?.compactions[compaction.value];
  if (active === undefined) return null;
  if (head === undefined) {
    const words =
      active.steps.length === 0
        ? "No compaction yet."
        : "No compaction was needed: every call stayed below the trigger.";
    return (
      <div class="stack">
        <div class="compaction-head">
          <p class="empty">{words}</p>
        </div>
      </div>
    );
  }
  return (
    <div class="stack">
      <Head active={active} head={head} />
      <Opened key={`${active.id} ${head.index}`} active={active} view={originals.compaction(head.index)} />
    </div>
  );
}

function Head({
  active,
  head,
}: {
  readonly active: SessionView;
  readonly head: CompactionHead;
}): JSX.Element {
  const { index, tokensBefore, tokensAfter, failures } = head;
  const at = active.steps[head.step];
  const navButton = (by: number, sign: string, label: string): JSX.Element => (
    <button
      type="button"
      class="quiet turn"
      aria-label={label}
      disabled={active.compactions[index + by] === undefined}
      onClick={() => openCompaction(index + by)}
    >
      {sign}
    </button>
  );
  return (
    <div class="compaction-head">
      <div class="fall-line">
        {navButton(-1, "‹", "Previous compaction")}
        <h3>{`Compaction ${count(index + 1)} of ${count(active.compactions.length)}`}</h3>
        {navButton(1, "›", "Next compaction")}
        <strong>{`${count(tokensBefore)} → ${count(tokensAfter)} tokens`}</strong>
        <span class="less">{`${percent(tokensBefore - tokensAfter, tokensBefore)} less`}</span>
      </div>
      <p class="facts">
        {factsOf(head).map((fact, index) => (
          <span key={fact}>
            {index === 0 ? "" : " · "}
            {fact}
          </span>
        ))}
        {head.policy.map(({ name, value }) => (
          <span key={name}>
            {" · "}
            <Term name={name}>{firstLine(name.replaceAll("_", " "), 40)}</Term>
            {` ${firstLine(value, 60)}`}
          </span>
        ))}
      </p>
      {failures.map((failure) => (
        <p key={failure} class="failure">{`! ${firstLine(failure)}`}</p>
      ))}
      {at?.before !== undefined && <LayerBars active={active} before={at.before} after={at.tokens} />}
    </div>
  );
}

function factsOf(head: CompactionHead): string[] {
  const { step, at, reason, messagesBefore, messagesAfter, durationMs, summarizer, archiveStep } = head;
  const summary = [
    summarizer ?? "",
    head.summaryTokens === undefined ? "" : `${count(head.summaryTokens)} tokens`,
  ];
  const summaryFacts = summary.filter((part) => part !== "");
  const when = clockTimeAfter(at, session.value?.steps[0]?.at);
  return [
    `before call ${count(step + 1)}${when === "" ? "" : ` at ${when}`}`,
    reason === undefined ? "" : reasonText(reason),
    messagesBefore === undefined
      ? ""
      : messagesAfter === undefined
        ? plural(messagesBefore, "message")
        : `${count(messagesBefore)} → ${plural(messagesAfter, "message")}`,
    durationMs === undefined ? "" : `took ${duration(durationMs)}`,
    summaryFacts.length === 0 ? "" : `summary: ${firstLine(summaryFacts.join(", "), 80)}`,
    archiveStep === undefined ? "" : `originals: archive step ${count(archiveStep)}`,
  ].filter((fact) => fact !== "");
}

interface LayerBarsProps {
  readonly active: SessionView;
  readonly before: readonly number[];
  readonly after: readonly number[];
}

/** The tokens by layer before and after, as stacked bars on one scale. */
function LayerBars({ active, before, after }: LayerBarsProps): JSX.Element {
  const max = Math.max(active.window, 1, sum(before), sum(after));
  const bar = (name: string, tokens: readonly number[]): JSX.Element => {
    const parts = tokens.map((each, index) => ({ each, layer: active.layers[index] ?? "messages" }));
    const label = parts
      .filter(({ each }) => each > 0)
      .map(({ each, layer }) => `${LAYERS[layer].name} ${count(each)}`);
    return (
      <div class="layer-bar">
        <span class="name">{name}</span>
        <span class="track" role="img" aria-label={`${name}: ${label.join(", ")}`}>
          {parts.map(({ each, layer }) => (
            <span
              key={layer}
              class="piece"
              title={`${LAYERS[layer].name}: ${count(each)}`}
              style={{ "--layer": `var(--layer-${layer})`, width: `${(each / max) * 100}%` }}
            />
          ))}
        </span>
      </div>
    );
  };
  return (
    <div class="layer-bars">
      {bar("before", before)}
      {bar("after", after)}
    </div>
  );
}

const NONE: ReadonlySet<never> = new Set();
const HINT = "Select a line of the summary to see its sources.";

/** The visible rows of a compaction, and which of them are selected or marked as sources. */
function useSelection(messages: readonly MessageOutcome[]) {
  const hidden = useSignal<ReadonlySet<Outcome>>(NONE);
  /** Index of the selected row; -1 for none. */
  const selected = useSignal(-1);
  /** Index of the selected line of the summary. */
  const line = useSignal<number | undefined>(undefined);
  const sources = useSignal<ReadonlySet<number>>(NONE);
  const reveal = useSignal<{ readonly index: number } | undefined>(undefined);
  /** The source of the line that left the window at an earlier compaction. */
  const removedSource = useSignal<MessageRef | undefined>(undefined);
  const rows = messages.filter(({ outcome }) => !hidden.value.has(outcome));
  /** Marks the sources of a line, and selects the nearest one. */
  const follow = (all: readonly SourceView[], nearest: SourceView): void => {
    const isNearest = ({ message }: MessageOutcome): boolean => message === nearest.message;
    sources.value = new Set(all.map(({ message }) => message));
    if (!rows.some(isNearest)) hidden.value = NONE;
    const index = (rows.some(isNearest) ? rows : messages).findIndex(isNearest);
    removedSource.value = index < 0 ? { message: nearest.message } : undefined;
    if (index < 0) announcement.value = "That message left the window at an earlier compaction.";
    else {
      selected.value = index;
      reveal.value = { index };
    }
  };
  const clear = (): void => {
    if (sources.value.size > 0) announcement.value = "Selection cleared.";
    sources.value = NONE;
    line.value = undefined;
    selected.value = -1;
  };
  return { hidden, rows, selected, line, sources, reveal, removedSource, follow, clear };
}

function Opened({
  active,
  view,
}: {
  readonly active: SessionView;
  readonly view: CompactionView | undefined;
}): JSX.Element {
  const messages = view?.messages ?? [];
  const { hidden, rows, selected, line, sources, reveal, removedSource, follow, clear } =
    useSelection(messages);
  const row = rows[selected.value];
  const show = (ref: MessageRef, title: string): void => {
    openMessage.value = { session: active.id, ref, title };
  };
  const open = (index: number): void => {
    const found = rows[index];
    if (found === undefined) return;
    const ref = refOf(found);
    if (ref !== undefined) show(ref, titleOf(found));
    else if (found.summaryOf !== undefined) openCompaction(found.summaryOf);
  };
  const beside = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const onKeyDown = ({ key }: KeyboardEvent): void => {
      if (key === "Escape") clear();
    };
    beside.current?.addEventListener("keydown", onKeyDown);
    return () => beside.current?.removeEventListener("keydown", onKeyDown);
  });
  const highlighted = row?.message === undefined || line.value !== undefined ? undefined : row.message;
  const source = row === undefined ? removedSource.value : undefined;
  const openSelected = (): void =>
    source === undefined ? open(selected.value) : show(source, "Source of this line");
  const lines = view?.summary.filter((piece) => hasSource(piece, row?.message)).length ?? 0;
  return (
    <div class="beside" ref={beside}>
      <div class="column">
        <Filters messages={messages} hidden={hidden.value} change={(now) => (hidden.value = now)} />
        <List
          label="Messages and their outcomes"
          empty="The outcome of each message is not known."
          length={rows.length}
          isWaiting={view === undefined}
          resetKey={view === undefined}
          selected={selected.value}
          select={(index) => {
            selected.value = index;
            line.value = undefined;
          }}
          open={open}
          reveal={reveal.value}
          row={(index) => {
            const found = rows[index];
            const isSource = found?.message !== undefined && sources.value.has(found.message);
            return messageRow(found, isSource ? "with-outcome source" : "with-outcome");
          }}
        />
        <Detail
          row={row}
          facts={[row?.reason ?? "", lines === 0 ? "" : `in ${plural(lines, "line")} of the summary`]}
          hint={source === undefined ? HINT : "Its source left the window at an earlier compaction."}
          open={(row ?? source) ? openSelected : undefined}
        />
      </div>
      <div class="column summary-column">
        <h3>
          <Term name="summary">Summary</Term>
        </h3>
        <Summary
          view={view}
          selected={line.value}
          highlighted={highlighted}
          select={(index, all) => {
            line.value = index;
            selected.value = -1;
            const [nearest] = all;
            if (nearest === undefined) return;
            announcement.value = `${plural(all.length, "source")} marked in the list.`;
            follow(all, nearest);
          }}
          follow={follow}
        />
      </div>
    </div>
  );
}

function refOf({ message, archiveId }: MessageOutcome): MessageRef | undefined {
  if (message !== undefined) return { message };
  return archiveId === undefined ? undefined : { archiveId };
}

function hasSource({ sources }: SummaryPiece, message: number | undefined): boolean {
  return message !== undefined && sources.some((source) => source.message === message);
}

/** Toggles for the messages of each outcome, with their count and tokens. */
function Filters({
  messages,
  hidden,
  change,
}: {
  readonly messages: readonly MessageOutcome[];
  readonly hidden: ReadonlySet<Outcome>;
  change(hidden: ReadonlySet<Outcome>): void;
}): JSX.Element {
  const outcomes = (Object.keys(OUTCOMES) as Outcome[]).filter((outcome) =>
    messages.some((each) => each.outcome === outcome),
  );
  return (
    <fieldset class="filters" aria-label="Show messages that were">
      {outcomes.map((outcome) => {
        const those = messages.filter((each) => each.outcome === outcome);
        const tokens = sum(those.map((each) => each.tokens));
        const { word, sign, means } = OUTCOMES[outcome];
        const isOn = !hidden.has(outcome);
        return (
          <button
            key={outcome}
            type="button"
            class={`filter outcome-${outcome}`}
            aria-pressed={isOn}
            aria-label={`${word}: ${plural(those.length, "message")}, ${count(tokens)} tokens`}
            title={`The message ${means}.`}
            onClick={() => {
              const others = new Set([...hidden].filter((each) => each !== outcome));
              change(isOn ? others.add(outcome) : others);
            }}
          >
            <span class="sign" aria-hidden="true">
              {sign}
            </span>
            {`${count(those.length)} ${word}`}
            <span class="amount">{count(tokens)}</span>
          </button>
        );
      })}
    </fieldset>
  );
}

interface SummaryProps {
  readonly view: CompactionView | undefined;
  /** Index of the selected line. */
  readonly selected: number | undefined;
  /** Index of the message whose lines are highlighted. */
  readonly highlighted: number | undefined;
  select(line: number, sources: readonly SourceView[]): void;
  follow(sources: readonly SourceView[], nearest: SourceView): void;
}

/** The summary by line; each line links to its source messages. The lines are one tab stop. */
function Summary({ view, selected, highlighted, select, follow }: SummaryProps): JSX.Element {
  const node = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (highlighted !== undefined)
      node.current?.querySelector(".line.from")?.scrollIntoView({ block: "nearest" });
  }, [highlighted]);
  const pieces = view?.summary ?? [];
  const stop = selected ?? pieces.findIndex(isLine);
  const words = view === undefined ? "…" : "No summary was written: only old tool output was removed.";
  return (
    <fieldset ref={node} class="summary" aria-label="The summary, line by line" onKeyDown={moveFocus}>
      {pieces.length === 0 && <p class="empty">{words}</p>}
      {pieces.map((piece, index) => {
        if (piece.kind === "blank" || piece.text.trim() === "") return <div key={index} class="blank" />;
        if (!isLine(piece))
          return (
            <h4 key={index} dir="auto">
              {visibleText(piece.text.trim()).replace(/^#+\s*/, "")}
            </h4>
          );
        const mark = hasSource(piece, highlighted) ? " from" : "";
        return (
          <>
            <button
              key={index}
              type="button"
              class={`line${piece.sources.length === 0 ? " loose" : ""}${mark}`}
              data-rove
              tabIndex={index === stop ? 0 : -1}
              aria-pressed={index === selected}
              dir="auto"
              onClick={() => select(index, piece.sources)}
            >
              {visibleText(piece.text.trimEnd())}
            </button>
            {index === selected && <Chips sources={piece.sources} follow={follow} />}
          </>
        );
      })}
    </fieldset>
  );
}

function isLine({ kind, text }: SummaryPiece): boolean {
  return kind === "line" && text.trim() !== "";
}

/** Sources shown as buttons; the rest are counted. */
const MAX_CHIPS = 12;

function Chips({
  sources,
  follow,
}: { readonly sources: readonly SourceView[] } & Pick<SummaryProps, "follow">): JSX.Element {
  const more = sources.length - MAX_CHIPS;
  return (
    <fieldset class="chips" aria-label="Sources of this line">
      <span>{sources.length === 0 ? "No source was found for this line." : "from"}</span>
      {sources.slice(0, MAX_CHIPS).map((source) => {
        const name = `#${count(source.message + 1)}`;
        const isExact = source.match === "exact";
        return (
          <button
            key={name}
            type="button"
            class="chip"
            title={
              isExact
                ? "The message contains these words verbatim."
                : "The message contains most of these words."
            }
            onClick={() => follow(sources, source)}
          >
            {isExact ? name : `${name} likely`}
          </button>
        );
      })}
      {more > 0 && <span>{`and ${count(more)} more, marked in the list`}</span>}
    </fieldset>
  );
}
