import type { TextModelAnswer, TextModelRequest } from "../core/ports.ts";
import { defined } from "../errors.ts";
import { answerOf, stopOf, throwReported } from "./answer.ts";
import { type Json, objectOf, objectsIn, textOf } from "./json.ts";

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

const STOPS: Readonly<Record<string, TextModelAnswer["stop"]>> = {
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
  return answerOf(text, silent ? "end" : stopOf(STOPS, reason), usage);
}

function partText({ type, text }: Json): string {
  return type === "text" ? textOf(text) : "";
}
