import { setImmediate } from "node:timers/promises";
import type { StorageDriver } from "compact-context/internal/core/ports";

/** Characters that are written before others have their turn. */
const SLICE = 65_536;

/** The same storage, which lets other work of this thread through whenever a stretch was read or written. */
export function unhurried(driver: StorageDriver): StorageDriver {
  return {
    location: driver.location,
    async get(key) {
      await setImmediate();
      return driver.get(key);
    },
    async *stream(key) {
      for await (const piece of driver.stream(key)) {
        yield piece;
        await setImmediate();
      }
    },
    async put(key, value, options) {
      await setImmediate();
      return driver.put(key, value, options);
    },
    async putChunks(key, chunks, options) {
      const written: string[] = [];
      let characters = 0;
      for (const chunk of chunks) {
        written.push(chunk);
        characters += chunk.length;
        if (characters < SLICE) continue;
        characters = 0;
        await setImmediate();
      }
      return driver.put(key, written.join(""), options);
    },
    version: async (key) => (await driver.get(key))?.version,
    append: driver.append,
    list: driver.list,
    delete: driver.delete,
  };
}
