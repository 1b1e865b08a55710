import { setMaxListeners } from "node:events";
import { type Deadline, startDeadline } from "../errors.ts";

/** Bounds of one turn of an agent. */
export interface AgentLimits {
  /** Requests to the model; 50. */
  readonly requests: number;
  /** Tool calls that are run; 200. */
  readonly calls: number;
  /** Wall time in milliseconds; half an hour. */
  readonly wallMs: number;
  /** Milliseconds of one tool call where the tool sets none; two minutes. */
  readonly toolMs: number;
  /** Milliseconds that a model may be silent in the middle of a request; three minutes. */
  readonly modelSilenceMs: number;
  /** Times that a request is sent again after an error that may pass; 2. */
  readonly retries: number;
  /** Characters of a tool's output that are kept at all; 4,000,000. Of these a model sees `policy.maxToolResultTokens`. */
  readonly outputCharacters: number;
}

export const DEFAULT_LIMITS: AgentLimits = Object.freeze({
  requests: 50,
  calls: 200,
  wallMs: 30 * 60_000,
  toolMs: 2 * 60_000,
  modelSilenceMs: 3 * 60_000,
  retries: 2,
  outputCharacters: 4_000_000,
});

/** A deadline with a signal for any number of listeners: calls that run at the same time share it. */
export function startShared(ms: number, outer?: AbortSignal): Deadline {
  const deadline = startDeadline(ms, outer);
  setMaxListeners(0, deadline.signal);
  return deadline;
}
