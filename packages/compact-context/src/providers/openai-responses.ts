import type { TextModelAnswer, TextModelRequest } from "../core/ports.ts";
import { defined } from "../errors.ts";
import { answerOf, throwReported } from "./answer.ts";
import { type Json, objectOf, objectsIn, textOf } from "./json.ts";

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
