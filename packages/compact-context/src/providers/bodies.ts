import type { TextModelAnswer, TextModelRequest } from "../core/ports.ts";
import { defined } from "../errors.ts";
import { type Json, objectOf, objectsIn, textOf } from "./request.ts";

/**
 * What a message is asked without its optional parameters. Behind a prefix, whose system text and cache marks stay
 * as they are, a system text of the request is said by the user.
 */
export function anthropicBody(model: string, { messages, prefix, maxOutputTokens }: TextModelRequest): Json {
  const max_tokens = Math.max(1, maxOutputTokens);
  if (prefix !== undefined) {
    const own = messages.map(({ role, content }) => ({ role: role === "system" ? "user" : role, content }));
    const { system, tools } = prefix;
    return defined({ model, max_tokens, system, tools, messages: [...prefix.messages, ...own] });
  }
  const system = messages.filter(({ role }) => role === "system").map(({ content }) => content);
  return defined({
    model,
    max_tokens,
    system: system.length === 0 ? undefined : system.join("\n\n"),
    messages: messages.filter(({ role }) => role !== "system"),
  });
}

/** What a model may refuse to take; the interface knows no seed. */
export function anthropicParameters({ temperature }: TextModelRequest): Json {
  return defined({ temperature: temperature === undefined ? undefined : Math.min(1, temperature) });
}

const ANTHROPIC_STOPS: Readonly<Record<string, TextModelAnswer["stop"]>> = {
  end_turn: "end",
  stop_sequence: "end",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "refusal",
};

/** Reads a message; a refusal's explanation stands in for a text that is not there. */
export function readAnthropic(body: unknown): TextModelAnswer {
  throwReported(body);
  const { content, stop_reason: reason, stop_details: details, usage } = objectOf(body);
  const text = objectsIn(content)
    .map((block) => (block.type === "text" ? textOf(block.text) : ""))
    .join("");
  const stop = stopOf(ANTHROPIC_STOPS, reason);
  return answerOf(stop === "refusal" ? text || textOf(objectOf(details).explanation) : text, stop, usage);
}

/** What a chat completion is asked without its optional parameters: model, messages, a prefix's tools. */
export function chatBody(model: string, { messages, prefix }: TextModelRequest): Json {
  const system = prefix?.system === undefined ? [] : [{ role: "system", content: prefix.system }];
  return defined({
    model,
    messages: [...system, ...(prefix?.messages ?? []), ...messages],
    tools: prefix?.tools,
  });
}

/** What a server may refuse to take. `limit` names the parameter that is tried first. */
export function chatParameters(
  { maxOutputTokens, temperature, seed }: TextModelRequest,
  limit: "max_completion_tokens" | "max_tokens",
): Json {
  return defined({ [limit]: maxOutputTokens, temperature, seed });
}

/** What the limit is called where its first name is refused. */
export const CHAT_LIMITS: Readonly<Record<string, string>> = {
  max_completion_tokens: "max_tokens",
  max_tokens: "max_completion_tokens",
};

const CHAT_STOPS: Readonly<Record<string, TextModelAnswer["stop"]>> = {
  stop: "end",
  length: "length",
  content_filter: "refusal",
};

/** Reads a chat completion; throws the error that it reports instead of choices. */
export function readChat(body: unknown): TextModelAnswer {
  const { choices, usage } = objectOf(body);
  const [choice] = objectsIn(choices);
  if (choice === undefined) throwReported(body);
  const { content, refusal } = objectOf(choice?.message);
  const text = typeof content === "string" ? content : objectsIn(content).map(partText).join("");
  if (textOf(refusal) !== "") return answerOf(text || textOf(refusal), "refusal", usage);
  const reason = choice?.finish_reason;
  const silent = choice !== undefined && (reason === undefined || reason === null || reason === "");
  return answerOf(text, silent ? "end" : stopOf(CHAT_STOPS, reason), usage);
}

function partText({ type, text }: Json): string {
  return type === "text" ? textOf(text) : "";
}

/** The interface takes no smaller limit. */
const LEAST_OUTPUT = 16;

/**
 * What a response is asked without its optional parameters. System texts are instructions, or, behind a prefix
 * with instructions of its own, developer messages. Nothing is stored at the provider.
 */
export function responsesBody(model: string, { messages, prefix }: TextModelRequest): Json {
  const system = messages.filter(({ role }) => role === "system").map(({ content }) => content);
  const input =
    prefix === undefined
      ? messages.filter(({ role }) => role !== "system")
      : [
          ...prefix.messages,
          ...messages.map(({ role, content }) => ({ role: role === "system" ? "developer" : role, content })),
        ];
  const own = system.length === 0 ? undefined : system.join("\n\n");
  return defined({
    model,
    instructions: prefix === undefined ? own : prefix.system,
    input,
    tools: prefix?.tools,
    store: false,
  });
}

/** What a server may refuse to take; the interface knows no seed. */
export function responsesParameters({ maxOutputTokens, temperature }: TextModelRequest): Json {
  return defined({ max_output_tokens: Math.max(LEAST_OUTPUT, maxOutputTokens), temperature });
}

/** Reads a response; throws the error of a failed one. */
export function readResponse(body: unknown): TextModelAnswer {
  throwReported(body);
  const { output, incomplete_details: incomplete, usage } = objectOf(body);
  const items = objectsIn(output);
  const parts = items.filter(({ type }) => type === "message").flatMap(({ content }) => objectsIn(content));
  const text = parts.map((part) => (part.type === "output_text" ? textOf(part.text) : "")).join("");
  const refusal = parts.map((part) => (part.type === "refusal" ? textOf(part.refusal) : "")).join("");
  if (refusal !== "") return answerOf(text || refusal, "refusal", usage);
  const reason = objectOf(incomplete).reason;
  if (reason === "max_output_tokens") return answerOf(text, "length", usage);
  if (reason === "content_filter") return answerOf(text, "refusal", usage);
  const calls = items.some(({ type }) => textOf(type).endsWith("_call"));
  return answerOf(text, calls || parts.length === 0 ? "other" : "end", usage);
}

/** Models behind plain servers think aloud before they answer. */
const THINKING = /^\s*<think(?:ing)?>[\s\S]*?(?:<\/think(?:ing)?>\s*|$)/;

/** An answer in common terms; thinking that opens the text is no part of it. */
export function answerOf(text: string, stop: TextModelAnswer["stop"], usage: unknown): TextModelAnswer {
  const spoken = text.replace(THINKING, "");
  return { text: spoken, stop, usage: usage ?? undefined };
}

/** Why a model stopped, in common terms; `other` for a word that `known` does not hold. */
function stopOf(
  known: Readonly<Record<string, TextModelAnswer["stop"]>>,
  word: unknown,
): TextModelAnswer["stop"] {
  const reason = textOf(word);
  return (Object.hasOwn(known, reason) ? known[reason] : undefined) ?? "other";
}

/** Throws what a server reports in the body of an answer that it calls a success. */
function throwReported(body: unknown): void {
  const { error, status } = objectOf(body);
  if (error === undefined || error === null) return;
  const said = typeof error === "string" ? error : textOf(objectOf(error).message);
  throw Object.assign(
    new Error(said === "" ? `The model answered with an error (${status ?? "none named"}).` : said),
    {
      error,
    },
  );
}

/** Hands a usage record on once: it speaks of the call before only, and hosts keep it with the message. */
export function createUsageOnce(): (usage: unknown) => unknown {
  const seen = new WeakSet<object>();
  return (usage) => {
    if (typeof usage !== "object" || usage === null || seen.has(usage)) return undefined;
    seen.add(usage);
    return usage;
  };
}
