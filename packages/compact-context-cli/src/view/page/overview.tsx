import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { SessionView, StepView } from "../session-view.ts";
import { Chart, isZoomed, zoom } from "./chart.tsx";
import { Term } from "./list.tsx";
import { announcement, goTo, playing, session, step } from "./state.ts";
import { clockTimeAfter, count, firstLine, LAYERS, liveLabel, percent, plural, sentence } from "./text.ts";

/** The session's title and key facts. */
export function Heading(): JSX.Element | null {
  const active = session.value;
  const name = active === undefined ? "" : firstLine(active.title, 200) || "(no title)";
  useEffect(() => {
    if (name !== "") document.title = `${name.slice(0, 60)} · compact view`;
  }, [name]);
  if (active === undefined) return null;
  return (
    <header id="heading" class="heading">
      <div class="words">
        <h2 dir="auto" title={name}>
          {name}
        </h2>
        <p class="facts">
          {active.live && <span class="live">{liveLabel(active)}</span>}
          {factsOf(active).join(" · ")}
        </p>
      </div>
    </header>
  );
}

function factsOf({ format, model, window, counts, cost, dropped, source }: SessionView): string[] {
  return [
    [format, model]
      .filter((part) => part !== undefined)
      .map((part) => firstLine(part, 60))
      .join(" "),
    window > 0 ? `window ${count(window)}` : "window unknown",
    counts.messages > 0 ? plural(counts.messages, "message") : "",
    plural(counts.steps, "call"),
    counts.compactions === 0 ? "no compaction" : plural(counts.compactions, "compaction"),
    cost === undefined ? "" : costOf(cost),
    source === "archive" ? "read from an archive" : "",
    dropped > 0 ? `${count(dropped)} older spans and calls dropped` : "",
  ].filter((fact) => fact !== "");
}

/** Simulated, hence "about". */
function costOf({ compact, none }: NonNullable<SessionView["cost"]>): string {
  const own = `prompts about $${compact.toFixed(2)}`;
  return none !== undefined && none > compact
    ? `${own}, ${percent(none - compact, none)} less than without`
    : own;
}

/** The chart with its legend and slider, and the same figures as a table. */
export function Overview(): JSX.Element {
  const isTable = useSignal(false);
  return (
    <section class="life" id="life" aria-labelledby="life-title">
      <h2 id="life-title" class="visually-hidden">
        The context window over the session
      </h2>
      <div id="chart" class="chart">
        <Chart />
        {isTable.value && <Table />}
      </div>
      <Readout />
      <Scrubber>
        <button
          type="button"
          class="quiet"
          aria-expanded={isTable.value}
          aria-controls="table"
          onClick={() => (isTable.value = !isTable.value)}
        >
          {isTable.value ? "As a chart" : "As a table"}
        </button>
      </Scrubber>
    </section>
  );
}

const NO_STEP: StepView = { index: 0, messages: 0, tokens: [], total: 0 };

/** The legend, with the tokens of each layer at the selected call. */
function Readout(): JSX.Element {
  const used = useComputed(() => {
    const { layers = [], steps = [] } = session.value ?? {};
    return layers.flatMap((layer, index) =>
      steps.some(({ tokens, before }) => (tokens[index] ?? 0) > 0 || (before?.[index] ?? 0) > 0)
        ? [{ layer, index }]
        : [],
    );
  });
  const { steps = [], window = 0 } = session.value ?? {};
  const now = steps[step.value] ?? NO_STEP;
  const { without = 0, reported } = now;
  return (
    <div class="readout" id="readout">
      <p class="place">
        <span class="call">
          {steps.length === 0 ? "No call yet" : `Call ${count(step.value + 1)} of ${count(steps.length)}`}
        </span>
        <span class="when">{clockTimeAfter(now.at, steps[0]?.at)}</span>
      </p>
      <p class="total">
        <strong>{count(now.total)}</strong>
        <span> tokens</span>
        <span class="share-of">{window > 0 ? `${percent(now.total, window)} of the window` : ""}</span>
      </p>
      {reported !== undefined && (
        <p class="saved">
          <Term name="reported">{`${count(reported)} reported`}</Term>
          {` by the provider for what the agent sent, ${count(now.total)} `}
          <Term name="counted" />
          {" here"}
        </p>
      )}
      <dl>
        {used.value.toReversed().map(({ layer, index }) => {
          const tokens = now.tokens[index] ?? 0;
          const { name, holds } = LAYERS[layer];
          return (
            <div
              key={layer}
              class={tokens === 0 ? "layer none" : "layer"}
              title={`Holds ${holds}.`}
              style={{ "--layer": `var(--layer-${layer})` }}
            >
              <dt>
                <span class="swatch" />
                {name}
              </dt>
              <dd>{tokens === 0 ? "–" : count(tokens)}</dd>
            </div>
          );
        })}
      </dl>
      <p class="saved">{without > now.total ? `${count(without)} without compaction` : ""}</p>
    </div>
  );
}

/** Milliseconds to play a whole session; no call is shown longer than `MAX_CALL_MS`. */
const PLAY_MS = 24_000;
const MAX_CALL_MS = 450;

/** The slider under the chart, and its play button. */
function Scrubber({ children }: { readonly children: JSX.Element }): JSX.Element {
  const { steps = [] } = session.value ?? {};
  const at = step.value;
  const isPlaying = playing.value;
  useEffect(() => {
    if (isPlaying) play();
  }, [isPlaying]);
  return (
    <div class="scrubber" id="scrubber">
      <button
        type="button"
        class={isPlaying ? "play playing" : "play"}
        aria-label={isPlaying ? "Pause" : "Play the session"}
        title={isPlaying ? "Pause" : "Play the session"}
        disabled={steps.length < 2}
        onClick={() => {
          if (!isPlaying && at >= steps.length - 1) goTo(0);
          playing.value = !isPlaying;
        }}
      />
      <input
        type="range"
        min={0}
        max={Math.max(0, steps.length - 1)}
        step={1}
        value={at}
        aria-label="Model call"
        aria-valuetext={`call ${count(at + 1)} of ${count(steps.length)}, ${count(steps[at]?.total ?? 0)} tokens`}
        disabled={steps.length < 2}
        onInput={({ currentTarget }) => goTo(Number(currentTarget.value))}
        onKeyDown={(event) => {
          // The native page step is a tenth of the range: too far in a long session.
          const page = { PageUp: 10, PageDown: -10 }[event.key];
          if (page === undefined) return;
          event.preventDefault();
          goTo(at + page);
        }}
      />
      <button type="button" class="quiet turn" aria-label="Zoom in" onClick={() => zoom(0.5)}>
        +
      </button>
      <button
        type="button"
        class="quiet turn"
        aria-label="Show all calls"
        disabled={!isZoomed()}
        onClick={() => zoom(Number.POSITIVE_INFINITY)}
      >
        −
      </button>
      {children}
    </div>
  );
}

/** Advances with time, and announces the compactions it passes. */
function play(): void {
  let last = performance.now();
  let elapsed = 0;
  const frame = (now: number): void => {
    const active = session.value;
    if (!playing.value || active === undefined) return;
    const end = active.steps.length - 1;
    elapsed += now - last;
    last = now;
    const each = Math.min(MAX_CALL_MS, PLAY_MS / Math.max(1, end));
    const steps = Math.floor(elapsed / each);
    elapsed -= steps * each;
    const from = step.value;
    const next = Math.min(end, from + steps);
    step.value = next;
    const passed = active.compactions.findLast((one) => one.step > from && one.step <= next);
    if (passed !== undefined) announcement.value = sentence(passed);
    if (next === end && !active.live) playing.value = false;
    else requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

const PAGE = 100;

/** The chart's figures as a table, in pages of calls. */
function Table(): JSX.Element | null {
  const page = useSignal(Math.floor(step.value / PAGE));
  const active = session.value;
  if (active === undefined) return null;
  const { layers, compactions } = active;
  const from = page.value * PAGE;
  const steps = active.steps.slice(from, from + PAGE);
  const hasReported = active.steps.some(({ reported }) => reported !== undefined);
  const names = ["call", "time", ...layers.map((layer) => LAYERS[layer].name), "total"];
  if (hasReported) names.push("reported", "from cache", "cost");
  const pageButton = (by: number, label: string, isDisabled: boolean): JSX.Element => (
    <button type="button" class="quiet" disabled={isDisabled} onClick={() => (page.value += by)}>
      {label}
    </button>
  );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and keys scroll only what has the focus
    <section id="table" class="table" aria-label="The window, call by call" tabIndex={0}>
      <div class="pages">
        {pageButton(-1, "Earlier", page.value === 0)}
        <p class="caption">
          {`Calls ${count(from + 1)} to ${count(from + steps.length)} of ${plural(active.steps.length, "call")}`}
        </p>
        {pageButton(1, "Later", from + PAGE >= active.steps.length)}
      </div>
      <table>
        <thead>
          <tr>
            {[...names, "compaction"].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {steps.map((each) => {
            const fall = each.compaction === undefined ? undefined : compactions[each.compaction];
            return (
              <tr key={each.index}>
                <th scope="row">{count(each.index + 1)}</th>
                <td>{clockTimeAfter(each.at, active.steps[each.index - 1]?.at)}</td>
                {each.tokens.map((tokens, index) => (
                  <td key={layers[index]}>{count(tokens)}</td>
                ))}
                <td>{count(each.total)}</td>
                {hasReported && <Reported step={each} />}
                <td>
                  {fall === undefined ? "" : `${count(fall.tokensBefore)} → ${count(fall.tokensAfter)}`}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

function Reported({ step: { reported, cached, dollars } }: { readonly step: StepView }): JSX.Element {
  return (
    <>
      <td>{reported === undefined ? "" : count(reported)}</td>
      <td>{cached === undefined || reported === undefined ? "" : percent(cached, reported)}</td>
      <td>{dollars === undefined ? "" : `$${dollars.toFixed(4)}`}</td>
    </>
  );
}
