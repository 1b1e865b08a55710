import type { TextModelAnswer, TextModelRequest } from "../core/ports.ts";
import { defined } from "../errors.ts";
import { answerOf, stopOf, throwReported } from "./answer.ts";
import { type Json, objectOf, objectsIn, textOf } from "./json.ts";

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

const STOPS: Readonly<Record<string, TextModelAnswer["stop"]>> = {
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
  const stop = stopOf(STOPS, reason);
  return answerOf(stop === "refusal" ? text || textOf(objectOf(details).explanation) : text, stop, usage);
}
