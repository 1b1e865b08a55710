import { encode } from "../../packages/compact-context/src/codecs/formats.ts";
import {
  type CompactOptions,
  compact,
  countTokens,
  planCompaction,
} from "../../packages/compact-context/src/compact.ts";
import type { Format, Message } from "../../packages/compact-context/src/core/message.ts";
import { latestUserMessage } from "../../packages/compact-context/src/core/units.ts";
import { CompactManager } from "../../packages/compact-context/src/create-manager.ts";
import { findMalformations } from "../../packages/compact-context/src/lint/generic.ts";
import { lint } from "../../packages/compact-context/src/lint/index.ts";
import { readTranscript } from "../../packages/compact-context-cli/src/transcripts/read.ts";
import type { Transcript } from "../../packages/compact-context-cli/src/transcripts/transcript.ts";

/** Target sizes as shares of the session's tokens. */
const SHARES = [0.25, 0.1] as const;
export const REPLAY_WINDOW = 32_000;
/** The part of the window that a replayed call may use. */
export const REPLAY_BUDGET = REPLAY_WINDOW - 1500;

export interface CompactionRow {
  readonly share: number;
  readonly target: number;
  readonly tokens: number;
  readonly planned: number;
  readonly messages: number;
  /** Malformations that compaction introduced. */
  readonly newFaults: number;
  readonly pruned: number;
  readonly cleared: number;
  readonly elided: number;
}

export interface ReplayRow {
  readonly tokens: number;
  readonly calls: number;
  readonly rounds: number;
  /** Largest request sent. */
  readonly largest: number;
  readonly newFaults: number;
}

export interface SessionRow {
  readonly name: string;
  readonly format: string;
  readonly messages: number;
  readonly tokens: number;
  /** Tokens of system prompt, tools and pinned messages, which no compaction touches. */
  readonly pinned: number;
  /** Tokens of the newest user request: truncated for the budget, but not for a target. */
  readonly ask: number;
  readonly compactions: readonly CompactionRow[];
  readonly replay: ReplayRow;
}

/** Faults that the list did not have before: broken pairs, and newly violated provider rules. */
export function newFaults(
  before: readonly Message[],
  after: readonly Message[],
  list: Format | undefined,
): number {
  const pairs = findMalformations(after).length - findMalformations(before).length;
  const known = brokenRules(before, list);
  const rules = [...brokenRules(after, list)].filter((rule) => !known.has(rule));
  return Math.max(0, pairs) + rules.length;
}

function brokenRules(messages: readonly Message[], list: Format | undefined): Set<string> {
  if (list === undefined) return new Set();
  const errors = lint(encode(messages, list), list).filter(({ severity }) => severity === "error");
  return new Set(errors.map(({ rule }) => rule));
}

/** What a session knows about its requests apart from the messages. */
export type RequestOptions = Pick<CompactOptions, "format" | "model" | "system" | "tools">;

/** Runs one recorded session: reads, plans, compacts to two sizes, replays in a small window. */
export async function runSession(name: string, text: string): Promise<SessionRow> {
  const transcript = await readTranscript(text, { name });
  const options = requestOptions(transcript);
  const tokens = countTokens(transcript.messages, options).tokens;
  const pinned = transcript.messages.filter(({ role }) => role === "system" || role === "developer");
  const ask = transcript.messages[latestUserMessage(transcript.messages)];
  const compactions: CompactionRow[] = [];
  for (const share of SHARES) compactions.push(await compactTo(share, tokens, { transcript, options }));
  return {
    name,
    format: transcript.format,
    messages: transcript.messages.length,
    tokens,
    pinned: countTokens(pinned, options).tokens,
    ask: ask === undefined ? 0 : countTokens([ask], options).tokens - countTokens([], options).tokens,
    compactions,
    replay: await replay(transcript, options),
  };
}

/** The call options that a session determines. */
export function requestOptions({ list, model, system, tools }: Transcript): RequestOptions {
  return { format: list, model, system, tools };
}

async function compactTo(
  share: number,
  tokens: number,
  { transcript, options }: { transcript: Transcript; options: RequestOptions },
): Promise<CompactionRow> {
  const target = Math.max(1, Math.ceil(tokens * share));
  const limits = { ...options, maxTokens: tokens, targetTokens: target, onOverflow: "elide" as const };
  const plan = planCompaction(transcript.messages, limits);
  const { messages, report } = await compact<Message>(transcript.messages, limits);
  return {
    share,
    target,
    tokens: countTokens(messages, options).tokens,
    planned: plan.tokensAfter,
    messages: messages.length,
    newFaults: newFaults(transcript.messages, messages, transcript.list),
    pruned: report.prunedCount,
    cleared: report.clearedCount,
    elided: report.elidedCount,
  };
}

/** Replays every segment as a live agent would: a preflight with the raw list before each answer. */
async function replay(transcript: Transcript, { model, ...options }: RequestOptions): Promise<ReplayRow> {
  const manager = new CompactManager(
    { model, maxContextTokens: REPLAY_WINDOW, policy: { onOverflow: "elide" }, storage: { kind: "memory" } },
    { onWarning: () => undefined },
  );
  const row = { tokens: 0, calls: 0, rounds: 0, largest: 0, newFaults: 0 };
  for (const [number, segment] of transcript.segments.entries()) {
    const session = `segment-${number}`;
    const list: Message[] = [];
    for (const message of segment.messages) {
      if (message.role === "assistant" && list.length > 0) {
        const { messages, report } = await manager.preflight<Message>(session, list, options);
        row.calls += 1;
        row.largest = Math.max(row.largest, manager.getState(session).totalTokens);
        if (report.compacted) {
          row.rounds += 1;
          row.newFaults += newFaults(list, messages, transcript.list);
        }
      }
      list.push(message);
    }
    row.tokens += countTokens(list, { ...options, model }).tokens;
  }
  return row;
}
