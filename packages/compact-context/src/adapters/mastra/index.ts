import { CompactError } from "../../errors.ts";
import { hostPreflight, type ManagedOptions } from "../../host.ts";
import { objectOf } from "../../providers/request.ts";
import { inParts, toolList } from "../ai-sdk/middleware.ts";

export interface MastraProcessorOptions extends ManagedOptions {
  /** The conversation of the messages. Default: the thread of the agent's memory. */
  readonly sessionId?: string;
}

/** The fields of both hooks' argument that are used. */
interface MastraStep {
  /** State of this processor and request, shared between the hooks. */
  readonly state: Record<string, unknown>;
  readonly requestContext?: unknown;
  readonly abortSignal?: AbortSignal | undefined;
}

/** Fits `inputProcessors` of an `Agent` of `@mastra/core`. */
export interface CompactProcessor {
  readonly id: "compact";
  processInputStep(
    step: MastraStep & { readonly tools?: unknown; readonly modelSettings?: unknown },
  ): undefined;
  processLLMRequest<Message>(
    step: MastraStep & { readonly prompt: Message[]; readonly steps: readonly unknown[] },
  ): Promise<{ prompt: Message[] } | undefined>;
}

/**
 * A processor that compacts the list sent to the model, before every call (`processLLMRequest`): the agent's
 * message list and its memory keep every message. `processInputStep` is where Mastra reports the tools;
 * changes made there would be stored. Rejects with `InsufficientBudget` if what must stay does not fit.
 */
export function compactProcessor(options: MastraProcessorOptions): CompactProcessor {
  const preflight = hostPreflight(options, { sessionId: true });
  return {
    id: "compact",
    processInputStep({ state, tools, modelSettings }) {
      const { maxOutputTokens } = objectOf(modelSettings);
      Object.assign(state, { tools: toolList(objectOf(tools)), maxOutputTokens });
    },
    async processLLMRequest({ prompt, state, steps, requestContext, abortSignal }) {
      const { tools, maxOutputTokens } = state as { tools?: object[]; maxOutputTokens?: number };
      const { usage } = objectOf(steps.at(-1));
      const messages = await preflight({
        sessionId: options.sessionId ?? threadOf(requestContext),
        messages: prompt,
        request: { format: "ai-sdk", tools, maxOutputTokens, usage, signal: abortSignal },
      });
      return messages === prompt ? undefined : { prompt: messages.map(inParts) as typeof prompt };
    },
  };
}

/** The thread of the agent's memory, which Mastra adds to the request's context. */
function threadOf(requestContext: unknown): string {
  const context = requestContext as { get?(key: string): unknown } | undefined;
  const { id } = objectOf(objectOf(context?.get?.("MastraMemory")).thread);
  if (typeof id === "string") return id;
  throw new CompactError("InvalidArgument", "the conversation has no name", {
    place: "options.sessionId",
    hint: "Pass sessionId, or call the agent with memory: { thread, resource }.",
  });
}
