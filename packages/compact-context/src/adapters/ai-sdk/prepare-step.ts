import { requireOptions } from "../../errors.ts";
import { createHostPreflight, type HostManager, type HostOptions } from "../../host.ts";
import { describedTool, objectOf, wordsOf } from "../../providers/request.ts";

export interface PrepareStepOptions extends HostOptions {
  readonly manager: HostManager;
  /** The conversation that the messages belong to. */
  readonly sessionId: string;
  /** The system prompt, for counting: AI SDK 6 does not pass it to `prepareStep`; 7 does. */
  readonly system?: string;
  /** The tools of the call, for counting their schemas: neither version passes them. */
  readonly tools?: Readonly<Record<string, unknown>> | undefined;
  /** The call's own limit, to reserve room for the answer: neither version passes it. */
  readonly maxOutputTokens?: number | undefined;
}

/** The fields of `prepareStep`'s argument that are used. */
export interface Step<Message> {
  readonly messages: Message[];
  readonly steps: readonly { readonly usage?: unknown }[];
  /** AI SDK 7: text, or system messages. */
  readonly instructions?: unknown;
}

/** Undefined if the step continues unchanged. */
export type PrepareStep = <Message>(step: Step<Message>) => Promise<{ messages: Message[] } | undefined>;

/**
 * For `prepareStep` of `generateText`, `streamText` and agents: the model gets the compacted list. The result
 * is the same whether each step passes the raw list (AI SDK 6) or continues ours (7). Rejects with
 * `InsufficientBudget` if what must stay does not fit.
 */
export function compactPrepareStep(options: PrepareStepOptions): PrepareStep {
  requireOptions(options, "options", "Pass { manager: new CompactManager(), sessionId }.");
  const { manager, sessionId, maxOutputTokens } = options;
  const preflight = createHostPreflight(manager, options);
  const tools = toolList(options.tools);
  return async (step) => {
    const system = options.system || wordsOf(step.instructions);
    const usage = step.steps.at(-1)?.usage;
    const messages = await preflight({
      sessionId,
      messages: step.messages,
      request: { format: "ai-sdk", tools, system: system || undefined, maxOutputTokens, usage },
    });
    return messages === step.messages ? undefined : { messages: [...messages] };
  };
}

/** A tool set as a list that can be counted. */
export function toolList(tools: Readonly<Record<string, unknown>> | undefined): object[] {
  return Object.entries(tools ?? {}).map(([name, tool]) => {
    const { description, inputSchema, parameters } = objectOf(tool);
    return describedTool(name, description, inputSchema ?? parameters);
  });
}
