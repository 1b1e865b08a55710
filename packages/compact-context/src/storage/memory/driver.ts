import type { StorageDriver, StoredValue } from "../../core/ports.ts";
import { characterStart, conflict, platform, refuseAborted } from "../../errors.ts";
import { checkedDriver } from "../keys.ts";

/** Keeps values in memory, for tests and hosts without a disk; lost when the process ends. */
export function createMemoryDriver(now: () => Date = platform.now): StorageDriver {
  const values = new Map<string, StoredValue & { readonly at: number }>();
  let writes = 0;

  const write = (key: string, value: string): { version: string } => {
    writes += 1;
    const version = String(writes);
    values.set(key, { value, version, at: now().getTime() });
    return { version };
  };

  return checkedDriver({
    location: "memory",
    inTurn: "writes",
    async get(key) {
      const stored = values.get(key);
      return stored && { value: stored.value, version: stored.version };
    },
    version: async (key) => values.get(key)?.version,
    async *stream(key) {
      yield* pieces(values.get(key)?.value ?? "");
    },
    async put(key, chunks, { ifVersion, signal }) {
      const made: string[] = [];
      for await (const chunk of chunks) made.push(chunk);
      refuseAborted(signal);
      const current = values.get(key)?.version ?? null;
      if (ifVersion !== undefined && ifVersion !== current) throw conflict(key);
      return write(key, made.join(""));
    },
    async append(key, text) {
      write(key, (values.get(key)?.value ?? "") + text);
    },
    async list(prefix, { after = "", limit } = {}) {
      const found = [...values.keys()].filter((key) => key.startsWith(prefix) && key > after);
      return found.sort().slice(0, limit);
    },
    async *entries(prefix) {
      const found = [...values].filter(([key]) => key.startsWith(prefix));
      found.sort(([one], [other]) => (one < other ? -1 : 1));
      for (const [key, { value, at }] of found) {
        yield { key, bytes: new TextEncoder().encode(value).length, at };
      }
    },
    async delete(key) {
      values.delete(key);
    },
  });
}

const PIECE = 65_536;

/** Cuts without splitting surrogate pairs. */
function* pieces(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const end = characterStart(text, Math.min(start + PIECE, text.length));
    yield text.slice(start, end);
    start = end;
  }
}
