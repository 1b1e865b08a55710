import { defaultPolicy, type Policy } from "../core/policy.ts";

/** The user's own facts about a model, which win over the built-in table, and its thresholds. */
export interface ModelOverride {
  readonly window?: number;
  readonly maxOutput?: number;
  readonly encoding?: "cl100k_base" | "o200k_base";
  /** For this model, instead of `maxContextTokens`, `policy.triggerPct` and `policy.targetContextTokens`. */
  readonly maxContextTokens?: number;
  readonly triggerPct?: number;
  readonly targetContextTokens?: number;
}

/** Everything that can be set; the file and the environment say the same in snake_case. */
export interface CompactConfig {
  /** The agent's model: gives window and tokenizer where they are not set. */
  readonly model?: string;
  /** The model's window in tokens; looked up by `model` when left out, 128,000 when that is unknown. */
  readonly maxContextTokens?: number;
  readonly policy: Policy;
  readonly summarizer: {
    /** `provider`: the call's own provider compacts, where it can. */
    readonly kind: "builtin" | "provider";
    /** Most tokens of a summary; a tenth of the window when left out. */
    readonly maxSummaryTokens?: number;
    readonly summaryRole: "assistant" | "user" | "system";
    /** What follows a failed summarizer. */
    readonly fallback: "builtin" | "pruning-only";
    /** For a model: what happens to claims that the messages do not hold. */
    readonly verify: "flag" | "remove" | "off";
    /** For a model: messages written out, or a request behind the agent's live conversation. */
    readonly input: "text" | "prefix";
    /** For a model: seconds for one request; in proportion more where it reads over 25,000 tokens. */
    readonly deadlineSeconds: number;
    /** For a model: 0 when left out. */
    readonly temperature?: number;
    /** For a model: sent with every request, where its provider takes one. */
    readonly seed?: number;
  };
  readonly storage: {
    readonly kind: "fs" | "memory" | "s3" | "postgres";
    /** Folder of the archive. */
    readonly root: string;
    /** For `s3`: where the archive lies. Credentials come from the SDK's own chain, never from here. */
    readonly bucket?: string;
    /** Folder inside the bucket. */
    readonly prefix?: string;
    readonly region?: string;
    /** URL of a server other than AWS. */
    readonly endpoint?: string;
    /** Everything is encrypted on the server with this key. */
    readonly kmsKeyId?: string;
    /** The bucket stands in the path instead of the host name. */
    readonly forcePathStyle?: boolean;
    /** For `postgres`: the schema that holds the tables. The URL comes from the environment, never from here. */
    readonly schema?: string;
    /** Longest wait for one call of the storage while the list fits without it, in milliseconds. */
    readonly timeoutMs: number;
    /** Whether pruning stops when the archive cannot be written. */
    readonly onFailure: "stop" | "continue";
  };
  readonly redaction: {
    readonly enabled: boolean;
    /** Further regular expressions whose matches are taken out; as text also `(?i)…` and `/…/i`. */
    readonly patterns: readonly (string | RegExp)[];
    /** Also e-mail addresses, telephone numbers, payment cards, bank accounts and US social security numbers. */
    readonly personal: boolean;
  };
  /** What is deleted by itself, at the first call and daily; nothing when left out. */
  readonly retention: {
    /** Sessions that nobody wrote to for so many days. */
    readonly days?: number;
    /** The sessions longest unused, while all together have more bytes. */
    readonly maxBytes?: number;
  };
  readonly tracing: {
    /** Events to stderr. */
    readonly console: boolean;
    /** Events to this file as well. */
    readonly jsonl?: string;
    /** Events to Ariadne's `/ingest` at this URL as well. */
    readonly ariadne?: string;
    /** Events as spans and metrics to the OpenTelemetry SDK that the program has registered. */
    readonly opentelemetry: boolean;
  };
  readonly memory: {
    /** False: no memory file is written by the program. */
    readonly automaticWrites: boolean;
    /** False: a memory does not ask the model that it was given; everything is done by program. */
    readonly useModel: boolean;
  };
  /** What of a memory is put before a user's message. */
  readonly memoryRecall: {
    readonly enabled: boolean;
    /** Best candidates that are looked at. */
    readonly maxCandidates: number;
    /** Items in the text at most. */
    readonly maxInjected: number;
    /** Characters of the text, its tags included. */
    readonly maxChars: number;
    /** Whether the memory's model puts the candidates in order; the program's order stands otherwise. */
    readonly rerankWithModel: boolean;
  };
  /** When a memory's SESSION.md is written. */
  readonly sessionMemory: {
    readonly enabled: boolean;
    /** Turns, or tool calls, since the last update that make the next one due. */
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

/** Any part of a configuration; lists are given whole. */
export type ConfigOverrides<T> = {
  readonly [K in keyof T]?: T[K] extends readonly unknown[]
    ? T[K]
    : T[K] extends object
      ? ConfigOverrides<T[K]>
      : T[K];
};

/** The names that the specifications use for some settings, where a configuration stands in code. */
export interface SpecifiedNames {
  /** `policy.targetContextTokens`. */
  readonly targetContextTokens?: number;
  /** `policy.triggerPct`. */
  readonly summaryTriggerRatio?: number;
  /** `policy.keepRecentMessages`. */
  readonly keepRecentMessages?: number;
  /** Whether `system` is among `policy.rolesNeverPrune`. */
  readonly keepSystemPrompt?: boolean;
  readonly storage?: {
    /** `storage.kind`. */
    readonly adapter?: CompactConfig["storage"]["kind"];
  };
}

/** What callers pass: any part of the configuration. */
export type CompactConfigInput = ConfigOverrides<CompactConfig> & SpecifiedNames;
