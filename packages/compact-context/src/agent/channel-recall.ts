import type { Role } from "../core/message.ts";
import type { MemoryCandidate } from "../memory/candidates.ts";
import { buildColdCandidates } from "../memory/cold.ts";
import { createRecallIndex } from "../memory/ranking/recall-index.ts";
import { type Expanded, type Recall, readableMessage, within } from "../recall/recall.ts";
import { o200kBase } from "../tokens/encodings/o200k-base.ts";
import { MOST_RELATED } from "./channel-journal.ts";

export interface ChannelRecallOptions {
  /** Of the session that is live. */
  readonly live: Recall;
  /** Of the sessions that belong to it, newest first: earlier ones, and those of sub-agents. */
  readonly related: () => readonly Recall[];
  /** Whose `log.jsonl` is searched as well, where a session before was never compacted; no log when left out. */
  readonly channelDir?: string;
  readonly countText?: (text: string) => number;
}

type Hits = Awaited<ReturnType<Recall["search"]>>;

const LOG_ID = /^log-(\d{1,9})$/;
const SNIPPET = 200;
/** What is taken from each place before all of it is ranked together. */
const LEAST_EACH = 8;
const EXPAND_TOKENS = 2000;

/** Finds what left the prompt in the session and in those before it: in their archives, and where there is none in the log. */
export function channelRecall(options: ChannelRecallOptions): Recall {
  const { live, related } = options;
  return {
    ...live,
    async expand(id, given) {
      const line = LOG_ID.exec(id)?.[1];
      if (line !== undefined) return expandLine(options, Number(line), given ?? {});
      for (const recall of [live, ...related()]) {
        const found = await recall.expand(id, given);
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
      if (!isWhole) places.push(await searchLog(options, text, each.limit));
      const [only = []] = places;
      return places.length === 1 ? only.slice(0, limit) : ranked(places.flat(), text, limit);
    },
  };
}

/** Scores of different places do not compare: their snippets are ranked against each other; the rest follows in order. */
function ranked(hits: Hits, text: string, limit: number): Hits {
  const found = [...new Map(hits.map((hit) => [hit.archiveId, hit])).values()];
  const index = createRecallIndex(
    found.map(({ archiveId: id, snippet: content }) => ({ id, title: "", content })),
  );
  const byId = new Map(found.map((hit) => [hit.archiveId, hit]));
  const best = index.search(text, { limit }).flatMap(({ id }) => byId.get(id) ?? []);
  const rest = found.filter((hit) => !best.includes(hit));
  return [...best, ...rest].slice(0, limit);
}

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
      const [n, role, snippet] = [line.line, roleOf(line), line.content.slice(0, SNIPPET)];
      return [{ archiveId: `log-${n}`, id, role, sessionId: live.sessionId, step: 0, n, score, snippet }];
    });
}

function roleOf({ author }: Pick<MemoryCandidate, "author">): Role {
  return author === "user" || author === "tool" ? author : "assistant";
}

async function expandLine(
  { channelDir, live, countText = o200kBase.count }: ChannelRecallOptions,
  n: number,
  { maxTokens = EXPAND_TOKENS, offset = 0 }: { readonly maxTokens?: number; readonly offset?: number },
): Promise<Expanded | undefined> {
  if (channelDir === undefined) return undefined;
  const lines: readonly MemoryCandidate[] = await buildColdCandidates({
    channelDir,
    sources: ["channel-log"],
  });
  const line = lines.find((one) => one.line === n);
  if (line === undefined) return undefined;
  const message = { id: line.id, role: roleOf(line), parts: [{ type: "text" as const, text: line.content }] };
  const whole = readableMessage(message);
  const text = within(whole.slice(offset), maxTokens, countText);
  const end = offset + text.length;
  const found = { message, archiveId: `log-${n}`, sessionId: live.sessionId, step: 0, n, redacted: false };
  return { found, text, offset, characters: whole.length, next: end < whole.length ? end : undefined };
}
