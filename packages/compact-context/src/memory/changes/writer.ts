import { randomUUID } from "node:crypto";
import { createKeyedMutex, requireOptions, requireText } from "../../errors.ts";
import { createRedactor, type Redactor } from "../../redaction/redactor.ts";
import { withoutToldSecrets } from "../learning/told-secrets.ts";
import { loggedOperation, type MemoryChange, type ReadLog, readLog } from "./change-log.ts";
import {
  type ChannelFolder,
  type ChannelPlace,
  findChannel,
  openChannel,
  type ReadFiles,
  readFiles,
} from "./channel-files.ts";
import { type MemoryDocument, readDocument } from "./document.ts";
import { forgottenIn, scrubFolder, scrubTexts } from "./forget.ts";
import { INCOMING_LIMITS } from "./incoming.ts";
import { commitChange, DEFAULT_UNDO, type FileEdit } from "./journal.ts";
import type {
  ChangeNote,
  ForgottenIn,
  MemoryChangeResult,
  MemoryFileName,
  MemoryOperation,
} from "./operation.ts";
import { CHANGED_FILES, type Texts } from "./plan.ts";
import { planChange, textsOf } from "./plan-change.ts";
import { isForgottenBy, RETIRED_FILE } from "./retired.ts";
import { planUndo, type UndoResult } from "./undo.ts";
import { type LockSettings, withChannel } from "./with-channel.ts";

export interface MemoryWriterOptions extends ChannelFolder, LockSettings {
  /** The built-in one when left out. */
  readonly redactor?: Pick<Redactor, "redactText">;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** For ids of changes. */
  readonly randomId?: () => string;
  /** Changes that can be undone; 50. */
  readonly undoable?: number;
}

/** The one way in which a channel's memory is changed. */
export interface MemoryWriter {
  /** The sections and items of a file with their ids, and the version to hand back. */
  read(file: MemoryFileName): Promise<MemoryDocument>;
  /** Does what may be done, all of it or, when the process dies, none; says of the rest why not. */
  apply(operations: readonly MemoryOperation[], note: ChangeNote): Promise<MemoryChangeResult>;
  /**
   * Makes the files what they were before a change, as far as no later change touched the same lines. With `partial`
   * also when that is only a part of it. `NotFound` for a change that is not in the log or too old for a backup.
   */
  undo(changeId: string, options?: { readonly partial?: boolean }): Promise<UndoResult>;
  /** Tells texts that say again what was forgotten. */
  forgotten(): Promise<(text: string) => boolean>;
  /** Every change, oldest first. */
  log(): Promise<ReadLog>;
}

const inTurn = createKeyedMutex();

export function createMemoryWriter(options: MemoryWriterOptions): MemoryWriter {
  requireOptions(options, "options", "Pass the channel's folder: { channelDir }.");
  requireText(options.channelDir, "options.channelDir", "Pass the channel's folder: { channelDir }.");
  const ports: Ports = {
    redactor: withToldSecrets(options.redactor ?? createRedactor()),
    now: options.now ?? Date.now,
    randomId: options.randomId ?? randomUUID,
    undoable: options.undoable ?? DEFAULT_UNDO,
  };
  const alone = <T>(work: (place: ChannelPlace) => Promise<T>): Promise<T> =>
    inTurn(options.channelDir, async () => {
      const place = await openChannel(options);
      return withChannel(place, options, () => work(place));
    });
  return {
    async read(file) {
      const found = (await readFiles(await findChannel(options)))[file];
      return readDocument(file, found?.text ?? "", found?.version ?? null);
    },
    apply: (operations, note) => alone((place) => applyAll({ place, ports }, operations, note)),
    undo: (changeId, { partial = false } = {}) =>
      alone((place) => undoOne({ place, ports }, changeId, partial)),
    async forgotten() {
      const files = await readFiles(await findChannel(options));
      return isForgottenBy(files[RETIRED_FILE]?.text ?? "");
    },
    log: async () => readLog((await findChannel(options)).channelDir),
  };
}

function withToldSecrets({ redactText }: Pick<Redactor, "redactText">): Pick<Redactor, "redactText"> {
  return { redactText: (text) => withoutToldSecrets(redactText(text)) };
}

interface Ports {
  readonly redactor: Pick<Redactor, "redactText">;
  readonly now: () => number;
  readonly randomId: () => string;
  readonly undoable: number;
}

interface Hands {
  readonly place: ChannelPlace;
  readonly ports: Ports;
}

async function applyAll(
  hands: Hands,
  operations: readonly MemoryOperation[],
  note: ChangeNote,
): Promise<MemoryChangeResult> {
  const { place, ports } = hands;
  const time = timeOf(ports);
  const files = await readFiles(place);
  const { redactor } = ports;
  const context = { author: note.author, time, redactor, limits: INCOMING_LIMITS };
  const { texts: planned, done, refused } = planChange(files, operations, context);
  const isForgotten = forgottenIn(files, done);
  const forgotten: ForgottenIn[] = [];
  const texts = isForgotten === undefined ? planned : scrubTexts(planned, isForgotten, forgotten);
  if (isForgotten !== undefined) await scrubFolder(place, isForgotten, forgotten);
  const items = done.filter(({ operation }) => operation.op === "forget" && operation.target !== undefined);
  if (items.length > 0) forgotten.unshift({ file: "MEMORY.md", pieces: items.length });
  const change = await commit({ ...hands, keeps: isForgotten === undefined }, edits(files, texts), {
    time,
    author: note.author,
    reason: redactor.redactText(note.reason),
    sources: (note.sources ?? []).map((source) => redactor.redactText(source)),
    operations: done.map(({ operation, id }) => loggedOperation(operation, redactor, id)),
    refused: refused.map(({ operation, reason, message }) => ({
      operation: loggedOperation(operation, redactor),
      reason,
      message,
    })),
  });
  const versions = change === undefined ? {} : versionsOf(change);
  return { changeId: change?.id, done, refused, forgotten: summed(forgotten), versions };
}

function summed(forgotten: readonly ForgottenIn[]): readonly ForgottenIn[] {
  const files = new Map<string, number>();
  for (const { file, pieces } of forgotten) files.set(file, (files.get(file) ?? 0) + pieces);
  return [...files].map(([file, pieces]) => ({ file, pieces }));
}

async function undoOne(hands: Hands, changeId: string, partial: boolean): Promise<UndoResult> {
  const { place, ports } = hands;
  const time = timeOf(ports);
  const files = await readFiles(place);
  const plan = await planUndo(place, textsOf(files), { changeId, date: time.slice(0, 10) });
  if (plan.left.length > 0 && !partial) return { changeId: undefined, left: plan.left };
  const change = await commit({ ...hands, keeps: true }, edits(files, plan.texts), {
    time,
    author: "undo",
    reason: `takes back ${changeId}`,
    sources: [],
    operations: [],
    refused: [],
    undoes: changeId,
  });
  return { changeId: change?.id, left: plan.left };
}

async function commit(
  { place, ports, keeps }: Hands & { readonly keeps: boolean },
  changed: readonly FileEdit[],
  change: Omit<MemoryChange, "id" | "files">,
): Promise<MemoryChange | undefined> {
  if (changed.length === 0) return undefined;
  const random = ports.randomId().replaceAll("-", "").slice(0, 4);
  const id = `c-${ports.now().toString(36).padStart(8, "0")}${random}`;
  return commitChange(place, { change: { id, ...change }, edits: changed, keeps }, ports.undoable);
}

function edits(files: ReadFiles, texts: Texts): readonly FileEdit[] {
  return CHANGED_FILES.filter((file) => files[file]?.text !== texts[file]).map((file) => ({
    file,
    before: files[file]?.text,
    after: texts[file],
  }));
}

function versionsOf({ files }: MemoryChange): MemoryChangeResult["versions"] {
  const changed = Object.entries(files).flatMap(([file, { after }]) =>
    after === null ? [] : [[file, after]],
  );
  return Object.fromEntries(changed);
}

function timeOf({ now }: Ports): string {
  return `${new Date(now()).toISOString().slice(0, 19)}Z`;
}
