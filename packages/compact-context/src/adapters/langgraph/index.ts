import { decode } from "../../codecs/formats.ts";
import { type Message, toolCalls } from "../../core/message.ts";
import type { StorageDriver, TextModel } from "../../core/ports.ts";
import type { RunningSummary } from "../../core/report.ts";
import { type Fields, requireFields } from "../../core/request.ts";
import { CompactError, errorMessage, requireKnown } from "../../errors.ts";
import type { MemoryFlushHook } from "../../flush/flush.ts";
import { objectOf } from "../../providers/request.ts";
import { createRecall } from "../../recall/recall.ts";
import { type RecallSource, type RecallToolsOptions, recallTools } from "../../recall/tools.ts";
import { createRedactor } from "../../redaction/redactor.ts";
import { type Archive, createArchive } from "../../search/archive.ts";
import {
  handOn,
  RUNNING_OPTIONS,
  RunningCompactor,
  type RunningOptions,
  type RunningView,
} from "../../summarize-messages.ts";
import {
  type LangChainChatModel,
  type LangChainSettings,
  textModelFromLangChain,
} from "../langchain/index.ts";
import { REMOVE_ALL, signalOf, threadOf } from "../langchain/sdk.ts";

type Running = Omit<RunningOptions, "model" | "countTokens" | "format" | "fallback">;

export interface SummarizationNodeOptions extends Running {
  /** A LangChain chat model or a `TextModel`. Default: the built-in summarizer, which needs no model. */
  readonly model?: GraphModel;
  /** State key of the messages. Default: `messages`. */
  readonly inputMessagesKey?: string;
  /** State key of the shortened list. Default: `summarized_messages`. If equal to the input key, the state shrinks. */
  readonly outputMessagesKey?: string;
  /**
   * Counts the graph's own messages, one at a time, such as LangChain's `countTokensApproximately`. Default:
   * our counter.
   */
  tokenCounter?(messages: unknown[]): number | Promise<number>;
  /** Stores every message, redacted, before a summary replaces it; required for recall if the state shrinks. */
  readonly storage?: StorageDriver;
  /**
   * Called with the messages covered by a new summary, redacted, before they are removed from the state. Not
   * awaited; its errors go to `onWarning`.
   */
  readonly memoryFlushHook?: MemoryFlushHook;
  /** Session id for archive and hook. Default: `configurable.thread_id`. */
  readonly sessionId?: string;
  /**
   * Effect of a failure outside the run itself (the archive, an unreadable list). `continue` (default): the
   * list stays unchanged and `onWarning` is called, unless it exceeds `maxTokens`. A failing model never
   * fails the run.
   */
  readonly onFailure?: "continue" | "throw";
  /** Default: `console.warn`. */
  readonly onWarning?: (message: string) => void;
  /** Name in traces and drawings. Default: `summarization`. */
  readonly name?: string;
}

const { countTokens: _, format: __, fallback: ___, ...SHARED } = RUNNING_OPTIONS;
const OPTIONS: Fields<SummarizationNodeOptions> = {
  ...SHARED,
  // A chat model of LangChain may be a function that makes one.
  model: "unchecked",
  inputMessagesKey: "text",
  outputMessagesKey: "text",
  tokenCounter: "function",
  storage: "object",
  memoryFlushHook: "function",
  sessionId: "text",
  onFailure: ["continue", "throw"],
  onWarning: "function",
  name: "text",
};

/** A node that finds messages replaced by its summaries: the `source` of `createRecallNode` and `recallTools`. */
type SummarizingNode = RunnableNode & RecallSource;

/** Callable with and without `new`. */
interface SummarizationNodeConstructor {
  new (options: SummarizationNodeOptions): SummarizingNode;
  (options: SummarizationNodeOptions): SummarizingNode;
}

/**
 * A graph node that keeps a running summary: reads the messages of the state, writes the list for the model,
 * and stores `context.running_summary`, plain JSON, in the state, so that forks and rewinds use their own.
 * All its data is in the state. Throws `InvalidArgument` for unknown or contradictory options.
 */
export const SummarizationNode: SummarizationNodeConstructor = function summarizationNode(
  options: SummarizationNodeOptions,
): SummarizingNode {
  requireFields(options, OPTIONS, "options", "Pass options such as { model, maxTokens: 4000 }.");
  const say = options.onWarning ?? ((message: string) => console.warn(`[compact] ${message}`));
  const warn = (message: string): void => {
    (async () => say(message))().catch(() => undefined);
  };
  const model: TextModel | undefined = options.model && textModelOf(options.model);
  const countTokens = options.tokenCounter;
  const compactor = new RunningCompactor({ ...options, model, countTokens, format: "langchain" });
  const archive = options.storage && createArchive(options.storage, { redact: createRedactor(), warn });
  const node: Node = { options, compactor, archive, warn };
  const runnable = createRunnable(options.name ?? "summarization", (state, config) =>
    summarizeState(state, config, node),
  );
  return Object.assign(runnable, {
    recall: (sessionId: string) => createRecall({ sessionId, archive: async () => archive ?? noStorage() }),
  });
} as SummarizationNodeConstructor;

interface Node {
  readonly options: SummarizationNodeOptions;
  readonly compactor: RunningCompactor;
  readonly archive: Archive | undefined;
  warn(message: string): void;
}

async function summarizeState(state: object, config: unknown, node: Node): Promise<object> {
  const { inputMessagesKey = "messages", outputMessagesKey = "summarized_messages" } = node.options;
  const values = objectOf(state);
  const messages = values[inputMessagesKey];
  if (!Array.isArray(messages)) {
    throw new CompactError("InvalidArgument", `the state holds no list of messages in ${inputMessagesKey}`, {
      place: inputMessagesKey,
      hint: "Set inputMessagesKey to the key that does.",
    });
  }
  const context = objectOf(values.context);
  const { running, write } = readRunning(context.running_summary);
  const made = await summarized(messages, running, { node, config });
  const rewrites = inputMessagesKey === outputMessagesKey;
  if (rewrites && made.messages === messages) return {};
  const output = { [outputMessagesKey]: rewrites ? [REMOVE_ALL, ...made.messages] : made.messages };
  return made.runningSummary === undefined
    ? output
    : { ...output, context: { ...context, running_summary: write(made.runningSummary) } };
}

async function summarized(
  messages: readonly unknown[],
  running: RunningSummary | undefined,
  { node, config }: { readonly node: Node; readonly config: unknown },
): Promise<Pick<RunningView, "messages" | "runningSummary">> {
  const { options, compactor, warn } = node;
  const signal = signalOf(config);
  let view: RunningView | undefined;
  try {
    view = await compactor.look(messages, running);
    const made = await compactor.summarize(view, {
      signal,
      onFailure: (error) => warn(`the built-in summarizer stepped in: ${errorMessage(error)}`),
    });
    await save(made.summarized, config, node);
    handOn(made.summarized, {
      memoryFlushHook: options.memoryFlushHook,
      sessionId: options.sessionId ?? threadOf(config) ?? "",
      onFailure: (error) => warn(`the memory flush hook failed: ${errorMessage(error)}`),
    });
    return made;
  } catch (error) {
    if (options.onFailure === "throw" || signal?.aborted === true || isTheCallers(error)) throw error;
    if (view !== undefined && view.tokens > options.maxTokens) throw overLimit(error);
    warn(`the messages were passed on as they are: ${errorMessage(error)}`);
    return view ?? { messages: messages as unknown[], runningSummary: running };
  }
}

/** The session; throws `InvalidArgument` with this problem if it has no name. */
function namedSession(given: string | undefined, config: unknown, problem: string): string {
  const id = given ?? threadOf(config);
  if (id !== undefined) return id;
  throw new CompactError("InvalidArgument", problem, {
    place: "options.sessionId",
    hint: "Pass sessionId, or invoke the graph with configurable.thread_id.",
  });
}

async function save(
  messages: readonly Message[],
  config: unknown,
  { options, archive }: Node,
): Promise<void> {
  if (archive === undefined || messages.length === 0) return;
  const sessionId = namedSession(options.sessionId, config, "the archive needs a name for the conversation");
  const newest = (await archive.steps(sessionId)).at(-1) ?? 0;
  const natives = messages.map(({ native }) => native);
  await archive.saveTranscript(sessionId, newest + 1, decode(natives, "langchain"));
}

function noStorage(): never {
  throw new CompactError("InvalidArgument", "the node keeps nothing that could be recalled", {
    place: "options.storage",
    hint: "Pass SummarizationNode a storage, such as createFsDriver({ root }).",
  });
}

/** Errors that only the caller can fix: wrong options, a list that does not fit. */
function isTheCallers(error: unknown): boolean {
  return CompactError.isInstance(error) && /^Invalid(Argument|Config)$|^InsufficientBudget$/.test(error.code);
}

function overLimit(error: unknown): CompactError {
  if (CompactError.isInstance(error) && error.hint !== "") return error;
  const message = `the messages could not be summarized: ${errorMessage(error)}`;
  const hint = "Fix what failed (see cause) and invoke the graph again: nothing was dropped.";
  return new CompactError("InsufficientBudget", message, { hint, cause: error });
}

/** The state's content, under our names or those of Python's langmem, and how to write it under the same names. */
function readRunning(value: unknown): {
  readonly running: RunningSummary | undefined;
  write(running: RunningSummary): object;
} {
  const held = objectOf(value);
  const { summary } = held;
  const isPython = "summarized_message_ids" in held && !("summarizedMessageIds" in held);
  const write = (running: RunningSummary): object => (isPython ? pythonWords(running) : running);
  if (typeof summary !== "string") return { running: undefined, write };
  const ids = isPython ? held.summarized_message_ids : held.summarizedMessageIds;
  const last = isPython ? held.last_summarized_message_id : held.lastSummarizedMessageId;
  // Another writer may have stored a Set there.
  const list: unknown[] = Array.isArray(ids) || ids instanceof Set ? [...(ids as Iterable<unknown>)] : [];
  const running = {
    summary,
    summarizedMessageIds: list.map(String),
    lastSummarizedMessageId: typeof last === "string" ? last : undefined,
  };
  return { running, write };
}

function pythonWords(running: RunningSummary): object {
  const { summary, summarizedMessageIds: ids, lastSummarizedMessageId: last = null } = running;
  return { summary, summarized_message_ids: ids, last_summarized_message_id: last };
}

/** A chat model, a function that makes one with given limits, or any other text model. */
export type GraphModel =
  | TextModel
  | LangChainChatModel
  | ((settings: LangChainSettings) => LangChainChatModel);

/** LangGraph's tag for models whose output is not part of the answer: it is excluded from `messages` streams. */
const NO_STREAM = { tags: ["langsmith:nostream"] };

function textModelOf(model: GraphModel): TextModel {
  if (typeof model === "function" || (typeof model === "object" && "invoke" in model))
    return textModelFromLangChain(model, { callOptions: NO_STREAM });
  return model;
}

// ---- recall

export interface RecallNodeOptions extends RecallToolsOptions {
  /** A `SummarizationNode` with a `storage`, or a `CompactManager`. */
  readonly source: RecallSource;
  /** Default: `messages`. */
  readonly messagesKey?: string;
  /** Default: `configurable.thread_id`. */
  readonly sessionId?: string;
  readonly name?: string;
}

const RECALL_OPTIONS = {
  source: true,
  messagesKey: true,
  sessionId: true,
  name: true,
  maxTokens: true,
  countText: true,
  compact: true,
} as const;

/**
 * A tool node that answers the latest message's calls of `compact_search` and `compact_expand`; calls of
 * other tools are left to their own nodes. One node serves all threads.
 */
export function createRecallNode(options: RecallNodeOptions): RunnableNode {
  requireKnown(options, RECALL_OPTIONS, "Pass { source }, such as a SummarizationNode with a storage.");
  const { source, messagesKey = "messages", name = "recall", sessionId, ...limits } = options;
  return createRunnable(name, async (state, config) => {
    const messages = objectOf(state)[messagesKey];
    const newest = Array.isArray(messages) ? decode(messages.slice(-1), "langchain") : [];
    const session = namedSession(sessionId, config, "nobody says whose messages are recalled");
    const tools = recallTools(source, session, limits);
    const answers = newest.flatMap(toolCalls).map(async ({ id, name, arguments: args }) => {
      const content = await tools.find((tool) => tool.name === name)?.execute(args);
      return content === undefined ? [] : [{ role: "tool", tool_call_id: id, name, content }];
    });
    return { [messagesKey]: (await Promise.all(answers)).flat() };
  });
}

// ---- a node

type Work = (state: object, config?: unknown) => Promise<object>;

/**
 * A LangGraph node: a function that is also a LangChain `Runnable`, usable either way in graphs, sequences
 * and code. Does not depend on LangChain.
 */
interface RunnableNode {
  <State extends object>(state: State, config?: unknown): Promise<Partial<State>>;
  readonly lc_runnable: true;
  readonly lc_serializable: false;
  readonly lc_namespace: string[];
  invoke<State extends object>(state: State, config?: unknown): Promise<Partial<State>>;
  /** Runs all at once; `config`: one for all, or one per input. */
  batch<State extends object>(states: readonly State[], config?: unknown): Promise<Partial<State>[]>;
  /** One chunk: the whole update. */
  stream<State extends object>(state: State, config?: unknown): Promise<ReadableStream<Partial<State>>>;
  transform<State extends object>(
    states: AsyncIterable<State>,
    config?: unknown,
  ): AsyncGenerator<Partial<State>>;
  /** The other runnable's result for this one's update. */
  pipe(next: PipedTo): RunnableNode;
  withConfig(config: object): RunnableNode;
  getName(suffix?: string): string;
}

/** A next step: a function, or an object with `invoke`. */
type PipedTo =
  | ((input: never, config?: never) => unknown)
  | { invoke(input: never, config?: never): unknown };

function createRunnable(name: string, work: Work): RunnableNode {
  const node = Object.assign((state: object, config?: unknown) => work(state, config), {
    lc_runnable: true as const,
    lc_serializable: false as const,
    lc_namespace: ["compact_context", "langgraph"],
    invoke: work,
    batch: (states: readonly object[], config?: unknown) =>
      Promise.all(states.map((state, index) => work(state, Array.isArray(config) ? config[index] : config))),
    async stream(state: object, config?: unknown): Promise<ReadableStream<object>> {
      const update = await work(state, config);
      return new ReadableStream({
        start(controller) {
          controller.enqueue(update);
          controller.close();
        },
      });
    },
    async *transform(states: AsyncIterable<object>, config?: unknown): AsyncGenerator<object> {
      let whole: object = {};
      for await (const state of states) whole = { ...whole, ...state };
      yield await work(whole, config);
    },
    pipe: (next: PipedTo): RunnableNode => createRunnable(name, after(work, next)),
    withConfig: (bound: object): RunnableNode =>
      createRunnable(name, (state, config) =>
        work(state, { ...bound, ...(typeof config === "object" ? config : undefined) }),
      ),
    getName: (suffix?: string): string => (suffix === undefined ? name : `${name}${suffix}`),
  });
  Object.defineProperty(node, "name", { value: name });
  return node as unknown as RunnableNode;
}

function after(invoke: Work, next: PipedTo): Work {
  const run = (typeof next === "function" ? next : next.invoke.bind(next)) as unknown as Work;
  return async (state, config) => run(await invoke(state, config), config);
}
