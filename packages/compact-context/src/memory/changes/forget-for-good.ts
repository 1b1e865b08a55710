import { join } from "node:path";
import { readMemoryFile } from "../files/write-file.ts";
import { dropBackupsWith } from "./backups.ts";
import { editLog, LOG_FILE } from "./change-log.ts";
import type { ChannelPlace, ReadFiles } from "./channel-files.ts";
import type { ChannelLock } from "./lock.ts";
import type { DoneOperation } from "./operation.ts";
import { findItem } from "./plan.ts";
import { textsOf } from "./plan-change.ts";

/**
 * Takes the texts of items that are forgotten for good out of the log and the backups, before they leave their file: who
 * is killed in between can ask again. True when there are some; the change itself must not be backed up then.
 */
export async function forgetForGood(
  { place, lock }: { readonly place: ChannelPlace; readonly lock: ChannelLock },
  before: ReadFiles,
  done: readonly DoneOperation[],
): Promise<boolean> {
  const texts = done.flatMap(({ operation, id }) => {
    if (operation.op !== "forget" || operation.forGood !== true) return [];
    return findItem(textsOf(before), id)?.item.text ?? [];
  });
  if (texts.length === 0) return false;
  const path = join(place.channelDir, LOG_FILE);
  const log = (await readMemoryFile(path))?.text ?? "";
  const without = (text: string): string =>
    texts.reduce((rest, forgotten) => rest.replaceAll(forgotten, "[forgotten]"), text);
  await lock.stage(LOG_FILE, editLog(log, without));
  await lock.commit(LOG_FILE, path);
  for (const text of texts) await dropBackupsWith(place, text);
  return true;
}
