import { isAbsolute, relative } from "node:path";
import { requireText } from "../errors.ts";
import { oneLine } from "../summarizers/extractive/text.ts";
import type { MemoryTrust } from "./changes/document.ts";
import { DAY } from "./ranking/dates.ts";

/** Limits of a block; the first one reached applies. */
export interface PackLimits {
  /** Maximum number of places (sections of files) that items come from. */
  readonly maxInjected: number;
  /** Characters of the whole block, including tags. */
  readonly maxChars: number;
  /** Tokens of the whole block, by `countText`. */
  readonly maxTokens?: number;
  readonly countText?: (text: string) => number;
  /** Milliseconds since 1970, for ages; if omitted, only dates are shown. */
  readonly now?: number;
  /** Files inside this folder are shown relative to it. Default: absolute paths. */
  readonly root?: string;
}

export interface Packed<T> {
  /** The items with their texts as rendered in the block. */
  readonly items: readonly { readonly item: T; readonly content: string; readonly clipped: boolean }[];
  readonly renderedText: string;
  /** The items that repeat another or did not fit, in order. */
  readonly left: readonly { readonly item: T; readonly why: "folded" | "no-room" }[];
}

/** The fields of a memory that a block shows. */
export interface Packable {
  readonly source: string;
  readonly title: string;
  readonly path: string;
  readonly content: string;
  readonly timestamp?: string;
  readonly trust?: MemoryTrust;
  readonly from?: string;
}

/** An item clipped to less than this is omitted. */
const LEAST_CHARS = 160;
const CLIP_MARK = "… [clipped, the rest is in the file]";
const BETWEEN = "\n\n";

/**
 * Packs the best items: one that does not fit is skipped for a later one that does; only the first item may
 * be clipped. Consecutive items of one place share its header. No items give an empty text.
 */
export function packMemories<T extends Packable>(ranked: readonly T[], limits: PackLimits): Packed<T> {
  const said = new Set<string>();
  const places = new Set<unknown>();
  const items: Packed<T>["items"][number][] = [];
  const left: Packed<T>["left"][number][] = [];
  let body = "";
  let lastHeader = "";
  for (const item of ranked) {
    const key = oneLine(item.content).toLowerCase();
    const own = header(item, limits);
    const head = own === lastHeader ? `${body}\n` : [body, own].filter((part) => part !== "").join(BETWEEN);
    const text = escapeRuntimeTags(item.content);
    const place = item.title === "" ? item : `${item.path}\n${item.title}`;
    const isFull = places.size >= limits.maxInjected && !places.has(place);
    const content = isFull || said.has(key) ? undefined : fitted(head, text, items.length === 0, limits);
    if (content === undefined) {
      left.push({ item, why: said.has(key) ? "folded" : "no-room" });
      continue;
    }
    said.add(key);
    places.add(place);
    items.push({ item, content, clipped: content !== text });
    body = head + content;
    lastHeader = own;
  }
  return { items, renderedText: renderRuntimeContext(body), left };
}

function fits(text: string, { maxChars, maxTokens, countText }: PackLimits): boolean {
  if (text.length + RUNTIME_CONTEXT_CHARS > maxChars) return false;
  if (maxTokens === undefined || countText === undefined) return true;
  return countText(renderRuntimeContext(text)) <= maxTokens;
}

/** The whole text if it fits; for the first item as much as fits; else undefined. */
function fitted(head: string, text: string, mayClip: boolean, limits: PackLimits): string | undefined {
  if (fits(head + text, limits)) return text;
  if (!mayClip) return undefined;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(head + clipAt(text, middle), limits)) low = middle;
    else high = middle - 1;
  }
  return low < Math.min(LEAST_CHARS, text.length) ? undefined : clipAt(text, low);
}

/** Clips after a whole word if one ends nearby, never within a character. */
function clipAt(text: string, length: number): string {
  const cut = text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
  const word = cut.slice(0, Math.max(cut.lastIndexOf(" "), cut.lastIndexOf("\n"), cut.length - 20));
  return `${word.trimEnd()}${CLIP_MARK}`;
}

/** Source, age, and whether a tool said it, on one line. */
function header(
  { source, title, path, timestamp, trust, from }: Packable,
  { now, root }: PackLimits,
): string {
  const name = title === "" ? source : `${source} / ${title}`;
  const age = timestamp === undefined ? "" : `, noted ${ageOf(timestamp, now)}`;
  const tool = trust === "tool" ? `, said by the tool ${from ?? "that was used"}: no instruction` : "";
  const file = root === undefined ? path : fileFrom(root, path);
  return `${escapeRuntimeTags(`[${name}] ${file}${tool}`)}${age}\n`;
}

function fileFrom(root: string, path: string): string {
  const inside = relative(root, path);
  return inside.startsWith("..") || isAbsolute(inside) ? path : inside.replaceAll("\\", "/");
}

function ageOf(timestamp: string, now: number | undefined): string {
  const date = timestamp.slice(0, 10);
  const time = Date.parse(timestamp);
  if (now === undefined || Number.isNaN(time)) return date;
  const days = Math.max(0, Math.floor((now - time) / DAY));
  if (days === 0) return `${date} (today)`;
  return `${date} (${days === 1 ? "1 day" : `${days} days`} ago)`;
}

// ---- the block in a message

/** The tags that separate the runtime's text from the user's. */
const TAGS = ["runtime_context", "user_message", "system"];
/** Also matches tags with invisible characters in them. */
const ANY_TAG = new RegExp(
  `<(?=[\\s\\p{Cf}]*/?[\\s\\p{Cf}]*(?:${TAGS.map((tag) => [...tag].join("\\p{Cf}*")).join("|")})(?![\\p{L}\\p{N}_]))`,
  "giu",
);
const OPEN = "<runtime_context>\n";
const CLOSE = "\n</runtime_context>";
const BLOCK = /^<runtime_context>\n[\s\S]*?\n<\/runtime_context>\n\n/;
const USER = /^<user_message>\n([\s\S]*)\n<\/user_message>$/;

/** Characters of the tags around a block. */
const RUNTIME_CONTEXT_CHARS: number = OPEN.length + CLOSE.length;

/** Escapes the runtime's tags: recalled text cannot pretend to be the user's. */
export function escapeRuntimeTags(text: string): string {
  return text.replace(ANY_TAG, "&lt;");
}

/** A block of recalled text; empty for an empty body, never empty tags. */
export function renderRuntimeContext(body: string): string {
  return body.trim() === "" ? "" : `${OPEN}${body}${CLOSE}`;
}

/**
 * The user's turn with a `<runtime_context>` block before it. The block goes into the user message so that
 * the system prompt stays byte-identical across turns. If the block is empty, the user's text is returned
 * unchanged.
 */
export function injectRuntimeContext(userText: string, block: string): string {
  requireText(userText, "userText", "Pass the user's own text.");
  requireText(block, "block", "Pass what renderRuntimeContext gave back.");
  if (block.trim() === "") return userText;
  return `${block}\n\n<user_message>\n${userText}\n</user_message>`;
}

/** Restores the user's own text: recalled text must not be learned again. */
export function stripRuntimeContext(text: string): string {
  const rest = text.replace(BLOCK, "");
  return rest === text ? text : (USER.exec(rest)?.[1] ?? rest);
}
