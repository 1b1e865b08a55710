import { randomUUID } from "node:crypto";
import { CompactError, createKeyedMutex, requireOptions, requireText } from "../../errors.ts";
import { createRedactor, type Redactor } from "../../redaction/redactor.ts";
import { getChannelSessionPath } from "../files/folders.ts";
import { withoutToldSecrets } from "../learning/own-words.ts";
import {
  type ChangeNote,
  type MemoryChangeResult,
  type MemoryDocument,
  type MemoryFileName,
  type MemoryOperation,
  readDocument,
} from "./document.ts";
import { forgottenIn, scrubFolder, scrubTexts } from "./forget.ts";
import { inverse, patch } from "./patch.ts";
import { CHANGED_FILES, type ChangedFile, planChange, type Texts } from "./plan.ts";
import {
  isForgottenBy,
  RETIRED_FILE,
  retiredAs,
  type Superseded,
  supersededIn,
  withRetired,
} from "./retired.ts";
import {
  type ChannelFolder,
  type ChannelPlace,
  commitChange,
  findChannel,
  type LogEntry,
  loggedOperation,
  type MemoryChange,
  type ReadFiles,
  type ReadLog,
  readFiles,
  readLog,
  textsOf,
  withChannel,
} from "./store.ts";

export interface MemoryWriterOptions extends ChannelFolder {
  /** The built-in one when left out. */
  readonly redactor?: Pick<Redactor, "redactText">;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** The one way in which a channel's memory is changed. */
export interface MemoryWriter {
  /** The sections and items of a file with their ids, and the version to hand back. */
  read(file: MemoryFileName): Promise<MemoryDocument>;
  /** Does what may be done, all of it or, when the process dies, none; says of the rest why not. */
  apply(operations: readonly MemoryOperation[], note: ChangeNote): Promise<MemoryChangeResult>;
  /**
   * Makes the files what they were before a change, as far as no later change touched the same lines. With `partial`
   * also when that is only a part of it. `NotFound` for a change that the log does not have, or no longer can undo.
   */
  undo(changeId: string, options?: { readonly partial?: boolean }): Promise<UndoResult>;
  /** Tells texts that say again what was forgotten. */
  forgotten(): Promise<(text: string) => boolean>;
  /** What items of MEMORY.md took the place of. */
  superseded(): Promise<readonly Superseded[]>;
  /** Every change, oldest first. */
  log(): Promise<ReadLog>;
}

export interface UndoResult {
  /** Of the change that took it back; undefined when nothing was done. */
  readonly changeId: string | undefined;
  readonly left: readonly UndoLeft[];
}

/** A part of a change that cannot be taken back, because the lines were changed again. */
export interface UndoLeft {
  readonly file: ChangedFile;
  /** Lines of the file as the change left it, from 1; the last one included. */
  readonly line: number;
  readonly lastLine: number;
  /** Later changes of that file, newest first: taking these back first makes the rest possible. */
  readonly later: readonly string[];
}

const inTurn = createKeyedMutex();

export function createMemoryWriter(options: MemoryWriterOptions): MemoryWriter {
  requireOptions(options, "options", "Pass the channel's folder: { channelDir }.");
  requireText(options.channelDir, "options.channelDir", "Pass the channel's folder: { channelDir }.");
  const { redactText } = options.redactor ?? createRedactor();
  const now = options.now ?? Date.now;
  const alone = <T>(work: (hands: Hands) => Promise<T>): Promise<T> =>
    inTurn(options.channelDir, () =>
      withChannel(options, async (place) =>
        work({
          place,
          files: await readFiles(place),
          time: `${new Date(now()).toISOString().slice(0, 19)}Z`,
          redactor: { redactText: (text) => withoutToldSecrets(redactText(text)) },
          id: `c-${Math.floor(now() / 1000).toString(36)}${randomUUID().slice(0, 6)}`,
        }),
      ),
    );
  return {
    async read(file) {
      const found = (await readFiles(await findChannel(options)))[file];
      return readDocument(file, found?.text ?? "", found?.version ?? null);
    },
    apply: (operations, note) => alone((hands) => applyAll(hands, operations, note)),
    undo: (changeId, { partial = false } = {}) => alone((hands) => undoOne(hands, changeId, partial)),
    async forgotten() {
      const files = await readFiles(await findChannel(options));
      return isForgottenBy(files[RETIRED_FILE]?.text ?? "");
    },
    async superseded() {
      const files = await readFiles(await findChannel(options));
      return supersededIn(files[RETIRED_FILE]?.text ?? "");
    },
    async log() {
      const { changes, problems } = await readLog((await findChannel(options)).channelDir);
      return { changes: changes.map(({ edits: _, ...change }) => change), problems };
    },
  };
}

/** What one change works with. */
interface Hands {
  readonly place: ChannelPlace;
  readonly files: ReadFiles;
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
  const { place, files, time, redactor } = hands;
  const before = textsOf(files);
  const plan = planChange(before, operations, { author, time, redactor });
  const { done, refused } = plan;
  let { texts } = plan;
  const isForgotten = forgottenIn(before, done);
  const forgotten = new Map<string, number>();
  const note = (file: string, pieces: number): void => {
    if (pieces > 0) forgotten.set(file, (forgotten.get(file) ?? 0) + pieces);
  };
  if (isForgotten !== undefined) {
    note("MEMORY.md", done.filter(({ operation }) => operation.op === "forget" && operation.target).length);
    texts = scrubTexts(texts, isForgotten, note);
    await scrubFolder(place, isForgotten, note);
  }
  const change = await commit(hands, texts, isForgotten === undefined, {
    author,
    reason: redactor.redactText(reason),
    sources: sources.map((source) => redactor.redactText(source)),
    operations: done.map(({ operation, id }) => loggedOperation(operation, redactor, id)),
    refused: refused.map(({ operation, reason, message }) => ({
      operation: loggedOperation(operation, redactor),
      reason,
      message,
    })),
  });
  const versions = Object.entries(change?.files ?? {}).map(([file, { after }]) => [file, after ?? undefined]);
  return {
    changeId: change?.id,
    done,
    refused,
    forgotten: [...forgotten].map(([file, pieces]) => ({ file, pieces })),
    versions: Object.fromEntries(versions),
  };
}

/** Brings the files to these texts; undefined where they say that already. */
async function commit(
  { place, files, time, id }: Hands,
  texts: Texts,
  keeps: boolean,
  change: Omit<MemoryChange, "id" | "time" | "files">,
): Promise<MemoryChange | undefined> {
  const edits = CHANGED_FILES.map((file) => ({ file, before: files[file]?.text, after: texts[file] }));
  const changed = edits.filter(({ before, after }) => before !== after);
  if (changed.length === 0) return undefined;
  return commitChange(place, { change: { id, time, ...change }, edits: changed, keeps });
}

async function undoOne(hands: Hands, changeId: string, partial: boolean): Promise<UndoResult> {
  const { changes } = await readLog(hands.place.channelDir);
  const index = changes.findIndex(({ id }) => id === changeId);
  const change = changes[index];
  if (change === undefined)
    throw new CompactError("NotFound", `the log has no change ${changeId}`, {
      place: changeId,
      hint: "Look at the list of changes for its id.",
    });
  const { texts, left } = withoutChange(hands, change, changes.slice(index + 1));
  if (left.length > 0 && !partial) return { changeId: undefined, left };
  const undone = await commit(
    hands,
    left.length > 0 ? texts : notLearnedAgain(texts, change, hands.time),
    true,
    {
      author: "undo",
      reason: `takes back ${changeId}`,
      sources: [],
      operations: [],
      refused: [],
      undoes: changeId,
    },
  );
  return { changeId: undone?.id, left };
}

/** What the files would be without a change. */
function withoutChange(
  { files }: Hands,
  { id, edits, files: versions }: LogEntry,
  after: readonly LogEntry[],
): { readonly texts: Texts; readonly left: readonly UndoLeft[] } {
  if (edits === undefined)
    throw new CompactError("NotFound", `what takes ${id} back is no longer kept`, {
      place: id,
      hint: "Only the newest changes can be taken back; the log says what it did, so it can be done by hand.",
    });
  const texts: Partial<Record<ChangedFile, string>> = textsOf(files);
  const left: UndoLeft[] = [];
  for (const { file, hunks, openEnd, scrubbed } of edits) {
    const isSame = scrubbed !== true && files[file]?.version === versions[file]?.after;
    const undone = patch(files[file]?.text ?? "", inverse(hunks), isSame);
    const text = isSame && openEnd === true ? undone.text.replace(/(?:\r\n|\n|\r)$/, "") : undone.text;
    texts[file] = text === "" && versions[file]?.before === null ? undefined : text;
    const later = after
      .filter((one) => one.files[file] !== undefined)
      .map((one) => one.id)
      .toReversed();
    for (const { at, out } of undone.left)
      left.push({ file, line: at + 1, lastLine: at + Math.max(1, out.length), later });
  }
  return { texts, left };
}

/** What was added and taken back is not wanted: a later extraction must not add it again. */
function notLearnedAgain(texts: Texts, { id, operations }: LogEntry, time: string): Texts {
  const before = texts[RETIRED_FILE] ?? "";
  let retired = before;
  for (const { op, text } of operations) {
    if (op !== "add" || typeof text !== "string" || retiredAs(retired, text) !== undefined) continue;
    retired = withRetired(retired, text, { as: "invalidated", time, note: `undone, ${id}` });
  }
  return retired === before ? texts : { ...texts, [RETIRED_FILE]: retired };
}

// ---- SESSION.md by a host

const MOST_CONFLICTS = 4;

/**
 * Replaces SESSION.md with what `make` makes of it, and again of what stands there then where somebody else wrote meanwhile;
 * with `ifVersion` once. Nothing is done where it makes nothing.
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
