import { decode } from "../codecs/formats.ts";
import type { CompactionReport } from "../core/report.ts";
import { typedText } from "../core/units.ts";
import { CompactError } from "../errors.ts";
import type { MemoryBoundary } from "../memory/channel-memory.ts";
import type { AgentModel } from "./agent-message.ts";
import { type AgentMessage, agentMessageText } from "./agent-message.ts";
import { type AgentState, beginInJournal, enterSession } from "./agent-state.ts";
import { answered } from "./channel-journal.ts";
import { type ContextView, contextView } from "./context-view.ts";
import { diagnosticOf } from "./event.ts";
import { shapesOf } from "./turn.ts";
import { agentPorts } from "./turn-ports.ts";

/** Result of starting a new session. */
export interface NewSession {
  readonly sessionId: string;
  /** The session before it; its archive stays searchable. */
  readonly previous: string;
  /** What the memory recorded of it; undefined without a memory. */
  readonly memory: MemoryBoundary | undefined;
}

/** The parts of a request other than the messages. */
function requestOf(state: AgentState) {
  const tools = shapesOf(agentPorts(state).tools);
  return { format: "ai-sdk" as const, system: state.options.system ?? "", tools };
}

export function contextOf(state: AgentState): ContextView {
  const { session, model, managers, recalled } = state;
  const { id: sessionId, messages } = session;
  const { manager } = managers.of(model);
  return contextView({ ...requestOf(state), manager, sessionId, messages, recalled });
}

/**
 * Compacts now, whatever the size; the instruction is passed to the summarizer. Rejects on failure, with
 * nothing changed.
 */
export async function compactNow(
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

/**
 * Undoes the newest compaction: restores the list before it and keeps what was added since. False if its
 * originals are not in the archive.
 */
export async function undoCompaction(state: AgentState): Promise<boolean> {
  const { session, managers, model } = state;
  const { manager } = managers.of(model);
  const { messages } = await manager.undo(session.id, session.messages, requestOf(state));
  if (messages !== undefined) await session.replace(messages);
  return messages !== undefined;
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

/** The sessions in the channel's log, newest first; empty for an agent without a channel. */
export async function listSessions({ journal }: AgentState): Promise<readonly ListedSession[]> {
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
export async function resumeSession(state: AgentState, id: string): Promise<void> {
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
 * Ends the session and starts a new one. The memory records the old session first, and its messages are
 * archived.
 */
export function startNewSession(state: AgentState): Promise<NewSession> {
  return leaveFor(state, state.newId(), []);
}

async function leaveFor(
  state: AgentState,
  id: string,
  messages: readonly AgentMessage[],
): Promise<NewSession> {
  const { session, options } = state;
  const boundary = await remembered(state);
  if (session.messages.length > 0) await archived(state);
  const related = [...state.related.filter((one) => one !== id), session.id];
  enterSession(state, { id, messages, related });
  await beginInJournal(state);
  await state.managers.release(session.id);
  await options.memory?.settled();
  return { sessionId: id, previous: session.id, memory: boundary };
}

async function remembered({ options, session, emit }: AgentState): Promise<MemoryBoundary | undefined> {
  if (session.messages.length === 0) return undefined;
  try {
    return await options.memory?.beforeNewSession(decode(session.messages, "ai-sdk"), {
      sessionId: session.id,
    });
  } catch (error) {
    emit({ type: "warning", diagnostic: diagnosticOf(error, "memory-failed") });
    return undefined;
  }
}

/** Archives the list by compacting it; a list too short for that is still in the log. */
async function archived(state: AgentState): Promise<void> {
  try {
    await compactNow(state, undefined, undefined);
  } catch (error) {
    state.emit({ type: "warning", diagnostic: diagnosticOf(error, "archive-failed") });
  }
}

/** Switches to another model; the session's state carries over if both managers share their storage. */
export async function changeModel(state: AgentState, model: AgentModel): Promise<void> {
  await state.managers.flush();
  state.managers.of(model);
  state.model = model;
}

export function busyError(): CompactError {
  return new CompactError("InvalidUsage", "the agent is at work on another turn", {
    hint: "Read that turn to its end, or interrupt it with its signal, before the next one.",
  });
}
