import type { SessionHead, SessionView } from "../session-view.ts";

export const TABS = ["window", "compaction", "timeline", "archive"] as const;
export type Tab = (typeof TABS)[number];

/** All that the page shows; its parts are replaced, never changed. */
export interface State {
  readonly sessions: readonly SessionHead[];
  /** Sessions that the server let go. */
  readonly dropped: number;
  readonly session: SessionView | undefined;
  /** The step that is looked at. */
  readonly step: number;
  readonly tab: Tab;
  /** The compaction that is opened. */
  readonly compaction: number;
  readonly playing: boolean;
  readonly connection: "connecting" | "open" | "lost";
  /** What went wrong last, for a person. */
  readonly problem: string | undefined;
  /** False until the server has said which sessions there are. */
  readonly ready: boolean;
  /** Grows whenever messages or compactions that were waited for have arrived. */
  readonly arrivals: number;
}

export interface Store {
  get(): State;
  set(change: Partial<State>): void;
  /** Calls back in the next frame after one of these parts was replaced, and once at the start. */
  watch(parts: readonly (keyof State)[], callback: (state: State) => void): void;
}

/** `later` runs what it is given once, soon: in a browser before the next frame. */
export function createStore(initial: State, later: (run: () => void) => void): Store {
  let state = initial;
  let queued = false;
  const changed = new Set<keyof State>();
  const watchers: { readonly parts: readonly (keyof State)[]; readonly callback: (state: State) => void }[] =
    [];
  const tell = (): void => {
    queued = false;
    const parts = new Set(changed);
    changed.clear();
    for (const { parts: wanted, callback } of watchers) {
      if (wanted.some((part) => parts.has(part))) callback(state);
    }
  };
  return {
    get: () => state,
    set(change) {
      for (const part of Object.keys(change) as (keyof State)[]) {
        if (!Object.is(state[part], change[part])) changed.add(part);
      }
      state = { ...state, ...change };
      if (changed.size === 0 || queued) return;
      queued = true;
      later(tell);
    },
    watch(parts, callback) {
      watchers.push({ parts, callback });
      callback(state);
    },
  };
}
