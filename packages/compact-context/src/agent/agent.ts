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
import { skillText } from "./skills/skill-session.ts";
import { runTurn, type TurnResult } from "./turn.ts";
import { agentPorts, askModel, checkToolNames } from "./turn-ports.ts";

export interface SendOptions {
  /** Interrupts the turn; the session is ready for the next one. */
  readonly signal?: AbortSignal;
}

/**
 * An agent with one live session, and one turn at a time: `send`, `compact`, `startNew` and `useModel` reject with
 * `InvalidUsage` while another one is under way, and with `Conflict` once the channel's folder is another agent's. What
 * only looks, and skills, may be asked for meanwhile.
 */
export interface Agent {
  /** Changes with a new session. */
  readonly sessionId: string;
  readonly model: AgentModel;
  /** The list as it stands: what the next request is made of. */
  readonly messages: readonly AgentMessage[];
  /** Of the session in this process so far, sub-agents included. */
  readonly spent: Spent;
  /** Names of the skills in use. */
  readonly skillsInUse: readonly string[];
  /**
   * Takes the user's text and gives what happens, to the end of the turn. The turn begins with the first event that is
   * asked for; who stops reading interrupts it.
   */
  send(text: string, options?: SendOptions): AsyncIterable<AgentEvent>;
  /** For `/context`: how full the window is, and of what. */
  context(): ContextView;
  /** For `/compact` and `/summarize`: compacts now; `instruction` says what the summary shall look after. */
  compact(instruction?: string, options?: SendOptions): Promise<CompactionReport>;
  /** For `/undo`: takes the newest compaction back. Rejects with `NotFound` where there is none. */
  undo(): Promise<boolean>;
  /** For `/new`: begins a session; the state of the work stays in the channel's memory. */
  startNew(): Promise<NewSession>;
  /** For a picker of sessions: those of the channel, the newest first. */
  sessions(): Promise<readonly ListedSession[]>;
  /** For `/resume`: goes on with one of them, as `startNew` leaves the one before. Rejects with `NotFound`. */
  resume(sessionId: string): Promise<void>;
  /** For `/memory`: its files, and what it says to a query. */
  memory(query?: string): Promise<MemoryView>;
  /** For work beside the turns, such as a memory's: asks the agent's model; what that takes is counted in `spent`. */
  ask(request: TextModelRequest): Promise<TextModelAnswer>;
  /** For `/model`: goes on with another model. */
  useModel(model: AgentModel): Promise<void>;
  /** Takes up a skill for the user; gives what of it cannot run. Throws `NotFound` for one that is not known. */
  useSkill(name: string): readonly Diagnostic[];
  /** Puts a skill down; false where it was not in use. */
  endSkill(name: string): boolean;
  /** Stores everything, waits for work beside the run, and gives the channel's folder back. */
  close(): Promise<void>;
}

/**
 * Opens the channel's session where there is one, or begins a new one. One agent at a time has the folder: an earlier one
 * of this process writes its session no more; where an agent of another process has it, this rejects with `Conflict`.
 * Rejects with `InvalidConfig` for a manager that sets no `policy.maxToolResultTokens` and for two tools of one name, and
 * with what the folder refuses.
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
    // Who stops reading leaves the rest of the events unread.
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
  state.pending = [...state.pending, skillText(begun.skill, begun.problems)];
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

/** The user's message as it is sent: before it what the memory says to it, what hooks said, skills that the user took up. */
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

/** Words of a line that say which one it is. */
const GIST_WORDS = 9;

/** What was recalled, for people: each section once, with the first words of each of its lines. */
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
