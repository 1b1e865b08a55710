import { randomUUID } from "node:crypto";
import { CompactError, createKeyedMutex, requireOptions, requireText } from "../../errors.ts";
import { createRedactor, type Redactor } from "../../redaction/redactor.ts";
import { getChannelSessionPath } from "../files/folders.ts";
import { versionOrNull } from "../files/write-file.ts";
import { withoutToldSecrets } from "../learning/own-words.ts";
import { inverse, patch } from "../markdown.ts";
import {
  CHANGED_FILES,
  type ChangedFile,
  type ChangeNote,
  type MemoryChangeResult,
  type MemoryDocument,
  type MemoryFileName,
  type MemoryOperation,
  RETIRED_FILE,
  readDocument,
  type Texts,
} from "./document.ts";
import {
  type IsForgotten,
  isForgottenBy,
  isOwnHeading,
  retiredAs,
  type Superseded,
  scrubChannel,
  scrubFields,
  supersededIn,
  withRetired,
} from "./forget.ts";
import { planChange } from "./plan.ts";
import {
  type ChannelFolder,
  type ChannelPlace,
  commitChange,
  findChannel,
  hasWork,
  type LogEntry,
  loggedOperation,
  type MemoryChange,
  type ReadLog,
  readLog,
  readText,
  readTexts,
  withChannel,
} from "./store.ts";

export interface MemoryWriterOptions extends ChannelFolder {
  /** Default: the built-in one. */
  readonly redactor?: Pick<Redactor, "redactText">;
  /** Milliseconds since 1970. Default: the current time. */
  readonly now?: () => number;
}

/** The only way to change a channel's memory. */
export interface MemoryWriter {
  /** The sections and items of a file with their ids, and the version to pass back. */
  read(file: MemoryFileName): Promise<MemoryDocument>;
  /** Applies the permitted operations: all, or none after a crash. The result says why others are refused. */
  apply(operations: readonly MemoryOperation[], note: ChangeNote): Promise<MemoryChangeResult>;
  /**
   * Restores the files to the state before a change where no later change touched the same lines. With
   * `partial`, also if only a part can be restored. `NotFound` if the log does not have the change or can no
   * longer undo it.
   */
  undo(changeId: string, options?: { readonly partial?: boolean }): Promise<UndoResult>;
  /** Resolves to a test for texts that repeat something forgotten. */
  forgotten(): Promise<(text: string) => boolean>;
  /** The texts that items of MEMORY.md replaced. */
  superseded(): Promise<readonly Superseded[]>;
  /** Every change, oldest first. */
  log(): Promise<ReadLog>;
}

export interface UndoResult {
  /** Id of the change that undid it; undefined if nothing was done. */
  readonly changeId: string | undefined;
  readonly left: readonly UndoLeft[];
}

/** A part of a change that cannot be undone because its lines were changed again. */
export interface UndoLeft {
  readonly file: ChangedFile;
  /** First and last line (inclusive, from 1) of the file after the change. */
  readonly line: number;
  readonly lastLine: number;
  /** Later changes of that file, newest first; undoing them first allows undoing the rest. */
  readonly later: readonly string[];
}

const inTurn = createKeyedMutex();

export function createMemoryWriter(options: MemoryWriterOptions): MemoryWriter {
  requireOptions(options, "options", "Pass the channel's folder: { channelDir }.");
  requireText(options.channelDir, "options.channelDir", "Pass the channel's folder: { channelDir }.");
  const { redactText } = options.redactor ?? createRedactor();
  const now = options.now ?? Date.now;
  const redactor = { redactText: (text: string) => withoutToldSecrets(redactText(text)) };
  const handsAt = async (place: ChannelPlace): Promise<Hands> => ({
    place,
    texts: await readTexts(place),
    time: `${new Date(now()).toISOString().slice(0, 19)}Z`,
    redactor,
    id: `c-${Math.floor(now() / 1000).toString(36)}${randomUUID().slice(0, 6)}`,
  });
  const alone = <T>(work: (hands: Hands) => Promise<T>): Promise<T> =>
    inTurn(options.channelDir, () => withChannel(options, async (place) => work(await handsAt(place))));
  const read = async (file: ChangedFile): Promise<string | undefined> =>
    readText(await findChannel(options), file);
  return {
    read: async (file) => readDocument(file, await read(file)),
    async apply(operations, note) {
      const place = await findChannel(options);
      // A change without effect must not create the folder.
      if (!(await hasWork(place))) {
        const given = { ...(await handsAt(place)), author: note.author };
        const { done, refused } = planChange(given, operations);
        if (done.length === 0) return { changeId: undefined, done, refused, forgotten: [], versions: {} };
      }
      return alone((hands) => applyAll(hands, operations, note));
    },
    async undo(changeId, { partial = false } = {}) {
      const place = await findChannel(options);
      // The folder is created only for a change that the log has.
      if (!(await hasWork(place)) && !(await readLog(place)).changes.some(({ id }) => id === changeId))
        throw notLogged(changeId);
      return alone((hands) => undoOne(hands, changeId, partial));
    },
    forgotten: async () => isForgottenBy(await read(RETIRED_FILE)),
    superseded: async () => supersededIn(await read(RETIRED_FILE)),
    async log() {
      const { changes, problems } = await readLog(await findChannel(options));
      return { changes: changes.map(({ edits: _, ...change }) => change), problems };
    },
  };
}

/** Inputs of one change. */
interface Hands {
  readonly place: ChannelPlace;
  readonly texts: Texts;
  /** ISO 8601, to the second. */
  readonly time: string;
  readonly redactor: Pick<Redactor, "redactText">;
  readonly id: string;
}

async function applyAll(
  hands: Hands,
  operations: readonly MemoryOperation[],
  { author, reason, sources = [] }: ChangeNote,
): Promise<MemoryChangeResult> {
  const { place, redactor } = hands;
  const { done, refused, isAbout, ...plan } = planChange({ ...hands, author }, operations);
  const forgetting = done.flatMap(({ operation }) => (operation.op === "forget" ? [operation] : []));
  // A new item says what holds instead; a history entry only repeats the conversation.
  const written = done.flatMap(({ operation }) =>
    operation.op === "add" || operation.op === "supersede" ? [operation.text.toLowerCase()] : [],
  );
  const isForgotten: IsForgotten = (text, isItem) =>
    isAbout(text, isItem) && !isOwnHeading(text) && !written.some((one) => text.toLowerCase().includes(one));
  const { texts, forgotten } =
    forgetting.length === 0
      ? { texts: plan.texts, forgotten: [] }
      : await scrubChannel(place, plan.texts, isForgotten, plan.forgottenIn);
  const logged = {
    author,
    reason: redactor.redactText(reason),
    sources: sources.map((source) => redactor.redactText(source)),
    operations: done.map(({ operation, id }) => loggedOperation(operation, redactor, id)),
    refused: refused.map(({ operation, ...why }) => ({
      operation: loggedOperation(operation, redactor),
      ...why,
    })),
  };
  const isLast = forgetting.length > 0;
  const change = await commit(
    hands,
    texts,
    !isLast,
    isLast ? scrubFields(logged, isForgotten).fields : logged,
  );
  const versions = Object.entries(change?.files ?? {}).map(([file, { after }]) => [file, after ?? undefined]);
  return { changeId: change?.id, done, refused, forgotten, versions: Object.fromEntries(versions) };
}

/** Writes the texts; undefined if the files already have them. */
async function commit(
  { place, texts: before, time, id }: Hands,
  after: Texts,
  keeps: boolean,
  change: Omit<MemoryChange, "id" | "time" | "files">,
): Promise<MemoryChange | undefined> {
  const edits = CHANGED_FILES.map((file) => ({ file, before: before[file], after: after[file] })).filter(
    (edit) => edit.before !== edit.after,
  );
  if (edits.length === 0) return undefined;
  return commitChange(place, { change: { id, time, ...change }, edits, keeps });
}

function notLogged(changeId: string): CompactError {
  return new CompactError("NotFound", `the log has no change ${changeId}`, {
    place: changeId,
    hint: "Look at the list of changes for its id.",
  });
}

async function undoOne(hands: Hands, changeId: string, partial: boolean): Promise<UndoResult> {
  const { changes } = await readLog(hands.place);
  const index = changes.findIndex(({ id }) => id === changeId);
  const change = changes[index];
  if (change === undefined) throw notLogged(changeId);
  const { texts, left } = withoutChange(hands.texts, change, changes.slice(index + 1));
  if (left.length > 0 && !partial) return { changeId: undefined, left };
  const after = left.length > 0 ? texts : notLearnedAgain(texts, change, hands.time);
  const undone = await commit(hands, after, true, {
    author: "undo",
    reason: `takes back ${changeId}`,
    sources: [],
    operations: [],
    refused: [],
    undoes: changeId,
  });
  return { changeId: undone?.id, left };
}

/** The files without a change, and the parts of it that cannot be undone. */
function withoutChange(
  texts: Texts,
  { id, edits, files: versions, operations }: LogEntry,
  after: readonly LogEntry[],
) {
  if (operations.some(({ op }) => op === "forget"))
    throw new CompactError("NotFound", `${id} forgot something and cannot be taken back`, {
      place: id,
      hint: "What is forgotten is kept nowhere; add it again if it should be known.",
    });
  if (edits === undefined)
    throw new CompactError("NotFound", `what takes ${id} back is no longer kept`, {
      place: id,
      hint: "Only the newest changes can be taken back; the log says what it did, so it can be done by hand.",
    });
  const left: UndoLeft[] = [];
  const taken = edits.map(({ file, hunks, openEnd, scrubbed }) => {
    const isSame = scrubbed !== true && versionOrNull(texts[file]) === versions[file]?.after;
    const undone = patch(texts[file] ?? "", inverse(hunks), isSame);
    const later = after.filter(({ files }) => files[file] !== undefined).map((one) => one.id);
    for (const { at, out } of undone.left)
      left.push({ file, line: at + 1, lastLine: at + Math.max(1, out.length), later: later.toReversed() });
    const text = isSame && openEnd === true ? undone.text.replace(/(?:\r\n|\n|\r)$/, "") : undone.text;
    return [file, text === "" && versions[file]?.before === null ? undefined : text];
  });
  return { texts: { ...texts, ...Object.fromEntries(taken) }, left };
}

/** An added and undone item is unwanted: a later consolidation must not add it again. */
function notLearnedAgain(texts: Texts, { id, operations }: LogEntry, time: string): Texts {
  let retired = texts[RETIRED_FILE];
  for (const { op, text } of operations) {
    if (op !== "add" || typeof text !== "string" || retiredAs(retired, text) !== undefined) continue;
    retired = withRetired(retired, text, { as: "invalidated", time, note: `undone, ${id}` });
  }
  return { ...texts, [RETIRED_FILE]: retired };
}

// ---- replacing SESSION.md

const MOST_CONFLICTS = 4;

/**
 * Replaces SESSION.md with the result of `make`, retried on the current text if another writer changed it;
 * with `ifVersion` tried once. A no-op if `make` returns undefined.
 */
export async function replaceSession(
  writer: MemoryWriter,
  make: (text: string) => string | undefined,
  given: { readonly reason: string; readonly mayShrink: boolean; readonly ifVersion?: string },
): Promise<MemoryChangeResult | undefined> {
  const { reason, mayShrink, ifVersion } = given;
  for (let attempt = 1; ; attempt += 1) {
    const { text: before, version } = await writer.read("SESSION.md");
    const text = make(before);
    if (text === undefined) return undefined;
    const done = await writer.apply(
      [{ op: "replaceFile", text, ifVersion: ifVersion ?? version, mayShrink }],
      {
        author: "session-update",
        reason,
      },
    );
    const isChanged = done.refused[0]?.reason === "changed";
    if (!isChanged || ifVersion !== undefined || attempt === MOST_CONFLICTS) return done;
  }
}

/**
 * Replaces SESSION.md through the channel's writer: logged, secrets redacted. With `ifVersion`, as returned
 * by `readMemoryFile`, only over that text, else `Conflict`. `InvalidArgument` for an empty text or one with
 * a placeholder where text would be lost; for an empty session pass
 * `renderSessionMemory(emptySessionMemory())`.
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
  const reason = "SESSION.md was rewritten by the host";
  const done = await replaceSession(writer, () => content, { reason, mayShrink: true, ...options });
  const [refusal] = done?.refused ?? [];
  if (refusal === undefined) return;
  const isChanged = refusal.reason === "changed";
  throw new CompactError(isChanged ? "Conflict" : "InvalidArgument", `SESSION.md: ${refusal.message}`, {
    place: getChannelSessionPath(channelDir),
    hint: isChanged ? "Read it again and repeat the change on what is there now." : "Give the whole text.",
  });
}
