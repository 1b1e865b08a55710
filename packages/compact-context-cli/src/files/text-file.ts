import { createReadStream } from "node:fs";
import { access, constants, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { CompactError } from "compact-context/internal/errors";
import type { CliPorts } from "../ports.ts";
import { type Source, STDIN } from "./source.ts";

const CHUNK_BYTES = 1 << 20;

/**
 * Any UTF-8 text: a file, a pipe, or standard input for `-`; it may be empty. Throws `NotFound` or
 * `InvalidArgument`; what turns out to be no text throws while it is read.
 */
export async function openText(
  name: string,
  { cwd, stdin }: Pick<CliPorts, "cwd" | "stdin">,
): Promise<Source> {
  if (name === STDIN) {
    if (stdin === undefined) throw refused(name, "cannot be read here", "Name a file.");
    return { name: "standard input", bytes: 0, chunks: () => textOf(stdin, "standard input") };
  }
  const path = resolve(cwd, name);
  const facts = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw unreadable(name, error);
  });
  if (facts.isDirectory()) throw refused(name, "is a folder", "Name the files in it one by one.");
  await access(path, constants.R_OK).catch((error: NodeJS.ErrnoException) => {
    throw unreadable(name, error);
  });
  return {
    name,
    bytes: facts.isFile() ? facts.size : 0,
    path: facts.isFile() ? path : undefined,
    chunks: () => textOf(createReadStream(path, { highWaterMark: CHUNK_BYTES }), name),
  };
}

async function* textOf(bytes: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const decode = (piece?: Uint8Array): string => {
    try {
      return piece === undefined ? decoder.decode() : decoder.decode(piece, { stream: true });
    } catch {
      throw refused(
        name,
        "holds bytes that are no UTF-8 text",
        "Convert it first, such as with iconv -f latin1 -t utf-8.",
      );
    }
  };
  let isFirst = true;
  for await (const piece of bytes) {
    if (isFirst) refuseBinary(piece, name);
    isFirst = false;
    yield decode(piece);
  }
  yield decode();
}

function refuseBinary(head: Uint8Array, name: string): void {
  if ((head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff)) {
    throw refused(name, "is UTF-16 text", "Save it as UTF-8 first.");
  }
  if (head.includes(0) || (head[0] === 0x1f && head[1] === 0x8b)) {
    throw refused(name, "is a binary file", "Only text is read; unpack it if it is compressed.");
  }
}

function refused(name: string, problem: string, hint: string): CompactError {
  return new CompactError("InvalidArgument", `${name} ${problem}`, { place: name, hint });
}

function unreadable(name: string, error: NodeJS.ErrnoException): CompactError {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") {
    return new CompactError("NotFound", `there is no file ${name}`, {
      place: name,
      hint: `Check the path; ${STDIN} reads standard input.`,
    });
  }
  const reason = error.code === "EACCES" ? "you may not read it" : (error.code ?? error.message);
  return new CompactError("NotFound", `${name} cannot be read: ${reason}`, {
    place: name,
    hint: "Check the permissions of the file and its folders.",
    cause: error,
  });
}
