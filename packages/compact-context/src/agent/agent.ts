import { setMaxListeners } from "node:events";
import { decode } from "../codecs/formats.ts";
import type { TextModelAnswer, TextModelRequest } from "../core/ports.ts";
import type { CompactionReport } from "../core/report.ts";
import { typedText } from "../core/units.ts";
import { CompactError } from "../errors.ts";
import type { MemoryBoundary } from "../memory/channel-memory.ts";
import { escapeRuntimeTags, injectRuntimeContext, renderRuntimeContext } from "../memory/pack.ts";
import type { RecalledMemory } from "../memory/recall.ts";
import { type AgentMessage, type AgentModel, agentMessageText } from "./agent-message.ts";
import type { AgentOptions } from "./agent-options.ts";
import {
  type AgentState,
  beginInJournal,
  betweenTurns,
  enterSession,
  openState,
  orWarn,
} from "./agent-state.ts";
import { answered } from "./channel-journal.ts";
import { type ContextView, contextView, type MemoryView, memoryView } from "./context-view.ts";
import { type AgentEvent, type Diagnostic, diagnosticOf, type Spent } from "./event.ts";
import { runTurn, shapesOf, type TurnResult } from "./turn.ts";
import { agentPorts, askModel, checkToolNames } from "./turn-ports.ts";

export interface SendOptions {
  /** Interrupts the turn; the session stays usable. */
  readonly signal?: AbortSignal;
}

/** Result of starting a new session. */
export interface NewSession {
  readonly sessionId: string;
  /** The session before it; its archive stays searchable. */
  readonly previous: string;
  /** What the memory recorded of it; undefined without a memory. */
  readonly memory: MemoryBoundary | undefined;
}

/** A session of the channel, as shown in a list. */
export interface ListedSession {
  readonly id: string;
  /** Time of the last message, ISO 8601. */
  readonly at: string;
  readonly messages: number;
  /** First and latest user message. */
  readonly firstAsk: string;
  readonly lastAsk: string;
}

/**
 * An agent with one live session and one turn at a time: `send`, `compact`, `startNew` and `useModel` reject
 * with `InvalidUsage` during another turn, and with `Conflict` once another agent has taken the channel's
 * folder. Read-only members and skills can be used at any time.
 */
export interface Agent {
  /** Changes when a new session starts. */
  readonly sessionId: string;
  readonly model: AgentModel;
  /** The current list: what the next request is built from. */
  readonly messages: readonly AgentMessage[];
  /** Of the session in this process so far, including sub-agents. */
  readonly spent: Spent;
  /** Names of the skills in use. */
  readonly skillsInUse: readonly string[];
  /**
   * Sends the user's text and yields events until the end of the turn. The turn starts when the first event
   * is requested; to stop iterating interrupts it.
   */
  send(text: string, options?: SendOptions): AsyncIterable<AgentEvent>;
  /** For `/context`: how full the window is, and with what. */
  context(): ContextView;
  /** For `/compact` and `/summarize`: compacts now; `instruction` tells the summarizer what to preserve. */
  compact(instruction?: string, options?: SendOptions): Promise<CompactionReport>;
  /** For `/undo`: undoes the newest compaction. Rejects with `NotFound` if there is none. */
  undo(): Promise<boolean>;
  /** For `/new`: starts a session; the state of the work stays in the channel's memory. */
  startNew(): Promise<NewSession>;
  /** For a session picker: the channel's sessions, newest first. */
  sessions(): Promise<readonly ListedSession[]>;
  /**
   * For `/resume`: continues one of them and leaves the current session as `startNew` does. Rejects with
   * `NotFound`.
   */
  resume(sessionId: string): Promise<void>;
  /** For `/memory`: its files, and its results for a query. */
  memory(query?: string): Promise<MemoryView>;
  /** For work outside of turns, such as a memory's: asks the agent's model; the cost is counted in `spent`. */
  ask(request: TextModelRequest): Promise<TextModelAnswer>;
  /** For `/model`: switches to another model; the session's state carries over if both managers share their storage. */
  useModel(model: AgentModel): Promise<void>;
  /** Activates a skill for the user; returns what part of it cannot run. Throws `NotFound` for an unknown skill. */
  useSkill(name: string): readonly Diagnostic[];
  /** Deactivates a skill; false if it was not in use. */
  endSkill(name: string): boolean;
  /** Stores everything, waits for background work, and releases the channel's folder. */
  close(): Promise<void>;
}

/**
 * Opens the channel's session if there is one, or starts a new one. One agent at a time has the folder: an
 * earlier agent of this process can no longer write its session; if an agent of another process has it, this
 * rejects with `Conflict`. Rejects with `InvalidConfig` for a manager without `policy.maxToolResultTokens`
 * and for two tools of the same name, and with any error of the folder.
 */
export async function createAgent(options: AgentOptions): Promise<Agent> {
  const state = await openState(options, checkToolNames);
  let busy = false;
  const begin = async (): Promise<() => void> => {
    if (busy)
      throw new CompactError("InvalidUsage", "the agent is at work on another turn", {
        hint: "Read that turn to its end, or interrupt it with its signal, before the next one.",
      });
    busy = true;
    try {
      const rest = await state.journal?.atWork();
      return () => {
        rest?.();
        busy = false;
      };
    } catch (error) {
      busy = false;
      throw error;
    }
  };
  const alone = async <T>(work: () => Promise<T>): Promise<T> => {
    const end = await begin();
    try {
      return await work();
    } finally {
      end();
    }
  };
  return {
    get sessionId() {
      return state.session.id;
    },
    get model() {
      return state.model;
    },
    get messages() {
      return state.session.messages;
    },
    get spent() {
      return state.spent;
    },
    get skillsInUse() {
      return state.skills.inUse.map(({ skill }) => skill.name);
    },
    async *send(text, { signal } = {}) {
      const end = await begin();
      try {
        yield* turnEvents(state, text, signal);
      } finally {
        end();
      }
    },
    context: () => contextOf(state),
    compact: (instruction, { signal } = {}) => alone(() => compactNow(state, instruction, signal)),
    undo: () => alone(() => undoCompaction(state)),
    startNew: () => alone(() => leaveFor(state, state.newId(), [])),
    sessions: () => listSessions(state),
    resume: (id) => alone(() => resumeSession(state, id)),
    memory: (query) => memoryView(options, query),
    ask: (request) => askModel(state, request),
    useModel: (model) =>
      alone(async () => {
        await state.managers.flush();
        state.managers.of(model);
        state.model = model;
      }),
    useSkill: (name) => useSkill(state, name),
    endSkill: (name) => state.skills.end(name, "user"),
    close: () => close(state),
  };
}

// ---- a turn

async function* turnEvents(
  state: AgentState,
  text: string,
  outer: AbortSignal | undefined,
): AsyncGenerator<AgentEvent> {
  let open: ReadableStreamDefaultController<AgentEvent> | undefined;
  const events = new ReadableStream<AgentEvent>({
    start(controller) {
      open = controller;
    },
  });
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  // A listener rather than AbortSignal.any: the host's signal may outlive many turns.
  const abort = (): void => stop.abort(outer?.reason);
  outer?.addEventListener("abort", abort, { once: true });
  if (outer?.aborted === true) abort();
  state.emit = (event) => open?.enqueue(event);
  const work = turn(state, text, stop.signal)
    .then((result) => open?.enqueue({ type: "ended", ...result }))
    .finally(() => {
      open?.close();
      open = undefined;
    });
  try {
    // If the reader stops, the remaining events stay unread.
    yield* events.values({ preventCancel: true });
    await work;
  } finally {
    stop.abort(new CompactError("Aborted", "nobody reads the turn any more"));
    await work.catch(() => undefined);
    await state.journal?.settled();
    outer?.removeEventListener("abort", abort);
    state.emit = (event) => betweenTurns(event, state.options);
  }
}

async function turn(state: AgentState, text: string, signal: AbortSignal): Promise<TurnResult> {
  try {
    const message = await promptOf(state, text, signal);
    const result = await runTurn(message, agentPorts(state), signal);
    if (!signal.aborted) await state.skills.run("after_response", result.text, signal);
    state.options.memory?.afterTurn(decode(state.session.messages, "ai-sdk"), {
      sessionId: state.session.id,
    });
    return result;
  } catch (error) {
    state.emit({ type: "error", diagnostic: diagnosticOf(error) });
    return { end: "failed", text: "" };
  }
}

function useSkill(state: AgentState, name: string): readonly Diagnostic[] {
  const begun = state.skills.begin(name, "user");
  if (begun === undefined) {
    const known = (state.options.skills ?? []).map((skill) => skill.name);
    throw new CompactError("NotFound", `there is no skill "${name}"`, {
      hint: `There are: ${known.join(", ") || "none"}.`,
    });
  }
  state.pending = [...state.pending, begun.text];
  return begun.problems;
}

async function close({ managers, options, session, journal }: AgentState): Promise<void> {
  try {
    await journal?.settled();
    await options.memory?.close(decode(session.messages, "ai-sdk"), { sessionId: session.id });
    await managers.close();
    await managers.release(session.id);
  } finally {
    await journal?.release();
  }
}

/** The user's message as sent: preceded by recalled memory, hook output, and skills that the user activated. */
async function promptOf(state: AgentState, text: string, signal: AbortSignal): Promise<AgentMessage> {
  const said = await state.skills.run("before_prompt", text, signal);
  const recalled = await recall(state, text);
  const added = [...state.pending, said].filter((block) => block !== "").map(escapeRuntimeTags);
  state.pending = [];
  const blocks = [recalled, ...added.map(renderRuntimeContext)].filter((block) => block !== "");
  return { role: "user", content: [{ type: "text", text: injectRuntimeContext(text, blocks.join("\n")) }] };
}

async function recall(state: AgentState, text: string): Promise<string> {
  const { memory } = state.options;
  const scope = state.skills.memoryScope;
  state.recalled = [];
  if (memory === undefined || scope === "none") return "";
  const only = scope === "session" ? { sources: ["channel-session" as const] } : {};
  const found = await orWarn(state, "recall-failed", () => memory.recall(text, only));
  if (found === undefined) return "";
  const { items, renderedText } = found;
  state.recalled = recalledWords(items);
  if (renderedText !== "")
    state.emit({ type: "recalled", items: state.recalled, characters: renderedText.length });
  return renderedText;
}

/** Words of a line that identify it. */
const GIST_WORDS = 9;

/** What was recalled, for display: each section once, with the first words of each of its lines. */
function recalledWords(items: readonly RecalledMemory[]): string[] {
  const sections = new Map<string, string[]>();
  for (const { title, source, content } of items) {
    const section = title || source;
    const lines = content.replace(/<!--[\s\S]*?-->/g, "").split("\n");
    const gists = lines.map(gistOf).filter((gist) => gist !== "");
    sections.set(section, [...(sections.get(section) ?? []), ...gists]);
  }
  return [...sections].map(([section, gists]) => `${section}: ${gists.join("; ")}`);
}

function gistOf(line: string): string {
  const words = line
    .replace(/^\s*(?:[-*]|#+)\s+/, "")
    .split(/\s+/)
    .filter((word) => word !== "");
  return words.length > GIST_WORDS ? `${words.slice(0, GIST_WORDS).join(" ")} …` : words.join(" ");
}

// ---- between turns

/** The parts of a request other than the messages. */
function requestOf(state: AgentState) {
  const tools = shapesOf(agentPorts(state).tools);
  return { format: "ai-sdk" as const, system: state.options.system ?? "", tools };
}

function contextOf(state: AgentState): ContextView {
  const { session, model, managers, recalled } = state;
  const { id: sessionId, messages } = session;
  const { manager } = managers.of(model);
  return contextView({ ...requestOf(state), manager, sessionId, messages, recalled });
}

/**
 * Compacts now, whatever the size; the instruction is passed to the summarizer. Rejects on failure, with
 * nothing changed.
 */
async function compactNow(
  state: AgentState,
  instruction: string | undefined,
  signal: AbortSignal | undefined,
): Promise<CompactionReport> {
  const { session, managers, model } = state;
  const request = { ...requestOf(state), note: instruction || undefined, signal };
  const { manager } = managers.of(model);
  const { messages, report } = await manager.manualCompact(session.id, session.messages, request);
  if (report.compacted) await session.replace(messages);
  return report;
}

/** The list before the newest compaction, with what came since; false if the archive lacks its originals. */
async function undoCompaction(state: AgentState): Promise<boolean> {
  const { session, managers, model } = state;
  const { manager } = managers.of(model);
  const { messages } = await manager.undo(session.id, session.messages, requestOf(state));
  if (messages !== undefined) await session.replace(messages);
  return messages !== undefined;
}

/** The sessions in the channel's log, newest first; empty for an agent without a channel. */
async function listSessions({ journal }: AgentState): Promise<readonly ListedSession[]> {
  const found = new Map<string, ListedSession>();
  for await (const { session: id, at, message } of journal?.logged() ?? []) {
    const known = found.get(id);
    const ask = message.role === "user" ? typedText(agentMessageText(message)).trim() : "";
    const firstAsk = known?.firstAsk || ask;
    const messages = (known?.messages ?? 0) + 1;
    found.set(id, { id, at, messages, firstAsk, lastAsk: ask || (known?.lastAsk ?? "") });
  }
  return [...found.values()].toSorted((a, b) => b.at.localeCompare(a.at));
}

/** Resumes an earlier session of the channel from its log. Rejects with `NotFound` for an unknown session. */
async function resumeSession(state: AgentState, id: string): Promise<void> {
  if (id === state.session.id) return;
  const messages: AgentMessage[] = [];
  for await (const { session, message } of state.journal?.logged() ?? [])
    if (session === id) messages.push(message);
  if (messages.length === 0)
    throw new CompactError("NotFound", `the channel has no session ${id}`, {
      hint: "Agent.sessions() names those that it has.",
    });
  await leaveFor(state, id, answered(messages));
}

/**
 * Ends the session and makes another one the live one. The memory records the old session first, and its list
 * is archived by compacting it; one too short for that is still in the log.
 */
async function leaveFor(
  state: AgentState,
  id: string,
  messages: readonly AgentMessage[],
): Promise<NewSession> {
  const { session, options } = state;
  const { id: previous, messages: left } = session;
  let memory: MemoryBoundary | undefined;
  if (left.length > 0) {
    memory = await orWarn(state, "memory-failed", async () =>
      options.memory?.beforeNewSession(decode(left, "ai-sdk"), { sessionId: previous }),
    );
    await orWarn(state, "archive-failed", () => compactNow(state, undefined, undefined));
  }
  const related = [...state.related.filter((one) => one !== id), previous];
  enterSession(state, { id, messages, related });
  await beginInJournal(state);
  await state.managers.release(previous);
  await options.memory?.settled();
  return { sessionId: id, previous, memory };
}
