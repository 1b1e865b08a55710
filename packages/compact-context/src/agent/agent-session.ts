import type { AgentMessage } from "./agent-message.ts";
import { type Diagnostic, diagnosticOf } from "./diagnostic.ts";

/** What a session keeps outside of the process. */
export interface Journal {
  /** Takes in what was said, whatever becomes of the list. */
  log(message: AgentMessage): void;
  /** Adds a message to the list; durable when it resolves. */
  add(message: AgentMessage): Promise<void>;
  /** The list is this one from now on; what was added before stays in the log. */
  replace(messages: readonly AgentMessage[]): Promise<void>;
}

/** The live list of one session. */
export interface AgentSession {
  readonly id: string;
  readonly messages: readonly AgentMessage[];
  /** The provider's usage record of the newest request, until a preflight has taken it. */
  usage: unknown;
  add(message: AgentMessage): Promise<void>;
  replace(messages: readonly AgentMessage[]): Promise<void>;
}

export interface SessionOptions {
  readonly id: string;
  readonly messages?: readonly AgentMessage[];
  readonly journal?: Journal;
  /** Told when the journal could not be written; the session goes on, and the next write brings it up to date. */
  readonly warn?: (diagnostic: Diagnostic) => void;
}

export function createAgentSession({ id, messages = [], journal, warn }: SessionOptions): AgentSession {
  let list: readonly AgentMessage[] = [...messages];
  let behind = false;
  const keep = async (write: (journal: Journal) => Promise<void>): Promise<void> => {
    if (journal === undefined) return;
    try {
      await (behind ? journal.replace(list) : write(journal));
      behind = false;
    } catch (error) {
      if (!behind) warn?.({ ...diagnosticOf(error), code: "session-not-saved" });
      behind = true;
    }
  };
  return {
    id,
    usage: undefined,
    get messages() {
      return list;
    },
    async add(message) {
      list = [...list, message];
      journal?.log(message);
      await keep((open) => open.add(message));
    },
    async replace(next) {
      list = next;
      await keep((open) => open.replace(next));
    },
  };
}
