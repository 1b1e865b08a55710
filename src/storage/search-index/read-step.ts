import { archiveFiles } from "../archive-files.ts";
import { type ArchivedMessage, readArchiveLine } from "../archive-line.ts";
import type { StorageDriver } from "../driver.ts";
import { linesOf } from "./transcript-lines.ts";

export interface StepPlace {
  readonly folder: string;
  readonly step: number;
}

export interface StepRead {
  /** How many messages the transcript says it has. */
  readonly messages: number;
  readonly problems: readonly { readonly line: number; readonly problem: string }[];
}

/** Hands over the messages of a transcript one after the other; what cannot be read is told by its line. */
export async function readStep(
  driver: StorageDriver,
  { folder, step }: StepPlace,
  take: (archived: ArchivedMessage) => Promise<void>,
): Promise<StepRead> {
  const problems: { line: number; problem: string }[] = [];
  let messages = 0;
  let expected = 1;
  let last = 0;
  for await (const { line, text, torn } of linesOf(driver.stream(archiveFiles.transcript(folder, step)))) {
    last = line;
    const read = torn ? "the last line was cut off" : readArchiveLine(text);
    if (typeof read === "string") {
      problems.push({ line, problem: read });
      expected += 1;
      continue;
    }
    messages = read.of;
    expected = read.archived.n + 1;
    await take(read.archived);
  }
  if (expected <= messages) {
    problems.push({ line: last + 1, problem: `messages ${expected} to ${messages} are missing` });
  }
  return { messages, problems };
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
