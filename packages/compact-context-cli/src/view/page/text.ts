import type { CompactionHead, LayerKey, MessageKind, Outcome, SessionHead } from "../session-view.ts";

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** `12,345`. */
export function count(value: number): string {
  return WHOLE.format(value);
}

/** `840`, `12.3k`, `1.2M`. */
export function short(value: number): string {
  if (value < 1000) return count(value);
  const [size, unit] = value < 999_500 ? [value / 1000, "k"] : [value / 1_000_000, "M"];
  return `${size < 100 ? size.toFixed(1).replace(/\.0$/, "") : Math.round(size)}${unit}`;
}

/** `63%` of the whole; `0%` of nothing. */
export function percent(part: number, whole: number): string {
  if (whole <= 0 || part === 0) return "0%";
  const share = (part / whole) * 100;
  if (Math.abs(share) < 1) return "<1%";
  return `${Math.round(share)}%`;
}

/** `1 message`, `12,345 messages`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** `0.4 ms`, `840 ms`, `12.3 s`, `4 min 5 s`, `2 h 5 min`. */
export function duration(milliseconds: number): string {
  if (milliseconds === 0) return "0 ms";
  if (milliseconds < 10) return `${milliseconds.toFixed(1)} ms`;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  // Rounded before the division, which avoids `1 min 60 s`.
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

/** In local time; empty for an invalid time. */
function format(iso: string | undefined, formatter: Intl.DateTimeFormat): string {
  const time = Date.parse(iso ?? "");
  return Number.isNaN(time) ? "" : formatter.format(time);
}

/** `14:03:09`, or `4 Nov, 00:03:09` if `before` is on another day. */
export function clockTimeAfter(iso: string | undefined, before: string | undefined): string {
  const [day, dayBefore] = [format(iso, DAY), format(before, DAY)];
  const clock = format(iso, CLOCK);
  return clock === "" || dayBefore === "" || day === dayBefore ? clock : `${day}, ${clock}`;
}

/** `3 Nov 2026, 14:03:09`. */
export function dateTime(iso: string | undefined): string {
  const date = format(iso, DATE);
  return date === "" ? "" : `${date}, ${format(iso, CLOCK)}`;
}

/** The label of a running session; a transcript is replayed, not live. */
export function liveLabel({ live, source }: Pick<SessionHead, "live" | "source">): string {
  if (!live) return "";
  return source === "transcript" ? "replaying" : "live";
}

// Control characters except tab and newline, then bidirectional and invisible ones. Joiners stay: scripts and emoji need them.
const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it matches them on purpose
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb]|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;

/** Escapes invisible and bidirectional control characters (`\u202e`); newline and tab stay. */
export function visibleText(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(INVISIBLE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code <= 0xff) return `\\x${code.toString(16).padStart(2, "0")}`;
    return code <= 0xffff ? `\\u${code.toString(16).padStart(4, "0")}` : `\\u{${code.toString(16)}}`;
  });
}

/** The start of a text on one line. */
export function firstLine(text: string, characters = 240): string {
  const start = text.slice(0, characters).replace(/[\ud800-\udbff]$/, "");
  return visibleText(start.replace(/\s+/g, " ").trim());
}

/** A piece of a text, and whether it matches the search. */
interface TextPiece {
  readonly text: string;
  readonly found: boolean;
}

/** Splits a text at the matches of `words`, which are in lower case. */
export function splitMatches(text: string, words: readonly string[]): TextPiece[] {
  const lower = text.toLowerCase();
  // If lower-casing changes the length, the offsets do not match.
  if (lower.length !== text.length) return [{ text, found: false }];
  const pieces: TextPiece[] = [];
  for (let from = 0; from < text.length; ) {
    const [at, length] = nextMatch(lower, words, from);
    if (at > from) pieces.push({ text: text.slice(from, at), found: false });
    if (length > 0) pieces.push({ text: text.slice(at, at + length), found: true });
    from = at + length;
  }
  return pieces;
}

/** Offset and length of the first match; the end of the text without one. */
function nextMatch(text: string, words: readonly string[], from: number): [number, number] {
  let best: [number, number] = [text.length, 0];
  for (const word of words) {
    const at = word === "" ? -1 : text.indexOf(word, from);
    if (at >= 0 && at < best[0]) best = [at, word.length];
  }
  return best;
}

/** The message of an error, safe to display. */
export function errorText(error: unknown): string {
  const { message = String(error) } = Object(error) as Partial<Error>;
  return visibleText(message).slice(0, 400);
}

/** Names and descriptions of the layers. */
export const LAYERS: Readonly<Record<LayerKey, { readonly name: string; readonly holds: string }>> = {
  tools: { name: "tools", holds: "the schemas of the tools that the model may call" },
  system: { name: "system", holds: "the system prompt" },
  developer: { name: "developer", holds: "the developer's instructions" },
  pinned: { name: "pinned", holds: "messages that a compaction never changes" },
  summary: { name: "summary", holds: "the running summary of what left the window" },
  remainder: { name: "remainder", holds: "older messages that still fit" },
  toolPairs: { name: "tool pairs", holds: "the newest tool calls with their results" },
  recent: { name: "recent", holds: "the messages of the newest turns" },
  messages: { name: "messages", holds: "messages whose layer is not known" },
};

/** In the order of their filters; the sign distinguishes them without colour. */
export const OUTCOMES: Readonly<
  Record<Outcome, { readonly word: string; readonly sign: string; readonly means: string }>
> = {
  kept: { word: "kept", sign: "●", means: "is unchanged" },
  cleared: { word: "cleared", sign: "○", means: "lost its tool output; its call and a note stay" },
  cut: { word: "cut", sign: "◐", means: "keeps the start and the end of its text" },
  summarized: { word: "summarized", sign: "≡", means: "left the window; the summary covers it" },
  unknown: { word: "unknown", sign: "?", means: "has no recorded outcome" },
};

export const KINDS: Readonly<Record<MessageKind, string>> = {
  text: "",
  toolCall: "calls",
  toolResult: "result",
  reasoning: "reasoning",
  media: "media",
  summary: "summary",
};

/** Definitions of the page's terms, for tooltips and the dialog “Keys and terms”. */
export const GLOSSARY: Readonly<Record<string, string>> = {
  window: "The most tokens that the model can read in one call.",
  trigger: "From this many tokens on, a request is compacted before it is sent.",
  "kept free": "Tokens at the end of the window that no request may use, so that the answer has room.",
  compaction:
    "Older messages leave the request and a summary takes their place; the archive keeps the originals.",
  strategy: "What a compaction does first: summarize, or only clear old tool output.",
  "recent turns": "The newest turns stay word for word; a turn is a user message and all that answers it.",
  "tool pairs": "A tool call with its result; the newest of them stay together.",
  "never pruned": "Messages of these roles always stay.",
  target: "The size that a compaction aims for; it may be missed.",
  counted: "Tokens as Compact counts them.",
  reported: "Tokens as the provider reported them for the call.",
  "without compaction": "Tokens of the whole history.",
  ...Object.fromEntries(Object.values(LAYERS).map(({ name, holds }) => [name, `Holds ${holds}.`])),
  ...Object.fromEntries(Object.values(OUTCOMES).map(({ word, means }) => [word, `The message ${means}.`])),
};

const REASONS: Readonly<Record<string, string>> = {
  trigger_pct: "the trigger was reached",
  hard_cap: "the hard cap was reached",
  max_tokens: "the token limit was reached",
  max_tokens_before_summary: "the limit before a summary was reached",
  manual: "requested",
  max_bytes: "too many bytes for one request",
  max_images: "too many images for one request",
  cold_cache: "the cache had expired",
  tool_output: "a tool's output was over its limit",
};

/** Why a compaction happened. */
export function reasonText(reason: string): string {
  return REASONS[reason] ?? reason.replaceAll("_", " ");
}

/** A compaction in one sentence, for a label. */
export function sentence({ index, step, tokensBefore, tokensAfter, reason }: CompactionHead): string {
  const why = reason === undefined ? "" : `: ${reasonText(reason)}`;
  const saved = percent(tokensBefore - tokensAfter, tokensBefore);
  return `Compaction ${index + 1}, before call ${count(step + 1)}${why}. ${count(tokensBefore)} to ${count(tokensAfter)} tokens, ${saved} less.`;
}
