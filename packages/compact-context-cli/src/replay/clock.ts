import type { Message } from "compact-context";
import { isUserSpeech } from "compact-context/internal/core/units";

/** Seconds that a model call and its tools take where the session does not say. */
const CALL_SECONDS = 15;
/** Seconds that pass before a user speaks, where the session does not say. */
const USER_SECONDS = 120;

/** When a model call was made. */
export interface CallTime {
  /** Seconds since the first call. */
  readonly time: number;
  /** True when the interval before it comes from the session's own time stamps. */
  readonly recorded: boolean;
  /** True when a user spoke since the call before. */
  readonly opensTurn: boolean;
}

/**
 * The clock of a session: a call is made when the newest message before it was, by its time stamp; without one
 * 15 s after the call before, and 2 min later when a user speaks first. It never runs backwards.
 */
export function callTimes(history: readonly Message[], ends: readonly number[]): CallTime[] {
  const times: CallTime[] = [];
  let before: number | undefined;
  /** Seconds of our clock when the time stamps' clock was at zero. */
  let offset: number | undefined;
  for (const [number, end] of ends.entries()) {
    const added = history.slice(ends[number - 1] ?? 0, end);
    const opensTurn = added.some(opensATurn);
    const stamp = newestStamp(added);
    const stamped = stamp === undefined || offset === undefined ? undefined : stamp + offset;
    const time: number = Math.max(before ?? 0, stamped ?? expectedTime(before, opensTurn));
    if (stamp !== undefined) offset ??= time - stamp;
    times.push({ time, recorded: stamped !== undefined, opensTurn });
    before = time;
  }
  return times;
}

function expectedTime(before: number | undefined, opensTurn: boolean): number {
  if (before === undefined) return 0;
  return before + CALL_SECONDS + (opensTurn ? USER_SECONDS : 0);
}

function opensATurn(message: Message): boolean {
  return isUserSpeech(message) && !message.parts.some((part) => part.type === "toolResult");
}

/** Seconds. */
function newestStamp(messages: readonly Message[]): number | undefined {
  const stamps = messages.flatMap(({ meta }) => {
    const time = Date.parse(meta?.timestamp ?? "");
    return Number.isNaN(time) ? [] : [time / 1000];
  });
  return stamps.length === 0 ? undefined : stamps.reduce((newest, stamp) => Math.max(newest, stamp));
}
