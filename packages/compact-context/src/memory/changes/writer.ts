import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CompactError, createKeyedMutex, requireOptions, requireText } from "../../errors.ts";
import { createRedactor, type Redactor } from "../../redaction/redactor.ts";
import { sweepTemps } from "../../storage/fs/files.ts";
import { takeClaim } from "../files/claim.ts";
import { getChannelSessionPath } from "../files/ensure.ts";
import { withoutToldSecrets } from "../learning/own-words.ts";
import { CHANGED_FILES, planChange, type Texts } from "./apply.ts";
import { loggedOperation, type MemoryChange, type ReadLog, readLog } from "./change-log.ts";
import {
  type ChannelFolder,
  type ChannelPlace,
  findChannel,
  openChannel,
  type ReadFiles,
  readFiles,
  textsOf,
} from "./channel-files.ts";
import { type MemoryDocument, readDocument } from "./document.ts";
import { forgottenIn, scrubFolder, scrubTexts } from "./forget.ts";
import {
  commitChange,
  DEFAULT_UNDO,
  type FileEdit,
  nextChangeId,
  planUndo,
  recoverChange,
  type UndoResult,
} from "./journal.ts";
import type {
  ChangeNote,
  ForgottenIn,
  MemoryChangeResult,
  MemoryFileName,
  MemoryOperation,
} from "./operation.ts";
import { isForgottenBy, RETIRED_FILE } from "./retired.ts";

export interface MemoryWriterOptions extends ChannelFolder {
  /** Milliseconds to wait for the lock before a `Conflict`; 30,000. */
  readonly waitMs?: number;
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
      return withChannel(place, options.waitMs ?? WAIT_MS, () => work(place));
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
  const sessionVersion = files["SESSION.md"]?.version ?? null;
  const context = { author: note.author, time, redactor, sessionVersion };
  const { texts: planned, done, refused } = planChange(textsOf(files), operations, context);
  const isForgotten = forgottenIn(textsOf(files), done);
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
  const id = await nextChangeId(place, ports);
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

// ---- the lock

const LOCK = "lock";
/** Milliseconds to wait for the lock. */
const WAIT_MS = 30_000;

/**
 * Runs work as the only process that changes the channel, after whatever another one left half-way is finished. An owner
 * that has ended is taken over at once; what it writes it writes over the very text that it read.
 */
async function withChannel<T>(place: ChannelPlace, waitMs: number, work: () => Promise<T>): Promise<T> {
  const path = join(place.work, LOCK);
  const start = performance.now();
  for (let round = 0; ; round++) {
    const taken = await takeClaim(path, { fromItself: false });
    if ("claim" in taken) {
      const stopKeeping = taken.claim.keep();
      try {
        for (const folder of [place.work, place.channelDir]) await sweepTemps(folder, Date.now());
        await recoverChange(place);
        return await work();
      } finally {
        stopKeeping();
        await taken.claim.release();
      }
    }
    if (performance.now() - start > waitMs) throw stillHeld(path, taken.owner.pid);
    await sleep(2 + ((process.pid + 7 * round) % 20));
  }
}

function stillHeld(path: string, pid: number): CompactError {
  return new CompactError("Conflict", `another process (${pid}) is changing this memory`, {
    place: path,
    hint: "Try again when it is done; a process that has ended loses the lock by itself.",
  });
}

// ---- SESSION.md by a host

const MOST_CONFLICTS = 4;

/**
 * Replaces SESSION.md through the channel's writer: logged, secrets taken out. With `ifVersion`, as `readMemoryFile` gave
 * it, only over that text, else `Conflict`. `InvalidArgument` for a text that says nothing or has a placeholder where text
 * would be lost; an empty session is the text of `renderSessionMemory(emptySessionMemory())`.
 */
export async function rewriteChannelSession(
  channelDir: string,
  content: string,
  options: { readonly ifVersion?: string } = {},
): Promise<void> {
  requireText(channelDir, "channelDir", "Pass the path of the channel's folder.");
  requireText(content, "content", "Pass the whole text of SESSION.md.");
  requireOptions(options);
  const writer = createMemoryWriter({ channelDir });
  for (let attempt = 1; ; attempt += 1) {
    const ifVersion = options.ifVersion ?? (await writer.read("SESSION.md")).version;
    const { refused } = await writer.apply(
      [{ op: "replaceFile", text: content, ifVersion, mayShrink: true }],
      { author: "session-update", reason: "SESSION.md was rewritten by the host" },
    );
    const [refusal] = refused;
    if (refusal === undefined) return;
    const isChanged = refusal.reason === "changed";
    if (isChanged && options.ifVersion === undefined && attempt < MOST_CONFLICTS) continue;
    throw new CompactError(isChanged ? "Conflict" : "InvalidArgument", `SESSION.md: ${refusal.message}`, {
      place: getChannelSessionPath(channelDir),
      hint: isChanged ? "Read it again and repeat the change on what is there now." : "Give the whole text.",
    });
  }
}
