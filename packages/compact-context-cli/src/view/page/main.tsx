import { effect } from "@preact/signals";
import { type JSX, render } from "preact";
import type { SessionHead } from "../session-view.ts";
import { ArchivePanel } from "./archive.tsx";
import { zoom } from "./chart.tsx";
import { CompactionPanel } from "./compaction.tsx";
import { Keys, MessageDialog } from "./dialogs.tsx";
import { moveFocus } from "./list.tsx";
import { Heading, Overview } from "./overview.tsx";
import {
  announcement,
  connection,
  dropped,
  fetchError,
  locationHash,
  problem,
  ready,
  selectSession,
  session,
  sessions,
  start,
  TABS,
  type Tab,
  tab,
} from "./state.ts";
import { count, firstLine, liveLabel, plural, short } from "./text.ts";
import { TimelinePanel } from "./timeline.tsx";
import { WindowPanel } from "./window.tsx";

function App(): JSX.Element {
  const active = session.value;
  const error = problem.value ?? fetchError.value;
  return (
    <>
      <a class="skip" href="#panels">
        Skip to the details
      </a>
      <div id="announcer" class="visually-hidden" role="status" aria-live="polite">
        {announcement}
      </div>
      <aside id="sidebar" aria-label="Sessions">
        <div class="brand">
          <img class="mark" src="/page/icon.svg" alt="" width="20" height="20" />
          <h1>
            compact <span>view</span>
          </h1>
        </div>
        <h2 id="sessions-title" class="small-title">
          Sessions
        </h2>
        <Sessions />
        <p id="connection" class="connection" role="status">
          {connection.value === "lost" ? "The server does not answer. Retrying …" : ""}
        </p>
        <Keys zoom={zoom} />
      </aside>
      <main id="main">
        {error !== undefined && (
          <p id="problem" class="problem" role="alert">
            {error}
          </p>
        )}
        {active === undefined && ready.value && sessions.value.length === 0 && <Nothing />}
        {active !== undefined && (
          <div id="session" class="session" data-tab={tab.value}>
            <Heading />
            <Overview />
            <Tabs />
            <div id="panels" class="panels" tabIndex={-1}>
              <section
                key={tab.value}
                role="tabpanel"
                id={`panel-${tab.value}`}
                class="panel"
                aria-labelledby={`tab-${tab.value}`}
              >
                {PANELS[tab.value]()}
              </section>
            </div>
          </div>
        )}
      </main>
      <MessageDialog />
    </>
  );
}

const PANELS: Readonly<Record<Tab, () => JSX.Element>> = {
  window: () => <WindowPanel />,
  compaction: () => <CompactionPanel />,
  timeline: () => <TimelinePanel />,
  archive: () => <ArchivePanel />,
};

const NAMES: Readonly<Record<Tab, string>> = {
  window: "Window",
  compaction: "Compactions",
  timeline: "Timeline",
  archive: "Archive",
};

function Tabs(): JSX.Element {
  const { compactions = [], spans = [] } = session.value ?? {};
  const amounts: Partial<Record<Tab, number>> = { compaction: compactions.length, timeline: spans.length };
  return (
    <div id="tabs" class="tabs" role="tablist" aria-label="Details" onKeyDown={moveFocus}>
      {TABS.map((each) => (
        <button
          key={each}
          type="button"
          role="tab"
          id={`tab-${each}`}
          data-rove
          aria-controls={`panel-${each}`}
          aria-selected={each === tab.value}
          tabIndex={each === tab.value ? 0 : -1}
          onClick={() => (tab.value = each)}
          onFocus={() => (tab.value = each)}
        >
          {NAMES[each]}
          {amounts[each] !== undefined && <span class="amount">{count(amounts[each])}</span>}
        </button>
      ))}
    </div>
  );
}

const SOURCES: Readonly<Record<SessionHead["source"], string>> = {
  transcript: "replayed",
  archive: "archive",
  events: "events",
};

function Sessions(): JSX.Element {
  return (
    <nav id="sessions" aria-labelledby="sessions-title" onKeyDown={moveFocus}>
      <ul>
        {sessions.value.map((head) => (
          <li key={head.id}>
            <Entry head={head} />
          </li>
        ))}
      </ul>
      {dropped.value > 0 && (
        <p class="caption">{`${plural(dropped.value, "older session")} dropped to save memory.`}</p>
      )}
    </nav>
  );
}

function Entry({ head }: { readonly head: SessionHead }): JSX.Element {
  const { id, title, live, source, counts } = head;
  const size = counts.messages > 0 ? plural(counts.messages, "message") : plural(counts.steps, "call");
  return (
    <button
      type="button"
      data-rove
      data-session={id}
      aria-current={id === session.value?.id ? "true" : undefined}
      title={firstLine(title)}
      onClick={() => void selectSession(id)}
    >
      <span class="title" dir="auto">
        {firstLine(title, 120) || "(no title)"}
      </span>
      <span class="facts">
        {live && <span class="live">{liveLabel(head)}</span>}
        {live ? size : `${size} · ${SOURCES[source]}`}
      </span>
      {counts.compactions > 0 && (
        <span class="amount" title={plural(counts.compactions, "compaction")}>
          {`↓${short(counts.compactions)}`}
        </span>
      )}
    </button>
  );
}

const COMMANDS: readonly (readonly [string, string])[] = [
  ["compact view session.jsonl", "replays a recorded session"],
  ["compact view .compact/archive", "shows the sessions of an archive"],
  [`COMPACT_TRACING_ARIADNE=${location.origin}/ingest`, "shows a running agent; set this in its environment"],
];

function Nothing(): JSX.Element {
  return (
    <section id="nothing" class="nothing">
      <h2>No session yet</h2>
      <p>Sessions appear here as soon as they arrive. Three ways to get one:</p>
      <dl>
        {COMMANDS.map(([command, description]) => (
          <>
            <dt>
              <code>{command}</code>
            </dt>
            <dd>{description}</dd>
          </>
        ))}
      </dl>
    </section>
  );
}

/** Updates the location hash, at most twice a second: browsers throttle more. */
let timer = 0;
effect(() => {
  locationHash();
  if (timer !== 0) return;
  timer = window.setTimeout(() => {
    timer = 0;
    const hash = locationHash();
    if (hash !== "" && hash !== location.hash) history.replaceState(null, "", hash);
  }, 500);
});

const host = document.getElementById("page");
if (host !== null) render(<App />, host);
// Changed by the user: a pasted link, or a step back to one. The link that skips to the details has no field.
addEventListener("hashchange", () => {
  if (location.hash.includes("=")) location.reload();
});
await start(location.hash);
