/** What a test makes the model say or the connection do; every provider's stub says it in its own words. */

export interface ToolCall {
  readonly name: string;
  /** An object is written as JSON; a string is sent as it is, so it may be broken JSON. */
  readonly arguments: unknown;
  /** Made up when left out. */
  readonly id?: string;
  /** OpenAI's Responses: a call of a custom tool, whose arguments are a plain text. */
  readonly custom?: boolean;
}

/** An answer of the model. */
export interface Reply {
  readonly text?: string;
  readonly reasoning?: string;
  readonly toolCalls?: readonly ToolCall[];
  /** The words of a refusal; each provider has its own place for them. */
  readonly refusal?: string;
  /** Why it stops, where that is not plain from the rest. */
  readonly stop?: "length" | "filter";
  /** Says more than the request allows, as servers do that ignore the limit. */
  readonly ignoresLimit?: boolean;
  /** Two bytes that are no UTF-8 stand behind the words `The parser reads`. */
  readonly brokenBytes?: boolean;
  /** Milliseconds before the headers are sent. */
  readonly delayMs?: number;
}

/** An error of the provider, in its own JSON. */
export interface Failure {
  readonly status: number;
  readonly message?: string;
  /** Seconds in a `retry-after` header. */
  readonly retryAfter?: number;
  readonly code?: string;
  readonly delayMs?: number;
}

/** Something that is wrong with the connection rather than with the answer. */
export interface Fault {
  /**
   * `noHeaders`: the request is taken and nothing ever comes. `silent`: headers, then nothing. `drip`: headers, then
   * a meaningless byte or event every `everyMs`, without end. `reset`: the connection breaks at once.
   * `resetMidway`: it breaks after half of the answer.
   */
  readonly fault: "noHeaders" | "silent" | "drip" | "reset" | "resetMidway";
  readonly everyMs?: number;
}

/** A body that is sent as it is. */
export interface Raw {
  readonly raw: string | Uint8Array;
  readonly status?: number;
  readonly contentType?: string;
}

/** A string is a plain reply with that text. */
export type Answer = string | Reply | Failure | Fault | Raw;

/** A request as the stub took it. */
export interface StubRequest {
  /** The place of the request among all of this stub, from 0. */
  readonly index: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The bytes of the body, as text. */
  readonly raw: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** What the provider would bill; undefined where the request was refused before it was counted. */
  readonly usage?: PromptUsage;
  /** Why the provider refused it. */
  readonly rejection?: Rejection;
  /** True once the caller has gone away without waiting for the answer. */
  readonly aborted: boolean;
}

export interface PromptUsage {
  /** All tokens of the request: read, written and neither. */
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** The part of `cacheWrite` that is kept for an hour. */
  readonly cacheWrite1h: number;
}

/** Why a request is refused, in the provider's words. */
export interface Rejection {
  readonly status: number;
  readonly type: string;
  readonly message: string;
  readonly param?: string | null;
  readonly code?: string | null;
}

/** Answers in order, or whatever a function makes of each request. */
export type Script = readonly Answer[] | ((request: StubRequest) => Answer | Promise<Answer>);

/** Ready-made misbehaviour. */
export const rateLimited = (retryAfter = 1): Failure => ({ status: 429, retryAfter });
export const overloaded: Failure = { status: 529 };
export const serverError: Failure = { status: 500 };
/** The words of an error where a summary should be. */
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
/** What a proxy in between says when the provider cannot be reached. */
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

/** More words than any limit, from a server that ignores limits. */
export const overLong = (words = 20_000): Reply => ({
  text: Array.from({ length: words }, (_, index) => `word${index}`).join(" "),
  ignoresLimit: true,
});

/** The last thing that the assistant said in the request, said again. */
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
