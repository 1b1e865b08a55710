import { readList } from "./entries.ts";
import { documentChunks, isRecord, layoutOf, listOf, recordOf, stringOf, textOf } from "./json.ts";
import type { DocumentFormat } from "./transcript.ts";

/** Cline's session file: Anthropic messages with attached files as blocks of their own. */
export const cline: DocumentFormat = {
  format: "cline",
  recognises: (value) =>
    isRecord(value) &&
    Array.isArray(value.messages) &&
    typeof value.sessionId === "string" &&
    ("agent" in value || "system_prompt" in value) &&
    !("projectHash" in value),
  read({ value, text }, log) {
    const container = recordOf(value);
    const layout = layoutOf(text);
    const entries = listOf(container.messages);
    const read = readList(
      {
        format: "anthropic",
        entries,
        path: "messages",
        translate: withFilesAsText,
        usage: { source: "cline", of: (entry) => recordOf(entry).metrics },
      },
      log,
    );
    const models = entries.map((entry) => stringOf(recordOf(recordOf(entry).modelInfo).id));
    return {
      format: "cline",
      list: "anthropic",
      segments: read.segments,
      usage: read.usage,
      leftOut: log.leftOut(),
      system: stringOf(container.system_prompt),
      sessionId: stringOf(container.sessionId),
      model: models.findLast((model) => model !== undefined),
      write: (compacted) => ({
        mode: "replace",
        chunks: documentChunks({ ...container, messages: read.encode(compacted.messages) }, layout),
      }),
    };
  },
};

/** Cline sends an attached file as text. */
function withFilesAsText(entry: unknown): unknown {
  const { content, ...message } = recordOf(entry);
  if (!Array.isArray(content) || !content.some((block) => recordOf(block).type === "file")) return entry;
  return { ...message, content: content.map(fileAsText) };
}

function fileAsText(block: unknown): unknown {
  const { type, path, content } = recordOf(block);
  if (type !== "file") return block;
  return { type: "text", text: `<file_content path="${textOf(path)}">\n${textOf(content)}\n</file_content>` };
}
