import fs from "node:fs";
import { promisify } from "node:util";

// The operations on the disk that the storage uses. Those of `node:fs/promises` take twice the processor time, and under
// Yarn's Plug'n'Play its handles cannot be synced; descriptors can.

export const chmod: typeof fs.chmod.__promisify__ = promisify(fs.chmod);
export const close: typeof fs.close.__promisify__ = promisify(fs.close);
export const fchmod: typeof fs.fchmod.__promisify__ = promisify(fs.fchmod);
export const fdatasync: typeof fs.fdatasync.__promisify__ = promisify(fs.fdatasync);
export const fstat: typeof fs.fstat.__promisify__ = promisify(fs.fstat);
export const fsync: typeof fs.fsync.__promisify__ = promisify(fs.fsync);
export const ftruncate: typeof fs.ftruncate.__promisify__ = promisify(fs.ftruncate);
export const link: typeof fs.link.__promisify__ = promisify(fs.link);
export const lstat: typeof fs.lstat.__promisify__ = promisify(fs.lstat);
export const mkdir: typeof fs.mkdir.__promisify__ = promisify(fs.mkdir);
export const open: typeof fs.open.__promisify__ = promisify(fs.open);
export const readdir: typeof fs.readdir.__promisify__ = promisify(fs.readdir);
export const realpath: (path: string) => Promise<string> = promisify(fs.realpath.native);
export const rename: typeof fs.rename.__promisify__ = promisify(fs.rename);
export const rm: typeof fs.rm.__promisify__ = promisify(fs.rm);
export const rmdir: typeof fs.rmdir.__promisify__ = promisify(fs.rmdir);
export const unlink: typeof fs.unlink.__promisify__ = promisify(fs.unlink);
export const writeFile: typeof fs.writeFile.__promisify__ = promisify(fs.writeFile);

/** Resolves to the number of bytes read. Not every runtime gives `fs.read` and `fs.write` a promise of their own. */
export function read(file: number, into: Buffer, length: number, position: number): Promise<number> {
  return new Promise((done, fail) => {
    fs.read(file, into, 0, length, position, (error, bytes) => (error ? fail(error) : done(bytes)));
  });
}

/** Resolves to the number of bytes written, in one write at the end of a file that is open for appending. */
export function write(file: number, bytes: Buffer): Promise<number> {
  return new Promise((done, fail) => {
    fs.write(file, bytes, (error, written) => (error ? fail(error) : done(written)));
  });
}
