import type { CompactionReport } from "../core/report.ts";
import type { Diagnostic } from "./diagnostic.ts";

/** Why a turn ended. */
export type TurnEnd =
  | "answered"
  | "interrupted"
  | "refused"
  /** A bound of the turn was reached: model requests, tool calls, wall time. */
  | "request-limit"
  | "call-limit"
  | "time-limit"
  /** The model or the compaction failed for good; the error event before says how. */
  | "failed";

/** Tokens and dollars of one request or of many. */
export interface Spent {
  readonly requests: number;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  /** Undefined where a price is not known. */
  readonly dollars: number | undefined;
}

/** What happens while an agent works, in order; the last one of a turn is `ended`. */
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
      /** As the tool gave it; the model may see it shortened. */
      readonly output: string;
      readonly isError: boolean;
      readonly elapsedMs: number;
    }
  /** `kept` is one line for people: what stayed and where the rest is. */
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
  /** What of the memory went into the prompt. */
  | { readonly type: "recalled"; readonly titles: readonly string[]; readonly characters: number }
  | { readonly type: "skillStarted" | "skillEnded"; readonly name: string }
  | {
      readonly type: "hookRan";
      readonly skill: string;
      readonly event: string;
      readonly output: string;
      readonly elapsedMs: number;
    }
  /** After each request: its own use and the session's so far. */
  | {
      readonly type: "usage";
      /** The agent's session, or a sub-agent's. */
      readonly sessionId: string;
      readonly spent: Spent;
      readonly total: Spent;
      readonly contextTokens: number;
      readonly window: number;
    }
  /** The request is sent again after a pause; `discarded` is the text that was streamed and does not count. */
  | {
      readonly type: "retry";
      readonly attempt: number;
      readonly reason: string;
      readonly pauseMs: number;
      readonly discarded: string;
    }
  /** Something went wrong and the session goes on. */
  | { readonly type: "warning"; readonly diagnostic: Diagnostic }
  /** The turn could not be finished; the session is alive. */
  | { readonly type: "error"; readonly diagnostic: Diagnostic }
  | { readonly type: "ended"; readonly end: TurnEnd; readonly text: string };
