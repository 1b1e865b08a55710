/** What a tool gets beside its arguments. */
export interface ToolContext {
  /** Aborted when the user interrupts, the deadline passes or the agent's time is over. */
  readonly signal: AbortSignal;
  readonly callId: string;
}

/** Something that an agent can do. */
export interface AgentTool {
  readonly name: string;
  readonly description: string;
  /** JSON schema of the arguments. */
  readonly schema: object;
  /** Text goes to the model as it is, any other value as JSON; what is thrown becomes a tool error. */
  execute(args: unknown, context: ToolContext): unknown;
  /**
   * The files that a call would touch, or `none` for a tool that touches none. Where a sub-agent or a skill
   * bounds paths, a tool that does not say is refused.
   */
  readonly paths?: "none" | ((args: unknown) => readonly string[]);
  /** May run at the same time as its neighbours in one answer; false when left out. */
  readonly concurrent?: boolean;
  /** Milliseconds that a call may take; the agent's own limit when left out. */
  readonly deadlineMs?: number;
}

/** A call that waits for leave. */
export interface PermissionRequest {
  readonly tool: string;
  readonly arguments: unknown;
  /** The sub-agent that asks; undefined for the agent itself. */
  readonly subAgent?: string;
  /** The skill whose declared command asks, with `tool` being `run` and `arguments` `{command}`. */
  readonly skill?: string;
  readonly signal: AbortSignal;
}

/** `deny` with a reason tells the model why. */
export type Permission = "allow" | "deny" | { readonly deny: string };

export type Permissions = (request: PermissionRequest) => Permission | Promise<Permission>;

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
