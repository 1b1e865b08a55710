import type { SpanView } from "./session-view.ts";
import { jsonText } from "./untrusted.ts";

/** Longest value of an attribute that is kept: the whole summary is shown with its compaction. */
const LONGEST = 4000;
const MOST_ATTRIBUTES = 64;

/** A span before its times are compared. */
export interface SpanDraft {
  readonly id: string;
  readonly parent?: string;
  readonly name: string;
  readonly start?: string;
  readonly end?: string;
  readonly status: "ok" | "error";
  readonly data: Readonly<Record<string, unknown>>;
}

/** A span as the page shows it. */
export function spanView({ id, parent, name, start, end, status, data }: SpanDraft): SpanView {
  const took = start === undefined || end === undefined ? Number.NaN : Date.parse(end) - Date.parse(start);
  return {
    id: id.slice(0, 200),
    parent: parent?.slice(0, 200),
    name: name.slice(0, 200),
    start,
    end,
    durationMs: Number.isNaN(took) ? undefined : Math.max(0, took),
    status,
    attributes: attributesOf(data),
  };
}

/** Names and values, those of an object inside by `outer.inner`. */
function attributesOf(data: Readonly<Record<string, unknown>>): SpanView["attributes"] {
  const attributes: { name: string; value: string }[] = [];
  const add = (name: string, value: unknown): void => {
    if (attributes.length < MOST_ATTRIBUTES && value !== undefined) {
      attributes.push({ name: name.slice(0, 200), value: shown(value) });
    }
  };
  for (const [name, value] of Object.entries(data)) {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      for (const [inner, one] of Object.entries(value)) add(`${name}.${inner}`, one);
    } else add(name, value);
  }
  return attributes;
}

function shown(value: unknown): string {
  const text = typeof value === "string" ? value : jsonText(value);
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}…`;
}
