import { link, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { conflict } from "../../core/archive.ts";
import type { StoredValue } from "../../core/ports.ts";
import { notOurs, systemCode } from "./errors.ts";
import { fingerprintOf, fingerprintPlain, type PlacedFile, readPlain, type TempFile } from "./files.ts";
import { entriesOf, type Place, syncFolder } from "./folders.ts";

/**
 * How an overwrite is decided between processes: `link` makes a name or fails, whoever else tries.
 * The first value is the file itself (number 0). Every later one is committed as `.NAME.v1`, `.NAME.v2`, …:
 * the highest number is the value, and only one writer can make the number after the one it read.
 * NAME is then renamed to a copy of the newest, for people; it may lag after a crash.
 */
const KEPT_VERSIONS = 8;
const READ_ATTEMPTS = 20;

/** The numbers of the committed versions of a file, ascending; empty where only the file itself can be. */
export async function versionNumbers(place: Place): Promise<number[]> {
  const start = `.${place.name}.v`;
  const numbers: number[] = [];
  for (const { name } of await entriesOf(place.folder)) {
    const number = name.startsWith(start) ? name.slice(start.length) : "";
    if (/^[1-9]\d{0,14}$/.test(number)) numbers.push(Number(number));
  }
  return numbers.sort((a, b) => a - b);
}

/** The file that holds version `number`. */
export function versionFile(place: Place, number: number): PlacedFile {
  return { place, name: number === 0 ? place.name : `.${place.name}.v${number}` };
}

/** Where that file is while the place is held. */
export function versionPath(place: Place, number: number): string {
  return join(place.folder, versionFile(place, number).name);
}

/** The key name behind a committed version's file name; nothing for other names. */
export function nameOfVersion(fileName: string): string | undefined {
  return /^\.(.+)\.v[1-9]\d{0,14}$/.exec(fileName)?.[1];
}

/** The newest value; nothing where there is none. */
export async function readNewest(place: Place): Promise<StoredValue | undefined> {
  const found = await newestFile(place, readPlain);
  if (found === undefined) return undefined;
  const { number, content } = found;
  return { value: content.toString("utf8"), version: `${number}.${fingerprintOf(content)}` };
}

/** The version of the newest value, which is never held as a whole. */
export async function readVersion(place: Place): Promise<string | undefined> {
  const found = await newestFile(place, fingerprintPlain);
  return found && `${found.number}.${found.content}`;
}

/** The newest version's number and what `read` makes of its file; nothing where there is no value. */
export async function newestFile<T>(
  place: Place,
  read: (file: PlacedFile) => Promise<T | undefined>,
): Promise<{ readonly number: number; readonly content: T } | undefined> {
  for (let attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
    const newest = (await versionNumbers(place)).at(-1) ?? 0;
    const content = await read(versionFile(place, newest));
    if (content !== undefined) return { number: newest, content };
    // A version that vanished was overtaken while we looked: look again.
    if (newest === 0 && (await versionNumbers(place)).length === 0) return undefined;
  }
  throw notOurs(join(place.shown, place.name), "the versions of this file keep vanishing");
}

/** Makes `temp` the first value; `Conflict` where there is one. */
export async function commitFirst(place: Place, temp: TempFile, key: string): Promise<string> {
  if ((await versionNumbers(place)).length > 0) throw conflict(key);
  await linkOrConflict(temp.path, versionPath(place, 0), key);
  await rm(temp.path, { force: true });
  await syncFolder(place.folder);
  return `0.${temp.fingerprint}`;
}

/** Makes `temp` the value after `ifVersion`; `Conflict` where that is no longer the newest. */
export async function commitNext(
  place: Place,
  temp: TempFile,
  ifVersion: string,
  key: string,
): Promise<string> {
  if ((await readVersion(place)) !== ifVersion) throw conflict(key);
  const base = Number(ifVersion.split(".")[0]);
  const path = versionPath(place, base + 1);
  await linkOrConflict(temp.path, path, key);
  if (!(await isStillBase(place, base, ifVersion))) {
    await rm(path, { force: true });
    throw conflict(key);
  }
  await showNewest(place, temp, base + 1);
  await syncFolder(place.folder);
  return `${base + 1}.${temp.fingerprint}`;
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
 * A writer that slept while many versions came and went would re-make a number that was cleaned up.
 * It finds its base gone: versions are cleaned up oldest first. Number 1 is never cleaned up, so for
 * base 0 a successful link proves it, unless the file was deleted and made again.
 */
async function isStillBase(place: Place, base: number, version: string): Promise<boolean> {
  if (`${base}.${await fingerprintPlain(versionFile(place, base))}` === version) return true;
  return base === 0 && ((await versionNumbers(place)).at(-1) ?? 0) > 1;
}

async function showNewest(place: Place, temp: TempFile, number: number): Promise<void> {
  const numbers = await versionNumbers(place);
  const newest = numbers.at(-1) ?? number;
  if (newest === number) await rename(temp.path, versionPath(place, 0));
  await rm(temp.path, { force: true });
  for (const old of numbers) {
    if (old > 1 && old <= newest - KEPT_VERSIONS) await rm(versionPath(place, old), { force: true });
  }
}
