import { api, listen } from "./api.ts";
import { createArchivePanel } from "./archive-panel.ts";
import { createChart } from "./chart.ts";
import { sentence } from "./cliffs.ts";
import { createCompactionPanel } from "./compaction-panel.ts";
import { byId, element, fill } from "./dom.ts";
import { createHeading } from "./heading.ts";
import { createKeys } from "./keys.ts";
import { createMessageDialog, reasonOf } from "./message-dialog.ts";
import { createOriginals } from "./originals.ts";
import { readPlace, writePlace } from "./place.ts";
import { createReadout } from "./readout.ts";
import { createScrubber } from "./scrubber.ts";
import { createFlow } from "./sessions-flow.ts";
import { createSessionsList } from "./sessions-list.ts";
import type { Shared } from "./shared.ts";
import { createStore, type State } from "./store.ts";
import { createTable } from "./table.ts";
import { createTabs } from "./tabs.ts";
import { createTimelinePanel } from "./timeline-panel.ts";
import { createWindowPanel } from "./window-panel.ts";

const place = readPlace(location.hash);
const store = createStore(
  {
    sessions: [],
    dropped: 0,
    session: undefined,
    step: 0,
    tab: place.tab ?? "window",
    compaction: 0,
    playing: false,
    connection: "connecting",
    problem: undefined,
    ready: false,
    arrivals: 0,
  },
  (run) => requestAnimationFrame(run),
);

const part = (id: string): HTMLElement => byId(id, HTMLElement);
const announcer = part("announcer");
const announce = (text: string): void => {
  announcer.textContent = text;
};
const originals = createOriginals({
  messages: api.messages,
  compaction: api.compaction,
  arrived: () => store.set({ arrivals: store.get().arrivals + 1 }),
  failed: (error) => store.set({ problem: reasonOf(error) }),
});
const dialog = createMessageDialog(api.expand);
const shared: Shared = { store, originals, announce, showMessage: dialog.open };
const flow = createFlow(store, {
  sessions: api.sessions,
  session: api.session,
  changed: (id) => originals.about(id),
  announce,
});

const openCompaction = (index: number): void => {
  const found = store.get().session?.compactions[index];
  if (found === undefined) return;
  store.set({ compaction: index, step: found.step, tab: "compaction", playing: false });
  announce(sentence(found));
};

const table = createTable(part("chart"), store);
createSessionsList(part("sessions"), store, (id) => void flow.choose(id));
createHeading(part("heading"), store, table.toggle);
createChart(part("chart"), store, openCompaction);
createReadout(part("readout"), store);
createScrubber(part("scrubber"), store);
createTabs({ tabs: part("tabs"), panels: part("panels") }, store, {
  window: () => createWindowPanel(shared),
  compaction: () => createCompactionPanel(shared),
  timeline: () => createTimelinePanel(shared),
  archive: () => createArchivePanel(shared, api.search),
});
createKeys(part("keys-button"), {
  search() {
    store.set({ tab: "archive" });
    requestAnimationFrame(() => requestAnimationFrame(() => document.getElementById("search")?.focus()));
  },
  compaction(by) {
    const { session, compaction, tab, step } = store.get();
    if (session === undefined || session.compactions.length === 0) return;
    const next = tab === "compaction" ? compaction + by : nearest(session.compactions, step, by);
    openCompaction(Math.max(0, Math.min(session.compactions.length - 1, next)));
  },
});

/** The first compaction behind a step, or the last one before it. */
function nearest(compactions: readonly { readonly step: number }[], step: number, by: number): number {
  if (by < 0) return compactions.findLastIndex((each) => each.step < step);
  const found = compactions.findIndex((each) => each.step > step);
  return found < 0 ? compactions.length - 1 : found;
}

store.watch(["problem"], ({ problem }) => {
  part("problem").hidden = problem === undefined;
  part("problem").textContent = problem ?? "";
});
store.watch(["connection"], ({ connection }) => {
  part("connection").textContent = connection === "lost" ? "The server does not answer. Trying again …" : "";
});
store.watch(["session", "ready", "sessions"], ({ session, ready, sessions }) => {
  part("session").hidden = session === undefined;
  part("nothing").hidden = session !== undefined || !ready || sessions.length > 0;
});
store.watch(["tab"], ({ tab }) => {
  part("session").dataset.tab = tab;
});
store.watch(["session", "tab", "step", "compaction"], rememberPlace());
store.watch(["step"], announceFalls());

fill(
  part("nothing"),
  element("h2", {}, "No session yet"),
  element("p", {}, "This page fills by itself as soon as a session comes in. Three ways to send one:"),
  element(
    "dl",
    {},
    ...[
      ["compact view session.jsonl", "a session that exists already, replayed"],
      ["compact replay session.jsonl --view", "the same, while it is played"],
      [`COMPACT_TRACING_ARIADNE=${location.origin}/ingest`, "an agent that runs with Compact"],
    ].flatMap(([command, does]) => [
      element("dt", {}, element("code", {}, command)),
      element("dd", {}, does),
    ]),
  ),
);

/** The address follows, at most twice a second: browsers refuse more. */
function rememberPlace(): (state: State) => void {
  let timer = 0;
  return () => {
    if (timer !== 0) return;
    timer = window.setTimeout(() => {
      timer = 0;
      const hash = writePlace(store.get());
      if (hash !== "" && hash !== location.hash) history.replaceState(null, "", hash);
    }, 500);
  };
}

/** Tells a screen reader of the compactions that are passed while the session plays. */
function announceFalls(): (state: State) => void {
  let from = 0;
  return ({ session, step, playing }) => {
    const passed = session?.compactions.findLast((each) => each.step > from && each.step <= step);
    from = step;
    if (playing && passed !== undefined) announce(sentence(passed));
  };
}

listen(flow.hear, () => store.set({ connection: "lost" }));
await flow.start(place.session);
const { session: shown } = store.get();
if (shown !== undefined) {
  const last = Math.max(0, shown.steps.length - 1);
  const compaction = Math.max(0, Math.min(shown.compactions.length - 1, place.compaction ?? 0));
  const opened = place.tab === "compaction" ? shown.compactions[compaction]?.step : undefined;
  store.set({ compaction, step: Math.min(last, place.step ?? opened ?? last) });
}
