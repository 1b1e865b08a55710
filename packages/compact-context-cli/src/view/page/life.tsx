import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { SessionView, StepView } from "../session-view.ts";
import { Chart, isZoomed, zoom } from "./chart.tsx";
import { Term } from "./list.tsx";
import { goTo, playing, session, spoken, step } from "./state.ts";
import { clockAfter, count, firstLine, LAYERS, liveWord, percent, plural, sentence } from "./text.ts";

/** The session's title and what it came to. */
export function Heading(): JSX.Element | null {
  const about = session.value;
  const name = about === undefined ? "" : firstLine(about.title, 200) || "(no title)";
  useEffect(() => {
    if (name !== "") document.title = `${name.slice(0, 60)} · compact view`;
  }, [name]);
  if (about === undefined) return null;
  return (
    <header id="heading" class="heading">
      <div class="words">
        <h2 dir="auto" title={name}>
          {name}
        </h2>
        <p class="facts">
          {about.live && <span class="live">{liveWord(about)}</span>}
          {factsOf(about).join(" · ")}
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
    dropped > 0 ? `${count(dropped)} older spans and calls let go` : "",
  ].filter((fact) => fact !== "");
}

/** Simulated, so it says about. */
function costOf({ compact, none }: NonNullable<SessionView["cost"]>): string {
  const own = `prompts about $${compact.toFixed(2)}`;
  return none !== undefined && none > compact
    ? `${own}, ${percent(none - compact, none)} less than without`
    : own;
}

/** The chart with the legend, the slider, and the same figures as a table. */
export function Life(): JSX.Element {
  const isTable = useSignal(false);
  return (
    <section class="life" id="life" aria-labelledby="life-title">
      <h2 id="life-title" class="unseen">
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
          {isTable.value ? "As a picture" : "As a table"}
        </button>
      </Scrubber>
    </section>
  );
}

const NO_STEP: StepView = { index: 0, messages: 0, tokens: [], total: 0 };

/** The legend, which says what each layer has at the call that is looked at. */
function Readout(): JSX.Element {
  const used = useComputed(() => {
    const { layers = [], steps = [] } = session.value ?? {};
    return layers.flatMap((layer, place) =>
      steps.some(({ tokens, before }) => (tokens[place] ?? 0) > 0 || (before?.[place] ?? 0) > 0)
        ? [{ layer, place }]
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
        <span class="when">{clockAfter(now.at, steps[0]?.at)}</span>
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
        {used.value.toReversed().map(({ layer, place }) => {
          const tokens = now.tokens[place] ?? 0;
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

/** A whole session is played in about this many milliseconds, but no call is shown longer than `LONGEST`. */
const WHOLE = 24_000;
const LONGEST = 450;

/** The slider under the chart, and the button that moves it by itself. */
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
          // The native page step is a tenth of the session: too far in long ones to see what happens.
          const far = { PageUp: 10, PageDown: -10 }[event.key];
          if (far === undefined) return;
          event.preventDefault();
          goTo(at + far);
        }}
      />
      <button type="button" class="quiet turn" aria-label="Fewer calls, larger" onClick={() => zoom(0.5)}>
        +
      </button>
      <button
        type="button"
        class="quiet turn"
        aria-label="All calls"
        disabled={!isZoomed()}
        onClick={() => zoom(Number.POSITIVE_INFINITY)}
      >
        −
      </button>
      {children}
    </div>
  );
}

/** Moves on by itself, and tells a screen reader of the compactions that are passed. */
function play(): void {
  let last = performance.now();
  let due = 0;
  const frame = (now: number): void => {
    const about = session.value;
    if (!playing.value || about === undefined) return;
    const end = about.steps.length - 1;
    due += now - last;
    last = now;
    const each = Math.min(LONGEST, WHOLE / Math.max(1, end));
    const steps = Math.floor(due / each);
    due -= steps * each;
    const from = step.value;
    const next = Math.min(end, from + steps);
    step.value = next;
    const passed = about.compactions.findLast((one) => one.step > from && one.step <= next);
    if (passed !== undefined) spoken.value = sentence(passed);
    if (next === end && !about.live) playing.value = false;
    else requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

const PAGE = 100;

/** The chart's figures as a table, a page of calls at a time. */
function Table(): JSX.Element | null {
  const page = useSignal(Math.floor(step.value / PAGE));
  const about = session.value;
  if (about === undefined) return null;
  const { layers, compactions } = about;
  const from = page.value * PAGE;
  const steps = about.steps.slice(from, from + PAGE);
  const hasReported = about.steps.some(({ reported }) => reported !== undefined);
  const names = ["call", "time", ...layers.map((layer) => LAYERS[layer].name), "total"];
  if (hasReported) names.push("reported", "from cache", "cost");
  const turn = (by: number, label: string, isOut: boolean): JSX.Element => (
    <button type="button" class="quiet" disabled={isOut} onClick={() => (page.value += by)}>
      {label}
    </button>
  );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and keys scroll only what has the focus
    <section id="table" class="table" aria-label="The window, call by call" tabIndex={0}>
      <div class="pages">
        {turn(-1, "Earlier", page.value === 0)}
        <p class="caption">
          {`Calls ${count(from + 1)} to ${count(from + steps.length)} of ${plural(about.steps.length, "call")}`}
        </p>
        {turn(1, "Later", from + PAGE >= about.steps.length)}
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
                <td>{clockAfter(each.at, about.steps[each.index - 1]?.at)}</td>
                {each.tokens.map((tokens, place) => (
                  <td key={layers[place]}>{count(tokens)}</td>
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
