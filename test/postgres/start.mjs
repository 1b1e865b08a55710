// Starts a Postgres server of its own in a temporary folder, prints its URL and runs until standard input ends.
// A line `down` on standard input kills the server with SIGKILL, and `up` starts it again on the same data; each is
// printed when it is done.
// Exits with 3 and one line on standard error where the machine has no server. `--durable` keeps fsync on.
import { spawn, spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";

const durable = process.argv.includes("--durable");
const READY_WITHIN_MS = 20_000;

/** The folder that holds `postgres` and `initdb`: on the PATH, or where Debian puts them. */
function binaries() {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian).map((name) => join(debian, name, "bin")) : [];
  const folders = [...(process.env.PATH ?? "").split(delimiter), ...versions.reverse()];
  return folders.find((folder) => ["postgres", "initdb"].every((name) => existsSync(join(folder, name))));
}

/** Postgres refuses to run as root: another user of this machine runs it then. */
function runner() {
  if (process.getuid?.() !== 0) return { prefix: [], own: () => {} };
  const users = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const user = ["postgres", "nobody"]
    .map((name) => users.find((entry) => entry[0] === name))
    .find((entry) => entry !== undefined);
  if (user === undefined) return undefined;
  const [, , uid, gid] = user;
  return {
    prefix: ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"],
    own: (path) => chownSync(path, Number(uid), Number(gid)),
  };
}

function unavailable(reason) {
  console.error(`no Postgres server here: ${reason}`);
  process.exit(3);
}

const bin = binaries() ?? unavailable("postgres and initdb are not installed");
const { prefix, own } = runner() ?? unavailable("there is no user to run it as");
const folder = mkdtempSync(join(tmpdir(), "compact-postgres-"));
const data = join(folder, "data");
own(folder);

function remove() {
  rmSync(folder, { recursive: true, force: true });
}

const [initdb, ...initArguments] = [...prefix, join(bin, "initdb")];
const made = spawnSync(
  initdb,
  [...initArguments, "-D", data, "-U", "compact", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"],
  { cwd: folder, encoding: "utf8" },
);
if (made.status !== 0) {
  remove();
  unavailable(`initdb failed: ${made.stderr ?? made.error?.message}`);
}

// Reached through a socket in a folder that only its owner may enter: no port, no password.
const settings = [
  "listen_addresses=",
  `unix_socket_directories=${folder}`,
  "max_connections=150",
  `fsync=${durable ? "on" : "off"}`,
  "log_min_messages=panic",
];

async function start() {
  const [command, ...rest] = [...prefix, join(bin, "postgres")];
  const server = spawn(command, [...rest, "-D", data, ...settings.flatMap((setting) => ["-c", setting])], {
    cwd: folder,
    stdio: "ignore",
  });
  const exited = new Promise((done) => server.once("exit", done));
  const until = Date.now() + READY_WITHIN_MS;
  while (!isReady(server.pid)) {
    if (Date.now() > until || server.exitCode !== null) throw new Error("the Postgres server does not start");
    await new Promise((done) => setTimeout(done, 20));
  }
  return { server, exited };
}

/** The server writes its state into the last line of this file, and its process id into the first. */
function isReady(pid) {
  try {
    const lines = readFileSync(join(data, "postmaster.pid"), "utf8").split("\n");
    return Number(lines[0]) === pid && (lines[7] ?? "").trim() === "ready";
  } catch {
    return false;
  }
}

let running = await start();
console.log(`postgres://compact@${encodeURIComponent(folder)}/postgres`);

async function down() {
  running.server.kill("SIGKILL");
  await running.exited;
  console.log("down");
}

async function up() {
  // Its children notice by themselves; a new server refuses to start before they are gone.
  for (;;) {
    try {
      running = await start();
      break;
    } catch {
      await new Promise((done) => setTimeout(done, 50));
    }
  }
  console.log("up");
}

async function stop() {
  running.server.kill("SIGQUIT");
  await running.exited;
  remove();
  process.exit(0);
}

const input = createInterface({ input: process.stdin });
input.on("line", (line) => {
  if (line === "down") void down();
  if (line === "up") void up();
});
input.on("close", () => void stop());
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => void stop());
