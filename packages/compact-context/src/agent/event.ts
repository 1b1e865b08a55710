import type { CompactionReport } from "../core/report.ts";
import { CompactError, errorMessage } from "../errors.ts";
import { costOf, lookUpModel, type ModelOverrides } from "../tokens/models.ts";
import { normalizeUsage } from "../tokens/usage.ts";

/** Why a turn ended. */
export type TurnEnd =
  | "answered"
  | "interrupted"
  | "refused"
  /** A limit of the turn was reached: model requests, tool calls, wall time. */
  | "request-limit"
  | "call-limit"
  | "time-limit"
  /** The model or the compaction failed permanently; the preceding error event has the details. */
  | "failed";

/** Tokens and dollars of one or more requests. */
export interface Spent {
  readonly requests: number;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  /** Undefined if a price is unknown. */
  readonly dollars: number | undefined;
}

export const NOTHING_SPENT: Spent = Object.freeze({
  requests: 0,
  inputTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  dollars: 0,
});

/** Cost of one request, from the provider's usage record; dollars only if usage and prices are known. */
export function spentOn(usage: unknown, model: string, overrides: ModelOverrides): Spent {
  const record = normalizeUsage(usage);
  if (record === undefined) return { ...NOTHING_SPENT, requests: 1, dollars: undefined };
  const { input: inputTokens, cacheRead: cachedTokens, output: outputTokens } = record;
  const dollars = costOf(record, lookUpModel(model, overrides));
  return { requests: 1, inputTokens, cachedTokens, outputTokens, dollars };
}

export function addSpent(one: Spent, other: Spent): Spent {
  return {
    requests: one.requests + other.requests,
    inputTokens: one.inputTokens + other.inputTokens,
    cachedTokens: one.cachedTokens + other.cachedTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    dollars:
      one.dollars === undefined || other.dollars === undefined ? undefined : one.dollars + other.dollars,
  };
}

/** Events of an agent's work, in order; the last one of a turn is `ended`. */
export type AgentEvent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  | {
      readonly type: "toolStarted";
      readonly callId: string;
      readonly name: string;
      readonly arguments: unknown;
    }
  | {
      readonly type: "toolFinished";
      readonly callId: string;
      readonly name: string;
      /** The tool's full output; the model may see it truncated. */
      readonly output: string;
      readonly isError: boolean;
      readonly elapsedMs: number;
    }
  /** `kept` is one line for display: what was kept and where the rest is. */
  | {
      readonly type: "compacted";
      readonly sessionId: string;
      readonly report: CompactionReport;
      readonly kept: string;
    }
  | {
      readonly type: "subAgentStarted";
      readonly name: string;
      readonly sessionId: string;
      readonly task: string;
    }
  | {
      readonly type: "subAgentEnded";
      readonly name: string;
      readonly sessionId: string;
      readonly end: TurnEnd;
      readonly spent: Spent;
      readonly elapsedMs: number;
    }
  /** Memory in the prompt: each section once, with the first words of its lines. */
  | { readonly type: "recalled"; readonly items: readonly string[]; readonly characters: number }
  | { readonly type: "skillStarted" | "skillEnded"; readonly name: string }
  | {
      readonly type: "hookRan";
      readonly skill: string;
      readonly event: string;
      readonly output: string;
      readonly elapsedMs: number;
    }
  /** After each request: its usage and the session's total so far. */
  | {
      readonly type: "usage";
      /** The agent's session, or a sub-agent's. */
      readonly sessionId: string;
      readonly spent: Spent;
      readonly total: Spent;
      readonly contextTokens: number;
      readonly window: number;
    }
  /** The request is retried after a pause; `discarded` is the streamed text that no longer counts. */
  | {
      readonly type: "retry";
      readonly attempt: number;
      readonly reason: string;
      readonly pauseMs: number;
      readonly discarded: string;
    }
  /** Something failed and the session continues. */
  | { readonly type: "warning"; readonly diagnostic: Diagnostic }
  /** The turn could not be finished; the session stays usable. */
  | { readonly type: "error"; readonly diagnostic: Diagnostic }
  | { readonly type: "ended"; readonly end: TurnEnd; readonly text: string };

/** One problem, for display: what, where, and what to do next. */
export interface Diagnostic {
  /** A stable code, such as `bad-frontmatter`. */
  readonly code: string;
  readonly message: string;
  /** `file:line`, or a path in a document. */
  readonly place?: string;
  readonly hint?: string;
}

/** The diagnostic of any thrown value. */
export function diagnosticOf(error: unknown, code = "failed"): Diagnostic {
  if (CompactError.isInstance(error)) {
    const { place, hint } = error;
    return { code: error.code, message: error.message, place, hint: hint || undefined };
  }
  return { code, message: wordsOf(error) };
}

/** The diagnostic as one line. */
export function diagnosticText({ message, place, hint }: Diagnostic): string {
  return `${place === undefined ? "" : `${place}: `}${message}${hint === undefined ? "" : `. ${hint}`}`;
}

/** The first line of an error's message. */
export function wordsOf(error: unknown): string {
  return errorMessage(error).split("\n", 1)[0] ?? "";
}

const number = (value: number): string => value.toLocaleString("en-US");

/** One line that announces a compaction: its effect, what was kept and where the rest is. */
export function compactedText(report: CompactionReport): string {
  const { tokensBefore, tokensAfter, prunedCount, clearedCount, archive, layers, reason } = report;
  const place = archive === undefined ? "" : `; originals in ${archive.location}`;
  const size = `${number(tokensBefore)} to ${number(tokensAfter)} tokens`;
  if (reason === "tool_output") return `long tool output shortened: ${size}${place}`;
  const cleared = clearedCount === 0 ? "" : `, ${clearedCount} tool results emptied`;
  const { pinned, recent, toolPairs, remainder } = layers.after;
  const kept = pinned.messages + recent.messages + toolPairs.messages + remainder.messages;
  return `compacted: ${size}, ${prunedCount} messages summarized${cleared}, ${kept} kept${place}`;
}
