import type { Role } from "../core/message.ts";
import { buildColdCandidates, type MemoryCandidate } from "../memory/candidates.ts";
import { createRecallIndex } from "../memory/ranking/recall-index.ts";
import { expandedPiece, type Recall } from "../recall/recall.ts";
import type { FoundMessage, SearchHit } from "../search/archive.ts";
import { MOST_RELATED } from "./channel-journal.ts";

interface ChannelRecallOptions {
  /** Of the live session. */
  readonly live: Recall;
  /** Of the related sessions, newest first: earlier ones and those of sub-agents. */
  readonly related: () => readonly Recall[];
  /**
   * Folder whose `log.jsonl` is also searched, for earlier sessions that were never compacted. If omitted, no
   * log is searched.
   */
  readonly channelDir?: string;
}

const LOG_ID = /^log-(\d{1,9})$/;
const SNIPPET = 200;
/** Minimum number of hits taken from each source before they are ranked together. */
const LEAST_EACH = 8;

/** Recall over the session and those before it: from their archives, and from the log if they have none. */
export function channelRecall({ live, related, channelDir }: ChannelRecallOptions): Recall {
  const logLines = async (): Promise<readonly MemoryCandidate[]> =>
    channelDir === undefined ? [] : buildColdCandidates({ channelDir }, ["channel-log"]);
  const { sessionId } = live;

  const searchLog = async (text: string, limit: number): Promise<readonly SearchHit[]> => {
    const lines = await logLines();
    const byId = new Map(lines.map((line) => [line.id, line]));
    return createRecallIndex(lines)
      .search(text, { limit })
      .flatMap(({ id, score }): SearchHit[] => {
        const line = byId.get(id);
        if (line === undefined) return [];
        const snippet = line.content.slice(0, SNIPPET);
        return [{ ...placeOf(line), sessionId, id, role: roleOf(line), score, snippet }];
      });
  };

  return {
    ...live,
    async expand(id, options) {
      const n = LOG_ID.exec(id)?.[1];
      if (n !== undefined) {
        const line = (await logLines()).find((one) => one.line === Number(n));
        return line && expandedPiece(loggedMessage(line, sessionId), options);
      }
      for (const recall of [live, ...related()]) {
        const found = await recall.expand(id, options);
        if (found !== undefined) return found;
      }
      return undefined;
    },
    async search(text, { limit = LEAST_EACH } = {}) {
      const before = related();
      const each = { limit: Math.max(limit, LEAST_EACH) };
      const places = await Promise.all([live, ...before].map((recall) => recall.search(text, each)));
      const steps = await Promise.all(before.map((recall) => recall.steps()));
      const isWhole = before.length < MOST_RELATED && steps.every((found) => found.length > 0);
      if (!isWhole) places.push(await searchLog(text, each.limit));
      const [only = []] = places;
      return places.length === 1 ? only.slice(0, limit) : ranked(places.flat(), text, limit);
    },
  };
}

/** Scores of several sources are not comparable: the snippets are ranked together; the rest follows in order. */
function ranked(hits: readonly SearchHit[], text: string, limit: number): readonly SearchHit[] {
  const found = new Map(hits.map((hit) => [hit.archiveId, hit]));
  const snippets = [...found].map(([id, { snippet: content }]) => ({ id, title: "", content }));
  const best = createRecallIndex(snippets).search(text, { limit });
  const order = new Set([...best.map(({ id }) => id), ...found.keys()]);
  return [...order].flatMap((id) => found.get(id) ?? []).slice(0, limit);
}

/** Where a line of the log stands, in the words of an archive. */
function placeOf({ line: n }: MemoryCandidate) {
  return { archiveId: `log-${n}`, step: 0, n };
}

function roleOf({ author }: MemoryCandidate): Role {
  return author === "user" || author === "tool" ? author : "assistant";
}

function loggedMessage(line: MemoryCandidate, sessionId: string): FoundMessage {
  const parts = [{ type: "text" as const, text: line.content }];
  const message = { id: line.id, role: roleOf(line), parts };
  return { ...placeOf(line), message, sessionId, redacted: false };
}
