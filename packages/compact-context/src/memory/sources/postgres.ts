import { CompactError, once, requireOptions } from "../../errors.ts";
import { createRedactor, type Redactor } from "../../redaction/redactor.ts";
import {
  createDatabase,
  type Database,
  DEFAULT_WAITS,
  locationOf,
  openPool,
  type PoolOptions,
  type PostgresPool,
  quotedSchema,
} from "../../storage/postgres/client.ts";
import type { CandidateSource, RecallCandidate } from "../ranking/candidate.ts";
import { findCandidates } from "./postgres-find.ts";
import { makeTables } from "./postgres-tables.ts";
import { putUnits, removeUnits, type ScopeKeys } from "./postgres-units.ts";

export interface PostgresMemoryOptions extends PoolOptions {
  /** As for the Postgres driver: a URL, else `COMPACT_POSTGRES_URL`, else the variables of every client. */
  readonly url?: string;
  /** A pool of the package `pg`, instead of a URL; it stays yours to end. */
  readonly pool?: PostgresPool;
  /** Holds the tables, made when they are first needed; `compact_memory` when left out. */
  readonly schema?: string;
  /** Whose memory: nothing of another workspace or channel is ever found. */
  readonly workspace: string;
  readonly channel: string;
  /** Finds what is this user's as well; without one, only what is everybody's in the channel. */
  readonly user?: string;
  /** Best candidates that a query gets, before their neighbours; 100. */
  readonly candidates?: number;
  /** The built-in one when left out. */
  readonly redactor?: Pick<Redactor, "redactText">;
}

/** For whom candidates are kept: everybody in the workspace, in the channel, or the user only. */
export type MemoryAudience = "workspace" | "channel" | "user";

/** Candidates in a Postgres database that any number of hosts share. */
export interface PostgresMemorySource extends CandidateSource {
  candidates(query: string): Promise<readonly RecallCandidate[]>;
  /** Keeps candidates, secrets taken out; one of a known id is replaced. For the channel when left out. */
  put(candidates: readonly RecallCandidate[], audience?: MemoryAudience): Promise<void>;
  /** As `put`, and removes the others of that audience. */
  replaceAll(candidates: readonly RecallCandidate[], audience?: MemoryAudience): Promise<void>;
  remove(ids: readonly string[], audience?: MemoryAudience): Promise<void>;
  /** Ends the own pool. */
  close(): Promise<void>;
}

/**
 * Finds candidates by words in Postgres and leaves their order to the ranker (`searchSource`): full-text search proposes,
 * by how rare the words are, and its own ranking is never asked. Needs the package `pg`, or a pool.
 */
export function createPostgresMemorySource(options: PostgresMemoryOptions): PostgresMemorySource {
  requireOptions(options);
  checkScope(options);
  const schema = options.schema ?? "compact_memory";
  const quoted = quotedSchema(schema);
  const redactor = options.redactor ?? createRedactor();
  const database = readyDatabase(options, schema);
  const most = options.candidates ?? 100;
  const write = async (
    candidates: readonly RecallCandidate[],
    { audience, replace }: { readonly audience: MemoryAudience; readonly replace: boolean },
  ): Promise<void> => {
    const safe = candidates.map((candidate) => redacted(candidate, redactor));
    const keys = keysOf(options, audience);
    await (await database()).transaction((run) => putUnits(run, quoted, { keys, candidates: safe, replace }));
  };
  return {
    async candidates(query) {
      const { workspace, channel, user } = options;
      return findCandidates((await database()).run, quoted, { query, most, workspace, channel, user });
    },
    put: (candidates, audience = "channel") => write(candidates, { audience, replace: false }),
    replaceAll: (candidates, audience = "channel") => write(candidates, { audience, replace: true }),
    async remove(ids, audience = "channel") {
      const keys = keysOf(options, audience);
      await (await database()).transaction((run) => removeUnits(run, quoted, { keys, ids }));
    },
    close: async () => (await database()).close(),
  };
}

function keysOf({ workspace, channel, user }: PostgresMemoryOptions, audience: MemoryAudience): ScopeKeys {
  if (audience === "workspace") return [workspace, "", ""];
  if (audience === "channel") return [workspace, channel, ""];
  if (user === undefined) throw badScope("user", "what only a user may find needs that user");
  return [workspace, channel, user];
}

function checkScope(options: PostgresMemoryOptions): void {
  for (const name of ["workspace", "channel", "user"] as const) {
    const value: unknown = options[name];
    if (name === "user" && value === undefined) continue;
    if (typeof value !== "string" || value.trim() === "" || value.includes("\0"))
      throw badScope(name, `${name} must be a text that is not empty`);
  }
}

function badScope(place: string, message: string): CompactError {
  return new CompactError("InvalidArgument", message, {
    place,
    hint: "A memory is always that of one workspace and one channel; name both.",
  });
}

function redacted(candidate: RecallCandidate, { redactText }: Pick<Redactor, "redactText">): RecallCandidate {
  const { title, content } = candidate;
  const safe = (text: string): string => redactText(text.replaceAll("\0", ""));
  return { ...candidate, content: safe(content), title: title === undefined ? undefined : safe(title) };
}

function readyDatabase(options: PostgresMemoryOptions, schema: string): () => Promise<Database> {
  const url = options.pool === undefined ? (options.url ?? process.env.COMPACT_POSTGRES_URL) : undefined;
  const database = createDatabase({
    pool: once(async () => options.pool ?? openPool(url, options)),
    location: locationOf(url, schema),
    waits: DEFAULT_WAITS,
    sleep: (ms) => new Promise((done) => setTimeout(done, ms)),
    keepOpen: options.pool !== undefined,
  });
  const made = once(() => makeTables(database, schema));
  return async () => {
    await made();
    return database;
  };
}
