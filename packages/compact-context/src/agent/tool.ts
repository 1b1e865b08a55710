/** Second argument of a tool. */
export interface ToolContext {
  /** Aborted when the user interrupts, the deadline passes or the turn's time is over. */
  readonly signal: AbortSignal;
  readonly callId: string;
}

/** A tool of an agent. */
export interface AgentTool {
  readonly name: string;
  readonly description: string;
  /** JSON schema of the arguments. */
  readonly schema: object;
  /** Text goes to the model unchanged, any other value as JSON; a thrown error becomes a tool error. */
  execute(args: unknown, context: ToolContext): unknown;
  /**
   * The files that a call would touch, or `none` for a tool that touches no files. If a sub-agent or skill
   * restricts paths, a tool without this is refused.
   */
  readonly paths?: "none" | ((args: unknown) => readonly string[]);
  /** Can run at the same time as adjacent calls of one answer. Default: false. */
  readonly concurrent?: boolean;
  /** Timeout of a call in milliseconds. Default: the agent's limit. */
  readonly deadlineMs?: number;
}

/** A call that needs permission. */
export interface PermissionRequest {
  readonly tool: string;
  readonly arguments: unknown;
  /** The requesting sub-agent; undefined for the agent itself. */
  readonly subAgent?: string;
  /** The skill whose declared command is requested; `tool` is then `run` and `arguments` `{command}`. */
  readonly skill?: string;
  readonly signal: AbortSignal;
}

/** `deny` with a reason is passed to the model. */
export type Permission = "allow" | "deny" | { readonly deny: string };

export type Permissions = (request: PermissionRequest) => Permission | Promise<Permission>;

/** Limits of one turn of an agent. */
export interface AgentLimits {
  /** Model requests. Default: 50. */
  readonly requests: number;
  /** Tool calls. Default: 200. */
  readonly calls: number;
  /** Wall time in milliseconds. Default: half an hour. */
  readonly wallMs: number;
  /** Timeout of one tool call in milliseconds, if the tool sets none. Default: two minutes. */
  readonly toolMs: number;
  /** Maximum silence of a model during a request, in milliseconds. Default: three minutes. */
  readonly modelSilenceMs: number;
  /** Retries after a transient error. Default: 2. */
  readonly retries: number;
  /**
   * Characters of a tool's output that are kept. Default: 4,000,000. The model sees
   * `policy.maxToolResultTokens` of them.
   */
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
