import { createHash, type Hash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { FolderVanished, notOurs, systemCode } from "./errors.ts";
import { type Place, refuseSwapped } from "./folders.ts";
import { dropTemp, sweepTemps, tempName } from "./temps.ts";

const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;
// Without it, opening a pipe planted in place of a file would wait for ever.
const NO_WAIT = constants.O_NONBLOCK ?? 0;
const PIECE_BYTES = 262_144;

/** A file beside others at a place. */
export interface PlacedFile {
  readonly place: Place;
  readonly name: string;
}

export interface TempFile {
  readonly path: string;
  /** Fingerprint of the content: `contentVersion` of the same bytes. */
  readonly fingerprint: string;
}

/** Opens a plain file; a link, folder or pipe in its place is refused, a missing one gives nothing. */
export async function openPlain({ place, name }: PlacedFile, flags: number): Promise<FileHandle | undefined> {
  const shown = join(place.shown, name);
  let handle: FileHandle;
  try {
    handle = await open(join(place.folder, name), flags | NO_FOLLOW | NO_WAIT, 0o600);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    if (systemCode(error) === "ELOOP") throw notOurs(shown, "the file is a symbolic link");
    throw error;
  }
  const stats = await handle.stat();
  if (stats.isFile()) return handle;
  await handle.close();
  throw notOurs(shown, "there is something else than a file");
}

/** The bytes of a plain file; nothing where there is none. */
export async function readPlain(file: PlacedFile): Promise<Buffer | undefined> {
  const handle = await openPlain(file, constants.O_RDONLY);
  if (handle === undefined) return undefined;
  try {
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

/** The fingerprint of a plain file, read in pieces; nothing where there is none. */
export async function fingerprintPlain(file: PlacedFile): Promise<string | undefined> {
  const handle = await openPlain(file, constants.O_RDONLY);
  if (handle === undefined) return undefined;
  try {
    const hash = createHash("sha256");
    const buffer = Buffer.alloc(PIECE_BYTES);
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, buffer.length);
      if (bytesRead === 0) return shortened(hash);
      hash.update(buffer.subarray(0, bytesRead));
    }
  } finally {
    await handle.close();
  }
}

/** The text of an open file in pieces, as long as the file was when this began; closes it at the end. */
export async function* textPieces(handle: FileHandle): AsyncGenerator<string> {
  try {
    const { size } = await handle.stat();
    const buffer = Buffer.alloc(Math.min(PIECE_BYTES, size));
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    for (let offset = 0; offset < size; ) {
      const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, size - offset), offset);
      if (bytesRead === 0) break;
      offset += bytesRead;
      const piece = decoder.decode(buffer.subarray(0, bytesRead), { stream: true });
      if (piece !== "") yield piece;
    }
    const rest = decoder.decode();
    if (rest !== "") yield rest;
  } finally {
    await handle.close();
  }
}

/** 128 bits of SHA-256 over a file's content. */
export function fingerprintOf(content: Buffer): string {
  return shortened(createHash("sha256").update(content));
}

function shortened(hash: Hash): string {
  return hash.digest("base64url").slice(0, 22);
}

/** Writes the pieces to a new file beside others, readable by this user only, and makes them durable. */
export async function writeTemp(place: Place, chunks: Iterable<string>): Promise<TempFile> {
  const path = join(place.folder, tempName());
  const handle = await openTemp(path);
  try {
    await refuseSwapped(place);
    const hash = createHash("sha256");
    for (const chunk of inPieces(chunks)) {
      hash.update(chunk, "utf8");
      await handle.writeFile(chunk, "utf8");
    }
    await handle.sync();
    const { mtimeMs } = await handle.stat();
    await sweepTemps(place.folder, mtimeMs);
    return { path, fingerprint: shortened(hash) };
  } catch (error) {
    await dropTemp(path);
    throw error;
  } finally {
    await handle.close();
  }
}

async function openTemp(path: string): Promise<FileHandle> {
  try {
    return await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | NO_FOLLOW, 0o600);
  } catch (error) {
    await dropTemp(path);
    throw systemCode(error) === "ENOENT" ? new FolderVanished("the folder vanished") : error;
  }
}

/** The same text in pieces that are worth a write. */
function* inPieces(chunks: Iterable<string>): Generator<string> {
  let open = "";
  for (const chunk of chunks) {
    open += chunk;
    if (open.length < PIECE_BYTES) continue;
    yield open;
    open = "";
  }
  if (open !== "") yield open;
}
