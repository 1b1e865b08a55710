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

/** A session that was begun anew. */
export interface NewSession {
  readonly sessionId: string;
  /** The one before it; its archive stays within reach. */
  readonly previous: string;
  /** What the memory took in of it; undefined where there is no memory. */
  readonly memory: MemoryBoundary | undefined;
}

/** What is sent beside the messages. */
function requestOf(state: AgentState) {
  const tools = shapesOf(agentPorts(state).tools);
  return { format: "ai-sdk" as const, system: state.options.system ?? "", tools };
}

export function contextOf(state: AgentState): ContextView {
  const { session, model, managers, recalled } = state;
  const { id: sessionId, messages } = session;
  const manager = managers.managerFor(model);
  return contextView({ ...requestOf(state), manager, sessionId, messages, recalled });
}

/** Compacts now, whatever the size; the instruction goes to the summarizer. Rejects where that failed: nothing is changed then. */
export async function compactNow(
  state: AgentState,
  instruction: string | undefined,
  signal: AbortSignal | undefined,
): Promise<CompactionReport> {
  const { session, managers, model } = state;
  const request = { ...requestOf(state), note: instruction || undefined, signal };
  const manager = managers.managerFor(model);
  const { messages, report } = await manager.manualCompact(session.id, session.messages, request);
  if (report.compacted) await session.replace(messages);
  return report;
}

/** Undoes the newest compaction: the list is as it was before it, with what came since. False where its originals are not in the archive. */
export async function undoCompaction(state: AgentState): Promise<boolean> {
  const { session, managers, model } = state;
  const manager = managers.managerFor(model);
  const { messages } = await manager.undo(session.id, session.messages, requestOf(state));
  if (messages !== undefined) await session.replace(messages);
  return messages !== undefined;
}

/** A session of the channel, as a list of them shows it. */
export interface ListedSession {
  readonly id: string;
  /** When it was last spoken in, ISO 8601. */
  readonly at: string;
  readonly messages: number;
  /** What the user asked first, and last. */
  readonly firstAsk: string;
  readonly lastAsk: string;
}

/** The sessions of the channel's log, the newest first; none for an agent without a channel. */
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

/** Goes on with an earlier session of the channel, from what its log has of it. Rejects with `NotFound` for one that is not there. */
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

/** Ends the session and begins a new one. What it was about goes to the memory first, its messages to the archive. */
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

/** The list goes to the archive as a compaction would send it; what is too short for one is found in the log. */
async function archived(state: AgentState): Promise<void> {
  try {
    await compactNow(state, undefined, undefined);
  } catch (error) {
    state.emit({ type: "warning", diagnostic: diagnosticOf(error, "archive-failed") });
  }
}

/** Goes on with another model; the session's state goes with it where both managers share their storage. */
export async function changeModel(state: AgentState, model: AgentModel): Promise<void> {
  await state.managers.flush();
  state.managers.managerFor(model);
  state.model = model;
}

export function busyError(): CompactError {
  return new CompactError("InvalidUsage", "the agent is at work on another turn", {
    hint: "Read that turn to its end, or interrupt it with its signal, before the next one.",
  });
}
