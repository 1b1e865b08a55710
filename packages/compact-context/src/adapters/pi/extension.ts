import { contextView } from "../../agent/context-view.ts";
import { compactedText } from "../../agent/event.ts";
import { decode } from "../../codecs/formats.ts";
import type { CompactConfigInput } from "../../config/settings.ts";
import type { SummarizeOptions, Summarizer, Summary } from "../../core/ports.ts";
import type { PreflightRequest } from "../../core/usage.ts";
import { CompactManager } from "../../create-manager.ts";
import { errorMessage } from "../../errors.ts";
import { createHostPreflight, type HostOptions, type HostPreflight } from "../../host.ts";
import { createUsageOnce } from "../../providers/bodies.ts";
import { objectOf } from "../../providers/request.ts";
import { formatTools, recallTools } from "../../recall/index.ts";
import { builtinSummarizer } from "../../summarizers/extractive/builtin.ts";
import {
  contextText,
  type NewestList,
  type PiMemoryOptions,
  registerMemory,
  shielded,
  statusText,
  tell,
} from "./memory.ts";
import type { PiBeforeCompactEvent, PiCompaction, PiContext, PiContextEvent, PiExtensionApi } from "./sdk.ts";

export interface PiExtensionOptions extends HostOptions, PiMemoryOptions {
  /** Default: one manager per model window, with its archive under `.compact/archive` of the project. */
  readonly manager?: CompactManager;
  /** Settings of the managers that are created. */
  readonly config?: CompactConfigInput;
  /** Writes the summary of pi's own `/compact`. The built-in summarizer is the default and the fallback. */
  readonly summarizer?: Summarizer;
  /** Whether the model gets `compact_search` and `compact_expand`. Default: true. */
  readonly recallTools?: boolean;
}

/** Maximum tokens of the summary that pi's own compaction stores. */
const MAX_SUMMARY_TOKENS = 8192;

/**
 * An extension for pi: every request is compacted (`context`; pi's stored messages stay unchanged), pi's own
 * compaction uses our summary, and it adds the commands `/context`, `/summarize [instruction]` and `/memory
 * [query]`. Handlers never throw: a failure becomes a notice, and the request continues unchanged.
 */
export function compactExtension(options: PiExtensionOptions = {}): (pi: PiExtensionApi) => void {
  return (pi) => {
    const host = createPiHost(pi, options);
    pi.on("context", (event: PiContextEvent, context: PiContext) => host.compact(event.messages, context));
    pi.on("session_before_compact", (event: PiBeforeCompactEvent, context: PiContext) =>
      shielded(context, () => summarized(event, context, options.summarizer)),
    );
    pi.on("session_shutdown", (_event: unknown, context: PiContext) =>
      shielded(context, () => host.managers.flush()),
    );
    pi.registerCommand("context", {
      description: "How full the context is, and what was compacted",
      handler: (_args, context: PiContext) => shielded(context, () => host.tellContext(context)),
    });
    pi.registerCommand("summarize", {
      description: "Summarize older messages now; words after it say what to look after",
      handler: (args, context: PiContext) => host.summarize(args.trim(), context),
    });
    registerMemory(pi, options, host.newest);
    if (options.recallTools !== false) registerRecall(pi, host.managers);
  };
}

interface NewestRequest {
  readonly sessionId: string;
  /** As stored by pi, and as sent to the model. */
  readonly messages: readonly unknown[];
  readonly sent: readonly unknown[];
}

interface PiHost {
  readonly managers: Managers;
  /** Answers pi's `context` event. */
  compact(messages: unknown[], context: PiContext): Promise<{ messages: unknown[] } | undefined>;
  /** Shows how full the context of the latest request was. */
  tellContext(context: PiContext): void;
  readonly newest: NewestList;
  /** Compacts the list of the latest request, regardless of size. */
  summarize(note: string, context: PiContext): Promise<void>;
}

function createPiHost(pi: PiExtensionApi, options: PiExtensionOptions): PiHost {
  const managers = createManagers(options.manager, options.config ?? {});
  const preflights = new WeakMap<CompactManager, HostPreflight>();
  const once = createUsageOnce();
  let newest: NewestRequest | undefined;
  let current: PiContext | undefined;

  const preflightOf = (manager: CompactManager): HostPreflight => {
    const known = preflights.get(manager);
    if (known !== undefined) return known;
    const made = createHostPreflight(manager, options);
    preflights.set(manager, made);
    manager.onCompaction(({ report }) => current?.ui.notify(compactedText(report)));
    return made;
  };

  return {
    managers,
    async compact(messages, context) {
      current = context;
      const sessionId = context.sessionManager.getSessionId();
      newest = { sessionId, messages, sent: messages };
      try {
        const manager = managers.managerFor(context);
        const request = { ...requestOf(pi, context), usage: once(newestUsage(messages)) };
        const kept = await preflightOf(manager)({ sessionId, messages, request });
        newest = { sessionId, messages, sent: kept };
        context.ui.setStatus("compact", statusText(manager.getState(sessionId)));
        return kept === messages ? undefined : { messages: [...kept] };
      } catch (error) {
        tell(context, error);
        return undefined;
      }
    },
    newest: () => newest,
    tellContext(context) {
      const sessionId = context.sessionManager.getSessionId();
      if (newest?.sessionId !== sessionId) return context.ui.notify("Nothing has been sent yet.");
      const { system = "", tools = [] } = requestOf(pi, context);
      const manager = managers.managerFor(context);
      const input = {
        manager,
        sessionId,
        messages: newest.sent,
        format: "pi" as const,
        system,
        tools,
        recalled: [],
      };
      context.ui.notify(contextText(contextView(input)));
    },
    async summarize(note, context) {
      current = context;
      const sessionId = context.sessionManager.getSessionId();
      if (newest?.sessionId !== sessionId) return context.ui.notify("There is nothing to summarize yet.");
      try {
        const manager = managers.managerFor(context);
        const request = { ...requestOf(pi, context), note: note || undefined };
        const before = manager.getState(sessionId).summaryCount;
        const sent = await preflightOf(manager)({
          sessionId,
          messages: newest.messages,
          request,
          force: true,
        });
        newest = { ...newest, sent };
        if (manager.getState(sessionId).summaryCount === before)
          context.ui.notify("There is nothing to summarize: all of it is recent.");
      } catch (error) {
        tell(context, error);
      }
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

/** The session is known only when a tool is called. */
function registerRecall(pi: PiExtensionApi, { managerFor }: Managers): void {
  const unknown = (): Promise<never> => Promise.reject(new Error("the session is not known yet"));
  const unbound = { sessionId: "", expand: unknown, search: unknown, steps: unknown, restore: unknown };
  for (const shape of formatTools(recallTools({ recall: () => unbound }, ""), "pi")) {
    const execute = async (callId: string, args: unknown, ...[, , context]: ToolRest): Promise<unknown> => {
      const tools = recallTools(managerFor(context), context.sessionManager.getSessionId());
      return formatTools(tools, "pi")
        .find(({ name }) => name === shape.name)
        ?.execute(callId, args);
    };
    pi.registerTool({ ...shape, execute });
  }
}

/** pi's parameters for a tool, after its arguments. */
type ToolRest = readonly [signal: unknown, onUpdate: unknown, context: PiContext];

/** Undefined for a cancelled compaction. */
async function summarized(
  { preparation, customInstructions, signal }: PiBeforeCompactEvent,
  context: PiContext,
  summarizer: Summarizer = builtinSummarizer,
): Promise<PiCompaction | undefined> {
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
  const failed = (error: unknown): void =>
    tell(context, `the built-in summarizer stepped in: ${errorMessage(error)}`);
  const made = await written(summarizer, (one) => one.summarize(messages, asked), { signal, failed });
  if (made === undefined) return undefined;
  const details = { summarizer: made.summarizer };
  return { compaction: { summary: made.text, firstKeptEntryId, tokensBefore, details } };
}

async function written(
  summarizer: Summarizer,
  write: (summarizer: Summarizer) => Promise<Summary>,
  { signal, failed }: { readonly signal: AbortSignal | undefined; failed(error: unknown): void },
): Promise<Summary | undefined> {
  try {
    return await write(summarizer);
  } catch (error) {
    if (signal?.aborted === true) return undefined;
    if (summarizer === builtinSummarizer) throw error;
    failed(error);
    return write(builtinSummarizer);
  }
}

/** pi keeps each answer's usage with it. */
function newestUsage(messages: readonly unknown[]): unknown {
  return objectOf(messages.findLast((message) => objectOf(message).role === "assistant")).usage;
}

/** Fallback if pi reports no window; its models always do. */
const WINDOW = 128_000;

export interface Managers {
  /** The manager for the model that pi uses now. */
  managerFor(context: Pick<PiContext, "model" | "cwd">): CompactManager;
  flush(): Promise<void>;
}

/** The given manager, or a manager created per model window. */
function createManagers(given: CompactManager | undefined, config: CompactConfigInput): Managers {
  const made = new Map<string, CompactManager>();
  const managerFor: Managers["managerFor"] = ({ model, cwd }) => {
    if (given !== undefined) return given;
    const window = config.maxContextTokens ?? model?.contextWindow ?? WINDOW;
    const key = `${model?.id ?? ""} ${window}`;
    const known = made.get(key);
    if (known !== undefined) return known;
    const manager = new CompactManager({
      model: model?.id,
      storage: { root: `${cwd}/.compact/archive` },
      ...config,
      maxContextTokens: window,
    });
    made.set(key, manager);
    return manager;
  };
  return {
    managerFor,
    flush: async (): Promise<void> => {
      await Promise.all(
        [...made.values(), ...(given === undefined ? [] : [given])].map((one) => one.flush()),
      );
    },
  };
}
