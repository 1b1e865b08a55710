import { decode } from "../../codecs/formats.ts";
import type { StorageDriver } from "../../core/ports.ts";
import { createRecall, type RecallSource } from "../../recall/index.ts";
import { createRedactor } from "../../redaction/redactor.ts";
import { createArchive } from "../../search/archive.ts";

/** Keeps what a graph's summaries replace, and finds it again. */
export interface GraphArchive extends RecallSource {
  /** Resolves when the messages are safe. */
  save(sessionId: string, messages: readonly unknown[]): Promise<void>;
}

/** An archive for `SummarizationNode` and the recall tools, over any storage driver; secrets are taken out first. */
export function createGraphArchive(storage: StorageDriver): GraphArchive {
  const archive = createArchive(storage, { redact: createRedactor() });
  return {
    async save(sessionId, messages) {
      const newest = (await archive.steps(sessionId)).at(-1) ?? 0;
      await archive.saveTranscript(sessionId, newest + 1, decode(messages, "langchain"));
    },
    recall: (sessionId) => createRecall({ sessionId, archive: async () => archive }),
  };
}
