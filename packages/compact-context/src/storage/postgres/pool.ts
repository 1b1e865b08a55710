import { CompactError, defined } from "../../errors.ts";
import type { PostgresPool } from "./client.ts";

export interface PoolOptions {
  /** 10 when left out. */
  readonly connections?: number;
  /** In milliseconds; 30,000 when left out. */
  readonly statementTimeoutMs?: number;
}

/** Host, database and schema for people, never user or password. Throws `InvalidArgument` for what is no URL. */
export function locationOf(url: string | undefined, schema: string): string {
  if (url === undefined) return `postgres/${schema}`;
  // A socket folder may stand in place of the host, which is no URL to the platform's own parser.
  const parts = /^postgres(?:ql)?:\/\/(?:[^@/]*@)?([^/?#]*)(?:\/([^?#]*))?/.exec(url);
  if (parts === null) {
    throw new CompactError("InvalidArgument", "the Postgres URL cannot be read", {
      hint: "It looks like postgres://user@host:5432/database.",
    });
  }
  return `postgres://${decodeURIComponent(parts[1] ?? "")}/${parts[2] ?? ""}/${schema}`;
}

/** A pool of the package `pg`, loaded now, that never holds the process open. */
export async function openPool(url: string | undefined, options: PoolOptions): Promise<PostgresPool> {
  const pool = await newPool(
    defined({
      connectionString: url,
      max: options.connections ?? 10,
      statement_timeout: options.statementTimeoutMs ?? 30_000,
      connectionTimeoutMillis: 10_000,
      idleTimeoutMillis: 10_000,
      application_name: "compact-context",
      // The pool never holds the process open: a host that is done may end.
      allowExitOnIdle: true,
    }),
  );
  // A connection that breaks while idle is replaced by the next query; without a listener it would end the process.
  pool.on("error", () => {});
  return pool;
}

interface ListenedPool extends PostgresPool {
  on(event: "error", listener: (error: Error) => void): unknown;
}

async function newPool(settings: object): Promise<ListenedPool> {
  try {
    const { default: client } = await import("pg");
    return new client.Pool(settings);
  } catch (cause) {
    throw new CompactError("StorageFailed", "the package pg cannot be loaded", {
      hint: "Install it (npm install pg), or pass a pool.",
      cause,
    });
  }
}
