import { defaultPolicy, type Policy } from "../core/policy.ts";

/** The user's facts about a model, which override the built-in table, and its thresholds. */
export interface ModelOverride {
  readonly window?: number;
  readonly encoding?: "cl100k_base" | "o200k_base";
  /** Per-model overrides of `maxContextTokens`, `policy.triggerPct` and `policy.targetContextTokens`. */
  readonly maxContextTokens?: number;
  readonly triggerPct?: number;
  readonly targetContextTokens?: number;
}

/** All settings; the file and the environment use the same names in snake_case. */
export interface CompactConfig {
  /** The agent's model; determines window and tokenizer unless they are set. */
  readonly model?: string;
  /** The model's window in tokens. Default: looked up by `model`, 128,000 if unknown. */
  readonly maxContextTokens?: number;
  readonly policy: Policy;
  readonly summarizer: {
    /** `provider`: the request's own provider compacts, if it can. */
    readonly kind: "builtin" | "provider";
    /** Maximum tokens of a summary. Default: a tenth of the window. */
    readonly maxSummaryTokens?: number;
    readonly summaryRole: "assistant" | "user" | "system";
    /** What runs after the summarizer fails. */
    readonly fallback: "builtin" | "pruning-only";
    /** Model only: how claims that the messages do not support are handled. */
    readonly verify: "flag" | "remove" | "off";
    /** Model only: messages written out as text, or a request appended to the agent's live conversation. */
    readonly input: "text" | "prefix";
    /** Model only: timeout of one request in seconds; proportionally more for over 25,000 input tokens. */
    readonly deadlineSeconds: number;
    /** Model only. Default: 0. */
    readonly temperature?: number;
    /** Model only: sent with every request, if the provider supports it. */
    readonly seed?: number;
  };
  readonly storage: {
    readonly kind: "fs" | "memory" | "s3" | "postgres";
    /** Folder of the archive. */
    readonly root: string;
    /** `s3` only: the bucket of the archive. Credentials come from the SDK's own chain, never from here. */
    readonly bucket?: string;
    /** Folder inside the bucket. */
    readonly prefix?: string;
    readonly region?: string;
    /** URL of a server other than AWS. */
    readonly endpoint?: string;
    /** KMS key for server-side encryption. */
    readonly kmsKeyId?: string;
    /** Puts the bucket into the path instead of the host name. */
    readonly forcePathStyle?: boolean;
    /** `postgres` only: the schema of the tables. The URL comes from the environment, never from here. */
    readonly schema?: string;
    /** Timeout of one storage call in milliseconds, while the list fits without it. */
    readonly timeoutMs: number;
    /** Whether pruning stops if the archive cannot be written. */
    readonly onFailure: "stop" | "continue";
  };
  readonly redaction: {
    readonly enabled: boolean;
    /** Additional regular expressions to redact; as text also `(?i)…` and `/…/i`. */
    readonly patterns: readonly (string | RegExp)[];
    /**
     * Also redacts e-mail addresses, telephone numbers, payment cards, bank accounts and US social security
     * numbers.
     */
    readonly personal: boolean;
  };
  /** What is deleted automatically, on the first call and daily. Default: nothing. */
  readonly retention: {
    /** Deletes sessions without a write for this many days. */
    readonly days?: number;
    /** Deletes the least recently used sessions while the total exceeds this many bytes. */
    readonly maxBytes?: number;
  };
  readonly tracing: {
    /** Writes events to stderr. */
    readonly console: boolean;
    /** Also writes events to this file. */
    readonly jsonl?: string;
    /** Also sends events to Ariadne's `/ingest` at this URL. */
    readonly ariadne?: string;
    /** Sends events as spans and metrics to the OpenTelemetry SDK that the program has registered. */
    readonly opentelemetry: boolean;
  };
  readonly memory: {
    /** False: memory files are not written automatically. */
    readonly automaticWrites: boolean;
    /** False: a memory does not call its model, and uses the deterministic implementation only. */
    readonly useModel: boolean;
  };
  /** What memory adds in front of a user message. */
  readonly memoryRecall: {
    readonly enabled: boolean;
    /** Maximum number of candidates considered. */
    readonly maxCandidates: number;
    /** Maximum number of items injected. */
    readonly maxInjected: number;
    /** Maximum characters injected, tags included. */
    readonly maxChars: number;
    /** Whether the memory's model reranks the candidates; otherwise the deterministic order is used. */
    readonly rerankWithModel: boolean;
  };
  /** When a memory's SESSION.md is updated. */
  readonly sessionMemory: {
    readonly enabled: boolean;
    /** The next update is due after this many turns, or tool calls, since the last. */
    readonly minTurnsBetweenUpdate: number;
    readonly minToolCallsBetweenUpdate: number;
    readonly forceRefreshBeforeCompact: boolean;
    readonly forceRefreshBeforeNewSession: boolean;
  };
  readonly models: Readonly<Record<string, ModelOverride>>;
}

export const defaultConfig: CompactConfig = Object.freeze({
  policy: Object.freeze({ ...defaultPolicy }),
  summarizer: Object.freeze({
    kind: "builtin",
    summaryRole: "assistant",
    fallback: "builtin",
    verify: "flag",
    input: "text",
    deadlineSeconds: 10,
  }),
  storage: Object.freeze({ kind: "fs", root: ".compact/archive", timeoutMs: 1000, onFailure: "stop" }),
  redaction: Object.freeze({
    enabled: true,
    patterns: Object.freeze<(string | RegExp)[]>([]),
    personal: false,
  }),
  retention: Object.freeze({}),
  tracing: Object.freeze({ console: false, opentelemetry: false }),
  memory: Object.freeze({ automaticWrites: true, useModel: true }),
  memoryRecall: Object.freeze({
    enabled: true,
    maxCandidates: 12,
    maxInjected: 5,
    maxChars: 3_500,
    rerankWithModel: false,
  }),
  sessionMemory: Object.freeze({
    enabled: true,
    minTurnsBetweenUpdate: 2,
    minToolCallsBetweenUpdate: 4,
    forceRefreshBeforeCompact: true,
    forceRefreshBeforeNewSession: true,
  }),
  models: Object.freeze({}),
});

/** Any part of a configuration; lists are replaced whole. */
export type ConfigOverrides<T> = {
  readonly [K in keyof T]?: T[K] extends readonly unknown[]
    ? T[K]
    : T[K] extends object
      ? ConfigOverrides<T[K]>
      : T[K];
};

/** Names that the specifications use for some settings, accepted in code. */
export interface SpecifiedNames {
  /** `policy.targetContextTokens`. */
  readonly targetContextTokens?: number;
  /** `policy.triggerPct`. */
  readonly summaryTriggerRatio?: number;
  /** `policy.keepRecentMessages`. */
  readonly keepRecentMessages?: number;
  /** Whether `policy.rolesNeverPrune` includes `system`. */
  readonly keepSystemPrompt?: boolean;
  readonly storage?: {
    /** `storage.kind`. */
    readonly adapter?: CompactConfig["storage"]["kind"];
  };
}

/** What callers pass: any part of the configuration. */
export type CompactConfigInput = ConfigOverrides<CompactConfig> & SpecifiedNames;
