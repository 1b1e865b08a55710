import { decode } from "../../codecs/formats.ts";
import { hostPreflight, type ManagedOptions } from "../../host.ts";
import { wordsOf } from "../../providers/request.ts";

export interface CompactionFunctionOptions extends ManagedOptions {
  /** The conversation that the session holds. */
  readonly sessionId: string;
}

/** One message of a `Session`, such as an AI SDK UI message. */
interface SessionMessage {
  readonly id: string;
}

/** The text that a session reads instead of its messages from the first id to the last. */
interface SessionOverlay {
  readonly fromMessageId: string;
  readonly toMessageId: string;
  readonly summary: string;
}

/**
 * For `onCompaction` of a session of Cloudflare's Agents SDK, which calls it after `compactAfter(tokens)` and
 * `compact()`. A session replaces one range of messages with a summary: kept messages within that range are
 * repeated verbatim after the summary. The session keeps every message. Resolves with null if nothing can be
 * removed.
 */
export function compactionFunction(
  options: CompactionFunctionOptions,
): (messages: readonly SessionMessage[]) => Promise<SessionOverlay | null> {
  const preflight = hostPreflight(options, { sessionId: true });
  const { sessionId } = options;
  return async (messages) => {
    const kept = await preflight({ sessionId, messages, request: { format: "ai-sdk" }, force: true });
    const ids = new Set(kept.map(({ id }) => id));
    const first = messages.findIndex(({ id }) => !ids.has(id));
    const last = messages.findLastIndex(({ id }) => !ids.has(id));
    const [from, to] = [messages[first], messages[last]];
    if (from === undefined || to === undefined) return null;
    const known = new Set(messages.map(({ id }) => id));
    const summaries = kept.filter(({ id }) => !known.has(id)).map(wordsOf);
    const within = messages.slice(first, last + 1).filter(({ id }) => ids.has(id));
    const verbatim = within.length === 0 ? [] : ["Said within it, word by word:", ...within.map(quoted)];
    return { fromMessageId: from.id, toMessageId: to.id, summary: [...summaries, ...verbatim].join("\n\n") };
  };
}

function quoted(message: SessionMessage): string {
  const [{ role } = { role: "user" }] = decode([message], "ai-sdk");
  return `${role}: ${wordsOf(message)}`;
}
