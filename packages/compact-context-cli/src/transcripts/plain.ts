import type { Format } from "compact-context";
import { codecFor, detectListFormat } from "compact-context/internal/codecs/formats";
import { readList } from "./entries.ts";
import { documentChunks, isRecord, type JsonRecord, layoutOf, listOf, recordOf, stringOf } from "./json.ts";
import type { DocumentFormat, ReadLog, Session, UsageSource } from "./transcript.ts";

/** Where a document keeps its list, and the words it is kept under. */
interface Body {
  readonly entries: readonly unknown[];
  /** Key of the list in a request body; undefined where the document is the list. */
  readonly key: string | undefined;
}

function bodyOf(value: unknown): Body | undefined {
  if (Array.isArray(value)) return { entries: value, key: undefined };
  if (!isRecord(value)) return undefined;
  const key = ["messages", "input", "contents"].find((word) => Array.isArray(value[word]));
  return key === undefined ? undefined : { entries: listOf(value[key]), key };
}

/** The codec format of a list or request body. */
function detectPlainFormat(value: unknown): Format | undefined {
  const body = bodyOf(value);
  if (body === undefined) return undefined;
  const container = recordOf(value);
  // Without content blocks an Anthropic list looks like a chat list; only there does `system` stand beside it.
  const outside = body.key === "messages" && "system" in container && hasOnlyTurns(body.entries);
  if (outside && codecFor("anthropic").detect(body.entries) > 0) return "anthropic";
  if (body.key === "input" && codecFor("openai-responses").detect(body.entries) > 0)
    return "openai-responses";
  return detectListFormat(body.entries);
}

function hasOnlyTurns(entries: readonly unknown[]): boolean {
  return entries.every((entry) => ["user", "assistant"].includes(String(recordOf(entry).role)));
}

const USAGE: Partial<Record<Format, { source: UsageSource; of: (entry: unknown) => unknown }>> = {
  langchain: { source: "langchain", of: (entry) => langchainFields(entry).usage_metadata },
  anthropic: { source: "anthropic", of: (entry) => recordOf(entry).usage },
  pi: { source: "pi", of: (entry) => recordOf(entry).usage },
};

function langchainFields(entry: unknown): JsonRecord {
  const message = recordOf(entry);
  const inner = message.kwargs ?? message.data;
  return isRecord(inner) ? inner : message;
}

/** A JSON list of messages, or the request body that holds one. */
export function plainFormat(format: Format): Omit<DocumentFormat, "format"> & { readonly format: Format } {
  return {
    format,
    recognises: (value) => detectPlainFormat(value) === format,
    read({ value, text }, log) {
      const layout = layoutOf(text);
      const body = bodyOf(value) ?? { entries: [], key: undefined };
      const { key } = body;
      return plainSession(
        format,
        { value: recordOf(value), entries: body.entries, path: key ?? "messages" },
        log,
        (entries) =>
          documentChunks(key === undefined ? entries : { ...recordOf(value), [key]: entries }, layout),
      );
    },
  };
}

/** Entries one on a line: a list kept as JSONL. */
export function readEntryLines(format: Format, entries: readonly unknown[], log: ReadLog): Session {
  return plainSession(format, { value: {}, entries, path: "messages" }, log, (list) =>
    list.map((entry) => `${JSON.stringify(entry)}\n`),
  );
}

interface PlainDocument {
  readonly value: JsonRecord;
  readonly entries: readonly unknown[];
  readonly path: string;
}

function plainSession(
  format: Format,
  { value, entries, path }: PlainDocument,
  log: ReadLog,
  chunks: (entries: readonly unknown[]) => Iterable<string>,
): Session {
  const read = readList({ format, entries, path, usage: USAGE[format] }, log);
  return {
    format: format as Session["format"],
    list: format,
    segments: read.segments,
    usage: read.usage,
    leftOut: log.leftOut(),
    system: systemOf(value),
    tools: Array.isArray(value.tools) ? value.tools : undefined,
    model: stringOf(value.model),
    write: (compacted) => ({ mode: "replace", chunks: chunks(read.encode(compacted.messages)) }),
  };
}

/** The system prompt of a request body, whichever provider's. */
function systemOf(body: JsonRecord): string | undefined {
  const value =
    body.system ?? body.instructions ?? body.systemInstruction ?? recordOf(body.config).systemInstruction;
  if (typeof value === "string") return value;
  const blocks = Array.isArray(value) ? value : listOf(recordOf(value).parts);
  const texts = blocks.flatMap((block: unknown) => stringOf(recordOf(block).text) ?? []);
  return texts.length === 0 ? undefined : texts.join("\n");
}
