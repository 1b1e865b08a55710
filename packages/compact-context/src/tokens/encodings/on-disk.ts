// The vocabularies as files next to this module, written by the build: Node's `#vocabularies`.
import { readFileSync } from "node:fs";
import { endianness } from "node:os";
import { readTables, type Vocabulary } from "../bpe/vocabulary.ts";

export function cl100kVocabulary(): Vocabulary {
  return tablesIn(new URL("./cl100k-base.tables", import.meta.url));
}

export function o200kVocabulary(): Vocabulary {
  return tablesIn(new URL("./o200k-base.tables", import.meta.url));
}

function tablesIn(file: URL): Vocabulary {
  const bytes = readFileSync(file);
  if (endianness() === "BE") bytes.swap32();
  return readTables(new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2));
}
