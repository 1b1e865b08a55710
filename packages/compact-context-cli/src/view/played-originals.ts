import type { Message } from "compact-context/internal/core/message";
import type { PlannedMessage } from "compact-context/internal/core/plan";
import type { TokenCounter } from "compact-context/internal/core/ports";
import type { CompactionReport } from "compact-context/internal/core/report";
import { archiveId } from "compact-context/internal/core/transcript";
import { readableMessage } from "compact-context/internal/recall/recall";
import { layerKeyOf } from "./layer-tokens.ts";
import { createToolFacts, fateOf, kindOf, previewOf, shortPreview, type ToolFacts } from "./message-view.ts";
import type { Originals } from "./session-record.ts";
import { rememberOpened } from "./session-record.ts";
import type { CompactionHead, FateView, MessageView } from "./session-view.ts";
import { indexSources, type SourceIndex, type SourceText } from "./source-index.ts";
import { summaryPieces } from "./summary-sources.ts";
import { expandedPiece } from "./untrusted.ts";

/** What a compaction did, as the manager told it. */
export interface KnownCompaction {
  readonly entries: readonly PlannedMessage[];
  /** For each entry its place in the session; undefined for a summary. */
  readonly places: readonly (number | undefined)[];
  readonly summary: string | undefined;
  readonly report: CompactionReport;
}

/** What is at hand of the session. */
export interface PlayedTexts {
  /** Every message of the session, in order. */
  readonly history: readonly Message[];
  readonly counter: TokenCounter;
  /** Finds among the messages that were archived while it was played. */
  readonly search: Originals["search"];
  redactText(text: string): string;
}

const SUMMARY_ID = /^compact-summary-v(\d+)$/;

/** Finds the messages of a view in the session: where an id occurs more than once, the newest of it is still there. */
export function createPlaces(
  history: readonly Message[],
): (entries: readonly PlannedMessage[], before: number) => (number | undefined)[] {
  const placesOf = new Map<string, number[]>();
  history.forEach(({ id }, index) => {
    const known = placesOf.get(id);
    if (known === undefined) placesOf.set(id, [index]);
    else known.push(index);
  });
  return (entries, before) => {
    const used = new Map<string, number>();
    const newestFirst = entries.toReversed().map(({ id }) => {
      const standing = placesOf.get(id)?.filter((place) => place < before);
      const count = (used.get(id) ?? 0) + 1;
      used.set(id, count);
      return standing?.at(-count);
    });
    return newestFirst.reverse();
  };
}

/** True for a summary that an earlier compaction put into the list. */
export function isSummaryId(id: string): boolean {
  return SUMMARY_ID.test(id);
}

/** The texts of a session whose messages are at hand. */
export function createPlayedOriginals(session: PlayedTexts, known: readonly KnownCompaction[]): Originals {
  const { history, redactText } = session;
  const byArchiveId = new Map<string, number>();
  let hashed = 0;
  let indexing: Promise<SourceIndex> | undefined;
  const toolOf = createToolFacts(() => history);
  const placeOf = (id: string): number | undefined => {
    for (; hashed < history.length && !byArchiveId.has(id); hashed += 1) {
      const message = history[hashed];
      if (message !== undefined && !byArchiveId.has(archiveId(message)))
        byArchiveId.set(archiveId(message), hashed);
    }
    return byArchiveId.get(id);
  };
  return {
    count: () => history.length,
    message: (index) => messageView(history[index], index, { ...session, toolOf }),
    open: rememberOpened(async (head) => {
      const compaction = known[head.index];
      if (compaction === undefined) return { messages: [], summary: [] };
      const shown = { history, known, redactText, toolOf };
      indexing ??= indexSources(sourceTexts(history));
      const index = await indexing;
      const replaced = replacedBy(known.slice(0, head.index + 1));
      return {
        messages: compaction.entries.map((entry, place) =>
          fateView(entry, compaction.places[place], { ...shown, head }),
        ),
        summary: summaryPieces(redactText(compaction.summary ?? ""), {
          index,
          has: (place) => replaced.has(place),
        }),
      };
    }),
    async expand({ archiveId: id, message, offset }) {
      const index = message ?? (id === undefined ? undefined : placeOf(id));
      const original = index === undefined ? undefined : history[index];
      if (original === undefined || index === undefined) return undefined;
      const text = readableMessage(original);
      const safe = redactText(text);
      return {
        archiveId: archiveId(original),
        message: index,
        role: original.role,
        redacted: safe !== text,
        ...expandedPiece(safe, offset),
      };
    },
    async search(text, limit) {
      const found = await session.search(text, limit);
      const hits = found.hits.map((hit) => {
        const message = placeOf(hit.archiveId);
        return message === undefined ? hit : { ...hit, message };
      });
      return { ...found, hits };
    },
  };
}

function messageView(
  message: Message | undefined,
  index: number,
  { counter, redactText, toolOf }: PlayedTexts & Pick<Shown, "toolOf">,
): MessageView | undefined {
  if (message === undefined) return undefined;
  const at = message.meta?.timestamp;
  return {
    index,
    role: message.role,
    kind: kindOf(message),
    ...safeFacts(toolOf(message), redactText),
    tokens: counter.countMessage(message),
    at,
    archiveId: archiveId(message),
    preview: previewOf(message, redactText),
  };
}

/** A path may hold a secret as any text may. */
function safeFacts({ tool, path }: ToolFacts, redactText: (text: string) => string): ToolFacts {
  return { tool, path: path === undefined ? undefined : redactText(path) };
}

interface Shown {
  readonly history: readonly Message[];
  readonly known: readonly KnownCompaction[];
  redactText(text: string): string;
  toolOf(message: Message): ToolFacts;
}

function fateView(
  entry: PlannedMessage,
  place: number | undefined,
  { head, ...shown }: Shown & { readonly head: CompactionHead },
): FateView {
  const { role, tokens, tokensAfter, reason } = entry;
  const message = place === undefined ? undefined : shown.history[place];
  const common = { role, fate: fateOf(entry), tokens, tokensAfter, reason };
  if (message === undefined || place === undefined) {
    const summaryOf = earlierSummary(entry.id, head, shown.known);
    const text = summaryOf === undefined ? "" : (shown.known[summaryOf]?.summary ?? "");
    return {
      ...common,
      summaryOf,
      kind: "summary",
      layer: "summary",
      preview: shortPreview(shown.redactText(text.slice(0, 2000))),
    };
  }
  return {
    ...common,
    message: place,
    kind: kindOf(message),
    ...safeFacts(shown.toolOf(message), shown.redactText),
    layer: layerKeyOf(entry.layer, role),
    archiveId: archiveId(message),
    preview: previewOf(message, shown.redactText),
  };
}

function earlierSummary(
  id: string,
  head: CompactionHead,
  known: readonly KnownCompaction[],
): number | undefined {
  const version = Number(SUMMARY_ID.exec(id)?.[1]);
  const made = known.findLastIndex(
    ({ report }, index) => index < head.index && report.summaryVersion === version,
  );
  return made < 0 ? undefined : made;
}

/** What this summary or those folded into it replaced, wholly or in part. */
function replacedBy(known: readonly KnownCompaction[]): ReadonlySet<number> {
  const replaced = new Set<number>();
  for (const { entries, places } of known) {
    entries.forEach(({ action }, index) => {
      const place = places[index];
      if (place !== undefined && action !== "keep") replaced.add(place);
    });
  }
  return replaced;
}

function* sourceTexts(history: readonly Message[]): Generator<SourceText> {
  for (const [place, message] of history.entries()) {
    yield {
      message: place,
      archiveId: archiveId(message),
      role: message.role,
      text: readableMessage(message),
    };
  }
}
