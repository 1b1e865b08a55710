import type { Redactor } from "../../redaction/redactor.ts";
import { type MemoryDocument, type MemoryItem, type MemorySection, readDocument, slug } from "./document.ts";
import type { IncomingLimits } from "./incoming.ts";
import type { MemoryAuthor, MemoryFileName, MemoryOperation, RefusalReason } from "./operation.ts";
import { RETIRED_FILE } from "./retired.ts";

/** Who changes the texts, when, and with what care. */
export interface OperationContext {
  readonly author: MemoryAuthor;
  /** ISO 8601, to the second. */
  readonly time: string;
  readonly redactor: Pick<Redactor, "redactText">;
  readonly limits: IncomingLimits;
}

/** The file that folded sections of a history are moved to; never recalled from. */
export const ARCHIVE_FILE = "HISTORY.archive.md";

/** Every file that a change may touch. */
export type ChangedFile = MemoryFileName | "RETIRED.md" | "HISTORY.archive.md";
export const CHANGED_FILES: readonly ChangedFile[] = [
  "MEMORY.md",
  "SESSION.md",
  "HISTORY.md",
  RETIRED_FILE,
  ARCHIVE_FILE,
];

/** Texts by file; undefined where there is none. */
export type Texts = Partial<Readonly<Record<ChangedFile, string>>>;

/** An operation that was done, or why it was not. */
export type Step =
  | {
      readonly texts: Texts;
      readonly id: string;
      readonly redacted: boolean;
      readonly operation: MemoryOperation;
    }
  | Refusal;

export interface Refusal {
  readonly reason: RefusalReason;
  readonly message: string;
}

export function refuse(reason: RefusalReason, message: string): Refusal {
  return { reason, message };
}

/** What was read last of each file: operations in a row look at the same text again and again. */
const lastRead = new Map<MemoryFileName, MemoryDocument>();

export function documentOf(texts: Texts, file: MemoryFileName): MemoryDocument {
  const text = texts[file] ?? "";
  const known = lastRead.get(file);
  if (known?.text === text) return known;
  const document = readDocument(file, text, null);
  lastRead.set(file, document);
  return document;
}

const FILES: readonly MemoryFileName[] = ["MEMORY.md", "SESSION.md", "HISTORY.md"];

export interface FoundItem {
  readonly file: MemoryFileName;
  readonly item: MemoryItem;
  readonly section: MemorySection;
}

/** The item with an id, of durable memory first. */
export function findItem(texts: Texts, id: string): FoundItem | undefined {
  for (const file of FILES) {
    for (const section of documentOf(texts, file).sections) {
      const item = section.items.find((one) => one.id === id);
      if (item !== undefined) return { file, item, section };
    }
  }
  return undefined;
}

/** The section of an id or heading; `source:` of a candidate's id may stand before it. */
export function findSection(
  document: MemoryDocument,
  name: string,
): MemorySection | "not-found" | "ambiguous" {
  const bare = name.replace(/^(?:channel|workspace)-[a-z]+:/, "").trim();
  const byId = document.sections.find(({ id }) => id === bare);
  if (byId !== undefined) return byId;
  const key = slug(bare.replace(/^#+\s*/, ""));
  const named = document.sections.filter((section) => section.level > 0 && slug(section.heading) === key);
  const [only] = named;
  if (only === undefined || key === "") return "not-found";
  return named.length === 1 ? only : "ambiguous";
}
