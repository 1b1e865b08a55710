// node bench/load.mjs [postgres]: what a process under load does over an archive on disk: many sessions at once, many sessions listed, what the archive
// keeps of one long session, and a list of 20,000 messages. Counted in processor time; the event loop's delay by the clock.
// With `postgres`, only the many sessions, over the server of COMPACT_POSTGRES_URL or one of its own.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { CompactManager } from "../packages/compact-context/dist/index.js";
import { createRedactor } from "../packages/compact-context/dist/redaction/redactor.js";
import { createArchive } from "../packages/compact-context/dist/search/archive.js";
import { createFsDriver } from "../packages/compact-context/dist/storage/fs/driver.js";
import { createPostgresDriver } from "../packages/compact-context/dist/storage/postgres/driver.js";
import { digits, number, table } from "./markdown.mjs";

const DESCRIPTORS = 64;

// In a process of its own, which has few file descriptors: the folder of the archive is its second word.
if (process.argv[2] === "list") {
  const archive = createArchive(createFsDriver({ root: process.argv[3] }), { redact: createRedactor({}) });
  console.log((await archive.sessions()).length);
}

const policy = { hardCapBuffer: 200, keepRecentTurns: 2, keepToolIoPairs: 1 };

function managerOn(storage, maxContextTokens = 4_000) {
  return new CompactManager(
    { model: "gpt-4o", maxContextTokens, policy },
    { storage, onWarning: () => undefined },
  );
}

const onDisk = (root) => createFsDriver({ root });

function turn(session, index, lines = 30) {
  return [
    { role: "user", content: `s${session} q${index} ${"please do the thing ".repeat(8)}` },
    {
      role: "assistant",
      content: `s${session} a${index} in src/f${index}.ts ${`text ${index} of it\n`.repeat(lines)}`,
    },
  ];
}

async function inFolder(work) {
  const root = mkdtempSync(join(tmpdir(), "compact-load-"));
  try {
    return await work(root);
  } finally {
    rmSync(root, { recursive: true });
  }
}

/** Work with the delay of the event loop and the processor time of the process, threads included. */
async function watched(work) {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  const before = process.cpuUsage();
  const started = performance.now();
  delay.enable();
  const result = await work();
  delay.disable();
  const { user, system } = process.cpuUsage(before);
  return {
    ...result,
    seconds: (performance.now() - started) / 1000,
    processorSeconds: (user + system) / 1e6,
    p99: delay.percentile(99) / 1e6,
    longest: delay.max / 1e6,
  };
}

/** Work with the URL of a Postgres server, whose commits are durable. */
async function onServer(work) {
  if (process.env.COMPACT_POSTGRES_URL !== undefined) return work(process.env.COMPACT_POSTGRES_URL);
  const start = fileURLToPath(new URL("../test/postgres/start.mjs", import.meta.url));
  const server = spawn(process.execPath, [start, "--durable"], { stdio: ["pipe", "pipe", "inherit"] });
  try {
    const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
    const { value: url } = await lines.next();
    if (url === undefined) throw new Error("no Postgres server could be started");
    return await work(url);
  } finally {
    server.stdin.end();
  }
}

async function onPostgres(sessions, calls) {
  return onServer(async (url) => {
    const storage = createPostgresDriver({ url, schema: `compact_load_${process.pid}` });
    try {
      return await manySessions(storage, sessions, calls);
    } finally {
      await storage.close();
    }
  });
}

/** Every session makes its next call at the same moment. */
function manySessions(storage, sessions, calls) {
  return watched(async () => {
    const manager = managerOn(storage);
    const lists = Array.from({ length: sessions }, () => []);
    let compactions = 0;
    for (let call = 0; call < calls; call += 1) {
      await Promise.all(
        lists.map(async (list, session) => {
          const given = [...list, ...turn(session, call)];
          const { messages, report } = await manager.preflight(`s${session}`, given);
          if (report.compacted) compactions += 1;
          lists[session] = [...messages];
        }),
      );
    }
    await manager.flush();
    return { sessions, calls: sessions * calls, compactions };
  });
}

/** One session until it has had so many compactions: bytes of its folder beside the bytes of what was said. */
function longSession(compactions, { lines, window }) {
  return inFolder(async (root) => {
    const manager = managerOn(onDisk(root), window);
    let list = [];
    let text = 0;
    let sent = 0;
    for (let call = 0, done = 0; done < compactions; call += 1) {
      const said = turn(0, call, lines);
      for (const { content } of said) text += Buffer.byteLength(content);
      sent += said.length;
      const { messages, report } = await manager.preflight("long", [...list, ...said]);
      if (report.compacted) done += 1;
      list = [...messages];
    }
    await manager.flush();
    const size = (name) => statSync(join(root, "long", name)).size;
    const files = readdirSync(join(root, "long"));
    const bytes = (kind) =>
      files.filter((name) => name.includes(kind)).reduce((sum, name) => sum + size(name), 0);
    return { compactions, text, messages: sent, archive: bytes("transcript-"), whole: bytes("") };
  });
}

function listing(sessions) {
  return inFolder(async (root) => {
    for (let session = 0; session < sessions; session += 1) {
      mkdirSync(join(root, `s${session}`));
      writeFileSync(join(root, `s${session}`, "transcript-pre-compact-001.jsonl"), "");
    }
    const run = `ulimit -n ${DESCRIPTORS}; exec "$0" "$1" list "$2"`;
    const words = ["-c", run, process.execPath, fileURLToPath(import.meta.url), root];
    return {
      sessions,
      descriptors: DESCRIPTORS,
      found: Number(execFileSync("bash", words, { encoding: "utf8" })),
    };
  });
}

/** The first call of a list of so many messages, which is compacted, and the one after it. */
function longList(messages) {
  const list = Array.from({ length: messages / 2 }, (_, index) => turn(0, index)).flat();
  return inFolder((root) =>
    watched(async () => {
      const manager = managerOn(onDisk(root), 128_000);
      const { messages: sent } = await manager.preflight("long", list);
      await manager.preflight("long", [...sent, ...turn(0, messages)]);
      await manager.flush();
      return { messages };
    }),
  );
}

function rowsOf(many, aim) {
  return [
    [
      `${number(many.sessions)} sessions at once, calls a second of the processor`,
      number(Math.round(many.calls / many.processorSeconds)),
      aim,
    ],
    ["the same, delay of the event loop, p99", `${digits(many.p99)} ms`, "50 ms"],
    ["the same, longest delay", `${digits(many.longest)} ms`, ""],
  ];
}

const COLUMNS = ["what", "measured", "aim"];

function section({ many, long, short, listed, list }) {
  const what = [
    ...rowsOf(many, "1,500"),
    [
      `sessions listed with ${listed.descriptors} file descriptors`,
      `${number(listed.found)} of ${number(listed.sessions)}`,
      "all",
    ],
    ...[long, short].flatMap((one) => [
      [
        `transcripts after ${one.compactions} compactions ÷ what was said, in messages of ${number(Math.round(one.text / one.messages))} bytes`,
        `${digits(one.archive / one.text)} x`,
        "1.6 x",
      ],
      ["the whole folder of that session ÷ what was said", `${digits(one.whole / one.text)} x`, ""],
    ]),
    [
      `a list of ${number(list.messages)} messages, longest delay of the event loop`,
      `${digits(list.longest)} ms`,
      "30 ms",
    ],
  ];
  return `${number(many.calls)} calls, ${number(many.compactions)} of them compacting in a window of 4,000 tokens; every session calls at the same
moment. The archive lies on disk, each write is durable. Processor time of the whole process, threads included.

${table(COLUMNS, what)}`;
}

if (process.argv[2] === undefined) {
  const many = await inFolder((root) => manySessions(onDisk(root), 1_000, 50));
  const long = await longSession(300, { lines: 200, window: 16_000 });
  const short = await longSession(300, { lines: 30, window: 4_000 });
  const listed = await listing(10_000);
  console.log(section({ many, long, short, listed, list: await longList(20_000) }));
}
if (process.argv[2] === "postgres") console.log(table(COLUMNS, rowsOf(await onPostgres(1_000, 50), "2,000")));
