import {
  type LiveNotice,
  type SessionHead,
  type SessionList,
  type SessionView,
  VIEW_VERSION,
} from "../session-view.ts";
import type { Known } from "./api.ts";
import { sentence } from "./cliffs.ts";
import { reasonOf } from "./message-dialog.ts";
import { grown, moreWaits, placesOf } from "./session-data.ts";
import type { Store } from "./store.ts";

export interface FlowPorts {
  sessions(): Promise<SessionList>;
  session(id: string, known: Known): Promise<SessionView>;
  /** Another session is shown from now on. */
  changed(id: string): void;
  announce(text: string): void;
}

export interface Flow {
  start(wanted: string | undefined): Promise<void>;
  choose(id: string): Promise<void>;
  hear(notice: LiveNotice): void;
}

/** Fetches sessions and lets them grow: one request at a time, and one more where news came meanwhile. */
export function createFlow(store: Store, ports: FlowPorts): Flow {
  let chosen: string | undefined;
  let fetching = false;
  let again = false;

  const fail = (error: unknown): void => store.set({ problem: reasonOf(error) });
  /** True where more of it waits. */
  const fetchOnce = async (id: string): Promise<boolean> => {
    const { session: shown } = store.get();
    const known = shown?.id === id ? shown : undefined;
    const view = await ports.session(id, placesOf(known));
    if (id !== chosen) return true;
    if (known === undefined) ports.changed(id);
    const session = grown(known, view);
    take(store, { known, session }, ports);
    return moreWaits(known, session);
  };
  const fetch = async (): Promise<void> => {
    again = fetching;
    if (fetching) return;
    fetching = true;
    do {
      again = false;
      const more = chosen !== undefined && (await fetchOnce(chosen).catch(fail));
      again ||= more === true;
    } while (again);
    fetching = false;
  };
  const choose = async (id: string): Promise<void> => {
    if (id === chosen && store.get().session?.id === id) return;
    chosen = id;
    store.set({ playing: false, problem: undefined });
    await fetch();
  };
  const list = async (): Promise<readonly SessionHead[]> => {
    const { sessions, dropped } = await ports.sessions();
    store.set({ sessions, dropped, ready: true, connection: "open" });
    return sessions;
  };
  const news = (head: SessionHead): void => {
    const { sessions } = store.get();
    const known = sessions.some(({ id }) => id === head.id);
    store.set({
      sessions: known ? sessions.map((each) => (each.id === head.id ? head : each)) : [head, ...sessions],
    });
    if (chosen === undefined) void choose(head.id);
    else if (chosen === head.id) void fetch();
  };

  return {
    choose,
    async start(wanted) {
      try {
        const sessions = await list();
        const first = sessions.find(({ id }) => id === wanted) ?? sessions[0];
        if (first !== undefined) await choose(first.id);
      } catch (error) {
        store.set({ ready: true });
        fail(error);
      }
    },
    hear(notice) {
      const { sessions, ready } = store.get();
      if (notice.type === "session") news(notice.session);
      else if (notice.type === "gone") store.set({ sessions: sessions.filter(({ id }) => id !== notice.id) });
      else if (notice.version !== VIEW_VERSION)
        fail(new Error("The server is of another version. Load this page again."));
      else {
        store.set({ connection: "open" });
        // After a break the page may have missed anything.
        if (ready) void list().then(fetch, fail);
      }
    },
  };
}

interface Taken {
  readonly known: SessionView | undefined;
  readonly session: SessionView;
}

/** Shows a session that is new or has grown: who looks at its end stays there. */
function take(store: Store, { known, session }: Taken, { announce }: FlowPorts): void {
  const { step, compaction } = store.get();
  const following = known === undefined || step >= known.steps.length - 1;
  const newest = session.compactions.at(-1);
  if (known !== undefined && newest !== undefined && session.compactions.length > known.compactions.length) {
    announce(sentence(newest));
  }
  store.set({
    session,
    problem: undefined,
    compaction: known === undefined ? 0 : compaction,
    step: following ? Math.max(0, session.steps.length - 1) : step,
  });
}
