import { countTokens } from "../../compact.ts";
import type { RunningSummary } from "../../core/manager.ts";
import type { TextModel } from "../../core/ports.ts";
import { CompactError, errorMessage } from "../../errors.ts";
import { objectOf } from "../../providers/json.ts";
import {
  type SummarizeMessagesOptions,
  summarizeMessages,
} from "../../running-summary/summarize-messages.ts";
import { REMOVE_ALL, signalOf, threadOf } from "../langchain/sdk.ts";
import type { GraphArchive } from "./archive.ts";
import { type GraphModel, textModelOf } from "./model.ts";
import { createRunnable, type RunnableNode } from "./runnable.ts";

type Passed = Pick<
  SummarizeMessagesOptions,
  | "maxTokens"
  | "maxTokensBeforeSummary"
  | "maxSummaryTokens"
  | "initialSummaryPrompt"
  | "existingSummaryPrompt"
  | "finalPrompt"
  | "deadlineMs"
>;

export interface SummarizationNodeOptions extends Passed {
  /** A chat model of LangChain or a `TextModel`; the built-in summarizer, which needs none, when left out. */
  readonly model?: GraphModel;
  /** Where the messages are read; `messages` when left out. */
  readonly inputMessagesKey?: string;
  /** Where the shortened list goes; `summarized_messages` when left out. The same as the input: the state shrinks. */
  readonly outputMessagesKey?: string;
  /** Counts the graph's own messages; our counter when left out. */
  readonly tokenCounter?: (messages: readonly unknown[]) => number;
  /** Holds every message before a summary takes its place; needed for recall where the state shrinks. */
  readonly archive?: Pick<GraphArchive, "save">;
  /** Names the archive's session; `configurable.thread_id` when left out. */
  readonly sessionId?: string;
  /**
   * What a failure beside the run (the archive, a list that cannot be read) does to it. `continue` (default): the
   * list goes on as it is and `onWarning` is told, unless it is over `maxTokens`. A failing model never does.
   */
  readonly onFailure?: "continue" | "throw";
  /** `console.warn` when left out. */
  readonly onWarning?: (message: string) => void;
  /** In traces and drawings; `summarization` when left out. */
  readonly name?: string;
}

/** Callable with and without `new`. */
export interface SummarizationNodeConstructor {
  new (options: SummarizationNodeOptions): RunnableNode;
  (options: SummarizationNodeOptions): RunnableNode;
}

/**
 * A graph node that keeps a running summary: reads the messages of the state, writes the list for the model, and
 * carries `context.running_summary`, plain JSON, in the state, so that forks and rewinds find their own. Everything
 * it knows is in the state. Throws `InvalidArgument` for limits that contradict each other.
 */
export const SummarizationNode: SummarizationNodeConstructor = function summarizationNode(
  options: SummarizationNodeOptions,
): RunnableNode {
  const settings = { ...options, model: textModelOf(options.model), hasModel: options.model !== undefined };
  return createRunnable(options.name ?? "summarization", (state, config) =>
    summarizeState(state, config, settings),
  );
} as SummarizationNodeConstructor;

type Settings = SummarizationNodeOptions & { readonly model: TextModel; readonly hasModel: boolean };

async function summarizeState(state: object, config: unknown, options: Settings): Promise<object> {
  const { inputMessagesKey = "messages", outputMessagesKey = "summarized_messages" } = options;
  const values = objectOf(state);
  const messages = values[inputMessagesKey];
  if (!Array.isArray(messages)) {
    throw new CompactError("InvalidArgument", `the state holds no list of messages in ${inputMessagesKey}`, {
      place: inputMessagesKey,
      hint: "Set inputMessagesKey to the key that does.",
    });
  }
  const context = objectOf(values.context);
  const running = readRunning(context.running_summary);
  const made = await attempt(messages, running, { config, options });
  const rewrites = inputMessagesKey === outputMessagesKey;
  if (rewrites && made.messages === messages) return {};
  const list = made.messages === messages ? messages : made.messages;
  const output = { [outputMessagesKey]: rewrites ? [REMOVE_ALL, ...list] : list };
  return made.running === undefined
    ? output
    : { ...output, context: { ...context, running_summary: made.running } };
}

interface Made {
  readonly messages: readonly unknown[];
  readonly running: RunningSummary | undefined;
}

async function attempt(
  messages: readonly unknown[],
  running: RunningSummary | undefined,
  { config, options }: { readonly config: unknown; readonly options: Settings },
): Promise<Made> {
  const warn = options.onWarning ?? ((message: string) => console.warn(`[compact] ${message}`));
  const signal = signalOf(config);
  try {
    const result = await summarizeMessages(messages, {
      ...options,
      format: "langchain",
      runningSummary: running,
      onFailure: (error) => {
        if (options.hasModel) warn(`the built-in summarizer stepped in: ${errorMessage(error)}`);
      },
      countTokens: options.tokenCounter,
      signal,
    });
    const made = { messages: result.messages, running: result.runningSummary };
    await save(replacedBy(made, messages, running), config, options);
    return made;
  } catch (error) {
    if (options.onFailure === "throw" || signal?.aborted === true || isTheCallers(error)) throw error;
    if (tokensOf(messages, options) > options.maxTokens) throw overLimit(error);
    warn(`the messages were passed on as they are: ${errorMessage(error)}`);
    return { messages, running };
  }
}

/** The messages that a new summary stands for and no earlier one did. */
function replacedBy(
  made: Made,
  messages: readonly unknown[],
  before: RunningSummary | undefined,
): readonly unknown[] {
  if (made.running === before) return [];
  const earlier = new Set(before?.summarizedMessageIds);
  const now = new Set(made.running?.summarizedMessageIds.filter((id) => !earlier.has(id)));
  return messages.filter((message) => now.has(String(objectOf(message).id)));
}

async function save(messages: readonly unknown[], config: unknown, options: Settings): Promise<void> {
  if (options.archive === undefined || messages.length === 0) return;
  const sessionId = options.sessionId ?? threadOf(config);
  if (sessionId === undefined) {
    throw new CompactError("InvalidArgument", "the archive needs a name for the conversation", {
      place: "options.sessionId",
      hint: "Pass sessionId, or invoke the graph with configurable.thread_id.",
    });
  }
  await options.archive.save(sessionId, messages);
}

/** What only the caller can mend: limits that contradict each other, a list that does not fit. */
function isTheCallers(error: unknown): boolean {
  return CompactError.isInstance(error) && /^Invalid(Argument|Config)$|^InsufficientBudget$/.test(error.code);
}

function tokensOf(messages: readonly unknown[], options: Settings): number {
  try {
    return options.tokenCounter?.(messages) ?? countTokens(messages, { format: "langchain" }).tokens;
  } catch {
    return 0;
  }
}

function overLimit(error: unknown): CompactError {
  if (CompactError.isInstance(error) && error.hint !== "") return error;
  return new CompactError(
    "InsufficientBudget",
    `the messages could not be summarized: ${errorMessage(error)}`,
    {
      hint: "Mend what failed (see cause) and invoke the graph again: nothing was dropped.",
      cause: error,
    },
  );
}

/** What the state holds; Sets that another writer put there become lists. */
function readRunning(value: unknown): RunningSummary | undefined {
  const { summary, summarizedMessageIds, lastSummarizedMessageId } = objectOf(value);
  if (typeof summary !== "string") return undefined;
  const isList = Array.isArray(summarizedMessageIds) || summarizedMessageIds instanceof Set;
  const ids: unknown[] = isList ? [...(summarizedMessageIds as Iterable<unknown>)] : [];
  return {
    summary,
    summarizedMessageIds: ids.map(String),
    lastSummarizedMessageId:
      typeof lastSummarizedMessageId === "string" ? lastSummarizedMessageId : undefined,
  };
}
