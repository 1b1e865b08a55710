import {
  type ArchivedMessage,
  type ArchiveProblem,
  archiveFiles,
  createReading,
  linesOf,
  readArchiveLine,
} from "../core/archive.ts";
import type { StorageDriver } from "../core/ports.ts";

export interface StepPlace {
  readonly folder: string;
  readonly step: number;
}

export interface StepRead {
  /** How many messages the transcript says it has. */
  readonly messages: number;
  readonly problems: readonly ArchiveProblem[];
}

/** Hands over the messages of a transcript one after the other; what cannot be read is told by its line. */
export async function readStep(
  driver: StorageDriver,
  { folder, step }: StepPlace,
  take: (archived: ArchivedMessage) => Promise<void>,
): Promise<StepRead> {
  const problems: ArchiveProblem[] = [];
  const reading = createReading();
  for await (const { text, torn } of linesOf(driver.stream(archiveFiles.transcript(folder, step)))) {
    for (const entry of reading.take(text, torn)) {
      if ("problem" in entry) problems.push(entry);
      else await take(entry);
    }
  }
  problems.push(...reading.end());
  return { messages: reading.stated(), problems };
}

/** How many messages the first line of a transcript says there are; 0 where there is none or it cannot be read. */
export async function statedLength(driver: StorageDriver, folder: string, step: number): Promise<number> {
  for await (const { text } of linesOf(driver.stream(archiveFiles.transcript(folder, step)))) {
    const read = readArchiveLine(text);
    return typeof read === "string" ? 0 : read.of;
  }
  return 0;
}

/** The message at its place; undefined where the transcript holds another there. */
export async function readPlace(
  driver: StorageDriver,
  { folder, step }: StepPlace,
  wanted: { readonly n: number; readonly archiveId: string },
): Promise<ArchivedMessage | undefined> {
  for await (const { line, text } of linesOf(driver.stream(archiveFiles.transcript(folder, step)))) {
    // Lines before its own can only be passed over: one message stands on each.
    if (line < wanted.n) continue;
    const read = readArchiveLine(text);
    const matches = typeof read !== "string" && read.archived.archiveId === wanted.archiveId;
    return matches ? read.archived : undefined;
  }
  return undefined;
}
