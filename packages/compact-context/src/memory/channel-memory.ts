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
} from "./lifecycle/lifecycle.ts";
import type { MemoryTaskRecord, TaskContext } from "./memory-task.ts";
import { stripRuntimeContext } from "./pack.ts";
import { type RecallRequest, type RecallResult, recallRelevantMemory, rerankBy } from "./recall.ts";
import { createSidecar, type Sidecar } from "./sidecar/sidecar.ts";

const CHANNEL_HINT = "Pass the channel's folder: { channelDir }.";

export interface ChannelMemoryOptions {
  readonly workspaceDir: string;
  readonly channelDir: string;
  /** Who the run is for; of a channel that names its users nobody else recalls or writes anything. */
  readonly user?: string;
  /** Writes better notes than the program does; asked beside the run only, and never needed. */
  readonly model?: TextModel;
  /** The manager's own will do; `memory`, `memoryRecall`, `sessionMemory` and `redaction` are read. */
  readonly settings?: CompactConfigInput;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Milliseconds of a steady clock. */
  readonly clock?: () => number;
  /** Told of what failed or works less well than it could; a failure never reaches the run. */
  readonly onWarning?: (message: string) => void;
  /** Told of every task as it ends, whoever did it. */
  readonly onTask?: (record: MemoryTaskRecord) => void;
  /** Told what was taken out of which file when the user wanted something forgotten; of nothing where none of it was found. */
  readonly onForgotten?: (forgotten: readonly ForgottenIn[]) => void;
}

/** What a boundary of the work did: each step by itself, since each may fail alone; what failed is tried again beside the run. */
export interface MemoryBoundary {
  readonly session: "written" | "unchanged" | "failed" | "off";
  readonly consolidation: "written" | "unchanged" | "failed" | "off" | "in_background";
}

export interface MemoryTurn {
  /** Tells conversations of one channel apart; `default` when left out. */
  readonly sessionId?: string;
  /** The user changed the direction while the agent was at work. */
  readonly steered?: boolean;
}

export interface MemoryBoundaryOptions extends MemoryTurn {
  /** The messages that leave the list; all of them when left out. */
  readonly discarded?: readonly Message[];
  readonly signal?: AbortSignal;
}

/** The memory of one channel, as a host's run uses it. Nothing of it rejects because a memory could not be kept. */
export interface ChannelMemory {
  /** Who the run is for. */
  readonly user?: string;
  /** What the memory says to a user's text; put `renderedText` before it with `injectRuntimeContext`. */
  recall(
    userText: string,
    options?: Partial<Omit<RecallRequest, "query" | "workspaceDir" | "channelDir">>,
  ): Promise<RecallResult>;
  /**
   * After every turn, with the conversation so far: begins an update of SESSION.md beside the run where one is due,
   * and answers at once whether it did.
   */
  afterTurn(messages: readonly Message[], turn?: MemoryTurn): boolean;
  /** Refreshes SESSION.md, then consolidates what leaves; a manager does it by itself through `ports`. */
  beforeCompaction(messages: readonly Message[], options?: MemoryBoundaryOptions): Promise<MemoryBoundary>;
  /** The same before a new session begins in the channel. */
  beforeNewSession(messages: readonly Message[], options?: MemoryBoundaryOptions): Promise<MemoryBoundary>;
  /**
   * Forgets an item by its id (`m-…`), or what the words name, wherever the channel's folder tells it, and says what was
   * taken out of which file. It is not learned again, and cannot be undone.
   */
  forget(what: string): Promise<readonly ForgottenIn[]>;
  /** Reads and changes the files, lists what was changed, and takes changes back. */
  readonly changes: MemoryWriter;
  /** For the ports of a `CompactManager`: `new CompactManager(config, { ...ports, ...memory.ports })`. */
  readonly ports: Required<Pick<ManagerPorts, "memoryFlushHook" | "beforeCompaction">>;
  /** Resolves when no work of the memory is under way. */
  settled(): Promise<void>;
  /** Takes in what was not taken in yet, with the messages where they are given, and waits for work under way. */
  close(messages?: readonly Message[], turn?: MemoryTurn): Promise<void>;
}

/**
 * The memory of one channel; its files are made, and what an earlier process left is taken in, at the first touch.
 * Throws `InvalidConfig` for settings that are out of range.
 */
export function createChannelMemory(options: ChannelMemoryOptions): ChannelMemory {
  requireOptions(options, "options", CHANNEL_HINT);
  requireText(options.channelDir, "options.channelDir", CHANNEL_HINT);
  const parts = partsOf(options);
  return {
    user: options.user,
    recall: (userText, given = {}) => recallFrom(parts, userText, given),
    afterTurn: (messages, turn = {}) => afterTurn(parts, messages, turn),
    beforeCompaction: (messages, given = {}) => {
      const force = parts.settings.sessionMemory.forceRefreshBeforeCompact;
      return boundary(parts, messages, { ...given, force });
    },
    async beforeNewSession(messages, given = {}) {
      const force = parts.settings.sessionMemory.forceRefreshBeforeNewSession;
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
        if (parts.closed) throw closedError();
        await parts.begun();
        await parts.lane.run(() => parts.intake.now(sessionId, messages, signal));
      },
      beforeCompaction: async (messages, { sessionId, discarded, signal }) => {
        const force = parts.settings.sessionMemory.forceRefreshBeforeCompact;
        // With a model the hook takes in what leaves, once the compaction is committed.
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
  /** Whether anything may be written at all. */
  readonly writes: boolean;
  readonly sidecar: Sidecar | undefined;
  readonly lane: Lane;
  readonly refresh: Refresh;
  readonly intake: Intake;
  readonly warn: (message: string) => void;
  readonly now: () => number;
  /** Once, and again only when it failed. */
  readonly begun: () => Promise<void>;
  /** What the conversation holds, as it was seen last. */
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
  const program: TaskContext = {
    writer: createMemoryWriter({ channelDir, workspaceDir, user, redactor, now }),
    now,
    clock,
    onTask: harmless(options.onTask),
    onForgotten: harmless(options.onForgotten),
    onWarning: warn,
  };
  const context = { ...program, sidecar };
  const lane = createLane(warn);
  const intake = createIntake(channelDir, redactor, { context, lane });
  return {
    writer: program.writer,
    options,
    settings,
    writes: settings.memory.automaticWrites,
    sidecar,
    lane,
    refresh: createRefresh({ program, context, lane, thresholds: settings.sessionMemory }),
    intake,
    warn,
    now,
    begun: once(() => begin(options, intake)),
    live: [],
    closed: false,
  };
}

/** A listener that cannot break what it listens to. */
function harmless<T>(listener: ((value: T) => void) | undefined): (value: T) => void {
  return (value) => {
    try {
      listener?.(value);
    } catch {
      // There is nobody left to tell.
    }
  };
}

/** Files and what an earlier process left. */
async function begin(
  { workspaceDir, channelDir, user }: ChannelMemoryOptions,
  intake: Intake,
): Promise<void> {
  await findChannel({ workspaceDir, channelDir, user });
  await ensureWorkspace(workspaceDir);
  await ensureChannel(channelDir);
  await intake.resume();
}

async function recallFrom(
  parts: Parts,
  query: string,
  given: Partial<Omit<RecallRequest, "query" | "workspaceDir" | "channelDir">>,
): Promise<RecallResult> {
  const { options, settings, sidecar, warn, now } = parts;
  const { enabled, rerankWithModel, maxCandidates, maxInjected, maxChars } = settings.memoryRecall;
  const nothing: RecallResult = {
    items: [],
    renderedText: "",
    candidates: 0,
    folded: 0,
    omitted: 0,
    decisions: [],
  };
  if (!enabled) return nothing;
  try {
    if (parts.writes) await parts.begun();
    const rerank = rerankWithModel && sidecar !== undefined ? { rerank: rerankBy(sidecar) } : {};
    const { workspaceDir, channelDir, user } = options;
    const limits = { maxCandidates, maxInjected, maxChars: roomFor(query, maxChars) };
    return await recallRelevantMemory({
      ...limits,
      ...rerank,
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

/** Characters of a block that any question gets, and for each of its own: what is asked in a word is answered in few. */
const ROOM = { least: 700, forEach: 14 };

function roomFor(query: string, most: number): number {
  return Math.min(most, ROOM.least + ROOM.forEach * query.length);
}

/** Newest messages of a conversation that a model still sees whole, as far as a memory can tell. */
const LIVE_MESSAGES = 24;

function textsOf(messages: readonly Message[]): readonly string[] {
  return messages
    .slice(-LIVE_MESSAGES)
    .map((message) => stripRuntimeContext(messageText(message)))
    .filter((text) => text !== "");
}

function afterTurn(parts: Parts, messages: readonly Message[], turn: MemoryTurn): boolean {
  parts.live = messages;
  if (!keepsSession(parts) || parts.closed) return false;
  return parts.refresh.afterTurn(sessionOf(turn), messages, turn.steered === true, parts.begun);
}

/** MEM-9: the session's state first, then what leaves; a step that fails stops nothing. */
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
    force && keepsSession(parts)
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
  // What a model still works on is done by program instead.
  parts.lane.close();
  await parts.lane.idle();
}

/** How long the end waits for a model. */
const MODEL_AT_THE_END_MS = 5_000;

function closedError(): CompactError {
  return new CompactError("Aborted", "the memory was closed", {
    hint: "The messages wait in the manager's outbox: the next process takes them in.",
  });
}

function keepsSession({ writes, settings }: Parts): boolean {
  return writes && settings.sessionMemory.enabled;
}

function sessionOf({ sessionId }: MemoryTurn): string {
  return sessionId ?? "default";
}

/** Forgets an item by its id, or whatever words name, as a person asks for it; what was taken out of which file. */
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
