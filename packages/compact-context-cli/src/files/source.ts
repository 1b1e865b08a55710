import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { CompactError } from "compact-context/internal/errors";

/** A transcript that can be read: a file, or a session that its tool keeps in many. */
export interface Source {
  /** What errors and screens call it. */
  readonly name: string;
  /** How the command line finds it again, where that is not by its name. */
  readonly word?: string;
  /** The file itself; absent where the session is put together from many. */
  readonly path?: string;
  /** Bytes, for progress; 0 where not known. */
  readonly bytes: number;
  /** Its text in pieces. */
  chunks(listener?: ReadListener): AsyncIterable<string>;
}

interface ReadListener {
  /** Hears how many bytes were read so far. */
  onBytes(bytes: number): void;
  /** Hears that bytes are no UTF-8: `U+FFFD` stands in the text for them. */
  onGarbled(): void;
}

const CHUNK_BYTES = 1 << 20;
const HEAD_BYTES = 4096;
const CHECK = "Check the path; `compact` alone lists the newest sessions on this computer.";

/** A file as a source; throws `NotFound` or `InvalidTranscript` for what can be no transcript. */
export async function openFile(name: string, cwd: string): Promise<Source> {
  const path = resolve(cwd, name);
  const facts = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw unreadable(name, error, CHECK);
  });
  if (facts.isDirectory()) throw refused(name, "is a folder", "Name the session file in it.");
  if (!facts.isFile()) throw refused(name, "is no regular file", "Copy its content to a file first.");
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

/** What stands for standard input. */
export const STDIN = "-";

/** A session that is piped in, held whole: it may be read twice. Throws `InvalidTranscript` as for a file. */
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

/** What a session is called after its file when it says nothing itself. */
export function stemOf(name: string): string {
  return basename(name).replace(/\.(?:jsonl?|traj|md|messages|txt)$/i, "") || "session";
}

async function* decoded(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  listener?: ReadListener,
): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const isSound = createUtf8Check();
  let bytes = 0;
  for await (const chunk of pieces) {
    bytes += chunk.length;
    listener?.onBytes(bytes);
    if (!isSound(chunk)) listener?.onGarbled();
    yield decoder.decode(chunk, { stream: true });
  }
  if (!isSound()) listener?.onGarbled();
  yield decoder.decode();
}

/** Told the pieces of a file one after the other, at last nothing; false where they are no UTF-8, cut at the end too. */
function createUtf8Check(): (piece?: Uint8Array) => boolean {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  return (piece) => {
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
  throw refused(name, "holds nothing but white space", "Check that the session was saved.");
}

/** What a file that begins so is, and what can be done, where it is no UTF-8 text. */
export function binaryKind(head: Uint8Array): readonly [problem: string, hint: string] | undefined {
  const [first, second] = head;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
    return ["is UTF-16 text", "Save it as UTF-8 first."];
  if (!head.includes(0) && !(first === 0x1f && second === 0x8b)) return undefined;
  return [
    "is a binary file",
    "Only text is read, such as JSON, JSON lines or Markdown; unpack it if it is compressed.",
  ];
}

function refused(name: string, problem: string, hint: string): CompactError {
  return new CompactError("InvalidTranscript", `${name} ${problem}`, { place: name, hint });
}

/** Why the system does not give a file; `check` is what to do where there is none. */
export function unreadable(name: string, error: NodeJS.ErrnoException, check: string): CompactError {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") {
    return new CompactError("NotFound", `there is no file ${name}`, {
      place: name,
      hint: check,
    });
  }
  const reason = error.code === "EACCES" ? "you may not read it" : (error.code ?? error.message);
  return new CompactError("NotFound", `${name} cannot be read: ${reason}`, {
    place: name,
    hint: "Check the permissions of the file and its folders.",
    cause: error,
  });
}
