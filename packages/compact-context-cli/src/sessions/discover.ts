import { CompactError } from "compact-context/internal/errors";
import { openFile, openStdin, type Source, STDIN } from "../files/source.ts";
import type { CliPorts } from "../ports.ts";
import type { FoundSession, Places } from "./facts.ts";
import { opencodeSessions } from "./opencode.ts";
import { FILE_TOOLS, sessionsOf } from "./tools.ts";

/** Every session that known tools left on this computer, the newest first. */
export async function discoverSessions(places: Places): Promise<FoundSession[]> {
  const found = await Promise.all([
    ...FILE_TOOLS.map((tool) => sessionsOf(tool, places)),
    opencodeSessions(places),
  ]);
  return found.flat().toSorted((a, b) => b.changed - a.changed || a.id.localeCompare(b.id));
}

/**
 * The transcript that a word means: a file, `-` for standard input, the number of a session in the list, or the
 * beginning of a session's id. Throws `NotFound`, or `InvalidUsage` when several sessions are meant.
 */
export async function openTranscript(
  word: string,
  places: Places & Pick<CliPorts, "cwd" | "stdin">,
): Promise<Source> {
  if (word === STDIN) return openStdin(places.stdin);
  try {
    return await openFile(word, places.cwd);
  } catch (error) {
    const missing = CompactError.isInstance(error) && error.code === "NotFound";
    if (!missing || /[/\\.]/.test(word)) throw error;
    const session = pick(await discoverSessions(places), word);
    if (session === undefined) throw error;
    return session.open();
  }
}

function pick(sessions: readonly FoundSession[], word: string): FoundSession | undefined {
  const isNumber = /^\d{1,4}$/.test(word);
  const numbered = isNumber ? sessions[Number(word) - 1] : undefined;
  if (numbered !== undefined) return numbered;
  const meant = sessions.filter((session) => session.id.toLowerCase().startsWith(word.toLowerCase()));
  if (meant.length === 0 && isNumber) {
    throw new CompactError("NotFound", `there is no session ${word}: ${sessions.length} were found`, {
      hint: "`compact` alone lists them.",
    });
  }
  if (meant.length <= 1) return meant[0];
  throw new CompactError("InvalidUsage", `${word} is the beginning of ${meant.length} sessions`, {
    hint: `Give more of the id: ${meant
      .slice(0, 4)
      .map((session) => session.id)
      .join(", ")}.`,
  });
}
