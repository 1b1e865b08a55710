import { isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { CompactError } from "compact-context/internal/errors";

/** A readable transcript: a file, standard input, or a session that its tool keeps in several files. */
export interface Source {
  /** Name for errors and output. */
  readonly name: string;
  /** The argument that names it on the command line, if not `name`. */
  readonly word?: string;
  /** Absent if the session is not one file. */
  readonly path?: string;
  /** Size in bytes, for progress; 0 if unknown. */
  readonly bytes: number;
  /** The text in chunks. */
  chunks(listener?: ReadListener): AsyncIterable<string>;
}

interface ReadListener {
  /** `bytes` counts from the start. */
  onBytes?(bytes: number): void;
  /** Called for invalid UTF-8, which the text replaces with `U+FFFD`. */
  onMalformed(): void;
}

const CHUNK_BYTES = 1 << 20;
const HEAD_BYTES = 4096;
const CHECK = "Check the path; `compact` alone lists the newest sessions on this computer.";

/** Opens a file; throws `NotFound`, or `InvalidTranscript` for one that cannot be a transcript. */
export async function openFile(name: string, cwd: string): Promise<Source> {
  const path = resolve(cwd, name);
  const facts = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw unreadable(name, error, CHECK);
  });
  if (facts.isDirectory()) throw refused(name, "is a folder", "Name the session file in it.");
  if (!facts.isFile()) throw refused(name, "is not a regular file", "Copy its content to a file first.");
  if (facts.size === 0) {
    throw refused(name, "is empty", "Check that the session was saved; export it again if need be.");
  }
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    throw unreadable(name, error, CHECK);
  });
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    refuseUnreadable(buffer.subarray(0, bytesRead), name);
  } finally {
    await file.close();
  }
  return {
    name,
    path,
    bytes: facts.size,
    chunks: (listener) => decoded(createReadStream(path, { highWaterMark: CHUNK_BYTES }), listener),
  };
}

/** The argument for standard input. */
export const STDIN = "-";

/** Reads standard input into memory, so that it can be read twice. Throws `InvalidTranscript` as for a file. */
export async function openStdin(stdin: AsyncIterable<Uint8Array> | undefined): Promise<Source> {
  const name = "standard input";
  if (stdin === undefined) throw refused(name, "cannot be read here", "Name a file.");
  const pieces: Uint8Array[] = [];
  for await (const piece of stdin) pieces.push(piece);
  const bytes = pieces.reduce((total, piece) => total + piece.length, 0);
  if (bytes === 0) throw refused(name, "is empty", "Pipe a session into it: compact - < session.jsonl");
  refuseUnreadable(Buffer.concat(pieces, Math.min(bytes, HEAD_BYTES)), name);
  return { name, word: STDIN, bytes, chunks: (listener) => decoded(pieces, listener) };
}

/** The name of a session without an id, from its file's name. */
export function stemOf(name: string): string {
  return basename(name).replace(/\.(?:jsonl?|traj|md|messages|txt)$/i, "") || "session";
}

/** Decodes UTF-8; `onMalformed` is called before the chunk with the invalid bytes is passed on. */
export async function* decoded(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  listener?: ReadListener,
): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const isValid = createUtf8Check();
  let bytes = 0;
  for await (const chunk of pieces) {
    bytes += chunk.length;
    listener?.onBytes?.(bytes);
    if (!isValid(chunk)) listener?.onMalformed();
    yield decoder.decode(chunk, { stream: true });
  }
  if (!isValid()) listener?.onMalformed();
  yield decoder.decode();
}

/** Checks the chunks of a file in order, and its end when called without one; false for invalid UTF-8. */
function createUtf8Check(): (piece?: Uint8Array) => boolean {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let isWhole = true;
  return (piece) => {
    // Up to a chunk that cuts a character, none needs the one before it.
    isWhole &&= piece === undefined || isUtf8(piece);
    if (isWhole) return true;
    try {
      decoder.decode(piece, { stream: piece !== undefined });
      return true;
    } catch {
      return false;
    }
  };
}

function refuseUnreadable(head: Buffer, name: string): void {
  const binary = binaryKind(head);
  if (binary !== undefined) throw refused(name, ...binary);
  if (head.toString("utf8").trim() !== "" || head.length === HEAD_BYTES) return;
  throw refused(name, "holds only white space", "Check that the session was saved.");
}

/** Detects UTF-16 and binary files by their first bytes. */
export function binaryKind(head: Uint8Array): readonly [problem: string, hint: string] | undefined {
  const [first, second] = head;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
    return ["is UTF-16 text", "Save it as UTF-8 first."];
  if (!head.includes(0) && !(first === 0x1f && second === 0x8b)) return undefined;
  return [
    "is a binary file",
    "Use a text file, such as JSON, JSON lines or Markdown; unpack it if it is compressed.",
  ];
}

function refused(name: string, problem: string, hint: string): CompactError {
  return new CompactError("InvalidTranscript", `${name} ${problem}`, { place: name, hint });
}

/** The error for a file that cannot be opened; `check` is the hint if it does not exist. */
export function unreadable(name: string, error: NodeJS.ErrnoException, check: string): CompactError {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") {
    return new CompactError("NotFound", `there is no file ${name}`, {
      place: name,
      hint: check,
    });
  }
  const reason = error.code === "EACCES" ? "permission denied" : (error.code ?? error.message);
  return new CompactError("NotFound", `${name} cannot be read: ${reason}`, {
    place: name,
    hint: "Check the permissions of the file and its folders.",
    cause: error,
  });
}
