import { isObject } from "compact-context/internal/errors";
import type { ToldEvent } from "./event-reader.ts";
import { recordIn, textIn } from "./untrusted.ts";

/** An event of `events.jsonl` with its session; undefined for a line that is none. */
export function readEventLine(line: string): (ToldEvent & { readonly sessionId: string }) | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  const [name, sessionId] = [textIn(value, "name"), textIn(value, "session_id")];
  const startedAt = textIn(value, "started_at");
  if (name === undefined || sessionId === undefined || !isTime(startedAt)) return undefined;
  const endedAt = textIn(value, "ended_at");
  return {
    name,
    sessionId,
    startedAt,
    endedAt: isTime(endedAt) ? endedAt : startedAt,
    status: textIn(value, "status") === "error" ? "error" : "ok",
    properties: recordIn(value, "properties") ?? {},
    payload: isObject(value) ? value.payload : undefined,
  };
}

function isTime(text: string | undefined): text is string {
  return text !== undefined && !Number.isNaN(Date.parse(text));
}
