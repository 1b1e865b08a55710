import { type ContextView, contextView, type MemoryView, memoryView } from "../../agent/context-view.ts";
import { compactedText } from "../../agent/event.ts";
import { decode } from "../../codecs/formats.ts";
import type { CompactConfigInput } from "../../config/settings.ts";
import type { SummarizeOptions, Summarizer, Summary } from "../../core/ports.ts";
import type { ManagerState } from "../../core/report.ts";
import type { PreflightRequest } from "../../core/request.ts";
import { CompactManager } from "../../create-manager.ts";
import { errorMessage, requireKnown } from "../../errors.ts";
import { createHostPreflight, HOST_OPTIONS, type HostOptions, type HostPreflight } from "../../host.ts";
import type { ChannelMemory } from "../../memory/index.ts";
import { createUsageOnce } from "../../providers/bodies.ts";
import { objectOf } from "../../providers/request.ts";
import { formatTools, recallTools } from "../../recall/index.ts";
import { builtinSummarizer } from "../../summarizers/extractive/builtin.ts";

/** The part of pi's extension interface that is used; pi 0.73 and newer. */
export interface PiExtensionApi {
  /** pi calls the handler with an event and its context. */
  on(event: string, handler: unknown): void;
  registerCommand(
    name: string,
    /** pi's own context has far more than `PiContext` names. */
    command: { readonly description?: string; handler(args: string, context: never): Promise<void> },
  ): void;
  registerTool(tool: unknown): void;
  getActiveTools(): string[];
  getAllTools(): readonly { readonly name: string }[];
}

/** The context that pi passes to every handler. */
export interface PiContext {
  readonly cwd: string;
  readonly hasUI: boolean;
  readonly ui: {
    notify(message: string, type?: "info" | "warning" | "error"): void;
    setStatus(key: string, text: string | undefined): void;
  };
  readonly sessionManager: { getSessionId(): string };
  readonly model: { readonly id: string; readonly contextWindow: number } | undefined;
  readonly signal: AbortSignal | undefined;
  getSystemPrompt(): string;
}

export interface PiExtensionOptions extends HostOptions {
  /** Default: one manager per model window, with its archive under `.compact/archive` of the project. */
  readonly manager?: CompactManager;
  /** Settings of the managers that are created. */
  readonly config?: CompactConfigInput;
  /** Writes the summary of pi's own `/compact`. The built-in summarizer is the default and the fallback. */
  readonly summarizer?: Summarizer;
  /** Whether the model gets `compact_search` and `compact_expand`. Default: true. */
  readonly recallTools?: boolean;
  /** Memory beyond a session: recalled before each prompt, updated with each answer, and flushed before `/new`. */
  readonly memory?: ChannelMemory;
  /** The folders of that memory, for `/memory`. */
  readonly channelDir?: string;
  readonly workspaceDir?: string;
}

const OPTIONS = {
  ...HOST_OPTIONS,
  config: true,
  summarizer: true,
  recallTools: true,
  memory: true,
  channelDir: true,
  workspaceDir: true,
} as const;

/** Registers a handler; what it throws becomes a notice. */
type On = <Event>(event: string, handle: (event: Event, context: PiContext) => unknown) => void;

/**
 * An extension for pi: every request is compacted (`context`; pi's stored messages stay unchanged), pi's own
 * compaction uses our summary, and it adds the commands `/context`, `/summarize [instruction]` and `/memory
 * [query]`. Handlers never throw: a failure becomes a notice, and the request continues unchanged.
 */
export function compactExtension(options: PiExtensionOptions = {}): (pi: PiExtensionApi) => void {
  requireKnown(options, OPTIONS);
  return (pi) => {
    const requests = createRequests(pi, options);
    const on: On = (name, handle) =>
      pi.on(name, (event: never, context: PiContext) => shielded(context, () => handle(event, context)));
    const command = (
      name: string,
      description: string,
      handle: (args: string, context: PiContext) => unknown,
    ): void =>
      pi.registerCommand(name, {
        description,
        handler: async (args, context: PiContext) =>
          void (await shielded(context, () => handle(args.trim(), context))),
      });
    on("context", requests.compact);
    on("session_before_compact", (event: PiBeforeCompactEvent, context) =>
      summarized(event, context, options.summarizer),
    );
    on("session_shutdown", requests.flush);
    command("context", "How full the context is, and what was compacted", requests.tellContext);
    command(
      "summarize",
      "Summarize older messages now; words after it say what to look after",
      requests.summarize,
    );
    command("memory", "What the memory holds; words after it say what to look for", async (query, context) =>
      context.ui.notify(memoryText(await memoryView(options, query), query)),
    );
    if (options.memory !== undefined) connectMemory(on, options.memory, requests);
    if (options.recallTools !== false) registerRecall(pi, requests.hostFor);
  };
}

// ---- requests

/** The latest request: as stored by pi, and as sent to the model. */
interface NewestRequest {
  readonly sessionId: string;
  readonly messages: readonly unknown[];
  readonly sent: readonly unknown[];
}

type Requests = ReturnType<typeof createRequests>;

function createRequests(pi: PiExtensionApi, options: PiExtensionOptions) {
  const hosts = createHosts(options, (text) => current?.ui.notify(text));
  const once = createUsageOnce();
  let newest: NewestRequest | undefined;
  let current: PiContext | undefined;
  return {
    ...hosts,
    newest: () => newest,
    /** Answers pi's `context` event. */
    async compact({ messages }: { readonly messages: unknown[] }, context: PiContext) {
      current = context;
      const sessionId = context.sessionManager.getSessionId();
      newest = { sessionId, messages, sent: messages };
      const { manager, preflight } = hosts.hostFor(context);
      const request = { ...requestOf(pi, context), usage: once(newestUsage(messages)) };
      const sent = await preflight({ sessionId, messages, request });
      newest = { sessionId, messages, sent };
      context.ui.setStatus("compact", statusText(manager.getState(sessionId)));
      return sent === messages ? undefined : { messages: [...sent] };
    },
    /** Shows how full the context of the latest request was. */
    tellContext(_args: string, context: PiContext) {
      const sessionId = context.sessionManager.getSessionId();
      if (newest?.sessionId !== sessionId) return context.ui.notify("Nothing has been sent yet.");
      const { system = "", tools = [] } = requestOf(pi, context);
      const { manager } = hosts.hostFor(context);
      const messages = newest.sent;
      context.ui.notify(
        contextText(contextView({ manager, sessionId, messages, format: "pi", system, tools, recalled: [] })),
      );
    },
    /** Compacts the list of the latest request, regardless of size. */
    async summarize(note: string, context: PiContext) {
      current = context;
      const sessionId = context.sessionManager.getSessionId();
      if (newest?.sessionId !== sessionId) return context.ui.notify("There is nothing to summarize yet.");
      const { manager, preflight } = hosts.hostFor(context);
      const before = manager.getState(sessionId).summaryCount;
      const { messages } = newest;
      const request = { ...requestOf(pi, context), note: note || undefined };
      newest = { ...newest, sent: await preflight({ sessionId, messages, request, force: true }) };
      if (manager.getState(sessionId).summaryCount === before)
        context.ui.notify("There is nothing to summarize: all of it is recent.");
    },
  };
}

function requestOf(pi: PiExtensionApi, context: PiContext): PreflightRequest {
  const active = new Set(pi.getActiveTools());
  return {
    format: "pi",
    system: context.getSystemPrompt(),
    tools: pi.getAllTools().filter(({ name }) => active.has(name)),
    signal: context.signal,
  };
}

/** pi keeps each answer's usage with it. */
function newestUsage(messages: readonly unknown[]): unknown {
  return objectOf(messages.findLast((message) => objectOf(message).role === "assistant")).usage;
}

/** Fallback if pi reports no window; its models always do. */
const WINDOW = 128_000;

function createHosts(options: PiExtensionOptions, announce: (text: string) => void) {
  const { manager: given, config = {} } = options;
  const made = new Map<string, { readonly manager: CompactManager; readonly preflight: HostPreflight }>();
  return {
    /** The given manager, or the one for the model that pi uses now. */
    hostFor({ model, cwd }: PiContext) {
      const window = config.maxContextTokens ?? model?.contextWindow ?? WINDOW;
      const key = given === undefined ? `${model?.id ?? ""} ${window}` : "";
      const known = made.get(key);
      if (known !== undefined) return known;
      const storage = { root: `${cwd}/.compact/archive` };
      const manager =
        given ?? new CompactManager({ model: model?.id, storage, ...config, maxContextTokens: window });
      manager.onCompaction(({ report }) => announce(compactedText(report)));
      const host = { manager, preflight: createHostPreflight(manager, options) };
      made.set(key, host);
      return host;
    },
    flush: () =>
      Promise.all([given, ...Array.from(made.values(), (host) => host.manager)].map((one) => one?.flush())),
  };
}

/** The session is known only when a tool is called. */
function registerRecall(pi: PiExtensionApi, hostFor: Requests["hostFor"]): void {
  const unknown = (): Promise<never> => Promise.reject(new Error("the session is not known yet"));
  const unbound = { sessionId: "", expand: unknown, search: unknown, steps: unknown, restore: unknown };
  for (const shape of formatTools(recallTools({ recall: () => unbound }, ""), "pi")) {
    const execute = async (callId: string, args: unknown, ...[, , context]: ToolRest): Promise<unknown> => {
      const tools = recallTools(hostFor(context).manager, context.sessionManager.getSessionId());
      return formatTools(tools, "pi")
        .find(({ name }) => name === shape.name)
        ?.execute(callId, args);
    };
    pi.registerTool({ ...shape, execute });
  }
}

type ToolRest = readonly [signal: unknown, onUpdate: unknown, context: PiContext];

// ---- pi's own compaction

interface PiBeforeCompactEvent {
  readonly preparation: {
    readonly firstKeptEntryId: string;
    readonly messagesToSummarize: readonly unknown[];
    readonly turnPrefixMessages: readonly unknown[];
    readonly tokensBefore: number;
    readonly previousSummary?: string;
    readonly settings?: { readonly reserveTokens?: number };
  };
  readonly customInstructions?: string;
  readonly signal?: AbortSignal;
}

/** Maximum tokens of the summary that pi's own compaction stores. */
const MAX_SUMMARY_TOKENS = 8192;

/** Undefined for a cancelled compaction. */
async function summarized(
  { preparation, customInstructions, signal }: PiBeforeCompactEvent,
  context: PiContext,
  summarizer: Summarizer = builtinSummarizer,
): Promise<object | undefined> {
  const { messagesToSummarize, turnPrefixMessages, previousSummary, firstKeptEntryId, tokensBefore } =
    preparation;
  const messages = decode([...messagesToSummarize, ...turnPrefixMessages], "pi");
  const asked: SummarizeOptions = {
    maxTokens: Math.min(MAX_SUMMARY_TOKENS, preparation.settings?.reserveTokens ?? MAX_SUMMARY_TOKENS),
    strategy: "task_state",
    previous: previousSummary,
    instruction: customInstructions,
    signal,
  };
  let made: Summary;
  try {
    made = await summarizer.summarize(messages, asked);
  } catch (error) {
    if (signal?.aborted === true) return undefined;
    if (summarizer === builtinSummarizer) throw error;
    tell(context, `the built-in summarizer stepped in: ${errorMessage(error)}`);
    made = await builtinSummarizer.summarize(messages, asked);
  }
  const details = { summarizer: made.summarizer };
  return { compaction: { summary: made.text, firstKeptEntryId, tokensBefore, details } };
}

// ---- memory

function connectMemory(on: On, memory: ChannelMemory, { newest }: Requests): void {
  on("before_agent_start", async ({ prompt }: { readonly prompt: string }) => {
    const { renderedText } = await memory.recall(prompt);
    if (renderedText === "") return undefined;
    return { message: { customType: "compact-memory", content: renderedText, display: false } };
  });
  on("agent_end", ({ messages }: { readonly messages: readonly unknown[] }) => {
    const { sessionId, messages: before = [] } = newest() ?? {};
    memory.afterTurn(decode(joined(before, messages), "pi"), { sessionId });
  });
  on("session_before_switch", async ({ reason }: { readonly reason: "new" | "resume" }) => {
    const list = newest();
    if (reason !== "new" || list === undefined) return;
    await memory.beforeNewSession(decode(list.messages, "pi"), { sessionId: list.sessionId });
  });
  on("session_shutdown", () => memory.close());
}

/**
 * The messages that pi last sent up to the start of the turn, and the turn: pi passes copies, identified by
 * role and time. Its newer line begins the first turn with the system prompt, which it does not send as a
 * message.
 */
function joined(before: readonly unknown[], ended: readonly unknown[]): readonly unknown[] {
  const turn = ended.filter((message) => objectOf(message).role !== "system");
  const [first] = turn;
  const began = before.findLastIndex((message) => keyOf(message) === keyOf(first));
  return [...before.slice(0, began < 0 ? before.length : began), ...turn];
}

function keyOf(message: unknown): string {
  const { role, timestamp } = objectOf(message);
  return timestamp === undefined ? JSON.stringify(message) : `${String(role)} ${String(timestamp)}`;
}

function tell(context: PiContext, error: unknown): void {
  context.ui.notify(`compact: ${errorMessage(error)}`, "warning");
}

/** The result of a handler; an error is shown as a notice, because a handler that throws would end pi's turn. */
async function shielded<T>(context: PiContext, work: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    tell(context, error);
    return undefined;
  }
}

// ---- what is shown

const number = (value: number): string => value.toLocaleString("en-US");
const CELLS = 20;
const LAYER_CELLS = 10;
const LAYERS: Readonly<Record<string, string>> = { toolPairs: "tool pairs" };

function contextText(view: ContextView): string {
  const { tokens, window, untilTrigger, compactions, lastCompaction, archiveSteps, layers, pinned } = view;
  const used = tokens / window;
  const messages = layers.reduce((sum, layer) => (layer.name === "tools" ? sum : sum + layer.messages), 0);
  return [
    `${bar(used, CELLS)} ${number(tokens)} of ${number(window)} tokens (${Math.round(used * 100)} %)`,
    ...layers.filter((layer) => layer.tokens > 0).map((layer) => layerLine(layer, tokens)),
    `${number(messages)} messages are sent; ${number(untilTrigger)} tokens to the next compaction`,
    ...pinned.map((text) => `pinned: ${text}`),
    compactions === 0
      ? "nothing has been summarized"
      : `${compactions} compactions, the newest at ${lastCompaction}; originals in ${archiveSteps} archive steps`,
  ].join("\n");
}

function layerLine({ name, tokens }: ContextView["layers"][number], all: number): string {
  return `${bar(tokens / all, LAYER_CELLS)} ${LAYERS[name] ?? name}: ${number(tokens)}`;
}

function bar(share: number, cells: number): string {
  const filled = Math.min(cells, Math.round(share * cells));
  return `${"█".repeat(filled)}${"░".repeat(cells - filled)}`;
}

/** The output of `/memory`: the state of the work, or the answer to a query. */
function memoryText({ enabled, files, session, found }: MemoryView, query: string): string {
  if (!enabled) return "This session has no memory.";
  if (query !== "") {
    const items = found.map(({ source, title, content }) => `[${source} / ${title}]\n${content}`);
    return items.length === 0 ? `The memory says nothing to "${query}".` : items.join("\n\n");
  }
  const sizes = files.map(({ path, characters }) => `${path}: ${number(characters)} characters`);
  return [
    session
      .replace(/<!--[\s\S]*?-->/g, "")
      .replace(/\n{3,}/g, "\n\n")
      .trim(),
    ...sizes,
  ].join("\n");
}

function statusText({ totalTokens, maxContextTokens, summaryVersion }: ManagerState): string {
  const percent = Math.round((totalTokens / maxContextTokens) * 100);
  return `context ${percent} %${summaryVersion === undefined ? "" : `, summary v${summaryVersion}`}`;
}
