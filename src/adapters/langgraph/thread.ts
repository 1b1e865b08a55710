import { signalOf, threadOf } from "../langchain/sdk.ts";

/** `configurable.thread_id` of a node's config. */
export const threadIn: (config: unknown) => string | undefined = threadOf;

/** The run's own signal, in a node's config. */
export const signalIn: (config: unknown) => AbortSignal | undefined = signalOf;
