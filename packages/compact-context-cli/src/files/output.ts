import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { lstat, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { CompactError } from "compact-context/internal/errors";
import type { Invocation } from "../flags.ts";
import type { CliPorts } from "../ports.ts";
import type { CompactedSession, Transcript, WrittenTranscript } from "../transcripts/transcript.ts";
import type { Source } from "./source.ts";

/** Where a result goes, checked before any work is done. */
export interface Destination {
  /** As the user wrote it. */
  readonly name: string;
  readonly path: string;
  /** It is the file that was read. */
  readonly isInput: boolean;
  readonly mode: number;
  /** The input as it was before it was read; it must still be so when it is replaced. */
  readonly inputMark: string | undefined;
  /** False where nothing stood there, so that nothing may stand there either when the result is put in place. */
  readonly replaces: boolean;
}

/**
 * Checks that a result may be written to the file of `-o`, where one is named; throws `InvalidUsage` for a file that is
 * there already, the input too.
 */
export async function checkDestination(
  { flags, ports: { cwd } }: Pick<Invocation, "flags" | "ports">,
  source: Source,
): Promise<Destination | undefined> {
  const { output: name, force = false } = flags;
  if (name === undefined) return undefined;
  const path = await realpath(resolve(cwd, name)).catch(() => resolve(cwd, name));
  const input = source.path === undefined ? undefined : await realpath(source.path);
  const inputMark = source.path === undefined ? undefined : await markOf(source.path);
  const facts = await stat(path).catch(() => undefined);
  if (facts === undefined) {
    await checkNothingThere(path, name);
    return { name, path, isInput: false, mode: 0o600, inputMark, replaces: force };
  }
  if (facts.isDirectory()) {
    throw new CompactError("InvalidUsage", `-o ${name} is a folder`, {
      place: "-o",
      hint: "Name the file to write in it.",
    });
  }
  if (!facts.isFile()) {
    throw new CompactError("InvalidUsage", `-o ${name} is no regular file`, {
      place: "-o",
      hint: "Results go to files: name one that is not there yet.",
    });
  }
  const isInput = path === input;
  if (!force) {
    const what = isInput ? "is the file that is read" : "is there already";
    throw new CompactError("InvalidUsage", `-o ${name} ${what}`, {
      place: "-o",
      hint: "Add --force to replace it, or name another file.",
    });
  }
  return { name, path, isInput, mode: facts.mode & 0o777, inputMark, replaces: true };
}

async function checkNothingThere(path: string, name: string): Promise<void> {
  if (await isTaken(path)) {
    throw new CompactError("InvalidUsage", `-o ${name} is a link that leads nowhere`, {
      place: "-o",
      hint: "Remove the link, or name another file.",
    });
  }
  const folder = await stat(dirname(path)).catch(() => undefined);
  if (folder?.isDirectory() === true) return;
  throw new CompactError("NotFound", `-o ${name}: there is no folder ${dirname(path)}`, {
    place: "-o",
    hint: "Make the folder first.",
  });
}

function isTaken(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

async function markOf(path: string): Promise<string> {
  const { ino, size, mtimeMs } = await stat(path);
  return `${ino} ${size} ${mtimeMs}`;
}

/** Writes the session as it is now, in its own format; where that is undefined, as it was. */
export async function writeTranscript(
  destination: Destination,
  now: CompactedSession | undefined,
  { transcript, source, ports }: { transcript: Transcript; source: Source; ports: CliPorts },
): Promise<void> {
  const stamps = { newId: ports.newId, now: () => ports.now().toISOString() };
  await writeOutput(destination, now === undefined ? undefined : transcript.write(now, stamps), source);
}

type Written = Pick<WrittenTranscript, "mode"> & {
  readonly chunks: Iterable<string> | AsyncIterable<string>;
};

/**
 * Writes beside the destination and renames: a crash leaves the old file or the new one, never half of one.
 * Without `written` the output is a copy of the input, which itself stays as it is.
 */
export async function writeOutput(
  destination: Destination,
  written: Written | undefined,
  source: Source,
): Promise<void> {
  if (written === undefined && destination.isInput) return;
  const temp = join(dirname(destination.path), `.compact-${randomUUID()}.tmp`);
  try {
    const out = createWriteStream(temp, { flags: "wx", mode: destination.mode, flush: true });
    await pipeline(bytesOf(written, source), out);
    await checkInputUnchanged(destination, source);
    if (!destination.replaces && (await isTaken(destination.path))) {
      throw new CompactError("Conflict", `${destination.name} was made by somebody else meanwhile`, {
        place: destination.name,
        hint: "Name another file, or add --force to replace it; nothing was changed.",
      });
    }
    await rename(temp, destination.path);
  } catch (error) {
    if (CompactError.isInstance(error)) throw error;
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new CompactError("StorageFailed", `${destination.name} could not be written: ${reason}`, {
      place: destination.name,
      hint: "Check the disk and the permissions of its folder; nothing was changed.",
      cause: error,
    });
  } finally {
    await rm(temp, { force: true });
  }
}

/** In append mode the bytes of the input come first, as they are. */
async function* bytesOf(written: Written | undefined, source: Source): AsyncGenerator<string | Buffer> {
  if (written?.mode !== "replace")
    yield* source.path === undefined ? source.chunks() : createReadStream(source.path);
  if (written !== undefined) yield* written.chunks;
}

/** A live agent may have added to its session meanwhile: that must not be lost. */
async function checkInputUnchanged(destination: Destination, source: Source): Promise<void> {
  if (source.path === undefined || destination.inputMark === undefined) return;
  if ((await markOf(source.path)) === destination.inputMark) return;
  throw new CompactError("Conflict", `${source.name} changed while it was read`, {
    place: source.name,
    hint: "End the program that writes to it, then run compact again; nothing was changed.",
  });
}
