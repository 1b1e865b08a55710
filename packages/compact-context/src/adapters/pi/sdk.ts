/** The part of pi's extension interface that is used; pi 0.73 and newer. */
export interface PiExtensionApi {
  /** pi calls the handler with an event and its context. */
  on(event: string, handler: unknown): void;
  registerCommand(name: string, command: PiCommand): void;
  registerTool(tool: unknown): void;
  getActiveTools(): string[];
  getAllTools(): readonly { readonly name: string }[];
}

export interface PiCommand {
  readonly description?: string;
  /** pi's own context has far more than `PiContext` names. */
  handler(args: string, context: never): Promise<void>;
}

/** The context that pi passes to every handler. */
export interface PiContext {
  readonly cwd: string;
  readonly hasUI: boolean;
  readonly ui: {
    notify(message: string, type?: "info" | "warning" | "error"): void;
    setStatus(key: string, text: string | undefined): void;
  };
  readonly sessionManager: { getSessionId(): string };
  readonly model: { readonly id: string; readonly contextWindow: number } | undefined;
  readonly signal: AbortSignal | undefined;
  getSystemPrompt(): string;
}

export interface PiContextEvent {
  readonly messages: unknown[];
}

export interface PiBeforeAgentEvent {
  readonly prompt: string;
}

export interface PiAgentEndEvent {
  readonly messages: readonly unknown[];
}

export interface PiSwitchEvent {
  readonly reason: "new" | "resume";
}

export interface PiBeforeCompactEvent {
  readonly preparation: {
    readonly firstKeptEntryId: string;
    readonly messagesToSummarize: readonly unknown[];
    readonly turnPrefixMessages: readonly unknown[];
    readonly tokensBefore: number;
    readonly previousSummary?: string;
    readonly settings?: { readonly reserveTokens?: number };
  };
  readonly customInstructions?: string;
  readonly signal?: AbortSignal;
}

export interface PiCompaction {
  readonly compaction: {
    readonly summary: string;
    readonly firstKeptEntryId: string;
    readonly tokensBefore: number;
    readonly details: { readonly summarizer: string };
  };
}
