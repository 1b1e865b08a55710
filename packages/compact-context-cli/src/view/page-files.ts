import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** A file of the page as it is sent. */
export interface PageFile {
  readonly type: string;
  readonly body: Uint8Array<ArrayBuffer>;
}

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/**
 * Every file that is served, by its path, all read at once: no request is ever looked up on the disk. `/` is
 * `index.html`, the others are below `/page/`.
 */
export async function readPageFiles(folder: URL): Promise<ReadonlyMap<string, PageFile>> {
  const files = new Map<string, PageFile>();
  for (const name of await readdir(fileURLToPath(folder))) {
    const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
    if (type === undefined) continue;
    const body = Uint8Array.from(await readFile(new URL(name, folder)));
    files.set(name === "index.html" ? "/" : `/page/${name}`, { type, body });
  }
  return files;
}
