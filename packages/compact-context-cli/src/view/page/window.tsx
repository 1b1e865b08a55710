import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { SessionView } from "../session-view.ts";
import { Checkbox, Detail, List, messageRow, Term, titleOf } from "./list.tsx";
import {
  type ContentRow,
  compactionAt,
  type Grouping,
  groupOf,
  type Share,
  sharesOf,
  type WindowContent,
  windowContent,
} from "./rows.ts";
import { openCompaction, openMessage, originals, revision, session, step } from "./state.ts";
import { count, firstLine, percent, plural } from "./text.ts";

const NOTHING: WindowContent = { rows: [], isUnknown: false };
const GROUPINGS: readonly Grouping[] = ["tool", "file", "role"];
/** Groups listed; the rest are summed in the last line. */
const MAX_SHARES = 40;

/** The messages in the window at the selected call, and the shares of its groups. */
export function WindowPanel(): JSX.Element | null {
  const selected = useSignal(-1);
  const grouping = useSignal<Grouping>("tool");
  const group = useSignal<string | undefined>(undefined);
  const bySize = useSignal(false);
  const active = session.value;
  if (active === undefined) return null;
  // Renders again when requested data arrives.
  void revision.value;
  const at = step.value;
  const last = compactionAt(active, at);
  const opened = last === undefined ? undefined : originals.compaction(last);
  const isWaiting = last !== undefined && opened === undefined;
  const content = isWaiting ? NOTHING : windowContent(active, at, opened, originals.message);
  const shares = sharesOf(content.rows, grouping.value);
  const activeGroup = shares.some(({ name }) => name === group.value) ? group.value : undefined;
  const rows = filteredRows(content.rows, { by: grouping.value, group: activeGroup, bySize: bySize.value });
  const row = rows[selected.value];
  const open = (index: number): void => {
    const found = rows[index];
    if (found?.message !== undefined)
      openMessage.value = { session: active.id, ref: { message: found.message }, title: titleOf(found) };
    else if (found?.summaryOf !== undefined) openCompaction(found.summaryOf);
  };
  return (
    <div class="stack">
      <div class="filters">
        <p class="caption">{captionOf(active, content, { step: at, last, isWaiting })}</p>
        {activeGroup !== undefined && (
          <button type="button" class="filter" aria-pressed="true" onClick={() => (group.value = undefined)}>
            {`only ${firstLine(activeGroup, 60)} ×`}
          </button>
        )}
        <Checkbox label="largest first" on={bySize} />
      </div>
      <div class="beside">
        <div class="column">
          <List
            label="Messages in the window"
            empty="Nothing is in the window yet."
            length={rows.length}
            isWaiting={isWaiting}
            resetKey={`${active.id} ${activeGroup} ${bySize.value}`}
            selected={selected.value}
            select={(index) => (selected.value = index)}
            open={open}
            row={(index) => messageRow(withoutKept(rows[index]))}
          />
          <Detail
            row={row}
            hint="Press Enter or double-click to open a message."
            open={row === undefined ? undefined : () => open(selected.value)}
          />
        </div>
        <Shares
          shares={shares}
          fixed={fixedShares(active, at)}
          by={grouping.value}
          selected={activeGroup}
          group={(by) => {
            grouping.value = by;
            group.value = undefined;
          }}
          select={(name) => (group.value = name === activeGroup ? undefined : name)}
        />
      </div>
    </div>
  );
}

/** Hides the outcome of a kept message. */
function withoutKept(row: ContentRow | undefined): ContentRow | undefined {
  return row?.outcome === "kept" ? { ...row, outcome: undefined } : row;
}

function filteredRows(
  all: readonly (ContentRow | undefined)[],
  { by, group, bySize }: { readonly by: Grouping; readonly group?: string; readonly bySize: boolean },
): readonly (ContentRow | undefined)[] {
  const rows =
    group === undefined ? all : all.filter((row) => row !== undefined && groupOf(row, by) === group);
  return bySize ? rows.toSorted((one, other) => (other?.tokens ?? 0) - (one?.tokens ?? 0)) : rows;
}

/** The shares of tools and system prompt. */
function fixedShares({ layers, steps }: SessionView, at: number): Share[] {
  return layers.flatMap((layer, index) => {
    const tokens = steps[at]?.tokens[index] ?? 0;
    return (layer === "tools" || layer === "system") && tokens > 0
      ? [{ name: layer === "tools" ? "tool schemas" : "system prompt", messages: 0, tokens }]
      : [];
  });
}

interface SharesProps {
  readonly shares: readonly Share[];
  readonly fixed: readonly Share[];
  readonly by: Grouping;
  readonly selected: string | undefined;
  group(by: Grouping): void;
  select(name: string): void;
}

/** The shares of the window, the largest first; each filters the messages. */
function Shares({ shares, fixed, by, selected, group, select }: SharesProps): JSX.Element {
  const whole = [...shares, ...fixed].reduce((sum, { tokens }) => sum + tokens, 0);
  const max = Math.max(1, ...shares.map(({ tokens }) => tokens), ...fixed.map(({ tokens }) => tokens));
  const line = (share: Share): JSX.Element => (
    <>
      <span class="share-name" dir="auto" title={firstLine(share.name, 200)}>
        {firstLine(share.name, 80)}
      </span>
      <span class="amount">{share.messages === 0 ? "" : `${count(share.messages)} ×`}</span>
      <span class="tokens">{count(share.tokens)}</span>
      <span class="part">{percent(share.tokens, whole)}</span>
      <span class="bar" aria-hidden="true">
        <span class="left" style={{ width: `${(share.tokens / max) * 100}%` }} />
      </span>
    </>
  );
  const rest = shares.slice(MAX_SHARES);
  return (
    <section class="column shares" aria-label="What fills the window">
      <div class="filters">
        <h3>
          What fills the <Term name="window">window</Term>
        </h3>
        <fieldset class="switch" aria-label="Gathered by">
          {GROUPINGS.map((each) => (
            <button
              key={each}
              type="button"
              class="quiet"
              aria-pressed={each === by}
              onClick={() => group(each)}
            >
              {`by ${each}`}
            </button>
          ))}
        </fieldset>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and keys scroll only what has the focus */}
      <ul class="share-list" tabIndex={0} aria-label="Shares of the window">
        {fixed.map((share) => (
          <li key={share.name} class="share fixed">
            {line(share)}
          </li>
        ))}
        {shares.slice(0, MAX_SHARES).map((share) => (
          <li key={share.name}>
            <button
              type="button"
              class="share"
              aria-pressed={share.name === selected}
              onClick={() => select(share.name)}
            >
              {line(share)}
            </button>
          </li>
        ))}
        {rest.length > 0 && (
          <li class="share fixed">
            {line({
              name: `${plural(rest.length, "smaller one")}`,
              messages: rest.reduce((sum, { messages }) => sum + messages, 0),
              tokens: rest.reduce((sum, { tokens }) => sum + tokens, 0),
            })}
          </li>
        )}
        {whole === 0 && <li class="empty">The session's messages are not known here.</li>}
      </ul>
    </section>
  );
}

function captionOf(
  active: SessionView,
  { rows, isUnknown }: WindowContent,
  at: { readonly step: number; readonly last: number | undefined; readonly isWaiting: boolean },
): string {
  const messages = active.steps[at.step]?.messages ?? 0;
  const { last } = at;
  if (at.isWaiting) return "…";
  const summaries = rows.filter((row) => row?.summaryOf !== undefined).length;
  const own = rows.length - summaries;
  const call = `Sent with call ${count(at.step + 1)}`;
  if (messages === 0 && rows.length === 0)
    return "This session's messages are not known, only their tokens by layer.";
  if (last === undefined) return `${call}: ${plural(own, "message")}, the whole session so far.`;
  if (isUnknown)
    return `What compaction ${count(last + 1)} left of these ${plural(own, "message")} is not known: its archive did not record it.`;
  const summary = summaries === 0 ? "" : "the summary and ";
  const sent = messages === 0 ? plural(own, "message") : `${count(own)} of ${plural(messages, "message")}`;
  return `${call}: ${summary}${sent}, as left by compaction ${count(last + 1)}, with the messages since.`;
}
