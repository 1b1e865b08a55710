import { mergeConfig } from "../config/layer.ts";
import type { CompactConfig, CompactConfigInput } from "../config/settings.ts";
import { type Message, messageText } from "../core/message.ts";
import type { TextModel } from "../core/ports.ts";
import type { ManagerPorts } from "../create-manager.ts";
import { CompactError, errorMessage, once, requireOptions, requireText } from "../errors.ts";
import { createRedactor } from "../redaction/redactor.ts";
import { type ForgottenIn, itemsOf, type MemoryOperation } from "./changes/document.ts";
import { findChannel } from "./changes/store.ts";
import { createMemoryWriter, type MemoryWriter } from "./changes/writer.ts";
import { ensureChannel, ensureWorkspace } from "./files/folders.ts";
import { topicTerms } from "./learning/terms.ts";
import { isMeant } from "./learning/wishes.ts";
import {
  createIntake,
  createLane,
  createRefresh,
  type Intake,
  type Lane,
  type Refresh,
} from "./lifecycle.ts";
import type { MemoryTaskRecord, TaskContext } from "./memory-task.ts";
import { stripRuntimeContext } from "./pack.ts";
import { type RecallRequest, type RecallResult, recallRelevantMemory, rerankBy } from "./recall.ts";
import { createSidecar, type Sidecar } from "./sidecar.ts";

const CHANNEL_HINT = "Pass the channel's folder: { channelDir }.";

export interface ChannelMemoryOptions {
  readonly workspaceDir: string;
  readonly channelDir: string;
  /** The user of the run; a channel that names its users rejects recall and writes by any other. */
  readonly user?: string;
  /** Writes better notes than the heuristics, in the background; also reranks if set to. Not required. */
  readonly model?: TextModel;
  /** The manager's settings: `memory`, `memoryRecall`, `sessionMemory` and `redaction` are used. */
  readonly settings?: CompactConfigInput;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly clock?: () => number;
  /** Called with what failed or is degraded; a failure never reaches the run. */
  readonly onWarning?: (message: string) => void;
  /** Called with every task as it ends. */
  readonly onTask?: (record: MemoryTaskRecord) => void;
  /** Called with what was removed from which file on a user's forget request; empty if nothing was found. */
  readonly onForgotten?: (forgotten: readonly ForgottenIn[]) => void;
}

/** Outcome of a compaction or a new session, step by step. A failed step is retried in the background. */
export interface MemoryBoundary {
  readonly session: "written" | "unchanged" | "failed" | "off";
  readonly consolidation: "written" | "unchanged" | "failed" | "off" | "in_background";
}

export interface MemoryTurn {
  /** Distinguishes conversations of one channel. Default: `default`. */
  readonly sessionId?: string;
  /** The user changed direction while the agent was working. */
  readonly steered?: boolean;
}

export interface MemoryBoundaryOptions extends MemoryTurn {
  /** The messages that leave the list. Default: all. */
  readonly discarded?: readonly Message[];
  readonly signal?: AbortSignal;
}

/** The memory of one channel for a host's run. No method rejects because a memory could not be saved. */
export interface ChannelMemory {
  /** The user of the run. */
  readonly user?: string;
  /** Memories relevant to a user's text; put `renderedText` before it with `injectRuntimeContext`. */
  recall(
    userText: string,
    options?: Partial<Omit<RecallRequest, "query" | "workspaceDir" | "channelDir">>,
  ): Promise<RecallResult>;
  /**
   * Call after every turn with the conversation so far. Starts an update of SESSION.md in the background if
   * one is due, and returns whether it did.
   */
  afterTurn(messages: readonly Message[], turn?: MemoryTurn): boolean;
  /** Refreshes SESSION.md, then consolidates the discarded messages. A manager calls it through `ports`. */
  beforeCompaction(messages: readonly Message[], options?: MemoryBoundaryOptions): Promise<MemoryBoundary>;
  /** The same before a new session begins in the channel. */
  beforeNewSession(messages: readonly Message[], options?: MemoryBoundaryOptions): Promise<MemoryBoundary>;
  /**
   * Forgets an item by its id (`m-…`), or whatever the words name, anywhere in the channel's folder. Resolves
   * to what was removed from which file. It is not learned again, and cannot be undone.
   */
  forget(what: string): Promise<readonly ForgottenIn[]>;
  /** Reads and changes the files, lists changes and undoes them. */
  readonly changes: MemoryWriter;
  /** For the ports of a `CompactManager`: `new CompactManager(config, { ...ports, ...memory.ports })`. */
  readonly ports: Required<Pick<ManagerPorts, "memoryFlushHook" | "beforeCompaction">>;
  /** Resolves when no memory work is running. */
  settled(): Promise<void>;
  /** Consolidates what is not consolidated yet, including `messages` if given, and waits for running work. */
  close(messages?: readonly Message[], turn?: MemoryTurn): Promise<void>;
}

/**
 * Creates the memory of one channel. On first use its files are created and work left by an earlier process
 * is resumed. Throws `InvalidConfig` for settings out of range.
 */
export function createChannelMemory(options: ChannelMemoryOptions): ChannelMemory {
  requireOptions(options, "options", CHANNEL_HINT);
  requireText(options.channelDir, "options.channelDir", CHANNEL_HINT);
  const parts = partsOf(options);
  const { sessionMemory } = parts.settings;
  return {
    user: options.user,
    recall: (userText, given = {}) => recallFrom(parts, userText, given),
    afterTurn(messages, turn = {}) {
      parts.live = messages;
      if (!parts.keepsSession || parts.closed) return false;
      return parts.refresh.afterTurn(sessionOf(turn), messages, turn.steered === true, parts.begun);
    },
    beforeCompaction: (messages, given = {}) => {
      const force = sessionMemory.forceRefreshBeforeCompact;
      return boundary(parts, messages, { ...given, force });
    },
    async beforeNewSession(messages, given = {}) {
      const force = sessionMemory.forceRefreshBeforeNewSession;
      const done = await boundary(parts, messages, { ...given, force });
      parts.refresh.forget(sessionOf(given));
      return done;
    },
    changes: parts.writer,
    async forget(what) {
      requireText(what, "what", "Pass an item's id, or words that name what is to be forgotten.");
      await parts.begun();
      return forgetNow(parts.writer, what);
    },
    ports: {
      memoryFlushHook: async (messages, { sessionId, signal }) => {
        if (!parts.writes) return;
        if (parts.closed)
          throw new CompactError("Aborted", "the memory was closed", {
            hint: "The messages wait in the manager's outbox: the next process takes them in.",
          });
        await parts.begun();
        await parts.lane.run(() => parts.intake.now(sessionId, messages, signal));
      },
      beforeCompaction: async (messages, { sessionId, discarded, signal }) => {
        const force = sessionMemory.forceRefreshBeforeCompact;
        // With a model, the flush hook consolidates the discarded messages once the compaction is committed.
        const leaves = parts.sidecar === undefined ? discarded : [];
        await boundary(parts, messages, { sessionId, discarded: leaves, signal, force });
      },
    },
    settled: () => parts.lane.idle(),
    close: (messages, turn = {}) => close(parts, messages, turn),
  };
}

interface Parts {
  readonly writer: MemoryWriter;
  readonly options: ChannelMemoryOptions;
  readonly settings: CompactConfig;
  /** Whether automatic writes are enabled, and whether those of SESSION.md are. */
  readonly writes: boolean;
  readonly keepsSession: boolean;
  readonly sidecar: Sidecar | undefined;
  readonly lane: Lane;
  readonly refresh: Refresh;
  readonly intake: Intake;
  readonly warn: (message: string) => void;
  readonly now: () => number;
  /** Runs once; retried only if it failed. */
  readonly begun: () => Promise<void>;
  /** The conversation as last seen. */
  live: readonly Message[];
  closed: boolean;
}

function partsOf(options: ChannelMemoryOptions): Parts {
  const settings = mergeConfig(options.settings ?? {});
  const { channelDir, workspaceDir, user, model, now = Date.now, clock = () => performance.now() } = options;
  const redactor = createRedactor(settings.redaction);
  const tell = harmless(options.onWarning);
  const warn = (message: string): void => tell(`memory: ${message}`);
  const redact = (text: string): string => redactor.redactText(text);
  const asks = model !== undefined && settings.memory.useModel;
  const sidecar = asks ? createSidecar({ model, redact }) : undefined;
  const context: TaskContext = {
    writer: createMemoryWriter({ channelDir, workspaceDir, user, redactor, now }),
    sidecar,
    now,
    clock,
    onTask: harmless(options.onTask),
    onForgotten: harmless(options.onForgotten),
    onWarning: warn,
  };
  const lane = createLane(warn);
  const intake = createIntake(channelDir, redactor, context, lane);
  return {
    writer: context.writer,
    options,
    settings,
    writes: settings.memory.automaticWrites,
    keepsSession: settings.memory.automaticWrites && settings.sessionMemory.enabled,
    sidecar,
    lane,
    refresh: createRefresh(context, lane, settings.sessionMemory),
    intake,
    warn,
    now,
    // Creates the files and resumes work left by an earlier process.
    begun: once(async () => {
      await findChannel({ workspaceDir, channelDir, user });
      await ensureWorkspace(workspaceDir);
      await ensureChannel(channelDir);
      await intake.resume();
    }),
    live: [],
    closed: false,
  };
}

/** A listener whose errors are ignored. */
function harmless<T>(listener: ((value: T) => void) | undefined): (value: T) => void {
  return (value) => {
    try {
      listener?.(value);
    } catch {
      // There is no one left to report to.
    }
  };
}

async function recallFrom(
  parts: Parts,
  query: string,
  given: Partial<Omit<RecallRequest, "query" | "workspaceDir" | "channelDir">>,
): Promise<RecallResult> {
  const { options, settings, sidecar, warn, now } = parts;
  const { enabled, rerankWithModel, maxCandidates, maxInjected, maxChars } = settings.memoryRecall;
  const counts = { candidates: 0, folded: 0, omitted: 0 };
  const nothing: RecallResult = { items: [], renderedText: "", ...counts, decisions: [] };
  if (!enabled) return nothing;
  try {
    if (parts.writes) await parts.begun();
    const { workspaceDir, channelDir, user } = options;
    return await recallRelevantMemory({
      maxCandidates,
      maxInjected,
      maxChars: Math.min(maxChars, ROOM.least + ROOM.forEach * query.length),
      rerank: rerankWithModel && sidecar !== undefined ? rerankBy(sidecar) : undefined,
      warn,
      now: now(),
      user,
      live: textsOf(parts.live),
      ...given,
      query,
      workspaceDir,
      channelDir,
    });
  } catch (error) {
    warn(`nothing is recalled: ${errorMessage(error)}`);
    return nothing;
  }
}

/** Character budget of a block: a minimum, plus a number per character of the query. */
const ROOM = { least: 700, forEach: 14 };

/** Number of newest messages that a model most likely still sees in full. */
const LIVE_MESSAGES = 24;

function textsOf(messages: readonly Message[]): readonly string[] {
  return messages
    .slice(-LIVE_MESSAGES)
    .map((message) => stripRuntimeContext(messageText(message)))
    .filter((text) => text !== "");
}

/** MEM-9: first the session's state, then the discarded messages; a failed step does not stop the others. */
async function boundary(
  parts: Parts,
  messages: readonly Message[],
  { force, signal, discarded = messages, ...turn }: MemoryBoundaryOptions & { readonly force: boolean },
): Promise<MemoryBoundary> {
  const gone = new Set(discarded.map(({ id }) => id));
  parts.live = messages.filter(({ id }) => !gone.has(id));
  if (!parts.writes) return { session: "off", consolidation: "off" };
  const sessionId = sessionOf(turn);
  const step = async <T>(name: string, work: () => Promise<T>): Promise<T | "failed"> => {
    try {
      await parts.begun();
      return await work();
    } catch (error) {
      parts.warn(`${name} failed, and is tried again beside the run: ${errorMessage(error)}`);
      return "failed";
    }
  };
  const session =
    force && parts.keepsSession
      ? await step("the update of SESSION.md", () => parts.refresh.now(sessionId, messages))
      : "off";
  if (session === "failed") parts.refresh.later(sessionId, messages);
  const consolidation = await step("taking in what leaves", () =>
    parts.sidecar === undefined
      ? parts.intake.now(sessionId, discarded, signal)
      : parts.intake.beside(sessionId, discarded),
  );
  if (consolidation === "failed")
    await step("keeping it for later", () => parts.intake.beside(sessionId, discarded));
  return { session, consolidation };
}

async function close(
  parts: Parts,
  messages: readonly Message[] | undefined,
  turn: MemoryTurn,
): Promise<void> {
  const last = parts.refresh.last();
  const list = messages ?? last?.messages;
  const sessionId = turn.sessionId ?? (messages === undefined ? last?.sessionId : undefined);
  if (list !== undefined && !parts.closed) await boundary(parts, list, { ...turn, sessionId, force: true });
  parts.closed = true;
  await parts.lane.idle(MODEL_AT_THE_END_MS);
  // Work still waiting for a model is done by the heuristics instead.
  parts.lane.close();
  await parts.lane.idle();
}

/** How long `close` waits for a model. */
const MODEL_AT_THE_END_MS = 5_000;

function sessionOf({ sessionId }: MemoryTurn): string {
  return sessionId ?? "default";
}

/** Forgets an item by its id, or what the words name, for a person. Resolves to what was removed by file. */
async function forgetNow(writer: MemoryWriter, what: string): Promise<readonly ForgottenIn[]> {
  const items = itemsOf(await writer.read("MEMORY.md"));
  const why = "a person asked for it";
  const byId = items.filter(({ id }) => id === what);
  const meant = byId.length > 0 ? byId : items.filter(({ text }) => isMeant(what, text));
  const topic = byId.length > 0 ? undefined : what;
  const operations: MemoryOperation[] = meant.map(({ id }) => ({ op: "forget", target: id, topic, why }));
  if (operations.length === 0)
    operations.push({ op: "forget", topic: what, said: topicTerms(what).size > 1 ? what : undefined, why });
  return (await writer.apply(operations, { author: "person", reason: "something is to be forgotten" }))
    .forgotten;
}
