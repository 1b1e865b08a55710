import { randomUUID } from "node:crypto";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { createRedactor, type Redactor } from "../../redaction/redactor.ts";
import { createTurns } from "../../storage/turns.ts";
import { readMemoryFile, writeMemoryFile } from "../files/write-file.ts";
import { applyOperation } from "./apply-operation.ts";
import { type MemoryDocument, readDocument } from "./document.ts";
import { INCOMING_LIMITS } from "./incoming.ts";
import type {
  ChangeNote,
  DoneOperation,
  MemoryChangeResult,
  MemoryFileName,
  MemoryOperation,
  RefusedOperation,
} from "./operation.ts";
import { CHANGED_FILES, type ChangedFile, type Texts } from "./plan.ts";

export interface MemoryWriterOptions {
  /** The folder of one channel; nothing outside it is written. */
  readonly channelDir: string;
  /** The built-in one when left out. */
  readonly redactor?: Pick<Redactor, "redactText"> | undefined;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
  /** For the ids of changes. */
  readonly randomId?: (() => string) | undefined;
}

/** The one way in which a channel's memory is changed. */
export interface MemoryWriter {
  /** The sections and items of a file with their ids, and the version to hand back. */
  read(file: MemoryFileName): Promise<MemoryDocument>;
  /** Does what may be done, all of it or, when the process dies, none; says of the rest why not. */
  apply(operations: readonly MemoryOperation[], note: ChangeNote): Promise<MemoryChangeResult>;
}

const inTurn = createTurns();

export function createMemoryWriter(options: MemoryWriterOptions): MemoryWriter {
  const { channelDir } = options;
  const redactor = options.redactor ?? createRedactor();
  const now = options.now ?? Date.now;
  const pathOf = (file: ChangedFile): string => join(channelDir, file);
  const read = async (file: MemoryFileName): Promise<MemoryDocument> => {
    const found = await readMemoryFile(pathOf(file));
    return readDocument(file, found?.text ?? "", found?.version ?? null);
  };
  return {
    read,
    apply: (operations, note) =>
      inTurn(channelDir, async () => {
        const versions: Partial<Record<ChangedFile, string | null>> = {};
        let texts: Texts = {};
        for (const file of CHANGED_FILES) {
          const found = await readMemoryFile(pathOf(file));
          versions[file] = found?.version ?? null;
          if (found !== undefined) texts = { ...texts, [file]: found.text };
        }
        const before = texts;
        const time = `${new Date(now()).toISOString().slice(0, 19)}Z`;
        const done: DoneOperation[] = [];
        const refused: RefusedOperation[] = [];
        for (const operation of operations) {
          const context = { author: note.author, time, redactor, limits: INCOMING_LIMITS, versions };
          const step = applyOperation(texts, operation, context);
          if ("reason" in step) {
            refused.push({ operation, reason: step.reason, message: step.message });
            continue;
          }
          texts = step.texts;
          done.push({ operation: step.operation, id: step.id, redacted: step.redacted });
        }
        const changed = CHANGED_FILES.filter((file) => texts[file] !== before[file]);
        if (changed.length === 0) return { changeId: undefined, done, refused, versions: {} };
        const changeId = `c-${(options.randomId ?? randomUUID)().slice(0, 8)}`;
        const written: Partial<Record<ChangedFile, string>> = {};
        for (const file of changed) {
          const ifVersion = versions[file] ?? null;
          written[file] = (await writeMemoryFile(pathOf(file), texts[file] ?? "", { ifVersion })).version;
        }
        const line = { id: changeId, time, ...note, files: written, operations: done, refused };
        await appendFile(join(channelDir, "memory-log.jsonl"), `${JSON.stringify(line)}\n`);
        return { changeId, done, refused, versions: written };
      }),
  };
}
