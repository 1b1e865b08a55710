import type { CompactConfigInput } from "../config/settings.ts";
import type { CompactionNotice } from "../core/report.ts";
import { CompactManager, type ManagerPorts } from "../create-manager.ts";
import { CompactError, requireKnown, requireOptions } from "../errors.ts";
import type { MemoryFlushHook } from "../flush/flush.ts";
import { createHostPreflight, type HostPreflight } from "../host.ts";
import type { ChannelMemory } from "../memory/channel-memory.ts";
import { createRedactor } from "../redaction/redactor.ts";
import { lookUpModel } from "../tokens/models.ts";
import { type AgentMessage, type AgentModel, bareModelName } from "./agent-message.ts";
import type { AgentOptions } from "./agent-options.ts";
import { ChannelJournal, MOST_RELATED, type StoredSession } from "./channel-journal.ts";
import {
  type AgentEvent,
  compactedText,
  type Diagnostic,
  diagnosticOf,
  NOTHING_SPENT,
  type Spent,
} from "./event.ts";
import { SkillSession } from "./skills.ts";
import { type AgentLimits, DEFAULT_LIMITS } from "./tool.ts";

const MODEL_HINT = "Pass the model of the agent: { model }.";

const OPTIONS = {
  model: true,
  models: true,
  system: true,
  tools: true,
  manager: true,
  config: true,
  managerPorts: true,
  memory: true,
  channelDir: true,
  sessionStorage: true,
  workspaceDir: true,
  skills: true,
  subAgents: true,
  hookFunctions: true,
  runCommand: true,
  permissions: true,
  limits: true,
  onDiagnostic: true,
  now: true,
  clock: true,
  newId: true,
  sleep: true,
} as const;

/** The mutable state of an agent, changed as turns run. */
export interface AgentState extends SessionParts {
  readonly options: AgentOptions;
  readonly limits: AgentLimits;
  readonly managers: AgentManagers;
  readonly journal: ChannelJournal | undefined;
  readonly clock: () => number;
  readonly newId: () => string;
  model: AgentModel;
  /** Emits to the running turn; between turns, warnings go to the host. */
  emit: (event: AgentEvent) => void;
}

/** The part of the state that begins anew with a session. */
interface SessionParts {
  session: AgentSession;
  skills: SkillSession;
  /** Sessions whose archives also belong to this one, oldest first. */
  related: readonly string[];
  spent: Spent;
  /** Titles of the memory items in the newest prompt. */
  recalled: readonly string[];
  /** Instructions of skills that the user activated since the last prompt. */
  pending: readonly string[];
}

/** Opens the channel's session if there is one. If `check` throws, the channel is released. */
export async function openState(
  options: AgentOptions,
  check: (state: AgentState) => void = () => undefined,
): Promise<AgentState> {
  requireKnown(options, OPTIONS, MODEL_HINT);
  requireOptions(options.model, "options.model", MODEL_HINT);
  const early: Diagnostic[] = [];
  let warn = (diagnostic: Diagnostic): void => void early.push(diagnostic);
  const journal = journalOf(options, (diagnostic) => warn(diagnostic));
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

function journalOf(
  { channelDir, sessionStorage: driver, config, now = () => new Date() }: AgentOptions,
  warn: (diagnostic: Diagnostic) => void,
): ChannelJournal | undefined {
  if (channelDir === undefined && driver === undefined) return undefined;
  const redactor = createRedactor(
    (config as Pick<CompactConfigInput, "redaction"> | undefined)?.redaction as never,
  );
  return new ChannelJournal({ channelDir: channelDir ?? "", driver, redactor, now, warn });
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
      const { id } = state.session;
      if (sessionId === id || sessionId.startsWith(`${id}${SUB_SESSION}`))
        emit({ type: "compacted", sessionId, report, kept: compactedText(report) });
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
  managers.of(options.model);
  return state;
}

/** Makes a session the live one. */
export function enterSession(state: AgentState, session: StoredSession): void {
  Object.assign(state, sessionParts(session, { ...state, emit: (event) => state.emit(event) }));
}

function sessionParts(
  { id, messages, related }: StoredSession,
  { journal, options, clock, emit }: Pick<AgentState, "journal" | "options" | "clock" | "emit">,
): SessionParts {
  const warn = (diagnostic: Diagnostic): void => emit({ type: "warning", diagnostic });
  return {
    session: new AgentSession({ id, messages, journal, warn }),
    skills: new SkillSession({ sessionId: id, options, emit, clock }),
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

/** Reports a warning or error to the host; other events have no reader between turns. */
export function betweenTurns(event: AgentEvent, { onDiagnostic }: AgentOptions): void {
  if (event.type === "warning" || event.type === "error") onDiagnostic?.(event.diagnostic);
}

/** Separates a session's id from the suffix of its sub-agents' sessions. */
const SUB_SESSION = "--sub-";

export function subSessionId(parent: string, name: string, id: string): string {
  return `${parent}${SUB_SESSION}${name}-${id}`;
}

// ---- the live list

interface SessionOptions {
  readonly id: string;
  readonly messages?: readonly AgentMessage[];
  readonly journal?: ChannelJournal;
  /** Called when the journal could not be written; the session continues, and the next write catches up. */
  readonly warn?: (diagnostic: Diagnostic) => void;
}

/** The live list of one session. */
export class AgentSession {
  readonly id: string;
  messages: readonly AgentMessage[];
  /** The provider's usage record of the newest request, until a preflight consumes it. */
  usage: unknown;
  readonly #options: SessionOptions;
  #behind = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.id = options.id;
    this.messages = options.messages ?? [];
  }

  async add(message: AgentMessage): Promise<void> {
    this.messages = [...this.messages, message];
    this.#options.journal?.log(message);
    await this.#keep((journal) => journal.add(message));
  }

  async replace(messages: readonly AgentMessage[]): Promise<void> {
    this.messages = messages;
    await this.#keep((journal) => journal.replace(messages));
  }

  async #keep(write: (journal: ChannelJournal) => Promise<void>): Promise<void> {
    const { journal, warn } = this.#options;
    if (journal === undefined) return;
    try {
      await (this.#behind ? journal.replace(this.messages) : write(journal));
      this.#behind = false;
    } catch (error) {
      if (!this.#behind) warn?.({ ...diagnosticOf(error), code: "session-not-saved" });
      this.#behind = true;
    }
  }
}

// ---- the managers

/** Default token limit of a tool's output as sent to a model. */
const TOOL_RESULT_TOKENS = 8000;

interface Managed {
  readonly manager: CompactManager;
  readonly preflight: HostPreflight;
  /** Stops hearing of its compactions. */
  readonly end: () => void;
}

/** The managers of the models that an agent and its sub-agents use. */
export interface AgentManagers {
  of(model: AgentModel): Managed;
  flush(): Promise<void>;
  /** Releases a session that is no longer used, once none of its calls is running. */
  release(sessionId: string): Promise<void>;
  close(): Promise<void>;
}

/** Managers by window and model name; `compacted` is called for every compaction. */
function createManagers(
  { manager: given, config = {} }: Pick<AgentOptions, "manager" | "config">,
  ports: ManagerPorts,
  compacted: (notice: CompactionNotice) => void,
): AgentManagers {
  const made = new Map<string, Managed>();
  // One manager can serve several models.
  const all = (): Managed[] => [...new Set(made.values())];
  const make = (model: AgentModel): CompactManager => {
    if (given instanceof CompactManager) return given;
    if (given !== undefined) return given(model, ports);
    const name = config.model ?? bareModelName(model.name);
    const window =
      config.maxContextTokens ?? model.window ?? lookUpModel(name, config.models as never).window;
    const policy = { maxToolResultTokens: TOOL_RESULT_TOKENS, ...config.policy };
    return new CompactManager({ ...config, model: name, maxContextTokens: window, policy }, ports);
  };
  const flush = async (): Promise<void> => {
    await Promise.all(all().map(({ manager }) => manager.flush()));
  };
  return {
    of(model) {
      const key = `${model.name} ${model.window ?? ""}`;
      const known = made.get(key);
      if (known !== undefined) return known;
      const manager = make(model);
      requireOutputLimit(manager);
      const managed = all().find((one) => one.manager === manager) ?? {
        manager,
        preflight: createHostPreflight(manager),
        end: manager.onCompaction(compacted),
      };
      made.set(key, managed);
      return managed;
    },
    flush,
    async release(sessionId) {
      await Promise.all(all().map(({ manager }) => manager.release(sessionId)));
    },
    async close() {
      for (const { end } of all()) end();
      await flush();
    },
  };
}

/** Tool output can be huge: what is sent must be limited, and the whole archived, before the first request. */
function requireOutputLimit({ config }: CompactManager): void {
  if (config.policy.maxToolResultTokens !== undefined) return;
  throw new CompactError("InvalidConfig", "an agent's manager needs policy.maxToolResultTokens", {
    place: "policy.maxToolResultTokens",
    hint: `Set it, to ${TOOL_RESULT_TOKENS} for instance: longer tool output keeps head and tail, and the whole is archived.`,
  });
}

/** The result of work that the session can do without; undefined, with a warning, if it fails. */
export async function orWarn<T>(
  state: AgentState,
  code: string,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    state.emit({ type: "warning", diagnostic: diagnosticOf(error, code) });
    return undefined;
  }
}

/** Ports of managers created here: the host's own, skill hooks, and memory except for sub-agents' sessions. */
function managerPorts(options: AgentOptions, state: () => AgentState): ManagerPorts {
  const { memory, managerPorts: given } = options;
  const memoryOf = (sessionId: string): ChannelMemory["ports"] | undefined =>
    sessionId.includes(SUB_SESSION) ? undefined : memory?.ports;
  const beforeCompaction: ManagerPorts["beforeCompaction"] = async (messages, moment) => {
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

/** Runs all even if one fails; rejects after all have settled if any failed. */
async function both(...works: readonly (() => void | Promise<void>)[]): Promise<void> {
  const ended = await Promise.allSettled(works.map(async (work) => work()));
  for (const end of ended) if (end.status === "rejected") throw end.reason;
}
