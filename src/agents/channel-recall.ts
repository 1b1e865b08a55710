import type { Expanded, Recall } from "../compaction/recall/index.ts";
import { readableMessage } from "../compaction/recall/readable.ts";
import { within } from "../compaction/recall/within.ts";
import { buildColdCandidates } from "../memory/cold.ts";
import { createRecallIndex } from "../memory/ranking/recall-index.ts";
import type { Role } from "../messages/message.ts";
import { o200kBase } from "../tokens/encodings/o200k-base.ts";

export interface ChannelRecallOptions {
  /** Of the session that is live. */
  readonly live: Recall;
  /** Of the sessions that belong to it, newest first: earlier ones, and those of sub-agents. */
  readonly related: () => readonly Recall[];
  /** Whose `log.jsonl` is searched where the archives hold little; no log when left out. */
  readonly channelDir?: string | undefined;
  readonly countText?: (text: string) => number;
}

const LOG_ID = /^log-(\d{1,9})$/;
const SNIPPET = 200;

/**
 * Finds what left the prompt in the session and in those before it: archives first, then the channel's log, which has
 * what was never compacted.
 */
export function channelRecall(options: ChannelRecallOptions): Recall {
  const { live, related, countText = o200kBase.count } = options;
  return {
    ...live,
    async expand(id, given) {
      const line = LOG_ID.exec(id)?.[1];
      if (line !== undefined) return expandLine(options, Number(line), { countText, ...given });
      for (const recall of [live, ...related()]) {
        const found = await recall.expand(id, given);
        if (found !== undefined) return found;
      }
      return undefined;
    },
    async search(text, { limit = 8 } = {}) {
      const hits = [...(await live.search(text, { limit }))];
      for (const recall of related()) {
        if (hits.length >= limit) break;
        hits.push(...(await recall.search(text, { limit: limit - hits.length })));
      }
      if (hits.length < limit) hits.push(...(await searchLog(options, text, limit - hits.length)));
      return hits;
    },
  };
}

type Hits = Awaited<ReturnType<Recall["search"]>>;

async function searchLog(
  { channelDir, live }: ChannelRecallOptions,
  text: string,
  limit: number,
): Promise<Hits> {
  if (channelDir === undefined) return [];
  const lines = await buildColdCandidates({ channelDir, sources: ["channel-log"] });
  const byId = new Map(lines.map((line) => [line.id, line]));
  return createRecallIndex(lines)
    .search(text, { limit })
    .flatMap(({ id, score }) => {
      const line = byId.get(id);
      if (line === undefined) return [];
      const archiveId = `log-${line.line ?? 0}`;
      const role: Role = line.author === "user" ? "user" : line.author === "tool" ? "tool" : "assistant";
      const snippet = line.content.slice(0, SNIPPET);
      return [{ archiveId, id, role, sessionId: live.sessionId, step: 0, n: line.line ?? 0, score, snippet }];
    });
}

async function expandLine(
  { channelDir, live }: ChannelRecallOptions,
  number: number,
  {
    maxTokens = 2000,
    offset = 0,
    countText,
  }: { maxTokens?: number; offset?: number; countText(text: string): number },
): Promise<Expanded | undefined> {
  if (channelDir === undefined) return undefined;
  const lines = await buildColdCandidates({ channelDir, sources: ["channel-log"] });
  const line = lines.find((one) => one.line === number);
  if (line === undefined) return undefined;
  const message = {
    id: line.id,
    role: line.author === "user" ? ("user" as const) : ("assistant" as const),
    parts: [{ type: "text" as const, text: line.content }],
  };
  const whole = readableMessage(message);
  const text = within(whole.slice(offset), maxTokens, countText);
  const end = offset + text.length;
  const found = {
    message,
    archiveId: `log-${number}`,
    sessionId: live.sessionId,
    step: 0,
    n: number,
    redacted: false,
  };
  return { found, text, offset, characters: whole.length, next: end < whole.length ? end : undefined };
}
