import { compact, countTokens } from "../../packages/compact-context/src/compact.ts";
import type { Message } from "../../packages/compact-context/src/core/message.ts";
import { CompactError } from "../../packages/compact-context/src/errors.ts";
import { readTranscript } from "../../packages/compact-context-cli/src/transcripts/read.ts";
import type { Transcript } from "../../packages/compact-context-cli/src/transcripts/transcript.ts";
import { newFaults, requestOptions } from "./run-session.ts";

/** Target sizes as shares of the cut session's tokens; each compaction starts from the previous result. */
const SHARES = [0.8, 0.6, 0.45, 0.3, 0.2] as const;

/** A session cut at some of its model calls, and compacted five times from each cut. */
export interface CutRow {
  /** Number of model calls. */
  readonly boundaries: number;
  readonly cuts: number;
  readonly compactions: number;
  /** Compactions that were refused because the pinned messages exceed the budget. */
  readonly refused: number;
  readonly newFaults: number;
}

interface Cut {
  readonly messages: readonly Message[];
}

/** Every list sent to the model: the messages before each answer, and all of them if unanswered. */
function cutsOf({ segments }: Transcript): Cut[] {
  return segments.flatMap(({ messages }) => {
    const ends = messages.flatMap(({ role }, index) =>
      role === "assistant" && index > 0 && messages[index - 1]?.role !== "assistant" ? [index] : [],
    );
    const open = messages.at(-1)?.role === "assistant" || messages.length === 0 ? [] : [messages.length];
    return [...ends, ...open].map((end) => ({ messages: messages.slice(0, end) }));
  });
}

/** At most `most` items, evenly spaced, including the last. */
function sampled<T>(all: readonly T[], most: number): T[] {
  if (all.length <= most) return [...all];
  return Array.from(
    { length: most },
    (_, index) => all[Math.ceil(((index + 1) * all.length) / most) - 1],
  ).filter((one) => one !== undefined);
}

/** Reads a session and compacts it from up to `most` cuts. */
export async function cutSession(name: string, text: string, most: number): Promise<CutRow> {
  const transcript = await readTranscript(text, { name });
  const all = cutsOf(transcript);
  const cuts = sampled(all, most);
  const row = { boundaries: all.length, cuts: cuts.length, compactions: 0, refused: 0, newFaults: 0 };
  for (const cut of cuts) await compactRepeatedly(cut, transcript, row);
  return row;
}

async function compactRepeatedly(
  cut: Cut,
  transcript: Transcript,
  row: { compactions: number; refused: number; newFaults: number },
): Promise<void> {
  const options = requestOptions(transcript);
  const { tokens } = countTokens(cut.messages, options);
  let messages = cut.messages;
  for (const share of SHARES) {
    const maxTokens = Math.max(1, Math.floor(tokens * share));
    const result = await compact<Message>(messages, { ...options, maxTokens, onOverflow: "elide" }).catch(
      (error: unknown) => {
        if (CompactError.isInstance(error) && error.code === "InsufficientBudget") return undefined;
        throw error;
      },
    );
    if (result === undefined) row.refused += 1;
    if (result === undefined || result.messages === messages) continue;
    row.compactions += 1;
    row.newFaults += newFaults(messages, result.messages, transcript.list);
    messages = result.messages;
  }
}
