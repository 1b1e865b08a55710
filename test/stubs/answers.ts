/** Model answers and connection faults for a test; each provider's stub encodes them in its own protocol. */

export interface ToolCall {
  readonly name: string;
  /** An object is serialized as JSON; a string is sent unchanged, so it can be broken JSON. */
  readonly arguments: unknown;
  /** Default: generated. */
  readonly id?: string;
  /** OpenAI's Responses: a call of a custom tool, whose arguments are plain text. */
  readonly custom?: boolean;
}

/** An answer of the model. */
export interface Reply {
  readonly text?: string;
  readonly reasoning?: string;
  readonly toolCalls?: readonly ToolCall[];
  /** The text of a refusal; each provider has its own field for it. */
  readonly refusal?: string;
  /** The stop reason, if the other fields do not imply it. */
  readonly stop?: "length" | "filter";
  /** Exceeds the request's output limit, as some servers do. */
  readonly ignoresLimit?: boolean;
  /** Puts two invalid UTF-8 bytes after the words `The parser reads`. */
  readonly brokenBytes?: boolean;
  /** Delay before the headers, in milliseconds. */
  readonly delayMs?: number;
}

/** A provider error, in the provider's own JSON. */
export interface Failure {
  readonly status: number;
  readonly message?: string;
  /** Seconds in a `retry-after` header. */
  readonly retryAfter?: number;
  readonly code?: string;
  readonly delayMs?: number;
}

/** A fault of the connection rather than of the answer. */
export interface Fault {
  /**
   * `noHeaders`: the request is accepted and never answered. `silent`: headers, then nothing. `drip`:
   * headers, then a meaningless byte or event every `everyMs`, without end. `reset`: the connection breaks at
   * once. `resetMidway`: it breaks after half of the answer.
   */
  readonly fault: "noHeaders" | "silent" | "drip" | "reset" | "resetMidway";
  readonly everyMs?: number;
}

/** A body that is sent unchanged. */
export interface Raw {
  readonly raw: string | Uint8Array;
  readonly status?: number;
  readonly contentType?: string;
}

/** A string is a plain reply with that text. */
export type Answer = string | Reply | Failure | Fault | Raw;

/** A request received by the stub. */
export interface StubRequest {
  /** Index among all requests of this stub. */
  readonly index: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The bytes of the body, as text. */
  readonly raw: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** What the provider would bill; undefined if the request was rejected before counting. */
  readonly usage?: PromptUsage;
  /** Why the provider rejected it. */
  readonly rejection?: Rejection;
  /** True once the caller has disconnected without waiting for the answer. */
  readonly aborted: boolean;
}

export interface PromptUsage {
  /** All tokens of the request: cached, written to the cache and uncached. */
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** The part of `cacheWrite` with a lifetime of one hour. */
  readonly cacheWrite1h: number;
}

/** The rejection of a request, in the provider's words. */
export interface Rejection {
  readonly status: number;
  readonly type: string;
  readonly message: string;
  readonly param?: string | null;
  readonly code?: string | null;
}

/** Answers in order, or a function of each request. */
export type Script = readonly Answer[] | ((request: StubRequest) => Answer | Promise<Answer>);

/** Predefined faults. */
export const rateLimited = (retryAfter = 1): Failure => ({ status: 429, retryAfter });
export const overloaded: Failure = { status: 529 };
export const serverError: Failure = { status: 500 };
/** An error message in place of a summary. */
export const errorText = "Error generating summary: 503 Service Unavailable";
export const empty: Reply = { text: "" };
export const reasoningOnly: Reply = { reasoning: "I should list the goals first, then what was decided." };
export const truncated: Reply = {
  text: "## Goals\n- Port the parser to the new scanner, keeping",
  stop: "length",
};
export const refusal: Reply = { refusal: "I'm sorry, but I can't help with that." };
export const filtered: Reply = { text: "", stop: "filter" };
export const loneSurrogate: Reply = { text: "The parser reads \ud83d and goes on." };
export const brokenBytes: Reply = { text: "The parser reads", brokenBytes: true };
export const brokenJson: Raw = { raw: '{"id": "broken", "choices": [{"message": {"content": "half' };
/** The response of an intermediate proxy when the provider is unreachable. */
export const htmlPage: Raw = {
  raw: "<html><body><h1>502 Bad Gateway</h1></body></html>",
  status: 502,
  contentType: "text/html",
};
export const noHeaders: Fault = { fault: "noHeaders" };
export const silent: Fault = { fault: "silent" };
export const drip = (everyMs = 20): Fault => ({ fault: "drip", everyMs });
export const reset: Fault = { fault: "reset" };
export const resetMidway: Fault = { fault: "resetMidway" };
export const slow = (delayMs: number, text = "ok"): Reply => ({ text, delayMs });

/** An answer longer than any limit, from a server that ignores limits. */
export const overLong = (words = 20_000): Reply => ({
  text: Array.from({ length: words }, (_, index) => `word${index}`).join(" "),
  ignoresLimit: true,
});

/** Repeats the last assistant text of the request. */
export function stale(request: StubRequest): Reply {
  const list = [request.body.messages, request.body.input].find(Array.isArray) ?? [];
  const last = (list as { role?: unknown; content?: unknown }[]).findLast(({ role }) => role === "assistant");
  return { text: textIn(last?.content) };
}

/** The text of a content that is a string or a list of parts. */
function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part: { text?: unknown }) => (typeof part?.text === "string" ? part.text : ""))
    .join("");
}
