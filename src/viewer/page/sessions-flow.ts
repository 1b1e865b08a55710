import type { LiveNotice, SessionHead, SessionList, SessionView } from "../session-view.ts";
import type { Known } from "./api.ts";
import { reasonOf } from "./message-dialog.ts";
import { grown } from "./session-data.ts";
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

const NOTHING: Known = { steps: 0, compactions: 0, spans: 0 };

/** Fetches sessions and lets them grow: one request at a time, and one more where news came meanwhile. */
export function createFlow(store: Store, ports: FlowPorts): Flow {
  let chosen: string | undefined;
  let fetching = false;
  let again = false;

  const fail = (error: unknown): void => store.set({ problem: reasonOf(error) });

  const fetch = async (): Promise<void> => {
    if (chosen === undefined) return;
    if (fetching) {
      again = true;
      return;
    }
    fetching = true;
    try {
      const { session: shown } = store.get();
      const known = shown?.id === chosen ? shown : undefined;
      const view = await ports.session(chosen, known === undefined ? NOTHING : knownOf(known));
      if (view.id === chosen) take(known, view);
    } catch (error) {
      fail(error);
    } finally {
      fetching = false;
      if (again || (chosen !== store.get().session?.id && store.get().problem === undefined)) {
        again = false;
        void fetch();
      }
    }
  };

  const take = (known: SessionView | undefined, more: SessionView): void => {
    const session = grown(known, more);
    const last = Math.max(0, session.steps.length - 1);
    const { step, compaction } = store.get();
    const following = known === undefined || step >= known.steps.length - 1;
    if (known === undefined) ports.changed(session.id);
    const fresh = session.compactions.length - (known?.compactions.length ?? session.compactions.length);
    const newest = session.compactions.at(-1);
    if (fresh > 0 && newest !== undefined) {
      ports.announce(
        `Compaction ${newest.index + 1}: ${newest.tokensBefore} to ${newest.tokensAfter} tokens.`,
      );
    }
    const opened = known === undefined ? 0 : compaction;
    store.set({ session, problem: undefined, compaction: opened, ...(following ? { step: last } : {}) });
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
      if (notice.type === "hello") {
        store.set({ connection: "open" });
        // After a break the page may have missed anything.
        if (ready) void list().then(fetch, fail);
      } else if (notice.type === "gone") {
        store.set({ sessions: sessions.filter(({ id }) => id !== notice.id) });
      } else {
        const { session: head } = notice;
        const known = sessions.some(({ id }) => id === head.id);
        store.set({
          sessions: known ? sessions.map((each) => (each.id === head.id ? head : each)) : [head, ...sessions],
        });
        if (chosen === undefined) void choose(head.id);
        else if (chosen === head.id) void fetch();
      }
    },
  };
}

/** The newest of each may have been amended since: they are asked for again. */
function knownOf({ steps, compactions, spans }: SessionView): Known {
  return {
    steps: Math.max(0, steps.length - 1),
    compactions: Math.max(0, compactions.length - 1),
    spans: spans.length,
  };
}
