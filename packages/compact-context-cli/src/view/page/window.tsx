import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { SessionView } from "../session-view.ts";
import {
  arrivals,
  type ContentRow,
  compactionAt,
  type Grouping,
  groupOf,
  originals,
  type Share,
  sharesOf,
  type WindowContent,
  windowContent,
} from "./data.ts";
import { Detail, List, messageRow, Term, Tick, titleOf } from "./list.tsx";
import { openCompaction, session, shown, step } from "./state.ts";
import { count, firstLine, percent, plural } from "./text.ts";

const NOTHING: WindowContent = { length: 0, isUnknown: false, row: () => undefined };
const GROUPINGS: readonly Grouping[] = ["tool", "file", "role"];
/** Most groups that are listed; those after them together are the last line. */
const MAX_SHARES = 40;

/** What the window holds at the call that is looked at, message by message, and what fills it. */
export function WindowPanel(): JSX.Element | null {
  const marked = useSignal(-1);
  const grouping = useSignal<Grouping>("tool");
  const group = useSignal<string | undefined>(undefined);
  const bySize = useSignal(false);
  const about = session.value;
  if (about === undefined) return null;
  // What was waited for is here.
  void arrivals.value;
  const at = step.value;
  const last = compactionAt(about, at);
  const opened = last === undefined ? undefined : originals.compaction(last);
  const isWaiting = last !== undefined && opened === undefined;
  const content = isWaiting
    ? NOTHING
    : windowContent(about, at, { compaction: opened, message: originals.message });
  const all = Array.from({ length: content.length }, (_, index) => content.row(index));
  const shares = sharesOf(all, grouping.value);
  const chosen = shares.some(({ name }) => name === group.value) ? group.value : undefined;
  const rows = chosenRows(all, { by: grouping.value, chosen, bySize: bySize.value });
  const row = rows[marked.value];
  const open = (index: number): void => {
    const found = rows[index];
    if (found?.message !== undefined)
      shown.value = { session: about.id, wanted: { message: found.message }, title: titleOf(found) };
    else if (found?.summaryOf !== undefined) openCompaction(found.summaryOf);
  };
  return (
    <div class="stack">
      <div class="filters">
        <p class="caption">{captionOf(about, content, { step: at, last, isWaiting })}</p>
        {chosen !== undefined && (
          <button type="button" class="filter" aria-pressed="true" onClick={() => (group.value = undefined)}>
            {`only ${firstLine(chosen, 60)} ×`}
          </button>
        )}
        <Tick label="largest first" on={bySize} />
      </div>
      <div class="beside">
        <div class="column">
          <List
            label="Messages in the window"
            empty="Nothing is in the window yet."
            length={rows.length}
            isWaiting={isWaiting}
            about={`${about.id} ${chosen} ${bySize.value}`}
            marked={marked.value}
            mark={(index) => (marked.value = index)}
            open={open}
            row={(index) => messageRow(plain(rows[index]))}
          />
          <Detail
            row={row}
            hint="Enter, or a double click, shows a message whole."
            open={row === undefined ? undefined : () => open(marked.value)}
          />
        </div>
        <Shares
          shares={shares}
          fixed={fixedShares(about, at)}
          by={grouping.value}
          chosen={chosen}
          group={(by) => {
            grouping.value = by;
            group.value = undefined;
          }}
          choose={(name) => (group.value = name === chosen ? undefined : name)}
        />
      </div>
    </div>
  );
}

/** In the window a kept message is nothing special. */
function plain(row: ContentRow | undefined): ContentRow | undefined {
  if (row?.outcome !== "kept") return row;
  const { outcome: _, ...rest } = row;
  return rest;
}

function chosenRows(
  all: readonly (ContentRow | undefined)[],
  { by, chosen, bySize }: { readonly by: Grouping; readonly chosen?: string; readonly bySize: boolean },
): readonly (ContentRow | undefined)[] {
  const rows =
    chosen === undefined ? all : all.filter((row) => row !== undefined && groupOf(row, by) === chosen);
  return bySize ? rows.toSorted((one, other) => (other?.tokens ?? 0) - (one?.tokens ?? 0)) : rows;
}

/** What is sent beside the messages. */
function fixedShares({ layers, steps }: SessionView, at: number): Share[] {
  return layers.flatMap((layer, place) => {
    const tokens = steps[at]?.tokens[place] ?? 0;
    return (layer === "tools" || layer === "system") && tokens > 0
      ? [{ name: layer === "tools" ? "tool schemas" : "system prompt", messages: 0, tokens }]
      : [];
  });
}

interface SharesProps {
  readonly shares: readonly Share[];
  readonly fixed: readonly Share[];
  readonly by: Grouping;
  readonly chosen: string | undefined;
  group(by: Grouping): void;
  choose(name: string): void;
}

/** What fills the window, the largest first; a line chooses its messages. */
function Shares({ shares, fixed, by, chosen, group, choose }: SharesProps): JSX.Element {
  const whole = [...shares, ...fixed].reduce((sum, { tokens }) => sum + tokens, 0);
  const most = Math.max(1, ...shares.map(({ tokens }) => tokens), ...fixed.map(({ tokens }) => tokens));
  const line = (share: Share): JSX.Element => (
    <>
      <span class="share-name" dir="auto" title={firstLine(share.name, 200)}>
        {firstLine(share.name, 80)}
      </span>
      <span class="amount">{share.messages === 0 ? "" : `${count(share.messages)} ×`}</span>
      <span class="tokens">{count(share.tokens)}</span>
      <span class="part">{percent(share.tokens, whole)}</span>
      <span class="bar" aria-hidden="true">
        <span class="left" style={{ width: `${(share.tokens / most) * 100}%` }} />
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
              aria-pressed={share.name === chosen}
              onClick={() => choose(share.name)}
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
  about: SessionView,
  { length, isUnknown }: WindowContent,
  at: { readonly step: number; readonly last: number | undefined; readonly isWaiting: boolean },
): string {
  const messages = about.steps[at.step]?.messages ?? 0;
  const { last } = at;
  if (at.isWaiting) return "…";
  const sent = `Sent with call ${count(at.step + 1)}: ${plural(length, "message")}`;
  if (messages === 0 && length === 0)
    return "The messages of this session are not told here, only their tokens by layer.";
  if (last === undefined) return `${sent}, the whole session so far.`;
  if (isUnknown)
    return `What compaction ${count(last + 1)} left of these ${plural(length, "message")} is not known: its archive does not say.`;
  const of = messages === 0 ? "" : ` of ${count(messages)}`;
  return `${sent}${of}, as compaction ${count(last + 1)} left them and what came since.`;
}
