// Histories up to a model call, each with an aim in tokens: generated ones, and recorded sessions written in a format.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { messageText } from "../../packages/compact-context/dist/core/message.js";
import { latestUserMessage } from "../../packages/compact-context/dist/core/units.js";
import { countTokens, decode, encode } from "../../packages/compact-context/dist/index.js";
import { readTranscript } from "../../test/support/dist/reader.js";
import { drawHistory } from "../../test/support/dist/soak-history.js";
import { newlyBroken } from "../../test/support/dist/soak-promises.js";

export const FEWEST_ENTRIES = 12;
export const LEAST_AIM = 400;
/** Long enough to be worth it; as in recorded sessions, most of a history is tool output. */
export const TOOL_HEAVY = { turns: 5, steps: 3, parallelCalls: 3, resultWords: 200 };
const SESSIONS = fileURLToPath(new URL("../../../shared/transcripts/", import.meta.url));

/** A history up to where a model is called: its end is the user's or a tool's. */
function beforeCall(list, format) {
  const last = decode(list, format).findLastIndex(({ role }) => role !== "assistant");
  return list.slice(0, last + 1);
}

/** A history with what must be found in it again; undefined where nothing is to be asked of it. */
function history(list, format, share) {
  if (list.length < FEWEST_ENTRIES) return undefined;
  const messages = decode(list, format);
  const ask = messages[latestUserMessage(messages)];
  const total = countTokens(list, { format }).tokens;
  const aim = Math.max(LEAST_AIM, Math.floor(total * share));
  if (ask === undefined || messageText(ask).trim() === "" || aim >= total) return undefined;
  const system = messages.filter(
    (message) => message.role === "system" && messageText(message).trim() !== "",
  );
  return { list, aim, ask, total, system };
}

/** So many generated histories that the provider takes as they are. */
export function* generated({ format, ready }, wanted) {
  let found = 0;
  for (let seed = 0; found < wanted; seed += 1) {
    const drawn = drawHistory(format, seed, { options: TOOL_HEAVY, bound: false }).list;
    const list = beforeCall(ready(drawn), format);
    if (newlyBroken([], list, format).length > 0) continue;
    const one = history(list, format, 0.25 + ((seed * 7919) % 1000) / 2000);
    if (one === undefined) continue;
    found += 1;
    yield one;
  }
}

/** Messages of all recorded sessions; none where they are not there. */
export async function recordedSessions() {
  if (!existsSync(SESSIONS)) return [];
  const sessions = [];
  for (const folder of readdirSync(SESSIONS, { withFileTypes: true })) {
    if (!folder.isDirectory()) continue;
    for (const file of readdirSync(join(SESSIONS, folder.name)).filter((name) => name !== "SOURCE.txt")) {
      const name = join(folder.name, file);
      const { segments } = await readTranscript(readFileSync(join(SESSIONS, name), "utf8"), { name });
      sessions.push(...segments.map(({ messages }) => messages));
    }
  }
  return sessions;
}

/** Recorded sessions in a format, to be cut to a quarter; only what they already break is not counted against anybody. */
export function* recorded({ format, ready }, sessions) {
  for (const messages of sessions) {
    const plain = messages.map(({ native: _, ...message }) => message);
    const one = history(beforeCall(ready(encode(plain, format)), format), format, 0.25);
    if (one !== undefined) yield one;
  }
}
