import type { Message } from "../../core/message.ts";
import type { SummaryContext } from "../../core/ports.ts";
import { type Conversation, readConversation } from "./conversation.ts";

/** A conversation, and what of it its reader sees beside the summary. */
export interface Scene {
  /** The whole list where it is known: what stays shows what is worked on, but only the rest is told. */
  readonly conversation: Conversation;
  /** What stays of messages that are told all the same: those that were cut. */
  readonly cut: readonly Message[];
  /** Something is told beside messages that stay: where it says nothing new, it repeats them. */
  readonly repeats: boolean;
}

/** Reads the messages to tell within their list; without a list they are the whole conversation. */
export function readSurroundings(messages: readonly Message[], within: SummaryContext | undefined): Scene {
  const list = new Set(within?.list);
  if (within === undefined || !messages.every((message) => list.has(message))) {
    return { conversation: readConversation(messages), cut: [], repeats: false };
  }
  const told = new Set(messages);
  const ids = new Set(messages.map((message) => message.id));
  const shown = within.list.filter((message) => message.meta?.summaryVersion === undefined);
  const cut = within.kept.filter((message) => ids.has(message.id));
  return {
    conversation: readConversation(shown, {
      staying: new Set(shown.flatMap((message, index) => (told.has(message) ? [] : [index]))),
      cut: new Set(cut.map((message) => message.id)),
    }),
    cut,
    repeats: told.size > 0 && told.size < shown.length,
  };
}
