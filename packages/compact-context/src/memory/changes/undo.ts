import { CompactError } from "../../errors.ts";
import { type MemoryChange, readLog } from "./change-log.ts";
import type { ChannelPlace } from "./channel-files.ts";
import { type FileEdit, readUndo } from "./journal.ts";
import { mergeTexts } from "./merge.ts";
import type { ChangedFile, Texts } from "./plan.ts";
import { RETIRED_FILE, retiredAs, withRetired } from "./retired.ts";

/** A part of a change that cannot be taken back, because the lines were changed again. */
export interface UndoLeft {
  readonly file: ChangedFile;
  /** Lines of the file as the change left it, from 1; the last one included. */
  readonly line: number;
  readonly lastLine: number;
  /** Later changes of that file, newest first: taking these back first makes the rest possible. */
  readonly later: readonly string[];
}

export interface UndoResult {
  /** Of the change that took it back; undefined when nothing was done. */
  readonly changeId: string | undefined;
  readonly left: readonly UndoLeft[];
}

/** What the files would be without a change. */
export async function planUndo(
  place: ChannelPlace,
  texts: Texts,
  { changeId, date }: { readonly changeId: string; readonly date: string },
): Promise<{ readonly texts: Texts; readonly left: readonly UndoLeft[] }> {
  const { changes } = await readLog(place.channelDir);
  const index = changes.findIndex(({ id }) => id === changeId);
  const change = changes[index];
  if (change === undefined) throw unknownChange(changeId);
  const backup = await readUndo(place, changeId);
  if (backup === undefined) throw tooOld(changeId);
  let after = texts;
  const left: UndoLeft[] = [];
  for (const edit of backup) {
    const merged = mergeTexts(edit.after ?? "", texts[edit.file] ?? "", edit.before ?? "");
    const gone = edit.before === undefined && merged.text === "";
    after = withText(after, edit.file, gone ? undefined : merged.text);
    const later = changes.slice(index + 1).filter(({ files }) => files[edit.file] !== undefined);
    left.push(
      ...merged.left.map(({ from, to }) => ({
        file: edit.file,
        line: from + 1,
        lastLine: Math.max(from + 1, to),
        later: later.map(({ id }) => id).toReversed(),
      })),
    );
  }
  return { texts: left.length === 0 ? notLearnedAgain(after, change, date) : after, left };
}

/** What was added and taken back is not wanted: a later extraction must not add it again. */
function notLearnedAgain(texts: Texts, change: MemoryChange, date: string): Texts {
  let retired = texts[RETIRED_FILE] ?? "";
  for (const { op, text } of change.operations) {
    if (op !== "add" || typeof text !== "string" || retiredAs(retired, text) !== undefined) continue;
    retired = withRetired(retired, { text, as: "invalidated", date, note: `undone, ${change.id}` });
  }
  return retired === (texts[RETIRED_FILE] ?? "") ? texts : { ...texts, [RETIRED_FILE]: retired };
}

function withText(texts: Texts, file: FileEdit["file"], text: string | undefined): Texts {
  const { [file]: _, ...others } = texts;
  return text === undefined ? others : { ...others, [file]: text };
}

function unknownChange(changeId: string): CompactError {
  return new CompactError("NotFound", `the log has no change ${changeId}`, {
    place: changeId,
    hint: "Look at the list of changes for its id.",
  });
}

function tooOld(changeId: string): CompactError {
  return new CompactError("NotFound", `the files from before ${changeId} are no longer kept`, {
    place: changeId,
    hint: "Only the newest changes can be taken back; the log says what it did, so it can be done by hand.",
  });
}
