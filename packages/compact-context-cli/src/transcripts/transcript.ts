import type { Format, Message } from "compact-context";

/** The shapes of session files that are read and written back. */
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

/** Something in the file that could not be read; the rest was. */
export interface Problem {
  /** 1-based, in files of lines. */
  readonly line?: number;
  /** Path in a document, such as `messages[3]`. */
  readonly place?: string;
  readonly message: string;
}

/** Where the session itself, not this library, had already replaced what came before. */
export interface EarlierCompaction {
  /** Messages of the whole history before it, copies carried over by compactions not counted. */
  readonly at: number;
  /** `opaque`: the replacement is encrypted, only its provider can read it. */
  readonly kind: "summary" | "opaque";
  readonly tokensBefore?: number;
}

/** The stretch between two compactions: what the model was sent grew from `messages[0]` to its end. */
export interface Segment {
  readonly messages: readonly Message[];
  /** How many of the first messages the compaction before it put there (summary and kept ones); 0 in the first. */
  readonly carried: number;
  readonly endedBy?: EarlierCompaction;
}

/** Which fields of a provider's record make up the prompt (added together) and the output. */
export const USAGE_FIELDS = {
  anthropic: [["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"], ["output_tokens"]],
  "openai-chat": [["prompt_tokens"], ["completion_tokens"]],
  "openai-responses": [["input_tokens"], ["output_tokens"]],
  gemini: [["promptTokenCount"], ["candidatesTokenCount", "thoughtsTokenCount"]],
  langchain: [["input_tokens"], ["output_tokens"]],
  codex: [["input_tokens"], ["output_tokens"]],
  pi: [["input", "cacheRead", "cacheWrite"], ["output"]],
  // Its output has the reasoning in it: `total` is the sum of these four.
  opencode: [["input", "cache.read", "cache.write"], ["output"]],
  "gemini-cli": [
    ["input", "tool"],
    ["output", "thoughts"],
  ],
  cline: [["inputTokens"], ["outputTokens"]],
  "copilot-cli": [[], ["outputTokens"]],
  // The prompt count leaves out what came from the cache.
  moatless: [["prompt_tokens", "cached_tokens"], ["completion_tokens"]],
} as const satisfies Readonly<
  Record<string, readonly [prompt: readonly string[], output: readonly string[]]>
>;

/** Names whose record `usage` is. */
export type UsageSource = keyof typeof USAGE_FIELDS;

/** What a provider reported for one call of the session. */
export interface UsageRecord {
  /** Index into `segments`. */
  readonly segment: number;
  /** Index into that segment's messages of the answer it belongs to; the prompt is what stands before. */
  readonly index: number;
  /** The record as the file holds it. */
  readonly usage: unknown;
  readonly source: UsageSource;
  /** Tokens of the whole prompt, cached ones included; absent where the record does not say. */
  readonly promptTokens?: number;
  readonly outputTokens?: number;
  /** What the file says that the call cost, in US dollars. */
  readonly dollars?: number;
}

/** What a compaction made of the live messages. */
export interface CompactedSession {
  readonly messages: readonly Message[];
  readonly summary?: { readonly text: string; readonly version: number };
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

export interface WritePorts {
  /** A new identifier, unique in the file; a UUID suits every format. */
  newId(): string;
  /** ISO 8601. */
  now(): string;
}

export interface WrittenTranscript {
  /** `append`: the original bytes come first, `chunks` after them. `replace`: `chunks` are the whole file. */
  readonly mode: "append" | "replace";
  readonly chunks: Iterable<string>;
}

/** What a reader of one format hands over. */
export interface Session {
  readonly format: TranscriptFormat;
  /** The codec format of the messages' `native` objects, where they are of one. */
  readonly list?: Format;
  readonly segments: readonly Segment[];
  /** System prompt kept outside the list. */
  readonly system?: string;
  readonly tools?: readonly unknown[];
  readonly model?: string;
  readonly sessionId?: string;
  readonly title?: string;
  /** Working directory of the session. */
  readonly cwd?: string;
  /** Tokens of the window that the agent itself went by. */
  readonly window?: number;
  readonly usage: readonly UsageRecord[];
  /** Several agents speak in it: what each says is a model call of its own, also behind another answer. */
  readonly manyAgents?: boolean;
  /** Records that carry no context, counted by what they are. */
  readonly leftOut: Readonly<Record<string, number>>;
  write(compacted: CompactedSession, ports: WritePorts): WrittenTranscript;
}

/** A session file, read. */
export interface Transcript extends Session {
  /** File name or whatever the caller called it. */
  readonly name?: string;
  /** What the agent's next call would send: the messages of the last segment. */
  readonly messages: readonly Message[];
  readonly compactions: readonly EarlierCompaction[];
  readonly problems: readonly Problem[];
}

/** Collects what a reader cannot use, so that nothing disappears without a word. */
export interface ReadLog {
  problem(problem: Problem): void;
  leaveOut(kind: string, count?: number): void;
  leftOut(): Record<string, number>;
}

/** A format kept as one JSON value or one text. */
export interface DocumentFormat {
  readonly format: TranscriptFormat;
  /** `value` is the parsed JSON, or the text itself where it is no JSON. */
  recognises(value: unknown): boolean;
  read(document: { readonly value: unknown; readonly text: string }, log: ReadLog): Session;
}

/** A format kept as one JSON record a line, to which a session is only ever appended. */
export interface RecordFormat {
  readonly format: TranscriptFormat;
  recognises(record: unknown): boolean;
  open(log: ReadLog): RecordReader;
}

export interface RecordReader {
  add(record: unknown, line: SourceLine): void;
  /** `endsWithNewline`: whether the file does, so that the first appended line starts on its own. */
  end(endsWithNewline: boolean): Session;
}

export interface SourceLine {
  /** 1-based. */
  readonly number: number;
  /** False for a record on a line that holds more than it, which strict readers skip. */
  readonly whole: boolean;
}
