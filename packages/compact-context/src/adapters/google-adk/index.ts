import { hostPreflight, type ManagedOptions } from "../../host.ts";
import { createUsageOnce } from "../../providers/bodies.ts";
import { objectOf, objectsIn, positiveOf, wordsOf } from "../../providers/request.ts";

export interface BeforeModelOptions extends ManagedOptions {
  /** Default: the session's id with the agent's name, because agents of one session have separate lists. */
  readonly sessionId?: string;
}

/** The fields of the callback's argument that are used. */
interface ModelCall {
  readonly context: {
    readonly sessionId: string;
    readonly agentName: string;
    readonly invocationContext?: unknown;
  };
  readonly request: { contents: unknown[]; readonly config?: unknown };
}

/**
 * For `beforeModelCallback` of an `LlmAgent`: the model gets the compacted contents, the session keeps every
 * event. Rejects with `InsufficientBudget` if what must stay does not fit.
 */
export function compactBeforeModel(options: BeforeModelOptions): (call: ModelCall) => Promise<undefined> {
  const preflight = hostPreflight(options, { sessionId: true });
  const once = createUsageOnce();
  return async ({ context, request }) => {
    const { systemInstruction, tools, maxOutputTokens, abortSignal } = objectOf(request.config);
    const messages = await preflight({
      sessionId: options.sessionId ?? `${context.sessionId}:${context.agentName}`,
      messages: request.contents,
      request: {
        format: "gemini",
        system: wordsOf(systemInstruction) || undefined,
        tools: Array.isArray(tools) ? tools : [],
        maxOutputTokens: positiveOf(maxOutputTokens),
        signal: abortSignal instanceof AbortSignal ? abortSignal : undefined,
        usage: once(newestUsage(context.invocationContext)),
      },
    });
    request.contents = [...messages];
  };
}

/** Events carry the usage of the call that produced them. */
function newestUsage(invocation: unknown): unknown {
  const { events } = objectOf(objectOf(invocation).session);
  return objectsIn(events).findLast(({ usageMetadata }) => usageMetadata !== undefined)?.usageMetadata;
}
