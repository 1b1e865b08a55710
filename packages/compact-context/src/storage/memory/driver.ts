import { conflict } from "../../core/archive.ts";
import type { CallOptions, StorageDriver, StoredValue } from "../../core/ports.ts";
import { createKeyedMutex, platform, refuseAborted } from "../../errors.ts";
import { checkedPieces, checkKey, checkPrefix, recordsText } from "../keys.ts";

/** Keeps values in memory, for tests and hosts without a disk; lost when the process ends. */
export function createMemoryDriver(now: () => Date = platform.now): StorageDriver {
  const values = new Map<string, StoredValue & { readonly at: number }>();
  /** Writes of a key happen in the order in which they were asked for; a long value takes several rounds. */
  const inOrder = createKeyedMutex();
  let writes = 0;

  const write = (key: string, value: string): { version: string } => {
    writes += 1;
    const version = String(writes);
    values.set(key, { value, version, at: now().getTime() });
    return { version };
  };

  return {
    location: "memory",
    async get(key, options) {
      check(key, options);
      const stored = values.get(key);
      return stored && { value: stored.value, version: stored.version };
    },
    async version(key, options) {
      check(key, options);
      return values.get(key)?.version;
    },
    async *stream(key) {
      checkKey(key);
      yield* pieces(values.get(key)?.value ?? "");
    },
    async put(key, value, options = {}) {
      check(key, options);
      return inOrder(key, async () => {
        const made: string[] = [];
        for await (const piece of checkedPieces(value, key)) made.push(piece);
        refuseAborted(options.signal);
        const { ifVersion } = options;
        const current = values.get(key)?.version ?? null;
        if (ifVersion !== undefined && ifVersion !== current) throw conflict(key);
        return write(key, made.join(""));
      });
    },
    async append(key, records, options) {
      check(key, options);
      const text = recordsText(records, key);
      await inOrder(key, async () => write(key, (values.get(key)?.value ?? "") + text));
    },
    async list(prefix, { after = "", limit, signal } = {}) {
      checkPrefix(prefix);
      refuseAborted(signal);
      const found = [...values.keys()].filter((key) => key.startsWith(prefix) && key > after);
      return found.sort().slice(0, limit);
    },
    async *entries(prefix) {
      checkPrefix(prefix);
      const found = [...values].filter(([key]) => key.startsWith(prefix)).sort(byKey);
      for (const [key, { value, at }] of found) {
        yield { key, bytes: new TextEncoder().encode(value).length, at };
      }
    },
    async delete(key, options) {
      check(key, options);
      await inOrder(key, async () => values.delete(key));
    },
  };
}

function byKey([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}

function check(key: string, { signal }: CallOptions = {}): void {
  checkKey(key);
  refuseAborted(signal);
}

const PIECE = 65_536;

/** Cuts without splitting surrogate pairs. */
function* pieces(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + PIECE, text.length);
    const last = text.charCodeAt(end - 1);
    if (last >= 0xd800 && last <= 0xdbff) end += 1;
    yield text.slice(start, end);
    start = end;
  }
}
