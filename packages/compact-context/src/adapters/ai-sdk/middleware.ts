import { createLruMap } from "../../errors.ts";
import { type FailedCall, fitHarder, type HostCall, hostPreflight, type ManagedOptions } from "../../host.ts";
import { describedTool, objectOf, positiveOf, textOf, wordsOf } from "../../providers/request.ts";
import { readBeginning, streamOf, wholeOf } from "../../wire/streamed.ts";

export interface LanguageModelMiddlewareOptions extends ManagedOptions {
  /** The conversation of the prompt; a function of the call if one model serves several. */
  readonly sessionId: string | ((params: CallParams) => string | Promise<string>);
}

/** The call options of a language model that are used. */
export interface CallParams {
  readonly prompt: readonly unknown[];
  readonly tools?: readonly unknown[] | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly abortSignal?: AbortSignal | undefined;
  readonly providerOptions?: unknown;
}

/** Fits `wrapLanguageModel` of AI SDK 6 and 7. */
export interface CompactLanguageModelMiddleware {
  /** The SDKs declare their own version here and never read it; `never` fits both. */
  readonly specificationVersion: never;
  transformParams<Params extends { prompt: unknown[] }>(options: { params: Params }): Promise<Params>;
  wrapGenerate<Result>(options: Wrapped & { doGenerate(): PromiseLike<Result> }): Promise<Result>;
  wrapStream<Result extends object>(options: Wrapped & { doStream(): PromiseLike<Result> }): Promise<Result>;
}

/** A call that is made, with its model. */
interface Wrapped {
  params: object;
  model?: object;
}

/** A call and the list that was sent for it. */
type Made = Omit<FailedCall<unknown>, "error">;

/** Sessions whose latest usage is kept for their next call; the oldest is evicted first. */
const MAX_SESSIONS = 256;

/**
 * Language model middleware that compacts the prompt of every call; the host's own messages stay unchanged.
 * `wrapGenerate` and `wrapStream` learn from the provider's usage, and compact harder once if the provider
 * rejects a request as too long, a stream's first part included. Rejects with `InsufficientBudget` if what must stay does not fit.
 */
export function compactLanguageModelMiddleware(
  options: LanguageModelMiddlewareOptions,
): CompactLanguageModelMiddleware {
  const preflight = hostPreflight(options, { sessionId: true });
  const made = new WeakMap<object, Made>();
  const reported = createLruMap<unknown>(MAX_SESSIONS);
  const note = (params: object, usage: unknown): void => {
    const call = made.get(params);
    if (call !== undefined) reported.set(call.sessionId, usage);
  };
  /** The model's answer to a shorter list, if it rejected this one as too long; otherwise throws its error. */
  const sendShorter = async <Result>(
    method: "doGenerate" | "doStream",
    { params, model }: Wrapped,
    error: unknown,
  ): Promise<Result> => {
    const call = made.get(params);
    const again = objectOf(model)[method];
    if (call === undefined || typeof again !== "function") throw error;
    const shorter = await fitHarder(options.manager, preflight, { ...call, error });
    return Reflect.apply(again, model, [{ ...params, prompt: shorter.map(inParts) }]) as PromiseLike<Result>;
  };
  return {
    specificationVersion: "v4" as never,
    async transformParams({ params }) {
      const call = params as CallParams;
      const sessionId =
        typeof options.sessionId === "function" ? await options.sessionId(call) : options.sessionId;
      const usage = reported.get(sessionId);
      reported.delete(sessionId);
      const { tools = [], abortSignal: signal } = call;
      const maxOutputTokens = positiveOf(call.maxOutputTokens);
      const request = { format: "ai-sdk", tools, maxOutputTokens, signal, usage } as const;
      const asked: HostCall<unknown> = { sessionId, messages: params.prompt, request };
      const prompt = await preflight(asked);
      const sent = prompt === params.prompt ? params : { ...params, prompt: prompt.map(inParts) };
      made.set(sent, { ...asked, sent: prompt });
      return sent;
    },
    async wrapGenerate({ doGenerate, ...call }) {
      const { params } = call;
      type Result = Awaited<ReturnType<typeof doGenerate>>;
      const shorter = (error: unknown): Promise<Result> => sendShorter("doGenerate", call, error);
      const result = await Promise.resolve(doGenerate()).catch(shorter);
      note(params, objectOf(result).usage);
      return result;
    },
    async wrapStream({ doStream, ...call }) {
      const { params } = call;
      type Result = Awaited<ReturnType<typeof doStream>>;
      const shorter = (error: unknown): Promise<Result> => sendShorter("doStream", call, error);
      const result = await Promise.resolve(doStream()).then((first) => orShorter(first, shorter), shorter);
      const heard = new TransformStream<unknown, unknown>({
        transform(part, controller) {
          if (objectOf(part).type === "finish") note(params, objectOf(part).usage);
          controller.enqueue(part);
        },
      });
      return { ...result, stream: partsOf(result).pipeThrough(heard) };
    },
  };
}

function partsOf(result: object): ReadableStream<unknown> {
  return (result as { readonly stream: ReadableStream<unknown> }).stream;
}

/** Parts that come before anything is known of the answer. */
const OPENING = /^(?:stream-start|response-metadata)$/;

/** The same result, part by part; if its stream begins with an error, what `shorter` gives for that. */
async function orShorter<Result extends object>(
  result: Result,
  shorter: (error: unknown) => Promise<Result>,
): Promise<Result> {
  const reader = partsOf(result).getReader();
  const beginning = await readBeginning(reader, (part) => {
    const first = objectOf(part);
    return OPENING.test(textOf(first.type)) ? undefined : first;
  });
  const { type, error } = beginning.told ?? {};
  const other = type === "error" ? await shorter(error).catch(() => undefined) : undefined;
  if (other === undefined) {
    const stream = streamOf(wholeOf(reader, beginning), (reason) => reader.cancel(reason));
    return { ...result, stream };
  }
  reader.cancel().catch(() => undefined);
  return other;
}

/** Prompts hold text as parts; messages may hold it as a string. */
export function inParts(message: unknown): unknown {
  const { role, content } = objectOf(message);
  if (role === "system" || typeof content !== "string") return message;
  return { ...objectOf(message), content: [{ type: "text", text: content }] };
}

// ---- before each step

export interface PrepareStepOptions extends ManagedOptions {
  /** The conversation that the messages belong to. */
  readonly sessionId: string;
  /** The system prompt or messages, for counting: AI SDK 6 does not pass them to `prepareStep`; 7 does. */
  readonly system?: string | object | readonly object[] | undefined;
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
  const own = { sessionId: true, system: true, tools: true, maxOutputTokens: true } as const;
  const preflight = hostPreflight(options, own);
  const { sessionId, maxOutputTokens } = options;
  const tools = toolList(options.tools);
  return async (step) => {
    const system = wordsOf(options.system) || wordsOf(step.instructions);
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
