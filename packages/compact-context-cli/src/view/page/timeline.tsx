import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { SpanView } from "../session-view.ts";
import { Checkbox, List } from "./list.tsx";
import { type SpanRow, spanRows } from "./rows.ts";
import { session } from "./state.ts";
import { count, dateTime, duration, firstLine, plural, visibleText } from "./text.ts";

/** The spans as a tree with bars, and the details of the selected one. */
export function TimelinePanel(): JSX.Element {
  const selected = useSignal<SpanView | undefined>(undefined);
  const withChecks = useSignal(false);
  const isAligned = useSignal(true);
  const spans = useComputed(() => session.value?.spans ?? []);
  const all = useComputed(() => spanRows(spans.value));
  const busy = useComputed(() => all.value.filter((row) => row.busy));
  const rows = withChecks.value ? all.value : busy.value;
  const aligned = isAligned.value;
  const longest = rows.reduce(
    (most, row) => Math.max(most, (aligned ? row.offset : row.since) + row.duration),
    1e-6,
  );
  const idle = all.value.length - busy.value.length;
  const span = rows.some((row) => row.span === selected.value) ? selected.value : undefined;
  const inside = span === undefined ? [] : all.value.filter((row) => row.span.parent === span.id);
  const caption =
    rows.length === all.value.length
      ? plural(rows.length, "span")
      : `${count(rows.length)} of ${plural(all.value.length, "span")}`;
  return (
    <div class="stack">
      <div class="filters">
        <p class="caption">{all.value.length === 0 ? "" : caption}</p>
        <Checkbox label="start each tree at zero" on={isAligned} />
        {idle > 0 && (
          <Checkbox
            label={plural(idle, "check that changed nothing", "checks that changed nothing")}
            on={withChecks}
          />
        )}
      </div>
      <div class="beside">
        <div class="column">
          <Ruler longest={longest} />
          <List
            label="Spans"
            empty="No spans yet."
            length={rows.length}
            resetKey={`${session.value?.id} ${withChecks.value}`}
            selected={rows.findIndex((row) => row.span === span)}
            select={(index) => (selected.value = rows[index]?.span)}
            open={() => document.getElementById("inspector")?.focus()}
            row={(index) => spanRow(rows[index], aligned, longest)}
          />
        </div>
        <div class="column inspector-column">
          <Inspector span={span} inside={inside.map((row) => row.span)} />
        </div>
      </div>
    </div>
  );
}

function Ruler({ longest }: { readonly longest: number }): JSX.Element {
  return (
    <div class="ruler" aria-hidden="true">
      <span class="span-name" />
      <span class="lane">
        {[0, 0.25, 0.5, 0.75].map((share) => (
          <span key={share} style={{ left: `${share * 100}%` }}>
            {share === 0 ? "0" : duration(share * longest)}
          </span>
        ))}
      </span>
      <span class="took" />
    </div>
  );
}

function spanRow(
  row: SpanRow | undefined,
  isAligned: boolean,
  longest: number,
): { readonly kind: string; readonly content: JSX.Element | null } {
  if (row === undefined) return { kind: "span", content: null };
  const { span, depth, label, offset, since, duration: took } = row;
  const start = Math.min(100, ((isAligned ? offset : since) / longest) * 100);
  const width = Math.min((took / longest) * 100, 100 - start);
  const words = span.durationMs === undefined ? "" : took === 0 ? "instant" : duration(took);
  const isFailed = span.status === "error";
  const content = (
    <>
      <span
        class="span-name"
        title={span.name}
        style={{ paddingInlineStart: `${Math.min(depth, 12) * 14}px` }}
      >
        {`${isFailed ? "! " : ""}${firstLine(label, 120)}`}
      </span>
      <span class="lane" aria-hidden="true">
        <span class={`span-bar ${colourOf(span.name)}`} style={{ left: `${start}%`, width: `${width}%` }} />
      </span>
      <span class="took">{words}</span>
      {isFailed && <span class="visually-hidden">failed</span>}
    </>
  );
  return { kind: `span ${isFailed ? "failed" : ""} ${depth === 0 ? "root" : ""}`, content };
}

function colourOf(name: string): string {
  if (name.includes("summary")) return "of-summary";
  return name.includes("error") || name.includes("warning") ? "of-error" : "";
}

/** The times of a span and its attributes by group; without attributes, those of its children. */
function Inspector({
  span,
  inside,
}: {
  readonly span: SpanView | undefined;
  readonly inside: readonly SpanView[];
}): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and keys scroll only what has the focus
    <section id="inspector" class="inspector" aria-label="Span" tabIndex={0}>
      {span === undefined ? (
        <p class="empty">Select a span to see its attributes.</p>
      ) : (
        <>
          <h3>{visibleText(span.name)}</h3>
          <Pairs pairs={timesOf(span)} />
          {groups(span.attributes).map(([group, pairs]) => (
            <Group key={group} name={group} pairs={pairs} />
          ))}
          {span.attributes.length === 0 &&
            inside.map(({ id, name, attributes }) => (
              <Group
                key={id}
                name={name}
                pairs={attributes.map(({ name: key, value }) => [key.replaceAll(".", " "), value])}
              />
            ))}
        </>
      )}
    </section>
  );
}

type Pair = readonly [string, string];

function timesOf({ status, durationMs, start, end }: SpanView): Pair[] {
  const known: Pair[] = [
    ["status", status === "ok" ? "ok" : "! error"],
    ["took", durationMs === undefined ? "" : duration(durationMs)],
    ["started", dateTime(start)],
    ["ended", end === start ? "" : dateTime(end)],
  ];
  return known.filter(([, value]) => value !== "");
}

function Group({ name, pairs }: { readonly name: string; readonly pairs: readonly Pair[] }): JSX.Element {
  return (
    <>
      {name !== "" && <h4>{visibleText(name)}</h4>}
      <Pairs pairs={pairs} />
    </>
  );
}

/** Groups attributes by prefix: `policy.trigger_pct` is in `policy`. */
function groups(attributes: SpanView["attributes"]): (readonly [string, readonly Pair[]])[] {
  const found = new Map<string, Pair[]>([["", []]]);
  for (const { name, value } of attributes) {
    const dot = name.indexOf(".");
    const group = dot > 0 ? name.slice(0, dot) : "";
    const inside = found.get(group) ?? [];
    inside.push([dot > 0 ? name.slice(dot + 1) : name, value]);
    found.set(group, inside);
  }
  return [...found].filter(([, pairs]) => pairs.length > 0);
}

/** Characters from which a value takes the full width. */
const LONG = 60;

function Pairs({ pairs }: { readonly pairs: readonly Pair[] }): JSX.Element {
  return (
    <dl>
      {pairs.map(([name, value]) => {
        const text = visibleText(value);
        const wide = text.length > LONG || text.includes("\n") ? "wide" : "";
        return (
          <>
            <dt class={wide}>{visibleText(name).replaceAll("_", " ")}</dt>
            <dd class={wide} dir="auto">
              {text}
            </dd>
          </>
        );
      })}
    </dl>
  );
}
