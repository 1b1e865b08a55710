import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PORT = 6432;
const READY_WITHIN_MS = 10_000;

/** A pgbouncer in transaction mode in front of a server. */
export interface Pooler {
  readonly url: string;
  stop(): void;
}

/** Undefined if pgbouncer is not installed. */
export async function startPooler(serverUrl: string): Promise<Pooler | undefined> {
  if (spawnSync("pgbouncer", ["--version"]).status !== 0) return undefined;
  const server = new URL(serverUrl);
  const host = decodeURIComponent(server.hostname);
  const folder = mkdtempSync(join(tmpdir(), "compact-pooler-"));
  chmodSync(folder, 0o777);
  const users = join(folder, "users");
  writeFileSync(users, `"${server.username}" ""\n`);
  const settings = join(folder, "pgbouncer.ini");
  writeFileSync(
    settings,
    `[databases]
* = host=${host} port=${server.port || 5432}
[pgbouncer]
listen_addr =
listen_port = ${PORT}
unix_socket_dir = ${folder}
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = 3
`,
  );
  // It refuses to run as root.
  const runAs =
    process.getuid?.() === 0 ? ["-u", existsSync("/var/lib/postgresql") ? "postgres" : "nobody"] : [];
  const child = spawn("pgbouncer", ["-q", ...runAs, settings], { stdio: "ignore" });
  await answers(child, join(folder, `.s.PGSQL.${PORT}`));
  return {
    url: `postgres://${server.username}@localhost:${PORT}${server.pathname}?host=${folder}`,
    stop() {
      child.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function answers(child: ChildProcess, socket: string): Promise<void> {
  const until = Date.now() + READY_WITHIN_MS;
  while (!existsSync(socket)) {
    if (child.exitCode !== null || Date.now() > until) throw new Error("pgbouncer does not start");
    await new Promise((done) => setTimeout(done, 20));
  }
}
