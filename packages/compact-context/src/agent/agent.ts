import { setMaxListeners } from "node:events";
import { decode } from "../codecs/formats.ts";
import type { TextModelAnswer, TextModelRequest } from "../core/ports.ts";
import type { CompactionReport } from "../core/report.ts";
import { CompactError } from "../errors.ts";
import { escapeRuntimeTags, injectRuntimeContext, renderRuntimeContext } from "../memory/pack.ts";
import type { RecalledMemory } from "../memory/recall.ts";
import {
  busyError,
  changeModel,
  compactNow,
  contextOf,
  type ListedSession,
  listSessions,
  type NewSession,
  resumeSession,
  startNewSession,
  undoCompaction,
} from "./agent-commands.ts";
import type { AgentMessage, AgentModel } from "./agent-message.ts";
import type { AgentOptions } from "./agent-options.ts";
import { type AgentState, betweenTurns, openState } from "./agent-state.ts";
import { type ContextView, type MemoryView, memoryView } from "./context-view.ts";
import { type AgentEvent, type Diagnostic, diagnosticOf, type Spent } from "./event.ts";
import { runTurn, type TurnResult } from "./turn.ts";
import { agentPorts, askModel, checkToolNames } from "./turn-ports.ts";

export interface SendOptions {
  /** Interrupts the turn; the session stays usable. */
  readonly signal?: AbortSignal;
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
  /**
   * For work outside of turns, such as a memory's: asks the agent's model; the cost is counted in `spent`.
   */
  ask(request: TextModelRequest): Promise<TextModelAnswer>;
  /** For `/model`: switches to another model. */
  useModel(model: AgentModel): Promise<void>;
  /**
   * Activates a skill for the user; returns what part of it cannot run. Throws `NotFound` for an unknown
   * skill.
   */
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
    if (busy) throw busyError();
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
    startNew: () => alone(() => startNewSession(state)),
    sessions: () => listSessions(state),
    resume: (id) => alone(() => resumeSession(state, id)),
    memory: (query) => memoryView(options, query),
    ask: (request) => askModel(state, request),
    useModel: (model) => alone(() => changeModel(state, model)),
    useSkill: (name) => useSkill(state, name),
    endSkill: (name) => state.skills.end(name, "user"),
    close: () => close(state),
  };
}

async function* turnEvents(
  state: AgentState,
  text: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<AgentEvent> {
  let push: AgentState["emit"] = () => undefined;
  let end = (): void => undefined;
  const events = new ReadableStream<AgentEvent>({
    start(controller) {
      push = (event) => controller.enqueue(event);
      end = () => {
        controller.close();
        push = () => undefined;
      };
    },
  });
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const abort = (): void => stop.abort(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted === true) abort();
  state.emit = (event) => push(event);
  const work = turn(state, text, stop.signal)
    .then((result) => push({ type: "ended", ...result }))
    .finally(() => end());
  try {
    // If the reader stops, the remaining events stay unread.
    yield* events.values({ preventCancel: true });
    await work;
  } finally {
    stop.abort(new CompactError("Aborted", "nobody reads the turn any more"));
    await work.catch(() => undefined);
    await state.journal?.settled();
    signal?.removeEventListener("abort", abort);
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

/**
 * The user's message as sent: preceded by recalled memory, hook output, and skills that the user activated.
 */
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
  try {
    const only = scope === "session" ? { sources: ["channel-session" as const] } : {};
    const { items, renderedText } = await memory.recall(text, only);
    state.recalled = recalledWords(items);
    if (renderedText !== "")
      state.emit({ type: "recalled", items: state.recalled, characters: renderedText.length });
    return renderedText;
  } catch (error) {
    state.emit({ type: "warning", diagnostic: diagnosticOf(error, "recall-failed") });
    return "";
  }
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
