import { conflict } from "../../core/archive.ts";
import type { StorageDriver, StoredValue } from "../../core/ports.ts";
import { checkAppended, checkKey, checkPrefix, checkText } from "../keys.ts";

/** Keeps values in this process: for tests and for hosts without a disk; gone when the process ends. */
export function createMemoryDriver(): StorageDriver {
  const values = new Map<string, StoredValue>();
  let writes = 0;

  const write = (key: string, value: string): { version: string } => {
    writes += 1;
    const version = String(writes);
    values.set(key, { value, version });
    return { version };
  };

  return {
    location: "memory",
    async get(key) {
      checkKey(key);
      return values.get(key);
    },
    async *stream(key) {
      checkKey(key);
      yield* pieces(values.get(key)?.value ?? "");
    },
    async put(key, value, options = {}) {
      checkKey(key);
      checkText(value, key);
      const { ifVersion } = options;
      const current = values.get(key)?.version ?? null;
      if (ifVersion !== undefined && ifVersion !== current) throw conflict(key);
      return write(key, value);
    },
    async append(key, text) {
      checkKey(key);
      checkAppended(text, key);
      write(key, (values.get(key)?.value ?? "") + text);
    },
    async list(prefix) {
      checkPrefix(prefix);
      return [...values.keys()].filter((key) => key.startsWith(prefix)).sort();
    },
    async delete(key) {
      checkKey(key);
      values.delete(key);
    },
  };
}

const PIECE = 65_536;

/** Cut so that no character is split. */
function* pieces(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + PIECE, text.length);
    const last = text.charCodeAt(end - 1);
    if (last >= 0xd800 && last <= 0xdbff) end += 1;
    yield text.slice(start, end);
    start = end;
  }
}
