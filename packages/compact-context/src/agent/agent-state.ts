import type { CompactConfigInput } from "../config/settings.ts";
import type { Role } from "../core/message.ts";
import type { ManagerPorts } from "../create-manager.ts";
import { requireOptions } from "../errors.ts";
import type { MemoryFlushHook } from "../flush/delivery.ts";
import { buildColdCandidates, type MemoryCandidate } from "../memory/candidates.ts";
import type { ChannelMemory } from "../memory/channel-memory.ts";
import { createRecallIndex } from "../memory/ranking/recall-index.ts";
import { type Expanded, type Recall, readableMessage, within } from "../recall/recall.ts";
import { recallTools } from "../recall/tools.ts";
import { createRedactor } from "../redaction/redactor.ts";
import { o200kBase } from "../tokens/encodings/o200k-base.ts";
import type { AgentModel } from "./agent-message.ts";
import type { AgentOptions } from "./agent-options.ts";
import {
  type AgentManagers,
  type AgentSession,
  createAgentSession,
  createManagers,
} from "./agent-session.ts";
import {
  type ChannelJournal,
  createChannelJournal,
  MOST_RELATED,
  type StoredSession,
} from "./channel-journal.ts";
import { type AgentEvent, compactedText, type Diagnostic, NOTHING_SPENT, type Spent } from "./event.ts";
import { createSkillSession, type SkillSession } from "./skills/skill-session.ts";
import { type AgentLimits, type AgentTool, DEFAULT_LIMITS } from "./tool.ts";

const MODEL_HINT = "Pass the model of the agent: { model }.";

/** The mutable state of an agent, changed as turns run. */
export interface AgentState {
  readonly options: AgentOptions;
  readonly limits: AgentLimits;
  readonly managers: AgentManagers;
  readonly journal: ChannelJournal | undefined;
  readonly clock: () => number;
  readonly newId: () => string;
  session: AgentSession;
  skills: SkillSession;
  model: AgentModel;
  /** Sessions whose archives also belong to this one, oldest first. */
  related: readonly string[];
  spent: Spent;
  /** Titles of the memory items in the newest prompt. */
  recalled: readonly string[];
  /** Instructions of skills that the user activated since the last prompt. */
  pending: readonly string[];
  /** Emits to the running turn; between turns, warnings go to the host. */
  emit: (event: AgentEvent) => void;
}

/** Separates a session's id from the suffix of its sub-agents' sessions. */
const SUB_SESSION = "--sub-";

/** Opens the channel's session if there is one. If `check` throws, the channel is released. */
export async function openState(
  options: AgentOptions,
  check: (state: AgentState) => void = () => undefined,
): Promise<AgentState> {
  requireOptions(options, "options", MODEL_HINT);
  requireOptions(options.model, "options.model", MODEL_HINT);
  const { now = () => new Date() } = options;
  const early: Diagnostic[] = [];
  let warn = (diagnostic: Diagnostic): void => void early.push(diagnostic);
  const journal = journalOf(options, now, (diagnostic) => warn(diagnostic));
  try {
    const stored = await journal?.load();
    const state = stateOf(options, journal, stored);
    check(state);
    warn = (diagnostic) => state.emit({ type: "warning", diagnostic });
    early.forEach(warn);
    if (stored === undefined) await beginInJournal(state);
    return state;
  } catch (error) {
    await journal?.release();
    throw error;
  }
}

function stateOf(
  options: AgentOptions,
  journal: ChannelJournal | undefined,
  stored: StoredSession | undefined,
): AgentState {
  const { clock = () => performance.now(), newId = () => crypto.randomUUID() } = options;
  const emit = (event: AgentEvent): void => state.emit(event);
  const managers = createManagers(
    options,
    managerPorts(options, () => state),
    ({ sessionId, report }) => {
      if (isOwn(sessionId, state.session.id))
        state.emit({ type: "compacted", sessionId, report, kept: compactedText(report) });
    },
  );
  const first = stored ?? { id: newId(), messages: [], related: [] };
  const state: AgentState = {
    options,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    managers,
    journal,
    clock,
    newId,
    model: options.model,
    emit: (event) => betweenTurns(event, options),
    ...sessionParts(first, { journal, options, clock, emit }),
  };
  // Fail on an unsuitable manager now, not in the first turn.
  managers.managerFor(options.model);
  return state;
}

/** Makes a session the live one. */
export function enterSession(state: AgentState, session: StoredSession): void {
  Object.assign(state, sessionParts(session, { ...state, emit: (event) => state.emit(event) }));
}

type SessionParts = Pick<AgentState, "session" | "skills" | "related" | "spent" | "recalled" | "pending">;

function sessionParts(
  { id, messages, related }: StoredSession,
  { journal, options, clock, emit }: Pick<AgentState, "journal" | "options" | "clock" | "emit">,
): SessionParts {
  const warn = (diagnostic: Diagnostic): void => emit({ type: "warning", diagnostic });
  return {
    session: createAgentSession({ id, messages, journal, warn }),
    skills: createSkillSession({ skills: options.skills ?? [], sessionId: id, ports: options, emit, clock }),
    related: related.slice(-MOST_RELATED),
    spent: NOTHING_SPENT,
    recalled: [],
    pending: [],
  };
}

/** Stores which session is the channel's current one; if that fails, it is stored with the next message. */
export async function beginInJournal({ session, related, journal }: AgentState): Promise<void> {
  journal?.begin({ id: session.id, related });
  await session.replace(session.messages);
}

/** Records a session whose archive belongs to this one. */
export async function relate(state: AgentState, sessionId: string): Promise<void> {
  state.related = [...state.related, sessionId].slice(-MOST_RELATED);
  await beginInJournal(state);
}

export function subSessionId(parent: string, name: string, id: string): string {
  return `${parent}${SUB_SESSION}${name}-${id}`;
}

/** Reports a warning or error to the host; other events have no reader between turns. */
export function betweenTurns(event: AgentEvent, { onDiagnostic }: AgentOptions): void {
  if (event.type === "warning" || event.type === "error") onDiagnostic?.(event.diagnostic);
}

/** The two recall tools: the agent's read its whole channel, a sub-agent's its own session. */
export function readingTools(
  state: AgentState,
  { session, model }: Pick<AgentState, "session" | "model">,
): AgentTool[] {
  const manager = state.managers.managerFor(model);
  const source = {
    recall: (sessionId: string) => {
      const live = manager.recall(sessionId);
      if (sessionId !== state.session.id) return live;
      const related = (): Recall[] => state.related.toReversed().map((id) => manager.recall(id));
      return channelRecall({ live, related, channelDir: state.options.channelDir });
    },
  };
  return recallTools(source, session.id).map(({ name, description, parameters, execute }) => ({
    name,
    description,
    schema: parameters,
    paths: "none",
    concurrent: true,
    execute: async (args) => execute(args),
  }));
}

type AgentManagerPorts = ManagerPorts & Pick<ChannelMemory["ports"], "beforeCompaction">;

function isOwn(sessionId: string, own: string): boolean {
  return sessionId === own || sessionId.startsWith(`${own}${SUB_SESSION}`);
}

function journalOf(
  options: AgentOptions,
  now: () => Date,
  warn: (diagnostic: Diagnostic) => void,
): ChannelJournal | undefined {
  const { channelDir, sessionStorage, config } = options;
  if (channelDir === undefined && sessionStorage === undefined) return undefined;
  const redactor = createRedactor(
    (config as Pick<CompactConfigInput, "redaction"> | undefined)?.redaction as never,
  );
  return createChannelJournal({ channelDir: channelDir ?? "", driver: sessionStorage, redactor, now, warn });
}

/**
 * Ports of managers created here: the host's own, skill hooks, and memory except for sub-agents' sessions.
 */
function managerPorts(options: AgentOptions, state: () => AgentState): AgentManagerPorts {
  const { memory, managerPorts: given } = options;
  const memoryOf = (sessionId: string): ChannelMemory["ports"] | undefined =>
    sessionId.includes(SUB_SESSION) ? undefined : memory?.ports;
  const beforeCompaction: AgentManagerPorts["beforeCompaction"] = async (messages, moment) => {
    const { sessionId, signal } = moment;
    const own = async (): Promise<void> => {
      if (sessionId === state().session.id) await state().skills.run("before_compact", "compaction", signal);
      await memoryOf(sessionId)?.beforeCompaction(messages, moment);
    };
    await both(own, () => given?.beforeCompaction?.(messages, moment));
  };
  const memoryFlushHook: MemoryFlushHook = (messages, context) =>
    both(
      () => memoryOf(context.sessionId)?.memoryFlushHook(messages, context),
      () => given?.memoryFlushHook?.(messages, context),
    );
  const hears = memory !== undefined || given?.memoryFlushHook !== undefined;
  return { ...given, memoryFlushHook: hears ? memoryFlushHook : undefined, beforeCompaction };
}

type Work = () => void | Promise<void>;

/** Runs both even if one fails; rejects after both have settled if either failed. */
async function both(one: Work, other: Work): Promise<void> {
  const ended = await Promise.allSettled([one, other].map(async (work) => work()));
  for (const end of ended) if (end.status === "rejected") throw end.reason;
}

interface ChannelRecallOptions {
  /** Of the live session. */
  readonly live: Recall;
  /** Of the related sessions, newest first: earlier ones and those of sub-agents. */
  readonly related: () => readonly Recall[];
  /**
   * Folder whose `log.jsonl` is also searched, for earlier sessions that were never compacted. If omitted, no
   * log is searched.
   */
  readonly channelDir?: string;
}

type Hits = Awaited<ReturnType<Recall["search"]>>;

const LOG_ID = /^log-(\d{1,9})$/;
const SNIPPET = 200;
/** Minimum number of hits taken from each source before they are ranked together. */
const LEAST_EACH = 8;
const EXPAND_TOKENS = 2000;

/** Recall over the session and those before it: from their archives, and from the log if they have none. */
export function channelRecall(options: ChannelRecallOptions): Recall {
  const { live, related } = options;
  return {
    ...live,
    async expand(id, given) {
      const line = LOG_ID.exec(id)?.[1];
      if (line !== undefined) return expandLine(options, Number(line), given ?? {});
      for (const recall of [live, ...related()]) {
        const found = await recall.expand(id, given);
        if (found !== undefined) return found;
      }
      return undefined;
    },
    async search(text, { limit = LEAST_EACH } = {}) {
      const before = related();
      const each = { limit: Math.max(limit, LEAST_EACH) };
      const places = await Promise.all([live, ...before].map((recall) => recall.search(text, each)));
      const steps = await Promise.all(before.map((recall) => recall.steps()));
      const isWhole = before.length < MOST_RELATED && steps.every((found) => found.length > 0);
      if (!isWhole) places.push(await searchLog(options, text, each.limit));
      const [only = []] = places;
      return places.length === 1 ? only.slice(0, limit) : ranked(places.flat(), text, limit);
    },
  };
}

/**
 * Scores of different sources are not comparable: their snippets are ranked against each other; the rest
 * follows in order.
 */
function ranked(hits: Hits, text: string, limit: number): Hits {
  const found = [...new Map(hits.map((hit) => [hit.archiveId, hit])).values()];
  const index = createRecallIndex(
    found.map(({ archiveId: id, snippet: content }) => ({ id, title: "", content })),
  );
  const byId = new Map(found.map((hit) => [hit.archiveId, hit]));
  const best = index.search(text, { limit }).flatMap(({ id }) => byId.get(id) ?? []);
  const rest = found.filter((hit) => !best.includes(hit));
  return [...best, ...rest].slice(0, limit);
}

async function searchLog(
  { channelDir, live }: ChannelRecallOptions,
  text: string,
  limit: number,
): Promise<Hits> {
  if (channelDir === undefined) return [];
  const lines = await buildColdCandidates({ channelDir }, ["channel-log"]);
  const byId = new Map(lines.map((line) => [line.id, line]));
  return createRecallIndex(lines)
    .search(text, { limit })
    .flatMap(({ id, score }) => {
      const line = byId.get(id);
      if (line === undefined) return [];
      const [n, role, snippet] = [line.line, roleOf(line), line.content.slice(0, SNIPPET)];
      return [{ archiveId: `log-${n}`, id, role, sessionId: live.sessionId, step: 0, n, score, snippet }];
    });
}

function roleOf({ author }: Pick<MemoryCandidate, "author">): Role {
  return author === "user" || author === "tool" ? author : "assistant";
}

async function expandLine(
  { channelDir, live }: ChannelRecallOptions,
  n: number,
  { maxTokens = EXPAND_TOKENS, offset = 0 }: { readonly maxTokens?: number; readonly offset?: number },
): Promise<Expanded | undefined> {
  if (channelDir === undefined) return undefined;
  const lines: readonly MemoryCandidate[] = await buildColdCandidates({ channelDir }, ["channel-log"]);
  const line = lines.find((one) => one.line === n);
  if (line === undefined) return undefined;
  const message = { id: line.id, role: roleOf(line), parts: [{ type: "text" as const, text: line.content }] };
  const whole = readableMessage(message);
  const text = within(whole.slice(offset), maxTokens, o200kBase.count);
  const end = offset + text.length;
  const found = { message, archiveId: `log-${n}`, sessionId: live.sessionId, step: 0, n, redacted: false };
  return { found, text, offset, characters: whole.length, next: end < whole.length ? end : undefined };
}
