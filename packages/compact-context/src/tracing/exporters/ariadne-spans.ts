import type { CompactEvent } from "../../core/ports.ts";
import { createNewestMap, notBefore, roundStep } from "../round.ts";

/** Ariadne cuts texts at 102,400 characters and refuses bodies over 262,144 bytes, which holds two such spans. */
const LONGEST_TEXT = 40_000;
const LONGEST_SPAN = 120_000;
/** Rounds of one session that can be under way: more were given up without a word. */
const MOST_ROUNDS = 8;

interface Round {
  readonly span: string;
  startedAt: string;
}

/**
 * Turns the events of one session into spans of one trace, as JSON: the event's own and, with the last step of a
 * round, the span of the round. Each is made once, at its end: Ariadne keeps the first that it sees.
 */
export function createAriadneSpans(trace: string, newId: () => string): (event: CompactEvent) => string[] {
  const rounds = createNewestMap<Round>(MOST_ROUNDS);
  return (event) => {
    const place = roundStep(event);
    if (place === undefined) return [spanText(event, { trace, span: newId() })];
    const key = String(place.step);
    const round = rounds.get(key) ?? { span: newId(), startedAt: event.startedAt };
    rounds.set(key, round);
    if (event.startedAt < round.startedAt) round.startedAt = event.startedAt;
    const own = spanText(event, { trace, span: newId(), parent: round.span });
    if (!place.last) return [own];
    rounds.delete(key);
    const { payload: _, ...last } = event;
    const whole = { ...last, startedAt: round.startedAt };
    return [own, spanText(whole, { trace, span: round.span, name: "compact" })];
  };
}

interface Ids {
  readonly trace: string;
  readonly span: string;
  readonly parent?: string;
  readonly name?: string;
}

/** No span ends before it began, and fields without a value are left out: Ariadne refuses `null`. */
function spanText(event: CompactEvent, { trace, span, parent, name }: Ids): string {
  const { startedAt, endedAt } = event;
  const text = (data: object): string =>
    JSON.stringify({
      type: "span",
      trace_id: trace,
      span_id: span,
      parent_id: parent,
      kind: "compact",
      name: name ?? event.name,
      started_at: startedAt,
      ended_at: notBefore(endedAt, startedAt),
      status: event.status,
      data,
    });
  for (const longest of [LONGEST_TEXT, LONGEST_TEXT / 10, LONGEST_TEXT / 100]) {
    const whole = text(dataOf(event, longest));
    if (bytesOf(whole) <= LONGEST_SPAN) return whole;
  }
  return text({ session_id: shortened(event.sessionId, 200), left_out: "too long for Ariadne" });
}

function dataOf({ sessionId, host, properties, payload }: CompactEvent, longest: number): object {
  const shorten = (_key: string, value: unknown): unknown =>
    typeof value === "string" ? shortened(value, longest) : value;
  const output = typeof payload === "string" || payload === undefined ? payload : JSON.stringify(payload);
  const data = {
    session_id: sessionId,
    host_trace_id: host?.traceId,
    host_span_id: host?.spanId,
    ...properties,
    output,
  };
  return JSON.parse(JSON.stringify(data, shorten)) as object;
}

function shortened(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest)}…`;
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
