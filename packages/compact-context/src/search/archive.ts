import { type ArchiveStore, createArchiveStore, readSessionId } from "../archive/store.ts";
import type { ArchivedMessage } from "../archive/transcript.ts";
import type { Role } from "../core/message.ts";
import type { Redaction, StorageDriver } from "../core/ports.ts";
import { type SessionOwner, sessionKey } from "../core/records.ts";
import { type Fields, requireFields } from "../core/request.ts";
import { batches, CompactError, requireOptions } from "../errors.ts";
import {
  type Deleted,
  deleteOwner,
  deleteSession,
  guardDeleted,
  type Retention,
  type Swept,
  sweep,
} from "./deletion.ts";
import { OpenIndexes } from "./open-indexes.ts";
import { best, type Plan, planQuery, type Ranked, rankSegment, snippetOf } from "./rank.ts";
import type { IndexedMessage } from "./segment.ts";
import { readPlace, type SessionIndex, type StepProblem } from "./session-index.ts";
import { archiveIdTerm, foldedText, ownIdTerm, type Query, readQuery } from "./words.ts";

/** A searchable archive of the original messages of many sessions. */
export interface Archive extends ArchiveStore {
  /**
   * Ranks messages by BM25; any of the words may be missing. Among the best, messages that contain the query
   * verbatim come first. Text in double quotes must match exactly. A word that occurs nowhere is used as a
   * prefix. Rejects with `InvalidArgument` for an empty text.
   */
  search(text: string, options?: SearchOptions): Promise<SearchResult>;
  /** By archive id or the message's own id, as first archived; undefined if the session has no such message. */
  findMessage(sessionId: string, id: string): Promise<FoundMessage | undefined>;
  /**
   * Permanently removes everything of a session, or of all sessions of a tenant or user: transcripts,
   * summaries, events, state, search index and queued work. For 30 days nothing can be stored under it again:
   * writes by a manager that still holds it fail with `NotFound`. Rejects with `Conflict` while another
   * worker compacts it. An interrupted deletion resumes when called again.
   */
  delete(what: string | SessionOwner): Promise<Deleted>;
  /**
   * Deletes expired sessions of all owners; a host that returns to one starts a new session. `dryRun` only
   * lists them.
   */
  sweep(retention: Retention, options?: { readonly dryRun?: boolean }): Promise<Swept>;
}

export interface ArchiveOptions {
  readonly redact: Pick<Redaction, "redactText" | "redactValue">;
  /** Storage of session states and queued work, if separate. */
  readonly stateDriver?: StorageDriver;
  /** Wall clock. */
  now?(): Date;
  /** Called when the search index cannot be stored, and once for each damaged session. */
  warn?(message: string): void;
}

/**
 * An archive over any driver; its files are those of `archiveFiles`. Messages are found with an index stored
 * next to them in `{session}/search/`, which each search updates first.
 */
export function createArchive(given: StorageDriver, options: ArchiveOptions): Archive {
  requireOptions(given, "driver", "Pass a storage driver, such as createMemoryDriver() gives.");
  requireOptions(options, "options", "Pass { redact }, such as createRedactor() gives.");
  const { redact, now } = options;
  const warn = onceEach(options.warn);
  const driver = guardDeleted(given, now);
  // State first: without it nothing refers to the archive.
  const drivers = [...new Set([options.stateDriver ?? given, given])];
  const indexes = new OpenIndexes(driver, warn);
  return {
    ...createArchiveStore(driver, redact, warn),
    async search(text, { sessionId, limit = 20 } = {}) {
      checkSearch(text, limit);
      const sessions =
        sessionId === undefined ? await indexes.openAll() : [await indexes.open(sessionKey(sessionId))];
      const found = await searchIn(sessions, { query: readQuery(text), limit, indexes });
      return withNames(found, async (folder) => sessionId ?? readSessionId(driver, folder, warn));
    },
    async findMessage(sessionId, id) {
      const folder = sessionKey(sessionId);
      const place = placeOf(await indexes.open(folder), id);
      const archived = place && (await readPlace(driver, folder, place));
      return archived && { ...archived, sessionId, step: place.step };
    },
    async delete(what) {
      const deleted: Deleted[] = [];
      for (const one of drivers) {
        if (typeof what !== "string") deleted.push(await deleteOwner(one, what, now));
        else {
          let values = 0;
          await indexes.forget(sessionKey(what), async () => {
            values = (await deleteSession(one, sessionKey(what), { now })) ?? 0;
          });
          deleted.push({ sessions: values > 0 ? 1 : 0, values });
        }
      }
      return {
        sessions: Math.max(...deleted.map(({ sessions }) => sessions)),
        values: deleted.reduce((sum, { values }) => sum + values, 0),
      };
    },
    async sweep(retention, { dryRun } = {}) {
      requireFields(retention, RETENTION, "retention", "Pass { days }, { maxBytes } or both.");
      return sweep(drivers, retention, { now, dryRun });
    },
  };
}

/** No limit is 0: that would delete everything. */
const RETENTION: Fields<Retention> = { days: "positive", maxBytes: "positive" };

/** A damaged session is met again by every search. */
function onceEach(warn: (message: string) => void = () => undefined): (message: string) => void {
  const told = new Set<string>();
  return (message) => {
    if (told.has(message)) return;
    told.add(message);
    warn(message);
  };
}

export interface FoundMessage extends ArchivedMessage {
  readonly sessionId: string;
  readonly step: number;
}

/** A matching message, with secrets redacted. */
export interface SearchHit {
  readonly archiveId: string;
  /** The message's own id. */
  readonly id: string;
  readonly role: Role;
  readonly sessionId: string;
  /** The transcript that first archived it; `n` is its position there, from 1. */
  readonly step: number;
  readonly n: number;
  /** Comparable only within one result. */
  readonly score: number;
  /** The excerpt with most of the words, about 200 characters. */
  readonly snippet: string;
}

export interface SearchOptions {
  /** Default: all sessions. */
  readonly sessionId?: string;
  /** Default: 20. */
  readonly limit?: number;
}

export interface SearchResult {
  /** Best first. */
  readonly hits: readonly SearchHit[];
  /** Unreadable transcript lines. */
  readonly problems: readonly SearchProblem[];
}

export interface SearchProblem extends StepProblem {
  readonly sessionId: string;
}

function checkSearch(text: string, limit: number): void {
  if (typeof text !== "string" || text.trim() === "") {
    throw new CompactError("InvalidArgument", "the text to search for is empty", {
      hint: "Give a word or a phrase of the message that you look for.",
    });
  }
  if (Number.isSafeInteger(limit) && limit > 0) return;
  throw new CompactError("InvalidArgument", `limit must be a whole number from 1, not ${limit}`, {
    place: "options.limit",
    hint: "Leave it out for 20.",
  });
}

/** The first position of an archive id, otherwise of a message's own id. */
function placeOf({ segments }: SessionIndex, id: string): IndexedMessage | undefined {
  if (typeof id !== "string" || id === "") return undefined;
  for (const term of [archiveIdTerm(id), ownIdTerm(id)]) {
    const places: IndexedMessage[] = [];
    for (const segment of segments) segment.each(term, (at) => places.push(segment.message(at)));
    const first = places.sort((one, other) => one.step - other.step || one.n - other.n)[0];
    if (first !== undefined) return first;
  }
  return undefined;
}

interface Asked {
  readonly query: Query;
  readonly limit: number;
  readonly indexes: OpenIndexes;
}

/** The best messages and the unreadable lines, each with its session's folder for a `sessionId`. */
async function searchIn(sessions: readonly SessionIndex[], asked: Asked): Promise<SearchResult> {
  const segments = sessions.flatMap((session) => session.segments);
  const plan = planQuery(asked.query, segments);
  // Only the texts distinguish a phrase from its separate words, so more candidates are needed.
  const most = asked.query.phrases.length > 0 ? Number.POSITIVE_INFINITY : lookedAt(asked.limit);
  const ranked = best(
    segments.flatMap((one) => rankSegment(one, plan, most)),
    most,
  );
  const problems = sessions.flatMap(({ folder: sessionId, problems: all }) =>
    all.map((one) => ({ ...one, sessionId })),
  );
  const candidates = ranked.length > MANY ? await havingPhrases(ranked, asked) : ranked;
  return { hits: await shown(await wholeFirst(candidates, asked), plan, asked), problems };
}

/**
 * How many candidates are checked for the whole query: this multiple of the limit, and at least
 * `LEAST_LOOKED_AT`.
 */
const LOOKED_AT = 3;
const LEAST_LOOKED_AT = 30;

function lookedAt(limit: number): number {
  return Math.max(limit * LOOKED_AT, LEAST_LOOKED_AT);
}

/** Texts read at the same time: each is an open file or a request. */
const AT_ONCE = 16;

/** Texts that contain the query verbatim come first: adjacent words are a stronger match than the same words apart. */
async function wholeFirst(
  ranked: readonly Ranked[],
  { query, limit, indexes }: Asked,
): Promise<readonly Ranked[]> {
  const [first] = ranked;
  if (query.whole === "" || first === undefined) return ranked;
  const raise = async (one: Ranked): Promise<Ranked> => {
    const stored = await indexes.textOf(one.from, one.document);
    const holds = stored !== undefined && foldedText(stored.text).includes(query.whole);
    return holds ? { ...one, score: one.score + first.score } : one;
  };
  const looked = ranked.slice(0, lookedAt(limit));
  const raised: Ranked[] = [];
  for (const some of batches(looked, AT_ONCE)) raised.push(...(await Promise.all(some.map(raise))));
  return best(raised, raised.length);
}

/** Up to this many texts are checked in score order; more are checked in file order, so that each file is read once. */
const MANY = 200;

async function havingPhrases(
  ranked: readonly Ranked[],
  { query, limit, indexes }: Asked,
): Promise<readonly Ranked[]> {
  if (query.phrases.length === 0) return ranked;
  const having: Ranked[] = [];
  for (const one of ranked.slice(0, MANY)) {
    const stored = await indexes.textOf(one.from, one.document);
    if (stored !== undefined && holdsPhrases(stored.text, query)) having.push(one);
    if (having.length === limit) return having;
  }
  const holds = phraseInJson(query);
  const rest = new Map<Ranked["from"], Map<number, Ranked>>();
  for (const one of ranked.slice(MANY)) {
    const mine = rest.get(one.from) ?? new Map<number, Ranked>();
    rest.set(one.from, mine.set(one.document, one));
  }
  for (const [from, mine] of rest) {
    const documents = [...mine.keys()].sort((one, other) => one - other);
    const take = (document: number, text: string): void => {
      const one = mine.get(document);
      if (one !== undefined && holdsPhrases(text, query)) having.push(one);
    };
    await indexes.scan(from, { documents, holds, take });
  }
  return best(having, having.length);
}

/** Whether the JSON of a block can hold all phrases in one text: parsing takes longer than all else. */
function phraseInJson({ phrases }: Query): (json: string) => boolean {
  const patterns = phrases.map(({ text }) => {
    const words = text.split(" ").map((word) => JSON.stringify(word).slice(1, -1));
    const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return new RegExp(escaped.join("(?:\\s|\\\\[nrtf]|\\\\u000b)+"));
  });
  return (json) => {
    const folded = json.normalize("NFKC").toLowerCase();
    return patterns.every((pattern) => pattern.test(folded));
  };
}

async function shown(
  ranked: readonly Ranked[],
  plan: Plan,
  { query, limit, indexes }: Asked,
): Promise<readonly SearchHit[]> {
  const hits: SearchHit[] = [];
  for (const { from, document, score } of ranked) {
    if (hits.length >= limit) break;
    const stored = await indexes.textOf(from, document);
    if (stored === undefined || !holdsPhrases(stored.text, query)) continue;
    const { archiveId, role, step, n } = from.message(document);
    const snippet = snippetOf(stored.text, query, plan.terms);
    hits.push({ archiveId, id: stored.id, role, step, n, score, snippet, sessionId: from.folder });
  }
  return hits;
}

function holdsPhrases(text: string, { phrases }: Query): boolean {
  if (phrases.length === 0) return true;
  const folded = foldedText(text);
  return phrases.every((phrase) => folded.includes(phrase.text));
}

async function withNames(
  { hits, problems }: SearchResult,
  nameOf: (folder: string) => Promise<string>,
): Promise<SearchResult> {
  const names = new Map<string, string>();
  for (const { sessionId: folder } of [...hits, ...problems])
    if (!names.has(folder)) names.set(folder, await nameOf(folder));
  const named = <T extends SearchHit | SearchProblem>(one: T): T => ({
    ...one,
    sessionId: names.get(one.sessionId) ?? one.sessionId,
  });
  return { hits: hits.map(named), problems: problems.map(named) };
}
