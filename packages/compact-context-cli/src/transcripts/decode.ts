import type { Format, Message } from "compact-context";
import { codecFor } from "compact-context/internal/codecs/formats";
import { CompactError } from "compact-context/internal/errors";
import type { ReadLog } from "./transcript.ts";

export interface Decoded {
  /** One for each native that is not in `unreadable`, in order; ids are unique over all of them. */
  readonly messages: readonly Message[];
  readonly unreadable: ReadonlySet<unknown>;
}

/** Decodes natives of a codec format; those that the codec refuses are reported and left out, the rest is read. */
export function decodeReadable(
  format: Format,
  natives: readonly unknown[],
  path: string,
  log: ReadLog,
): Decoded {
  const codec = codecFor(format);
  try {
    return { messages: codec.decode(natives), unreadable: new Set() };
  } catch (error) {
    if (!CompactError.isInstance(error)) throw error;
  }
  const unreadable = new Set<unknown>();
  natives.forEach((native, index) => {
    try {
      codec.decode([native]);
    } catch (error) {
      if (!CompactError.isInstance(error)) throw error;
      unreadable.add(native);
      const place = `${path}[${index}]`;
      log.problem({ place, message: `${error.message.replace(/^messages\[0\]/, place)}; left out` });
      log.leaveOut("unreadable message");
    }
  });
  return { messages: codec.decode(natives.filter((native) => !unreadable.has(native))), unreadable };
}
