import type { Message } from "../../packages/compact-context/src/core/message.ts";
import { groupUnits } from "../../packages/compact-context/src/core/units.ts";
import type { Transcript } from "../../packages/compact-context-cli/src/transcripts/transcript.ts";
import { type Turn, tokensOf, turnsOf, turnTokens } from "./turns.ts";

/** A place of a session where what came before is taken away. */
export interface Case {
  readonly file: string;
  readonly corpus: string;
  readonly messages: readonly Message[];
  readonly prefix: readonly Turn[];
  readonly future: readonly Turn[];
  readonly system: string;
  /** What the session's own agent put in place of the prefix, where it compacted here. */
  readonly ownSummary?: string;
}

export interface SessionFile {
  readonly file: string;
  readonly corpus: string;
}

/** Tokens that a prefix has at least, and turns of the assistant that follow. */
const LEAST_PREFIX = 1500;
const LEAST_ANSWERS = 2;

/** Cuts of each stretch between compactions at these shares of its tokens, never between a call and its result. */
export function cutsOf(session: SessionFile, transcript: Transcript, shares: readonly number[]): Case[] {
  return transcript.segments.flatMap(({ messages }) => {
    const list = messages.filter(isConversation);
    const tokens = turnsOf(list).reduce((sum, turn) => sum + turnTokens(turn), 0);
    if (tokens < LEAST_PREFIX * 1.3) return [];
    return shares.flatMap((share): Case[] => {
      const at = boundary(list, tokens * share);
      if (at === undefined) return [];
      const [prefix, future] = [turnsOf(list.slice(0, at)), turnsOf(list.slice(at))];
      const enough = prefix.reduce((sum, turn) => sum + turnTokens(turn), 0) >= LEAST_PREFIX;
      if (!enough || future.filter(({ role }) => role === "assistant").length < LEAST_ANSWERS) return [];
      return [
        { ...session, messages: list.slice(0, at), prefix, future, system: systemOf(transcript, messages) },
      ];
    });
  });
}

/** The compactions that the session's own agent wrote as text, with what it did afterwards. */
export function ownCompactionsOf(session: SessionFile, transcript: Transcript): Case[] {
  return transcript.segments.slice(0, -1).flatMap(({ messages, endedBy }, index): Case[] => {
    const next = transcript.segments[index + 1];
    if (endedBy?.kind !== "summary" || next === undefined) return [];
    const list = messages.filter(isConversation);
    const summary = next.messages.slice(0, next.carried).find(isConversation);
    const prefix = turnsOf(list);
    const future = turnsOf(next.messages.slice(next.carried));
    if (summary === undefined || prefix.length < 10 || future.length < 8) return [];
    const ownSummary = turnsOf([summary])
      .flatMap(({ parts }) => parts.map(({ text }) => text))
      .join("\n");
    if (tokensOf(ownSummary) < 100) return [];
    return [
      { ...session, messages: list, prefix, future, system: systemOf(transcript, messages), ownSummary },
    ];
  });
}

function isConversation({ role }: Message): boolean {
  return role !== "system" && role !== "developer";
}

function systemOf(transcript: Transcript, messages: readonly Message[]): string {
  const said = messages.filter((message) => !isConversation(message)).flatMap(({ parts }) => parts);
  return [transcript.system ?? "", ...said.flatMap((part) => (part.type === "text" ? [part.text] : []))].join(
    "\n",
  );
}

/** The first place from `target` tokens on that no exchange spans. */
function boundary(messages: readonly Message[], target: number): number | undefined {
  const starts = new Set<number>();
  let end = 0;
  for (const { indexes } of [...groupUnits(messages)].sort(
    (a, b) => (a.indexes[0] ?? 0) - (b.indexes[0] ?? 0),
  )) {
    if ((indexes[0] ?? 0) >= end) starts.add(indexes[0] ?? 0);
    end = Math.max(end, (indexes.at(-1) ?? 0) + 1);
  }
  let tokens = 0;
  for (const [index, message] of messages.entries()) {
    if (tokens >= target && index > 2 && starts.has(index)) return index;
    tokens += turnsOf([message]).reduce((sum, turn) => sum + turnTokens(turn), 0);
  }
  return undefined;
}
