import type { Usage } from "../tokens/usage.ts";

/** Why an answer of a model is no summary, or why there was none. */
export type AttemptFailure =
  /** The call was rejected: network, provider, client. */
  | "error"
  | "timeout"
  /** No text; with `reasoning-only` the answer's room went into thinking. */
  | "empty"
  | "reasoning-only"
  /** Cut off at the token limit. */
  | "truncated"
  | "too-long"
  | "refusal"
  /** Says what an earlier request was answered with, or repeats a message. */
  | "stale"
  /** An error page or notice in place of a text. */
  | "error-text"
  /** Broken Unicode, or characters that say nothing. */
  | "malformed"
  /** Nothing was left of it once what the source does not hold was taken out. */
  | "unfounded"
  /** Not asked: it failed too often of late. */
  | "skipped";

/** One request to a model for one part of the input. */
export interface SummaryAttempt {
  readonly model: string;
  /** Id and version of the prompt, such as `task_state@1`. */
  readonly prompt: string;
  readonly strategy: string;
  /** `text`: the messages written out; `prefix`: the agent's own conversation, with the request behind it. */
  readonly input: "text" | "prefix";
  /** Which part of the input, from 1, and how many there are. */
  readonly part: number;
  readonly parts: number;
  /** Most tokens that were asked for. */
  readonly maxTokens: number;
  readonly outcome: "accepted" | AttemptFailure;
  /** What went wrong, in words. */
  readonly detail?: string;
  readonly error?: unknown;
  /** What is done next: `shorter`, `thinking`, `brief`, or a model's name; left out where this summarizer gives up. */
  readonly fallback?: string;
  readonly durationMs: number;
  /** By our own count. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** What the provider reported, where it did. */
  readonly usage?: Usage;
}
