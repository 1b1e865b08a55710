import { setImmediate } from "node:timers/promises";
import type { StorageDriver } from "compact-context";

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
      if (typeof value === "string") return driver.put(key, value, options);
      const written: string[] = [];
      let characters = 0;
      for (const piece of value) {
        written.push(piece);
        characters += piece.length;
        if (characters < SLICE) continue;
        characters = 0;
        await setImmediate();
      }
      return driver.put(key, written, options);
    },
    version: driver.version,
    append: driver.append,
    list: driver.list,
    delete: driver.delete,
  };
}
