import { constants as buffers } from "node:buffer";
import { createHash, type Hash } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { join } from "node:path";
import type { StoredValue } from "../../core/ports.ts";
import { CompactError, conflict } from "../../errors.ts";
import {
  close,
  fchmod,
  fdatasync,
  fstat,
  fsync,
  ftruncate,
  link,
  lstat,
  open,
  read,
  rename,
  write,
  writeFile,
} from "./disk.ts";
import {
  entriesOf,
  FolderVanished,
  ifThere,
  NO_SPACE,
  notOurs,
  type Place,
  refuseSwapped,
  removeIfThere,
  storageFailed,
  systemCode,
} from "./folders.ts";
import { dropTemp, forgetTemp, sweepSometimes, tempName } from "./temps.ts";

const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;
// Without it, opening a pipe planted in place of a file would block forever.
const NO_WAIT = constants.O_NONBLOCK ?? 0;
const PIECE_BYTES = 262_144;

/** A file's path for operations, and for messages. */
export interface PlacedFile {
  readonly path: string;
  readonly shown: string;
}

export interface TempFile {
  readonly path: string;
  /** Fingerprint of the content: equals `contentVersion` of the same bytes. */
  readonly fingerprint: string;
}

export interface OpenFile {
  readonly file: number;
  readonly stats: Stats;
}

/** Opens a regular file. Throws for a link, folder or pipe; resolves to undefined if the file is missing. */
export async function openPlain({ path, shown }: PlacedFile, flags: number): Promise<OpenFile | undefined> {
  let file: number;
  try {
    file = await open(path, flags | NO_FOLLOW | NO_WAIT, 0o600);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    if (systemCode(error) === "ELOOP") throw notOurs(shown, "the file is a symbolic link");
    throw error;
  }
  try {
    const stats = await fstat(file);
    if (stats.isFile()) return { file, stats };
  } catch (error) {
    await close(file);
    throw error;
  }
  await close(file);
  throw notOurs(shown, "there is something else than a file");
}

/** The bytes of a regular file; undefined if there is none. */
async function readPlain(file: PlacedFile): Promise<Buffer | undefined> {
  const opened = await openPlain(file, constants.O_RDONLY);
  if (opened === undefined) return undefined;
  if (opened.stats.size > buffers.MAX_STRING_LENGTH) {
    await close(opened.file);
    throw notOurs(file.shown, "the file is larger than a value can be");
  }
  const pieces: Buffer[] = [];
  for await (const piece of bytesOf(opened)) pieces.push(Buffer.from(piece));
  return pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
}

/** The state of a file when it was read. */
interface Seen {
  readonly fingerprint: string;
  readonly ino: number;
  readonly mtimeMs: number;
}

/** Fingerprints a regular file in pieces; undefined if there is none. */
async function seePlain(file: PlacedFile): Promise<Seen | undefined> {
  const opened = await openPlain(file, constants.O_RDONLY);
  if (opened === undefined) return undefined;
  const hash = createHash("sha256");
  for await (const piece of bytesOf(opened)) hash.update(piece);
  const { ino, mtimeMs } = opened.stats;
  return { fingerprint: shortened(hash), ino, mtimeMs };
}

/**
 * Yields the bytes of an open file, up to its size at opening, and closes it at the end. Each piece is valid
 * only until the next.
 */
async function* bytesOf({ file, stats }: OpenFile): AsyncGenerator<Buffer> {
  try {
    const buffer = Buffer.allocUnsafe(Math.min(PIECE_BYTES, stats.size));
    for (let offset = 0; offset < stats.size; ) {
      const length = Math.min(buffer.length, stats.size - offset);
      const bytesRead = await read(file, buffer, length, offset);
      if (bytesRead === 0) return;
      offset += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await close(file);
  }
}

/** The text of an open file in pieces, like `bytesOf`. */
export async function* textPieces(file: OpenFile): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  for await (const bytes of bytesOf(file)) {
    const piece = decoder.decode(bytes, { stream: true });
    if (piece !== "") yield piece;
  }
  const rest = decoder.decode();
  if (rest !== "") yield rest;
}

/** 128 bits of SHA-256 over a file's content. */
function shortened(hash: Hash): string {
  return hash.digest("base64url").slice(0, 22);
}

/** Writes the pieces to a new, durable temporary file in the same folder, readable by this user only. */
export async function writeTemp(
  place: Place,
  pieces: Iterable<string> | AsyncIterable<string>,
): Promise<TempFile> {
  const path = join(place.folder, tempName());
  const file = await openTemp(path);
  try {
    await refuseSwapped(place);
    const hash = createHash("sha256");
    for await (const piece of pieces) {
      hash.update(piece, "utf8");
      await writeFile(file, piece, "utf8");
    }
    await fsync(file);
    await sweepSometimes(place, file);
    return { path, fingerprint: shortened(hash) };
  } catch (error) {
    await dropTemp(path);
    throw error;
  } finally {
    await close(file);
  }
}

async function openTemp(path: string): Promise<number> {
  try {
    return await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | NO_FOLLOW, 0o600);
  } catch (error) {
    await dropTemp(path);
    throw systemCode(error) === "ENOENT" ? new FolderVanished("the folder vanished") : error;
  }
}

/**
 * Conditional writes across processes rely on `link`, which creates a name or fails atomically. The first
 * value is the file itself (number 0). Later ones are committed as `.NAME.v1`, `.NAME.v2`, …: the highest
 * number is the current value, and only one writer can create the number after the one it read. Number 1
 * exists as long as any of them does, so one stat replaces a scan of a large folder. NAME is then replaced by
 * a copy of the newest version, for people to read; it may be stale after a crash.
 */
const KEPT_VERSIONS = 8;
const READ_ATTEMPTS = 20;

/** The committed version numbers of a file, ascending; empty if only the file itself can exist. */
export async function versionNumbers(place: Place): Promise<number[]> {
  if ((await statsAt(versionPath(place, 1))) === undefined) return [];
  const start = `.${place.name}.v`;
  const numbers: number[] = [];
  for (const { name } of await entriesOf(place.folder)) {
    const number = name.startsWith(start) ? name.slice(start.length) : "";
    if (/^[1-9]\d{0,14}$/.test(number)) numbers.push(Number(number));
  }
  return numbers.sort((a, b) => a - b);
}

/** What is at a path, of whatever kind; undefined if nothing is. */
export function statsAt(path: string): Promise<Stats | undefined> {
  return ifThere(lstat(path));
}

/** Removes all versions of a value, if there are any. Until the last is gone, reads return the newest. */
export async function removeVersions(place: Place): Promise<void> {
  const numbers = await versionNumbers(place);
  const newest = numbers.at(-1) ?? 0;
  for (const old of numbers) if (old > 1 && old < newest) await removeIfThere(versionPath(place, old));
  // A folder that somebody planted in place of a version is neither renamed nor replaced.
  const last = versionPath(place, newest);
  if (newest > 1) await rename(last, versionPath(place, 1)).catch(() => removeIfThere(last));
  await removeIfThere(versionPath(place, 0));
  await removeIfThere(versionPath(place, 1));
}

/** The file of version `number`, while the place is held. */
export function versionFile(
  { folder, shown, name }: Pick<Place, "folder" | "shown" | "name">,
  number: number,
): PlacedFile {
  const file = number === 0 ? name : `.${name}.v${number}`;
  return { path: join(folder, file), shown: join(shown, file) };
}

function versionPath(place: Place, number: number): string {
  return versionFile(place, number).path;
}

/** The key name of a committed version's file; undefined for other file names. */
export function nameOfVersion(fileName: string): string | undefined {
  return /^\.(.+)\.v[1-9]\d{0,14}$/.exec(fileName)?.[1];
}

/** The newest value; undefined if there is none. */
export async function readNewest(place: Place): Promise<StoredValue | undefined> {
  const found = await newestFile(place, readPlain);
  if (found === undefined) return undefined;
  const { number, content } = found;
  const hash = createHash("sha256").update(content);
  return { value: content.toString("utf8"), version: `${number}.${shortened(hash)}` };
}

/** The version of the newest value, computed without loading it whole. */
export async function readVersion(place: Place): Promise<string | undefined> {
  const found = await newestFile(place, seePlain);
  return found && `${found.number}.${found.content.fingerprint}`;
}

/** The newest version's number and the result of `read` on its file; undefined if there is no value. */
export async function newestFile<T>(
  place: Place,
  read: (file: PlacedFile) => Promise<T | undefined>,
): Promise<{ readonly number: number; readonly content: T } | undefined> {
  for (let attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
    const newest = (await versionNumbers(place)).at(-1) ?? 0;
    const content = await read(versionFile(place, newest));
    if (content !== undefined) return { number: newest, content };
    // A version that vanished was superseded since the listing: retry.
    if (newest === 0 && (await versionNumbers(place)).length === 0) return undefined;
  }
  throw notOurs(join(place.shown, place.name), "the versions of this file keep vanishing");
}

/** Makes `temp` the first value; throws `Conflict` if one exists. */
export async function commitFirst(place: Place, temp: TempFile, key: string): Promise<string> {
  if ((await versionNumbers(place)).length > 0) throw conflict(key);
  await linkOrConflict(temp.path, versionPath(place, 0), key);
  await dropTemp(temp.path);
  await place.sync();
  return `0.${temp.fingerprint}`;
}

/** Makes `temp` the successor of `ifVersion`; throws `Conflict` if that is no longer the newest. */
export async function commitNext(
  place: Place,
  temp: TempFile,
  ifVersion: string,
  key: string,
): Promise<string> {
  const [, digits = "0", fingerprint = ""] = /^(\d{1,15})\.(.+)$/.exec(ifVersion) ?? [];
  const base = Number(digits);
  const seen = await seePlain(versionFile(place, base));
  if (seen === undefined || seen.fingerprint !== fingerprint) throw conflict(key);
  const number = base + 1;
  // Fails if another writer created that number: the base was stale.
  await linkOrConflict(temp.path, versionPath(place, number), key);
  if (!(await isStillBase(place, base, seen))) {
    await removeIfThere(versionPath(place, number));
    throw conflict(key);
  }
  await showNewest(place, temp, number);
  await place.sync();
  return `${number}.${temp.fingerprint}`;
}

async function linkOrConflict(from: string, to: string, key: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (systemCode(error) === "EEXIST") throw conflict(key);
    throw error;
  }
}

/**
 * A writer that stalled while many versions came and went could recreate a number that was cleaned up. Its
 * base is then gone too, as the oldest versions are cleaned up first. Number 1 is never cleaned up, so for
 * base 0 a successful link is proof, unless the file was deleted and recreated.
 */
async function isStillBase(place: Place, base: number, seen: Seen): Promise<boolean> {
  const now = await lstat(versionPath(place, base)).catch(() => undefined);
  if (now?.ino === seen.ino && now.mtimeMs === seen.mtimeMs) return true;
  return base === 0 && ((await versionNumbers(place)).at(-1) ?? 0) > 1;
}

/**
 * Publishes a committed value under the readable name, unless a newer one exists, and removes the version
 * that is now too old. Every few versions, also removes older ones that a crash left.
 */
async function showNewest(place: Place, temp: TempFile, number: number): Promise<void> {
  if ((await statsAt(versionPath(place, number + 1))) !== undefined) await dropTemp(temp.path);
  else {
    await rename(temp.path, versionPath(place, 0));
    forgetTemp(temp.path);
  }
  const tooOld = number - KEPT_VERSIONS;
  const there = number % KEPT_VERSIONS === 0 ? await versionNumbers(place) : [tooOld];
  for (const old of there) if (old > 1 && old <= tooOld) await removeIfThere(versionPath(place, old));
}

const NEWLINE = 10;

/**
 * Appends `text` to a file in one write, durable once it resolves; a failed write is undone. Resolves to true
 * if the file was empty or new. A record that a crash cut off is kept as a line of its own and reported:
 * truncating it could hit a record that another process is writing right now.
 */
export async function appendDurably(
  file: PlacedFile,
  text: string,
  warn: (message: string) => void,
): Promise<boolean> {
  const opened = await openPlain(file, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT);
  if (opened === undefined) throw new FolderVanished("the folder vanished");
  const { file: descriptor, stats } = opened;
  try {
    if (stats.nlink > 1) throw notOurs(file.shown, "the file has a second name (hard link)");
    if ((stats.mode & 0o077) !== 0) await fchmod(descriptor, 0o600);
    const torn = stats.size > 0 && !(await endsLine(descriptor, stats.size));
    if (torn)
      warn(`The last record of ${file.shown} was cut off by a crash; it stays there as a line of its own.`);
    await writeOrUndo(descriptor, Buffer.from(torn ? `\n${text}` : text, "utf8"), stats.size);
    return stats.size === 0;
  } catch (error) {
    throw storageFailed(error, file.shown);
  } finally {
    await close(descriptor);
  }
}

/** False after a write that a crash cut short: the next record must start on a new line. */
async function endsLine(file: number, size: number): Promise<boolean> {
  const last = Buffer.alloc(1);
  await read(file, last, 1, size - 1);
  return last[0] === NEWLINE;
}

async function writeOrUndo(file: number, bytes: Buffer, goodSize: number): Promise<void> {
  try {
    const bytesWritten = await write(file, bytes);
    if (bytesWritten < bytes.length) {
      const problem = `only ${bytesWritten} of ${bytes.length} bytes could be written`;
      throw new CompactError("StorageFailed", problem, { hint: NO_SPACE });
    }
    await fdatasync(file);
  } catch (error) {
    await ftruncate(file, goodSize);
    throw error;
  }
}
