// The runs of one list: every public entry point, over a few windows. Each gives one row of the recording.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createIndex,
  createListener,
  describeError,
  describeList,
  describePlan,
  describeReport,
  describeSummary,
  describeValues,
  hash,
  hashSorted,
  tally,
  withoutNothing,
} from "./measure.mjs";
import { FORMATS, given } from "./sessions.mjs";

const POINTS = 12;
const STARTED = Date.UTC(2026, 0, 1);
/** Between two calls of a replay: less than the provider's cache lives. */
const BETWEEN_CALLS_MS = 20_000;
/** Windows of a manager are no smaller, since it keeps 1,500 tokens free. */
const LEAST_OF_MANAGER = 4_000;
/** What a list of a few messages is compacted with: else nothing would be left to do. */
const SMALL_POLICY = { keepRecentTurns: 1, keepToolIoPairs: 1, hardCapBuffer: 0 };
const SESSION = "recorded";
const NOTE = "Keep the names of files and what is still to be done.";

/** Every run of a list as `{ id, run }`; nothing is done before `run` is called. */
export function runsOf(session, library) {
  const about = { session, library };
  return [...listRuns(about), ...oneShotRuns(about), ...managerRuns(about), ...runningRuns(about)].map(
    ({ entry, run }) => ({
      id: `${session.name}|${session.format}|${entry}`,
      run: async () => ({ entry: entry.split("@")[0], in: hash(session.list()), ...(await settled(run)) }),
    }),
  );
}

async function settled(run) {
  try {
    return await run();
  } catch (error) {
    return { error: describeError(error) };
  }
}

/** A figure that is the same each time for what is named, evenly spread over 0 to `most` - 1. */
function pick(text, most) {
  return Number.parseInt(hash(text, 8), 16) % most;
}

function tokensOf({ session, library }) {
  session.tokens ??= library.prepare.countTokens(session.list(), session.options).tokens;
  return session.tokens;
}

/** Sizes to compact to, named. */
const WINDOWS = {
  "32k": () => 32_000,
  "8k": () => 8_000,
  /** Of a list of a few messages something more than half: less is refused. */
  quarter: ({ tokens, kind }) =>
    kind === "session" ? Math.max(1_500, Math.ceil(tokens / 4)) : Math.max(12, Math.ceil(tokens * 0.6)),
  /** Less than the largest prompt that the provider reported, its own system prompt and tools included. */
  reported: ({ prompts }) => Math.ceil(Math.max(...prompts) * 0.9),
};

/** Those that every session is compacted to. */
const SIZES = ["32k", "8k", "quarter"];

function sizeOf(about, window) {
  const { kind, usage } = about.session;
  const prompts = usage.flatMap(({ promptTokens }) => promptTokens ?? []);
  return WINDOWS[window]({ tokens: tokensOf(about), kind, prompts });
}

function listRuns({ session, library }) {
  const { format } = session;
  const { model, system, tools } = session.options;
  const count = () => {
    const { tokens, low, high, breakdown } = library.countTokens(session.list(), session.options);
    return { tok: { n: tokens, lo: low, hi: high }, breakdown };
  };
  const plain = () => library.countTokens(session.list()).tokens;
  if (!FORMATS.includes(format)) return [{ entry: "count", run: () => ({ ...count(), plain: plain() }) }];
  const run = () => {
    const list = session.list();
    const messages = library.decode(list, format);
    const again = library.encode(messages, format);
    const repaired = library.repair(list, format);
    const others = session.own ? FORMATS.filter((one) => one !== format) : [];
    return {
      ...count(),
      plain: plain(),
      beside: library.countTokens([], given({ model, system, tools })).tokens,
      decoded: {
        n: messages.length,
        h: hash(messages.map(({ native, ...rest }) => rest)),
        ids: hash(messages.map(({ id }) => id)),
      },
      same: again.filter((message, index) => message === list[index]).length,
      encoded: Object.fromEntries(others.map((one) => [one, encodedAs(messages, one, library)])),
      lint: tally(library.lint(list, format).map(({ rule }) => rule)),
      strict: tally(
        library.lint(list, format, { strict: true, pendingAllowed: false }).map(({ rule }) => rule),
      ),
      repaired: {
        out: hash(repaired.messages),
        mends: tally(repaired.mends.map(({ rule, action }) => `${rule}=${action}`)),
      },
    };
  };
  return [{ entry: "list", run }];
}

function encodedAs(messages, format, library) {
  try {
    return hash(library.encode(messages, format));
  } catch (error) {
    return describeError(error).code;
  }
}

function oneShotRuns(about) {
  const { session } = about;
  const runs = [];
  const windows = session.own ? SIZES : ["quarter"];
  for (const window of windows) {
    for (const onOverflow of ["error", "elide"]) {
      const options = () => oneShotOptions(about, { window, onOverflow });
      if (!isOfUse(about, window)) continue;
      runs.push({ entry: `compact@${window}:${onOverflow}`, run: () => compactOnce(about, options()) });
      if (window === "quarter" && onOverflow === "error")
        runs.push({ entry: `plan@${window}:${onOverflow}`, run: () => planOnly(about, options()) });
    }
  }
  if (session.own) {
    const aim = () => ({ ...oneShotOptions(about, { window: "quarter", onOverflow: "elide" }) });
    const targeted = () => {
      const { maxTokens, ...rest } = aim();
      return { ...rest, maxTokens: Math.max(tokensOf(about), maxTokens), targetTokens: maxTokens };
    };
    runs.push({ entry: "compact@target", run: () => compactOnce(about, targeted()) });
    runs.push({ entry: "model@quarter", run: () => compactWithModel(about, aim()) });
    if (session.kind === "fixture")
      runs.push({ entry: "compact@fixture", run: () => compactOnce(about, session.options) });
  }
  return runs;
}

/** Windows that a session does not come near show nothing; one without a format of its own always has one run. */
function isOfUse(about, window) {
  if (window === "quarter") return true;
  return about.session.kind === "session" && tokensOf(about) > sizeOf(about, window) * 0.8;
}

function oneShotOptions(about, { window, onOverflow }) {
  const { session } = about;
  const { maxTokens: _most, targetTokens: _target, ...options } = session.options;
  const policy = session.kind === "session" ? undefined : { ...SMALL_POLICY, ...options.policy };
  const maxTokens = sizeOf(about, window);
  return { ...options, ...given({ policy }), maxTokens, onOverflow };
}

/** With `elide` the originals are archived, and named in what is cleared. */
async function compactOnce({ session, library }, options) {
  const list = session.list();
  const before = JSON.stringify(list);
  const saved = [];
  const archive = {
    save: async (messages) => {
      saved.push(messages.map(({ id, role, parts }) => [id, role, parts]));
      return { location: "recorded", step: 1, ids: messages.map(({ id }) => `a-${id}`) };
    },
  };
  const kept = options.onOverflow === "elide" ? { archive, archiveId: ({ id }) => `a-${id}` } : {};
  const tail = () => ({
    ...(saved.length === 0 ? {} : { saved: { n: saved[0].length, times: saved.length, h: hash(saved) } }),
    ...(JSON.stringify(list) === before ? {} : { changedInput: true }),
  });
  try {
    const result = await library.compact(list, { ...options, ...kept, clock: () => 0 });
    const { summaries, ...described } = describeList(result.messages, createIndex(list));
    const same = result.messages === list;
    return {
      ...described,
      ...(same ? { same } : {}),
      summary: describeSummary(result, summaries),
      ...describeReport(result.report),
      ...tail(),
    };
  } catch (error) {
    return { error: describeError(error), ...tail() };
  }
}

function planOnly({ session, library }, options) {
  return { plan: describePlan(library.planCompaction(session.list(), options)) };
}

/** Answers with what can be told from the question, and writes down what it was asked. */
function scriptedModel(asked) {
  return {
    name: "scripted",
    async generate({ messages, maxOutputTokens }) {
      asked.push({ messages, maxOutputTokens });
      return {
        text: `Goal: go on with the work.\nState: answer ${asked.length}, ${hash(messages)}.`,
        stop: "end",
      };
    },
  };
}

async function compactWithModel(about, options) {
  const asked = [];
  const row = await compactOnce(about, { ...options, summarizer: scriptedModel(asked), instruction: NOTE });
  return { ...row, asked: { n: asked.length, room: asked[0]?.maxOutputTokens, h: hash(asked) } };
}

/** How a host goes on after a call: with its own whole list or with ours; in one process or in a new one each second call. */
const HOSTS = {
  raw: { ours: false, restarts: false, disk: false },
  own: { ours: true, restarts: false, disk: false },
  "raw+restart": { ours: false, restarts: true, disk: false },
  "own+restart": { ours: true, restarts: true, disk: true },
};

function managerRuns(about) {
  const { session } = about;
  const runs = [];
  const add = (window, host, more = {}) => {
    const name = `replay@${window}:${host}${more.name === undefined ? "" : `:${more.name}`}`;
    runs.push({ entry: name, run: () => replay(about, { window, host: HOSTS[host], ...more }) });
  };
  if (session.own) {
    for (const window of SIZES) {
      if (isOfUse(about, window)) for (const host of hostsFor(session, window)) add(window, host);
    }
    if (session.usage.some(({ promptTokens }) => promptTokens > LEAST_OF_MANAGER * 2)) {
      for (const host of ["raw", "own"]) add("reported", host, { name: "usage" });
    }
    if (pick(session.name, 2) === 0) {
      add("quarter", "raw", { name: "results", policy: { maxToolResultTokens: 400 } });
      add("quarter", "own", {
        name: "target",
        policy: { targetContextTokens: 3_000, clearToolResults: false },
      });
    }
  } else {
    const hosts = Object.keys(HOSTS);
    add("quarter", hosts[pick(`${session.name}${session.format}`, hosts.length)]);
  }
  runs.push({ entry: "manual@all", run: () => manual(about, {}) });
  if (session.own) {
    runs.push({
      entry: "manual@target",
      run: () => manual(about, { targetTokens: Math.ceil(tokensOf(about) / 4) }),
    });
  }
  return runs;
}

/** All of them at a quarter; at the fixed sizes one that goes on in its process and one that does not. */
function hostsFor({ name }, window) {
  const hosts = Object.keys(HOSTS);
  if (window === "quarter") return hosts;
  const first = pick(`${name}${window}`, 2);
  return [hosts[first], hosts[3 - first]];
}

/** Where the list ends before each call: in front of the next answers, spread evenly, and at last the whole. */
function pointsOf({ session, library }, most = POINTS) {
  const list = session.list();
  const roles = rolesOf(session, library);
  const points = new Set();
  for (let number = 1; number <= most; number += 1) {
    let end = Math.max(1, Math.round((list.length * number) / most));
    while (end < list.length && roles[end] !== "assistant") end += 1;
    points.add(end);
  }
  return [...points];
}

function rolesOf({ format, list }, { prepare }) {
  const messages = FORMATS.includes(format) ? prepare.decode(list(), format) : list();
  return messages.map(({ role }) => role);
}

/** A store whose values can be read afterwards; `scrub` takes the place of a temporary folder out of a text. */
function openStorage({ createFsDriver, createMemoryDriver }, disk) {
  if (!disk) {
    const driver = createMemoryDriver();
    return {
      open: () => driver,
      values: () => valuesIn(driver),
      scrub: (text) => text,
      files: () => undefined,
      close() {},
    };
  }
  const root = mkdtempSync(join(tmpdir(), "compact-record-"));
  const open = () => createFsDriver({ root });
  const files = () => {
    const names = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    return tally(names.map(({ name }) => name.replaceAll(/\d+/g, "#")));
  };
  const scrub = (text) => text.replaceAll(root, "ROOT");
  return {
    open,
    values: () => valuesIn(open()),
    scrub,
    files,
    close: () => rmSync(root, { recursive: true, force: true }),
  };
}

async function valuesIn(driver) {
  const values = [];
  for (const key of await driver.list("")) {
    let value = "";
    for await (const piece of driver.stream(key)) value += piece;
    values.push({ key, value });
  }
  return values;
}

/** Managers over one store, one after the other, on a clock that the recorder sets. */
function createWorkers({ session, library }, { config, storage }) {
  const listener = createListener(storage.scrub);
  const said = [];
  let now = STARTED;
  let manager;
  const start = () => {
    manager = new library.CompactManager(config, {
      storage: storage.open(),
      exporters: [listener.exporter],
      worker: "recorder",
      now: () => new Date(now),
      clock: () => 0,
      onWarning: (message) => void said.push(message),
    });
  };
  start();
  const { system, tools } = session.options;
  return {
    request: given({ system, tools, format: FORMATS.includes(session.format) ? session.format : undefined }),
    get manager() {
      return manager;
    },
    tick: () => {
      now += BETWEEN_CALLS_MS;
    },
    async restart() {
      await manager.flush();
      start();
    },
    async describe() {
      await manager.flush();
      const { events, warnings } = listener.describe();
      const state = manager.getState(SESSION);
      const running = manager.getRunningSummary(SESSION);
      const files = storage.files();
      return {
        state: {
          tokens: state.totalTokens,
          messages: state.messageCount,
          summaries: state.summaryCount,
          version: state.summaryVersion,
          steps: state.archiveSteps,
          at: state.lastSummaryAt,
        },
        running:
          running === undefined
            ? undefined
            : {
                n: running.summarizedMessageIds.length,
                ids: hash(running.summarizedMessageIds),
                last: hash(running.lastSummarizedMessageId ?? ""),
                text: hash(running.summary),
              },
        events,
        warnings: withoutNothing({
          ...warnings,
          said: said.length === 0 ? "" : `${said.length}:${hash(storage.scrub(said.join("\n")))}`,
        }),
        archive: { ...describeValues(await storage.values(), storage.scrub), ...given({ files }) },
      };
    },
  };
}

function managerConfig(about, { window, policy = {} }) {
  const { session } = about;
  const small = session.kind !== "session";
  const size = sizeOf(about, window);
  // Some replays end in the error that the others avoid.
  const onOverflow = pick(`${session.name}${session.format}overflow`, 5) === 0 ? "error" : "elide";
  const { model } = session.options;
  return {
    ...given({ model }),
    maxContextTokens: small ? size : Math.max(LEAST_OF_MANAGER, size),
    policy: { onOverflow, ...(small ? SMALL_POLICY : {}), ...policy },
  };
}

async function replay(about, { window, host, policy }) {
  const { session, library } = about;
  const storage = openStorage(library, host.disk);
  try {
    const workers = createWorkers(about, { config: managerConfig(about, { window, policy }), storage });
    const calls = createCalls();
    const raw = session.list();
    const index = createIndex(raw);
    let list = [];
    let end = 0;
    for (const [number, point] of pointsOf(about).entries()) {
      list = host.ours ? [...list, ...raw.slice(end, point)] : raw.slice(0, point);
      end = point;
      if (host.restarts && number % 2 === 1) {
        await workers.restart();
        list = copyOf(list, index);
      }
      workers.tick();
      const request = { ...workers.request, ...(window === "reported" ? usageBefore(session, point) : {}) };
      list = await calls.add(list, index, () => workers.manager.preflight(SESSION, list, request));
      // A host with the whole list gives it again as it stands.
      if (!host.ours) list = raw.slice(0, point);
    }
    workers.tick();
    const request = { ...workers.request, note: NOTE };
    await calls.add(list, index, () => workers.manager.manualCompact(SESSION, list, request));
    return { ...calls.describe(), ...(await workers.describe()) };
  } finally {
    storage.close();
  }
}

/** The list as a new process reads it; the index knows the copies. */
function copyOf(list, index) {
  const copies = JSON.parse(JSON.stringify(list));
  for (const [at, copy] of copies.entries()) index.same(copy, list[at]);
  return copies;
}

/** What the provider reported for the newest call before a point, where it is known. */
function usageBefore({ usage }, point) {
  const record = usage.findLast(({ index }) => index < point);
  return given({ usage: record?.usage });
}

/** What became of each call, one word a call in every group. */
function createCalls() {
  const words = {
    reason: [],
    out: [],
    kept: [],
    edited: [],
    tok: [],
    msgs: [],
    did: [],
    summary: [],
    plan: [],
    error: [],
  };
  const put = (values) => {
    for (const [name, list] of Object.entries(words)) list.push(values[name] ?? "-");
  };
  return {
    /** Returns the list that a host has afterwards: the one that it gave where the call failed. */
    async add(list, index, call) {
      try {
        const result = await call();
        const { report } = result;
        const { out, kept, edited, summaries } = describeList(result.messages, index);
        const same = result.messages === list;
        put({
          reason: report.reason,
          out: same ? "=" : `${out.n}:${out.h.slice(0, 8)}`,
          kept: same
            ? "="
            : `${kept.n}:${hash(kept.ix, 6)}${kept.copies === undefined ? "" : `+${kept.copies}`}`,
          ...(same || edited.n === 0 ? {} : { edited: `${edited.n}:${edited.h.slice(0, 6)}` }),
          tok: fromTo(report.tokensBefore, report.tokensAfter),
          msgs: fromTo(report.messagesBefore, report.messagesAfter),
          ...(report.compacted ? { did: didOf(report), plan: hash(describePlan(report.plan), 8) } : {}),
          ...(result.summary === undefined
            ? {}
            : {
                summary: `v${report.summaryVersion ?? ""}:${report.summaryTokens}:${hash(result.summary, 6)}:${summaries.length}`,
              }),
        });
        return result.messages;
      } catch (error) {
        const { code, message } = describeError(error);
        put({ error: `${code}:${message.slice(0, 6)}` });
        return list;
      }
    },
    describe: () => ({
      calls: Object.fromEntries(Object.entries(words).map(([name, list]) => [name, shortened(list)])),
    }),
  };
}

function fromTo(before, after) {
  return before === after ? `${before}` : `${before}>${after}`;
}

function didOf(report) {
  const counts = [report.prunedCount, report.clearedCount, report.elidedCount, report.reasoningDropped];
  return `${counts.join("/")}:${report.rungs.join("+")}:${report.newestAsk ?? ""}`;
}

/** Words with spaces between, those that come again as `word*times`; nothing where no call had any. */
function shortened(words) {
  if (words.every((word) => word === "-")) return undefined;
  const runs = [];
  for (const word of words) {
    const last = runs.at(-1);
    if (last?.word === word) last.times += 1;
    else runs.push({ word, times: 1 });
  }
  return runs.map(({ word, times }) => (times === 1 ? word : `${word}*${times}`)).join(" ");
}

/** One compaction of the whole list that is asked for, and a second one with nothing new. */
async function manual(about, { targetTokens }) {
  const { session, library } = about;
  const storage = openStorage(library, false);
  const config = { ...managerConfig(about, { window: "quarter" }), maxContextTokens: 400_000 };
  const workers = createWorkers(about, { config, storage });
  const calls = createCalls();
  const list = session.list();
  const index = createIndex(list);
  const request = { ...workers.request, ...given({ targetTokens }), note: NOTE };
  workers.tick();
  const after = await calls.add(list, index, () => workers.manager.manualCompact(SESSION, list, request));
  workers.tick();
  await calls.add(after, index, () => workers.manager.manualCompact(SESSION, after, request));
  return { ...calls.describe(), ...(await workers.describe()), found: await foundAgain(workers.manager) };
}

/** What the archive finds for words that every session has. */
async function foundAgain(manager) {
  const hits = await manager.recall(SESSION).search("error file test", { limit: 5 });
  return { n: hits.length, ids: hash(hits.map(({ archiveId }) => archiveId ?? null)) };
}

/** Limits of a running summary; the share is of the session's tokens. */
const LIMITS = {
  half: { share: 0.5, maxSummaryTokens: 256 },
  eighth: { share: 0.125, maxSummaryTokens: 512 },
};
const RUNNING_POINTS = 6;
const LEAST_OF_RUNNING = 700;

function runningRuns(about) {
  const { session } = about;
  if (session.kind !== "session") return [];
  const names = session.own
    ? Object.keys(LIMITS)
    : [Object.keys(LIMITS)[pick(`${session.name}${session.format}limit`, 2)]];
  const runs = names.flatMap((name) => {
    const models = session.own ? ["builtin", "scripted"] : ["builtin"];
    return models.map((model) => ({
      entry: `running@${name}:${model}`,
      run: () => summarizeAlong(about, { name, model }),
    }));
  });
  if (session.format === "langchain") {
    for (const name of names) runs.push({ entry: `node@${name}`, run: () => invokeAlong(about, name) });
  }
  return runs;
}

function runningLimits(about, name) {
  const { share, maxSummaryTokens } = LIMITS[name];
  const maxTokens = Math.max(LEAST_OF_RUNNING, Math.ceil(tokensOf(about) * share));
  return {
    maxTokens,
    maxSummaryTokens,
    ...(name === "half" ? {} : { maxTokensBeforeSummary: maxTokens * 2 }),
  };
}

const NO_MODEL = {
  name: "none",
  generate: async () => {
    throw new Error("no model here");
  },
};

async function summarizeAlong(about, { name, model }) {
  const { session, library } = about;
  const { format } = session.options;
  const asked = [];
  let failures = 0;
  const options = {
    ...runningLimits(about, name),
    ...given({ format }),
    model: model === "builtin" ? NO_MODEL : scriptedModel(asked),
    onFailure: () => {
      failures += 1;
    },
  };
  const row = await along(about, async (list, runningSummary) => {
    const result = await library.summarizeMessages(list, { ...options, ...given({ runningSummary }) });
    return { messages: result.messages, running: result.runningSummary };
  });
  return { ...row, failures, asked: { n: asked.length, h: hash(asked) } };
}

async function invokeAlong(about, name) {
  const { library } = about;
  const storage = openStorage(library, false);
  const said = [];
  const driver = storage.open();
  const node = new library.SummarizationNode({
    ...runningLimits(about, name),
    // Builds of the base commit take an archive.
    ...(library.createGraphArchive ? { archive: library.createGraphArchive(driver) } : { storage: driver }),
    onWarning: (message) => void said.push(message),
  });
  let context = {};
  const row = await along(about, async (messages) => {
    const update = await node.invoke({ messages, context }, { configurable: { thread_id: SESSION } });
    context = update.context ?? context;
    return { messages: update.summarized_messages, running: context.running_summary };
  });
  return { ...row, said: hash(said), archive: describeValues(await storage.values(), storage.scrub) };
}

/** A growing list through `step`, which is given the running summary that it gave last. */
async function along(about, step) {
  const list = about.session.list();
  const words = { out: [], kept: [], running: [], error: [] };
  let running;
  for (const point of pointsOf(about, RUNNING_POINTS)) {
    const given = list.slice(0, point);
    try {
      const result = await step(given, running);
      running = result.running;
      const { out, kept } = describeList(result.messages, createIndex(list));
      words.out.push(`${out.n}:${out.h.slice(0, 8)}`);
      words.kept.push(`${kept.n}:${hash(kept.ix, 6)}`);
      words.running.push(
        running === undefined
          ? "-"
          : `${running.summarizedMessageIds.length}:${hash(running.summary, 6)}:${hashSorted([running.summarizedMessageIds, running.lastSummarizedMessageId]).slice(0, 6)}`,
      );
      words.error.push("-");
    } catch (error) {
      const { code, message } = describeError(error);
      for (const name of ["out", "kept", "running"]) words[name].push("-");
      words.error.push(`${code}:${message.slice(0, 6)}`);
    }
  }
  return { calls: Object.fromEntries(Object.entries(words).map(([name, all]) => [name, shortened(all)])) };
}
