import { describedTool, objectOf, positiveOf } from "../../providers/request.ts";

/** The parts of LangChain that the adapter uses, typed structurally: LangChain is never imported. */

/** The argument of `wrapModelCall`. */
export interface ModelCall {
  readonly messages: unknown[];
  readonly systemMessage?: unknown;
  readonly systemPrompt?: unknown;
  readonly tools?: unknown;
  readonly model?: unknown;
  readonly modelSettings?: unknown;
  readonly runtime?: unknown;
}

/** Passes a request to the next middleware, and finally to the model. */
export type Handler<Request, Answer> = (request: Request) => Answer | Promise<Answer>;

/** LangGraph's order to remove all messages first, as a plain message. */
export const REMOVE_ALL: object = { type: "remove", id: "__remove_all__" };

/**
 * `configurable.thread_id` of a run, from a node's config or from the middleware's runtime, depending on
 * LangChain's version.
 */
export function threadOf(runtime: unknown): string | undefined {
  const id = objectOf(objectOf(runtime).configurable).thread_id;
  return typeof id === "string" || typeof id === "number" ? String(id) : undefined;
}

/** The run's own signal, from the same places. */
export function signalOf(runtime: unknown): AbortSignal | undefined {
  const { signal } = objectOf(runtime);
  return signal instanceof AbortSignal ? signal : undefined;
}

export function systemOf({ systemMessage, systemPrompt }: ModelCall): string | undefined {
  const { text } = objectOf(systemMessage);
  if (typeof text === "string") return text;
  return typeof systemPrompt === "string" ? systemPrompt : undefined;
}

const LIMITS = ["maxOutputTokens", "maxCompletionTokens", "maxTokens", "max_completion_tokens", "max_tokens"];

/** The answer's limit: of the call, otherwise of the model, under LangChain's names for it. */
export function maxOutputOf({ model, modelSettings }: ModelCall): number | undefined {
  return positiveOf(
    ...[modelSettings, model].flatMap((settings) => LIMITS.map((name) => objectOf(settings)[name])),
  );
}

/** Tools as they are sent to providers: name, description and JSON schema. */
export function toolsOf({ tools }: ModelCall): readonly unknown[] {
  return Array.isArray(tools) ? tools.map(describeTool) : [];
}

function describeTool(tool: unknown): unknown {
  const { name, description, schema } = objectOf(tool);
  return typeof name !== "string" || schema === undefined ? tool : describedTool(name, description, schema);
}
