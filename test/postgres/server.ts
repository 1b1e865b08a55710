import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import pg from "pg";

/** A Postgres server for tests: the one named by the environment, or a new one that ends with the tests. */
export interface TestServer {
  readonly url: string;
  /** Kills the server with SIGKILL; resolves to a function that restarts it. Only if started here. */
  readonly down: (() => Promise<() => Promise<void>>) | undefined;
  stop(): void;
}

const given = process.env.COMPACT_TEST_POSTGRES;

/** Undefined if no server is installed and the environment names none; `own` never uses the named one. */
export async function startServer(options: { readonly own?: boolean } = {}): Promise<TestServer | undefined> {
  if (given !== undefined && given !== "" && options.own !== true) {
    return { url: given, down: undefined, stop: () => {} };
  }
  const child = spawn(process.execPath, [join(import.meta.dirname, "start.mjs")], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const nextLine = lineReader(child);
  const url = await nextLine();
  if (url === undefined) return undefined;
  return {
    url,
    down: async () => {
      child.stdin?.write("down\n");
      await nextLine();
      return async () => {
        child.stdin?.write("up\n");
        await nextLine();
      };
    },
    stop: () => {
      child.stdin?.end();
    },
  };
}

/** Reads a child's output line by line; undefined once it has ended. */
function lineReader(child: ChildProcess): () => Promise<string | undefined> {
  if (child.stdout === null) throw new Error("the child has no output");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async () => {
    const next = await lines.next();
    return next.done === true ? undefined : String(next.value);
  };
}

let schemas = 0;

/** A unique schema name. */
export function newSchema(): string {
  schemas += 1;
  return `compact_test_${process.pid}_${Date.now().toString(36)}_${schemas}`;
}

/** Runs statements over a separate connection. */
export async function runSql(url: string, ...statements: string[]): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    let rows: Record<string, unknown>[] = [];
    for (const statement of statements) rows = (await client.query(statement)).rows;
    return rows;
  } finally {
    await client.end();
  }
}
