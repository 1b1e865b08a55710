import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { lstat, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { CompactError } from "compact-context/internal/errors";
import { type Invocation, misuse } from "../flags.ts";
import type { CliPorts } from "../ports.ts";
import type { CompactedSession, Transcript, WrittenTranscript } from "../transcripts/transcript.ts";
import type { Source } from "./source.ts";

/** The file of `-o`, checked before any work is done. */
export interface Destination {
  /** As the user wrote it. */
  readonly name: string;
  readonly path: string;
  /** True if it is the file that is read. */
  readonly isInput: boolean;
  readonly mode: number;
  /** Identifies the state of the input before it was read, to detect a change. */
  readonly inputState: string | undefined;
  /** False if the file must still not exist when the result is moved there. */
  readonly replaces: boolean;
}

/** The file of `-o`, if given; throws `InvalidUsage` for an existing one without `--force`, even the input. */
export async function checkDestination(
  { flags, ports: { cwd } }: Pick<Invocation, "flags" | "ports">,
  source: Source,
): Promise<Destination | undefined> {
  const { output: name, force = false } = flags;
  if (name === undefined) return undefined;
  const path = await realpath(resolve(cwd, name)).catch(() => resolve(cwd, name));
  const input = source.path === undefined ? undefined : await realpath(source.path);
  const inputState = source.path === undefined ? undefined : await stateOf(source.path);
  const facts = await stat(path).catch(() => undefined);
  if (facts === undefined) {
    await checkNew(path, name);
    return { name, path, isInput: false, mode: 0o600, inputState, replaces: force };
  }
  if (facts.isDirectory()) throw refused(name, "is a folder", "Name the file to write in it.");
  if (!facts.isFile()) throw refused(name, "is not a regular file", "Name a file that does not exist yet.");
  const isInput = path === input;
  if (!force) {
    const problem = isInput ? "is the input file" : "exists already";
    throw refused(name, problem, "Add --force to replace it, or name another file.");
  }
  return { name, path, isInput, mode: facts.mode & 0o777, inputState, replaces: true };
}

async function checkNew(path: string, name: string): Promise<void> {
  if (await exists(path)) throw refused(name, "is a broken link", "Remove the link, or name another file.");
  const folder = await stat(dirname(path)).catch(() => undefined);
  if (folder?.isDirectory() === true) return;
  throw new CompactError("NotFound", `-o ${name}: there is no folder ${dirname(path)}`, {
    place: "-o",
    hint: "Create the folder first.",
  });
}

function refused(name: string, problem: string, hint: string): CompactError {
  return misuse(`-o ${name} ${problem}`, hint, "-o");
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

async function stateOf(path: string): Promise<string> {
  const { ino, size, mtimeMs } = await stat(path);
  return `${ino} ${size} ${mtimeMs}`;
}

/** Writes the compacted session in its own format; a copy of the input if it is undefined. */
export async function writeTranscript(
  destination: Destination,
  compacted: CompactedSession | undefined,
  { transcript, source, ports }: { transcript: Transcript; source: Source; ports: CliPorts },
): Promise<void> {
  const stamps = { newId: ports.newId, now: () => ports.now().toISOString() };
  await writeOutput(destination, compacted && transcript.write(compacted, stamps), source);
}

type Written = Pick<WrittenTranscript, "mode"> & {
  readonly chunks: Iterable<string> | AsyncIterable<string>;
};

/** Writes a temporary file and renames it: a crash leaves the old file or the new one. Copies the input by default. */
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
    if (!destination.replaces && (await exists(destination.path))) {
      throw new CompactError("Conflict", `${destination.name} was created by another program meanwhile`, {
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

/** In append mode the unchanged bytes of the input come first. */
async function* bytesOf(written: Written | undefined, source: Source): AsyncGenerator<string | Buffer> {
  if (written?.mode !== "replace")
    yield* source.path === undefined ? source.chunks() : createReadStream(source.path);
  if (written !== undefined) yield* written.chunks;
}

/** A running agent may have extended its session meanwhile, which must not be lost. */
async function checkInputUnchanged(destination: Destination, source: Source): Promise<void> {
  if (source.path === undefined || destination.inputState === undefined) return;
  if ((await stateOf(source.path)) === destination.inputState) return;
  throw new CompactError("Conflict", `${source.name} changed while it was read`, {
    place: source.name,
    hint: "Stop the program that writes to it, then run compact again; nothing was changed.",
  });
}
