import { createHostPreflight } from "../compaction/host.ts";
import { CompactManager } from "../compaction/manager.ts";
import { CompactError } from "../errors.ts";
import { injectRuntimeContext } from "../memory/runtime-context.ts";
import type { AgentMessage } from "./agent-message.ts";
import type { AgentModel } from "./agent-model.ts";
import type { AgentOptions } from "./agent-options.ts";
import { createAgentSession } from "./agent-session.ts";
import { compactedText } from "./compaction-words.ts";
import type { AgentEvent, Spent } from "./event.ts";
import { createEventQueue } from "./event-queue.ts";
import { DEFAULT_LIMITS } from "./limits.ts";
import { addSpent, bareModelName, NOTHING_SPENT, spentOn } from "./spent.ts";
import { refusalOf } from "./tool-runs.ts";
import { runTurn, type TurnPorts, type TurnResult } from "./turn.ts";

export interface SendOptions {
  /** Interrupts the turn; the session is ready for the next one. */
  readonly signal?: AbortSignal;
}

/** An agent with one live session: one turn at a time. */
export interface Agent {
  /** Changes with a new session. */
  readonly sessionId: string;
  readonly model: AgentModel;
  /** The list as it stands: what the next request is made of. */
  readonly messages: readonly AgentMessage[];
  /** Of the session so far, sub-agents included. */
  readonly spent: Spent;
  /**
   * Takes the user's text and gives what happens, to the end of the turn. The turn begins with the first event that is
   * asked for; who stops reading interrupts it. Throws `InvalidUsage` while another turn runs.
   */
  send(text: string, options?: SendOptions): AsyncIterable<AgentEvent>;
  /** Stores everything and waits for work beside the run. */
  close(): Promise<void>;
}

/** Opens the channel's session where there is one, or begins a new one. */
export async function createAgent(options: AgentOptions): Promise<Agent> {
  const { model } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const manager =
    options.manager instanceof CompactManager ? options.manager : new CompactManager(options.config ?? {});
  const preflight = createHostPreflight(manager);
  const tools = new Map((options.tools ?? []).map((tool) => [tool.name, tool]));
  const session = createAgentSession({ id: crypto.randomUUID() });
  const clock = (): number => performance.now();
  let spent = NOTHING_SPENT;
  let busy = false;
  let emitNow: (event: AgentEvent) => void = () => undefined;
  const forget = manager.onCompaction(({ sessionId, report }) => {
    if (sessionId === session.id) emitNow({ type: "compacted", report, kept: compactedText(report) });
  });

  const turnPorts = (emit: (event: AgentEvent) => void): TurnPorts => ({
    session,
    model,
    system: options.system ?? "",
    tools,
    refuse: async ({ tool, arguments: args, signal }) =>
      refusalOf((await options.permissions?.({ tool: tool.name, arguments: args, signal })) ?? "allow"),
    preflight,
    metered(usage) {
      const one = spentOn(usage, bareModelName(model.name), manager.config.models);
      spent = addSpent(spent, one);
      const state = manager.getState(session.id);
      emit({
        type: "usage",
        spent: one,
        total: spent,
        contextTokens: state.totalTokens,
        window: state.maxContextTokens,
      });
    },
    limits,
    emit,
    clock,
    sleep: (ms) => new Promise((done) => setTimeout(done, ms)),
  });

  async function turn(
    text: string,
    emit: (event: AgentEvent) => void,
    signal: AbortSignal,
  ): Promise<TurnResult> {
    const recalled = (await options.memory?.recall(text))?.renderedText ?? "";
    const content = injectRuntimeContext(text, recalled);
    return runTurn({ role: "user", content: [{ type: "text", text: content }] }, turnPorts(emit), signal);
  }

  return {
    get sessionId() {
      return session.id;
    },
    model,
    get messages() {
      return session.messages;
    },
    get spent() {
      return spent;
    },
    async *send(text, { signal } = {}) {
      if (busy) throw busyError();
      busy = true;
      const queue = createEventQueue<AgentEvent>();
      emitNow = queue.push;
      const stop = new AbortController();
      const signals = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
      const work = turn(text, queue.push, signals)
        .then((result) => queue.push({ type: "ended", ...result }))
        .finally(queue.end);
      try {
        yield* queue;
        await work;
      } finally {
        stop.abort(new CompactError("Aborted", "nobody reads the turn any more"));
        await work.catch(() => undefined);
        busy = false;
        emitNow = () => undefined;
      }
    },
    async close() {
      forget();
      await manager.flush();
      await options.memory?.settled();
    },
  };
}

function busyError(): CompactError {
  return new CompactError("InvalidUsage", "the agent is at work on another turn", {
    hint: "Read that turn to its end, or interrupt it with its signal, before the next one.",
  });
}
