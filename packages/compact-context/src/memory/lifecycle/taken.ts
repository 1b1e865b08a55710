import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Message } from "../../core/message.ts";
import { CompactError } from "../../errors.ts";
import { WORK_FOLDER } from "../changes/channel-files.ts";
import { readMemoryFile, writeMemoryFile } from "../files/write-file.ts";

/** Which messages a channel's memory took in, so that none is taken in twice. */
export interface Taken {
  /** Those of the messages that were not taken in yet. */
  fresh(sessionId: string, messages: readonly Message[]): Promise<readonly Message[]>;
  add(sessionId: string, messages: readonly Message[]): Promise<void>;
}

/** The newest so many are remembered; what is older is told apart by what it says. */
const MOST = 5_000;
const MOST_CONFLICTS = 6;

/** Kept in the channel's work folder, across processes. */
export function createTaken(channelDir: string): Taken {
  const path = join(channelDir, WORK_FOLDER, "taken.json");
  const read = async (): Promise<{ readonly keys: readonly string[]; readonly version: string | null }> => {
    const file = await readMemoryFile(path);
    return { keys: keysIn(file?.text), version: file?.version ?? null };
  };
  return {
    async fresh(sessionId, messages) {
      const known = new Set((await read()).keys);
      return messages.filter((message) => !known.has(keyOf(sessionId, message)));
    },
    async add(sessionId, messages) {
      const added = messages.map((message) => keyOf(sessionId, message));
      for (let attempt = 1; ; attempt += 1) {
        const { keys, version } = await read();
        const all = [...new Set([...keys, ...added])].slice(-MOST);
        try {
          await writeMemoryFile(path, `${JSON.stringify({ taken: all })}\n`, { ifVersion: version });
          return;
        } catch (error) {
          const again =
            CompactError.isInstance(error) && error.code === "Conflict" && attempt < MOST_CONFLICTS;
          if (!again) throw error;
        }
      }
    },
  };
}

/** A file that is broken forgets: what it knew may be taken in again, which adds nothing. */
function keysIn(text: string | undefined): readonly string[] {
  try {
    const { taken } = JSON.parse(text ?? "{}") as { readonly taken?: unknown };
    return Array.isArray(taken) ? taken.filter((key) => typeof key === "string") : [];
  } catch {
    return [];
  }
}

function keyOf(sessionId: string, { id }: Message): string {
  return createHash("sha256").update(`${sessionId}\n${id}`, "utf8").digest("base64url").slice(0, 12);
}
