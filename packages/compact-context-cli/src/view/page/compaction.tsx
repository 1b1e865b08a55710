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
import type { Wanted } from "./data.ts";
import { arrivals, originals } from "./data.ts";
import { Detail, List, messageRow, rove, Term, titleOf } from "./list.tsx";
import { compaction, openCompaction, session, shown, spoken } from "./state.ts";
import {
  clockAfter,
  count,
  duration,
  firstLine,
  LAYERS,
  OUTCOMES,
  percent,
  plural,
  reasonWords,
  visibleText,
} from "./text.ts";

/** One compaction, opened: what became of each message, and the summary beside what it replaced. */
export function CompactionPanel(): JSX.Element | null {
  const about = session.value;
  void arrivals.value;
  const head = about?.compactions[compaction.value];
  if (about === undefined) return null;
  if (head === undefined) {
    const words =
      about.steps.length === 0
        ? "No compaction yet."
        : "No compaction was needed: every call fitted below the trigger.";
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
      <Head about={about} head={head} />
      <Opened key={`${about.id} ${head.index}`} about={about} view={originals.compaction(head.index)} />
    </div>
  );
}

function Head({ about, head }: { readonly about: SessionView; readonly head: CompactionHead }): JSX.Element {
  const { index, tokensBefore, tokensAfter, failures } = head;
  const at = about.steps[head.step];
  const turn = (by: number, sign: string, label: string): JSX.Element => (
    <button
      type="button"
      class="quiet turn"
      aria-label={label}
      disabled={about.compactions[index + by] === undefined}
      onClick={() => openCompaction(index + by)}
    >
      {sign}
    </button>
  );
  return (
    <div class="compaction-head">
      <div class="fall-line">
        {turn(-1, "‹", "Compaction before")}
        <h3>{`Compaction ${count(index + 1)} of ${count(about.compactions.length)}`}</h3>
        {turn(1, "›", "Compaction after")}
        <strong>{`${count(tokensBefore)} → ${count(tokensAfter)} tokens`}</strong>
        <span class="less">{`${percent(tokensBefore - tokensAfter, tokensBefore)} less`}</span>
      </div>
      <p class="facts">
        {factsOf(head).map((fact, place) => (
          <span key={fact}>
            {place === 0 ? "" : " · "}
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
      {at?.before !== undefined && (
        <div class="layer-bars">
          <Bar name="before" about={about} tokens={at.before} whole={wholeOf(about, at.before, at.total)} />
          <Bar name="after" about={about} tokens={at.tokens} whole={wholeOf(about, at.before, at.total)} />
        </div>
      )}
    </div>
  );
}

function factsOf(head: CompactionHead): string[] {
  const { step, at, reason, messagesBefore, messagesAfter, durationMs, summarizer, archiveStep } = head;
  const summary = [
    summarizer ?? "",
    head.summaryTokens === undefined ? "" : `${count(head.summaryTokens)} tokens`,
  ];
  const said = summary.filter((part) => part !== "");
  const when = clockAfter(at, session.value?.steps[0]?.at);
  return [
    `before call ${count(step + 1)}${when === "" ? "" : ` at ${when}`}`,
    reason === undefined ? "" : reasonWords(reason),
    messagesBefore === undefined
      ? ""
      : messagesAfter === undefined
        ? plural(messagesBefore, "message")
        : `${count(messagesBefore)} → ${plural(messagesAfter, "message")}`,
    durationMs === undefined ? "" : `took ${duration(durationMs)}`,
    said.length === 0 ? "" : `summary: ${firstLine(said.join(", "), 80)}`,
    archiveStep === undefined ? "" : `originals: archive step ${count(archiveStep)}`,
  ].filter((fact) => fact !== "");
}

function wholeOf({ window }: SessionView, before: readonly number[], total: number): number {
  return Math.max(
    window,
    1,
    total,
    before.reduce((sum, each) => sum + each, 0),
  );
}

/** The window layer by layer. */
function Bar({
  name,
  about,
  tokens,
  whole,
}: {
  readonly name: string;
  readonly about: SessionView;
  readonly tokens: readonly number[];
  readonly whole: number;
}): JSX.Element {
  const said = tokens.map((each, place) => ({ each, layer: about.layers[place] ?? "messages" }));
  const label = said
    .filter(({ each }) => each > 0)
    .map(({ each, layer }) => `${LAYERS[layer].name} ${count(each)}`);
  return (
    <div class="layer-bar">
      <span class="name">{name}</span>
      <span class="track" role="img" aria-label={`${name}: ${label.join(", ")}`}>
        {said.map(({ each, layer }) => (
          <span
            key={layer}
            class="piece"
            title={`${LAYERS[layer].name}: ${count(each)}`}
            style={{ "--layer": `var(--layer-${layer})`, width: `${(each / whole) * 100}%` }}
          />
        ))}
      </span>
    </div>
  );
}

const NONE: ReadonlySet<never> = new Set();
const HINT = "Choose a line of the summary to see where it comes from.";

function Opened({
  about,
  view,
}: {
  readonly about: SessionView;
  readonly view: CompactionView | undefined;
}): JSX.Element {
  const hidden = useSignal<ReadonlySet<Outcome>>(NONE);
  const marked = useSignal(-1);
  const line = useSignal<number | undefined>(undefined);
  const sources = useSignal<ReadonlySet<number>>(NONE);
  const reveal = useSignal<{ readonly index: number } | undefined>(undefined);
  const offered = useSignal<Wanted | undefined>(undefined);
  const messages = view?.messages ?? [];
  const rows = messages.filter(({ outcome }) => !hidden.value.has(outcome));
  const row = rows[marked.value];
  const show = (wanted: Wanted | undefined, title: string): void => {
    if (wanted !== undefined) shown.value = { session: about.id, wanted, title };
  };
  const open = (index: number): void => {
    const found = rows[index];
    if (found === undefined) return;
    const wanted = wantedOf(found);
    if (wanted !== undefined) show(wanted, titleOf(found));
    else if (found.summaryOf !== undefined) openCompaction(found.summaryOf);
  };
  const follow = (all: readonly SourceView[], nearest: SourceView): void => {
    const isNearest = ({ message }: MessageOutcome): boolean =>
      message !== undefined && message === nearest.message;
    sources.value = new Set(all.flatMap(({ message }) => (message === undefined ? [] : [message])));
    if (!rows.some(isNearest)) hidden.value = NONE;
    const place = (rows.some(isNearest) ? rows : messages).findIndex(isNearest);
    offered.value = place < 0 ? wantedOf(nearest) : undefined;
    if (place < 0) spoken.value = "That message left the window at an earlier compaction.";
    else {
      marked.value = place;
      reveal.value = { index: place };
    }
  };
  const clear = (): void => {
    if (sources.value.size > 0) spoken.value = "Marks taken away.";
    sources.value = NONE;
    line.value = undefined;
    marked.value = -1;
  };
  const beside = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const pressed = ({ key }: KeyboardEvent): void => {
      if (key === "Escape") clear();
    };
    beside.current?.addEventListener("keydown", pressed);
    return () => beside.current?.removeEventListener("keydown", pressed);
  });
  const from = row?.message === undefined || line.value !== undefined ? undefined : row.message;
  const pieces = view?.summary ?? [];
  const source = row === undefined ? offered.value : undefined;
  const whole = (): void => (source === undefined ? open(marked.value) : show(source, "Source of this line"));
  const lines = row?.message === undefined ? 0 : pieces.filter((one) => speaksOf(one, row.message)).length;
  return (
    <div class="beside" ref={beside}>
      <div class="column">
        <Filters messages={messages} hidden={hidden.value} change={(now) => (hidden.value = now)} />
        <List
          label="Messages and what became of them"
          empty="What became of each message is not known here."
          length={rows.length}
          isWaiting={view === undefined}
          about={view === undefined}
          marked={marked.value}
          mark={(index) => {
            marked.value = index;
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
          open={(row ?? source) ? whole : undefined}
        />
      </div>
      <div class="column summary-column">
        <h3>
          <Term name="summary">Summary</Term>
        </h3>
        <Summary
          view={view}
          chosen={line.value}
          from={from}
          choose={(place, all) => {
            line.value = place;
            marked.value = -1;
            const [nearest] = all;
            if (nearest === undefined) return;
            spoken.value = `${plural(all.length, "source")} marked in the list.`;
            follow(all, nearest);
          }}
          follow={follow}
        />
      </div>
    </div>
  );
}

function wantedOf({ message, archiveId }: MessageOutcome | SourceView): Wanted | undefined {
  if (message !== undefined) return { message };
  return archiveId === undefined ? undefined : { archiveId };
}

function speaksOf({ sources }: SummaryPiece, message: number | undefined): boolean {
  return sources.some((source) => source.message === message);
}

/** Buttons that choose among messages by what became of them, with how many there are and what they cost. */
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
        const tokens = those.reduce((total, each) => total + each.tokens, 0);
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
  /** The line that was chosen. */
  readonly chosen: number | undefined;
  /** The message whose lines are marked. */
  readonly from: number | undefined;
  choose(line: number, sources: readonly SourceView[]): void;
  follow(sources: readonly SourceView[], nearest: SourceView): void;
}

/** The summary line by line; each line leads to the messages that it comes from. One tab stop, arrow keys inside. */
function Summary({ view, chosen, from, choose, follow }: SummaryProps): JSX.Element {
  const node = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (from !== undefined) node.current?.querySelector(".line.from")?.scrollIntoView({ block: "nearest" });
  }, [from]);
  const pieces = view?.summary ?? [];
  const stop = chosen ?? pieces.findIndex(isLine);
  const words = view === undefined ? "…" : "No summary was written: nothing but old tool output left.";
  return (
    <fieldset ref={node} class="summary" aria-label="The summary, line by line" onKeyDown={rove}>
      {pieces.length === 0 && <p class="empty">{words}</p>}
      {pieces.map((piece, place) => {
        if (piece.kind === "blank" || piece.text.trim() === "") return <div key={place} class="blank" />;
        if (!isLine(piece))
          return (
            <h4 key={place} dir="auto">
              {visibleText(piece.text.trim()).replace(/^#+\s*/, "")}
            </h4>
          );
        const mark = from !== undefined && speaksOf(piece, from) ? " from" : "";
        return (
          <>
            <button
              key={place}
              type="button"
              class={`line${piece.sources.length === 0 ? " loose" : ""}${mark}`}
              data-rove
              tabIndex={place === stop ? 0 : -1}
              aria-pressed={place === chosen}
              dir="auto"
              onClick={() => choose(place, piece.sources)}
            >
              {visibleText(piece.text.trimEnd())}
            </button>
            {place === chosen && <Chips sources={piece.sources} follow={follow} />}
          </>
        );
      })}
    </fieldset>
  );
}

function isLine({ kind, text }: SummaryPiece): boolean {
  return kind === "line" && text.trim() !== "";
}

/** Most sources that are offered one by one; a line that gathers more says how many. */
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
        const name = source.message === undefined ? "archive" : `#${count(source.message + 1)}`;
        const isExact = source.match === "exact";
        return (
          <button
            key={`${name} ${source.archiveId}`}
            type="button"
            class="chip"
            title={isExact ? "Its words stand there as they are." : "Most of its words stand there."}
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
