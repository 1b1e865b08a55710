import { createHash } from "node:crypto";
import type { MemoryAuthor, MemoryTrust } from "./operation.ts";

/** What stands behind an item that the runtime wrote, as a comment on its line. */
export interface ItemMark {
  /** Made of the text as it was written: a text that has another id by now was edited by somebody. */
  readonly id: string;
  /** ISO 8601, to the second. */
  readonly time: string;
  readonly author: MemoryAuthor;
  readonly trust: MemoryTrust;
  /** Of a tool or person its name. */
  readonly source?: string;
}

const MARK =
  /[ \t]*<!-- (m-[a-z0-9]+(?:-\d+)?) (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) ([a-z-]+) (person|agent|tool)(?::([^\s>]{1,60}))? -->[ \t]*$/;

/** The mark at the end of a line; undefined for lines that people wrote. */
export function readMark(line: string): ItemMark | undefined {
  const [, id, time, author, trust, source] = MARK.exec(line) ?? [];
  if (id === undefined || time === undefined) return undefined;
  return { id, time, author: author as MemoryAuthor, trust: trust as MemoryTrust, source };
}

/** The comment that `readMark` reads. */
export function renderMark({ id, time, author, trust, source }: ItemMark): string {
  const name = (source ?? "").replace(/[^\p{L}\p{N}_.@/-]+/gu, "_").slice(0, 60);
  return `<!-- ${id} ${time} ${author} ${trust}${name === "" ? "" : `:${name}`} -->`;
}

/** The id of an item that says this: 41 bits of its words' hash, the same wherever the item stands. */
export function itemIdOf(text: string): string {
  return `m-${fingerprint(text.replace(/\s+/g, " ").trim(), 8)}`;
}

/** Letters and digits of a text's SHA-256; five bits each. */
export function fingerprint(text: string, length: number): string {
  const digest = createHash("sha256").update(text, "utf8").digest();
  return Array.from(digest.subarray(0, length), (byte) => (byte & 31).toString(32)).join("");
}
