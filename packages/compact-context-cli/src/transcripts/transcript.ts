import type { Format, Message } from "compact-context";

/** Types of session files that are read and written back. */
export type TranscriptFormat =
  | "claude-code"
  | "codex"
  | "pi"
  | "opencode"
  | "gemini-cli"
  | "cline"
  | "copilot-cli"
  | "swe-agent"
  | "moatless"
  | "who-and-when"
  | "aider"
  | "tau-bench"
  | "tau2-bench"
  | "agentdojo"
  | "inspect-ai"
  | "openhands-sdk"
  | Exclude<Format, "pi">;

/** A part of the file that could not be read. */
export interface Problem {
  /** 1-based, in files of lines. */
  readonly line?: number;
  /** Path in a document, such as `messages[3]`. */
  readonly place?: string;
  readonly message: string;
}

/** A point at which the session itself had already replaced earlier messages. */
export interface EarlierCompaction {
  /** Number of messages before it in the whole history, without copies made by compactions. */
  readonly at: number;
  /** `opaque`: the replacement is encrypted; only its provider can read it. */
  readonly kind: "summary" | "opaque";
  readonly tokensBefore?: number;
}

/** The messages between two compactions: the prompt grew from `messages[0]` to its end. */
export interface Segment {
  readonly messages: readonly Message[];
  /**
   * Number of leading messages that the previous compaction added (summary and kept ones); 0 in the first
   * segment.
   */
  readonly carried: number;
  readonly endedBy?: EarlierCompaction;
}

/** Fields of a provider's record: those that sum up to the prompt, and those that sum up to the output. */
export const USAGE_FIELDS = {
  anthropic: [["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"], ["output_tokens"]],
  "openai-chat": [["prompt_tokens"], ["completion_tokens"]],
  "openai-responses": [["input_tokens"], ["output_tokens"]],
  gemini: [["promptTokenCount"], ["candidatesTokenCount", "thoughtsTokenCount"]],
  langchain: [["input_tokens"], ["output_tokens"]],
  codex: [["input_tokens"], ["output_tokens"]],
  pi: [["input", "cacheRead", "cacheWrite"], ["output"]],
  // The output includes reasoning: `total` is the sum of these four.
  opencode: [["input", "cache.read", "cache.write"], ["output"]],
  "gemini-cli": [
    ["input", "tool"],
    ["output", "thoughts"],
  ],
  cline: [["inputTokens"], ["outputTokens"]],
  "copilot-cli": [[], ["outputTokens"]],
  // The prompt count excludes cached tokens.
  moatless: [["prompt_tokens", "cached_tokens"], ["completion_tokens"]],
} as const satisfies Readonly<
  Record<string, readonly [prompt: readonly string[], output: readonly string[]]>
>;

/** Providers whose records `usage` is. */
export type UsageSource = keyof typeof USAGE_FIELDS;

/** A provider's usage report for one call of the session. */
export interface UsageRecord {
  /** Index into `segments`. */
  readonly segment: number;
  /** Index in that segment's messages of the answer; the prompt is everything before it. */
  readonly index: number;
  /** The record as stored in the file. */
  readonly usage: unknown;
  readonly source: UsageSource;
  /** Tokens of the whole prompt, cached ones included; absent if not recorded. */
  readonly promptTokens?: number;
  readonly outputTokens?: number;
  /** Cost of the call in US dollars, as recorded in the file. */
  readonly dollars?: number;
}

/** The result of compacting the live messages. */
export interface CompactedSession {
  readonly messages: readonly Message[];
  readonly summary?: { readonly text: string; readonly version: number };
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

export interface WritePorts {
  /** A new identifier, unique in the file; all formats accept a UUID. */
  newId(): string;
  /** ISO 8601. */
  now(): string;
}

export interface WrittenTranscript {
  /** `append`: the original bytes, then `chunks`. `replace`: `chunks` are the whole file. */
  readonly mode: "append" | "replace";
  readonly chunks: Iterable<string>;
}

/** The result of a format's reader. */
export interface Session {
  readonly format: TranscriptFormat;
  /** The codec format of the messages' `native` objects, if they have one. */
  readonly list?: Format;
  readonly segments: readonly Segment[];
  /** System prompt stored outside the list. */
  readonly system?: string;
  readonly tools?: readonly unknown[];
  readonly model?: string;
  readonly sessionId?: string;
  readonly title?: string;
  /** Working directory of the session. */
  readonly cwd?: string;
  /** Tokens of the window that the agent itself assumed. */
  readonly window?: number;
  readonly usage: readonly UsageRecord[];
  /** Several agents take part: each message is a separate model call, even directly after another answer. */
  readonly manyAgents?: boolean;
  /** Records without context, counted by kind. */
  readonly leftOut: Readonly<Record<string, number>>;
  write(compacted: CompactedSession, ports: WritePorts): WrittenTranscript;
}

/** A session file after reading. */
export interface Transcript extends Session {
  /** File name, or the caller's name for the input. */
  readonly name?: string;
  /** The messages that the agent's next call would send: those of the last segment. */
  readonly messages: readonly Message[];
  readonly compactions: readonly EarlierCompaction[];
  readonly problems: readonly Problem[];
}

/** Collects content that a reader cannot use, so that nothing disappears silently. */
export interface ReadLog {
  problem(problem: Problem): void;
  leaveOut(kind: string, count?: number): void;
  leftOut(): Record<string, number>;
}

/** A format with one JSON value or one text per file. */
export interface DocumentFormat {
  readonly format: TranscriptFormat;
  /** `value` is the parsed JSON, or the text itself if it is not JSON. */
  recognises(value: unknown): boolean;
  read(document: { readonly value: unknown; readonly text: string }, log: ReadLog): Session;
}

/** A format with one JSON record per line; sessions are only ever appended to. */
export interface RecordFormat {
  readonly format: TranscriptFormat;
  recognises(record: unknown): boolean;
  open(log: ReadLog): RecordReader;
}

export interface RecordReader {
  add(record: unknown, line: SourceLine): void;
  /**
   * `endsWithNewline`: whether the file does; otherwise the first appended line needs a newline before it.
   */
  end(endsWithNewline: boolean): Session;
}

export interface SourceLine {
  /** 1-based. */
  readonly number: number;
  /** False for a record that shares its line with others, which strict readers skip. */
  readonly whole: boolean;
}
