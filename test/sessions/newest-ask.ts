import { type CompactOptions, compact, countTokens } from "../../packages/compact-context/src/compact.ts";
import { type Message, messageText } from "../../packages/compact-context/src/core/message.ts";
import { latestUserMessage, typedText } from "../../packages/compact-context/src/core/units.ts";
import { CompactManager } from "../../packages/compact-context/src/create-manager.ts";
import { CompactError } from "../../packages/compact-context/src/errors.ts";
import type { Transcript } from "../../packages/compact-context-cli/src/transcripts/transcript.ts";
import { type RequestOptions, requestOptions } from "./run-session.ts";

/** Fenced lines, which are quoted material rather than the user's words. */
const FENCED = /^ {0,3}(`{3,}|~{3,})[^\n]*\n[\s\S]*?\n {0,3}\1[^\n]*$/gm;

/** The lines of the newest message with user text; empty if there is none. */
function newestWords(messages: readonly Message[]): string[] {
  const ask = messages[latestUserMessage(messages)];
  const words = ask === undefined ? "" : typedText(messageText(ask)).replace(FENCED, "");
  return words.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trim()]));
}

/** True if each line occurs in a message of the list. */
function hasWords(messages: readonly Message[], lines: readonly string[]): boolean {
  const text = messages.map(messageText).join("\n");
  return lines.every((line) => text.includes(line));
}

/** The newest user request after a compaction, or the refusal. */
export interface AskOutcome {
  readonly refused: boolean;
  readonly words: boolean;
  readonly fate: string | undefined;
  /** Tokens of the request, and of the budget left by messages that are never compacted. */
  readonly ask: number;
  readonly room: number;
  /** Tokens of the request afterwards. */
  readonly left: number;
}

/** Compacts a session to a share of its tokens, with truncation allowed. */
export async function askAfter(transcript: Transcript, share: number): Promise<AskOutcome> {
  const { messages } = transcript;
  const options = requestOptions(transcript);
  const maxTokens = Math.ceil(countTokens(messages, options).tokens * share);
  const fixed = countTokens([], options).tokens;
  const cost = (list: readonly Message[]): number => countTokens(list, options).tokens - fixed;
  const pinned = messages.filter(({ role }) => role === "system" || role === "developer");
  const newest = messages[latestUserMessage(messages)];
  const size = {
    ask: newest === undefined ? 0 : cost([newest]),
    room: maxTokens - fixed - cost(pinned),
  };
  const result = await compacted(messages, { ...options, maxTokens });
  if (result === undefined) return { refused: true, words: false, fate: undefined, left: 0, ...size };
  const { plan, newestAsk: fate } = result.report;
  const left = plan?.entries[plan.newestAsk?.index ?? -1]?.tokensAfter ?? 0;
  return { refused: false, words: hasWords(result.messages, newestWords(messages)), fate, left, ...size };
}

/** Calls of a replay in a window of that size, and those without the complete newest user text. */
export async function replayedAsks(
  { segments, ...transcript }: Transcript,
  maxContextTokens: number,
): Promise<{ readonly calls: number; readonly rounds: number; readonly without: number }> {
  const { model, ...request } = requestOptions({ segments, ...transcript });
  const manager = new CompactManager({
    model,
    maxContextTokens,
    policy: { onOverflow: "elide" },
    storage: { kind: "memory" },
  });
  const found = { calls: 0, rounds: 0, without: 0 };
  for (const [number, { messages }] of segments.entries()) {
    const list: Message[] = [];
    for (const message of messages) {
      if (message.role === "assistant" && list.length > 0) {
        const sent = await manager.preflight<Message>(`segment-${number}`, list, request);
        found.calls += 1;
        found.rounds += sent.report.compacted ? 1 : 0;
        found.without += hasWords(sent.messages, newestWords(list)) ? 0 : 1;
      }
      list.push(message);
    }
  }
  return found;
}

function compacted(
  messages: readonly Message[],
  options: RequestOptions & Pick<CompactOptions, "maxTokens">,
): Promise<Awaited<ReturnType<typeof compact<Message>>> | undefined> {
  return compact<Message>(messages, { ...options, onOverflow: "elide" }).catch((error: unknown) => {
    if (CompactError.isInstance(error) && error.code === "InsufficientBudget") return undefined;
    throw error;
  });
}
