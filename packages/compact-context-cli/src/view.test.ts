import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CompactManager } from "compact-context";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { main } from "./main.ts";
import type { CliPorts } from "./ports.ts";
import type { CompactionView, SessionList, SessionView } from "./view/session-view.ts";

// The page's files exist only after a build; the server does not need them.
vi.mock("./view/server.ts", async (load) => ({
  ...(await load<object>()),
  readPageFiles: async () => new Map(),
}));

const UNREADABLE = "/proc/self/mem";

let folder = "";
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "compact-view-"));
  const messages = conversation();
  writeFileSync(join(folder, "session.json"), JSON.stringify({ model: "gpt-4o", messages }));
  const manager = new CompactManager({
    maxContextTokens: 4000,
    model: "gpt-4o",
    storage: { kind: "fs", root: join(folder, "archive") },
    tracing: { jsonl: join(folder, "events.jsonl") },
  });
  for (let end = 2; end <= messages.length; end += 6)
    await manager.preflight("agent", messages.slice(0, end));
  await manager.flush();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function conversation(): object[] {
  return Array.from({ length: 30 }, (_, index) => [
    { role: "user", content: `question ${index}: ${"words ".repeat(60)}` },
    { role: "assistant", content: `answer ${index}: ${"text ".repeat(60)}` },
  ]).flat();
}

/** Questions with long tool outputs. */
function tools(count: number): object[] {
  return Array.from({ length: count }, (_, index) => [
    { role: "user", content: `question ${index}: ${"words ".repeat(40)}` },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: `c${index}`, type: "function", function: { name: "read", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: `c${index}`, content: `output ${index}: ${"text ".repeat(200)}` },
    { role: "assistant", content: `answer ${index}` },
  ]).flat();
}

/** Fields of `--json`. */
interface Report {
  readonly tokens_before: number;
  readonly tokens_after: number;
  readonly messages_before: number;
  readonly messages_after: number;
  readonly pruned_count: number;
  readonly cleared_count: number;
}

interface Running {
  readonly out: () => string;
  readonly err: () => string;
  get<T>(path: string): Promise<T>;
  stop(): Promise<number>;
}

/** Ports that capture their output. */
function capturing(): { readonly ports: CliPorts; out(): string; err(): string } {
  const written = { out: "", err: "" };
  const screen = (name: "out" | "err") => ({
    write: (text: string) => {
      written[name] += text;
    },
    isTerminal: false,
    columns: undefined,
  });
  return {
    ports: {
      stdout: screen("out"),
      stderr: screen("err"),
      env: {},
      cwd: folder,
      home: folder,
      now: () => new Date(),
      clock: () => performance.now(),
      newId: () => "id",
    },
    out: () => written.out,
    err: () => written.err,
  };
}

/** Runs the command, with a page signed in, until it is stopped. */
async function run(...words: string[]): Promise<Running> {
  let stop = (): void => undefined;
  const { ports, out, err } = capturing();
  const code = main(words, {
    ...ports,
    stopped: () =>
      new Promise((resolve) => {
        stop = resolve;
      }),
  });
  const printed = (): string => out() + err();
  await expect.poll(printed).toContain("/open?token=");
  const link = /http:\S+\/open\?token=\S+/.exec(printed())?.[0] ?? "";
  const opened = await fetch(link, { redirect: "manual" });
  const cookie = opened.headers.get("set-cookie")?.split(";")[0] ?? "";
  return {
    out,
    err,
    get: async <T>(path: string) => {
      const answer = await fetch(new URL(path, link), { headers: { cookie } });
      return path === "/api/events" ? (answer as T) : ((await answer.json()) as T);
    },
    stop: () => {
      stop();
      return code;
    },
  };
}

const heads = async (running: Running) => (await running.get<SessionList>("/api/sessions")).sessions;

describe("compact view", () => {
  it("has the figures the provider reported for a call: tokens, cached tokens, cost", async () => {
    const metrics = {
      inputTokens: 900,
      outputTokens: 2,
      cacheReadTokens: 700,
      cacheWriteTokens: 0,
      cost: 0.25,
    };
    const messages = [
      { id: "m1", role: "user", content: "look", ts: 0 },
      { id: "m2", role: "assistant", content: "seen", metrics, ts: 1 },
    ];
    const cline = { sessionId: "cline-1", system_prompt: "You are Cline.", messages };
    writeFileSync(join(folder, "cline.json"), JSON.stringify(cline));
    const running = await run("view", "cline.json");
    await expect.poll(async () => (await heads(running))[0]?.live).toBe(false);
    const { id } = (await heads(running))[0] ?? {};
    const { steps } = await running.get<SessionView>(`/api/sessions/${id}`);
    expect(steps).toMatchObject([{ reported: 900, cached: 700, dollars: 0.25 }]);
    expect(await running.stop()).toBe(0);
  });

  it("replays a transcript", async () => {
    const running = await run("view", "session.json", "--window", "4k");
    await expect.poll(async () => (await heads(running))[0]?.live).toBe(false);
    const [head] = await heads(running);
    expect(head).toMatchObject({ source: "transcript", window: 4000, counts: { messages: 60, steps: 30 } });
    expect(head?.counts.compactions).toBeGreaterThan(1);
    const view = await running.get<SessionView>("/api/sessions/session");
    for (const step of view.steps) {
      expect(step.total).toBeLessThanOrEqual(view.budget);
      expect(step.without).toBeGreaterThanOrEqual(step.total - 1000);
    }
    expect(await running.stop()).toBe(0);
  });

  it("takes the secrets out of the title of a transcript as well", async () => {
    const secret = `sk-ant-api03-${"Bq7Lm2".repeat(15)}AA`;
    const asked = { role: "user", content: `Rotate ${secret} today.` };
    writeFileSync(join(folder, "secret.json"), JSON.stringify([asked, ...conversation()]));
    const running = await run("view", "secret.json");
    await expect.poll(async () => (await heads(running))[0]?.live).toBe(false);
    expect((await heads(running))[0]).toMatchObject({ title: "Rotate <REDACTED> today." });
    expect(await running.stop()).toBe(0);
  });

  it("reads an archive, and updates when it changes", async () => {
    const running = await run("view", "archive");
    const [head] = await heads(running);
    expect(head).toMatchObject({ id: "agent", source: "archive", window: 4000 });
    expect(head?.counts.compactions).toBeGreaterThan(0);
    const manager = new CompactManager({
      maxContextTokens: 4000,
      model: "gpt-4o",
      storage: { kind: "fs", root: join(folder, "archive") },
    });
    await manager.manualCompact("second", conversation());
    await manager.flush();
    await expect.poll(() => heads(running)).toHaveLength(2);
    expect(await running.stop()).toBe(0);
  });

  describe("of an archive written by compact FILE", () => {
    const compact = async (name: string, count: number): Promise<Report> => {
      writeFileSync(join(folder, "grown.json"), JSON.stringify({ model: "gpt-4o", messages: tools(count) }));
      const running = capturing();
      const code = await main(
        ["grown.json", "--window", "4k", "--target", "25%", "--archive", name, "--json"],
        running.ports,
      );
      expect(code).toBe(0);
      return JSON.parse(running.out()) as Report;
    };
    const sessionOf = async (running: Running) => {
      const [{ id = "" } = {}] = (await running.get<{ sessions: { id: string }[] }>("/api/sessions"))
        .sessions;
      const view = await running.get<SessionView>(`/api/sessions/${id}`);
      const opened = view.compactions.map(({ index }) =>
        running.get<CompactionView>(`/api/sessions/${id}/compactions/${index}`),
      );
      return { view, opened: await Promise.all(opened) };
    };

    it("has the outcome of each message and the tokens that the command reported, step by step", async () => {
      const reports = [await compact("filed", 10), await compact("filed", 14)];
      const running = await run("view", "filed");
      const { view, opened } = await sessionOf(running);
      expect(view).toMatchObject({ model: "gpt-4o" });
      expect(view.compactions).toHaveLength(2);
      for (const [index, report] of reports.entries()) {
        const head = view.compactions[index];
        const step = view.steps[index];
        expect(head).toMatchObject({
          tokensBefore: report.tokens_before,
          tokensAfter: report.tokens_after,
          messagesBefore: report.messages_before,
          messagesAfter: report.messages_after,
        });
        expect(step?.total).toBe(report.tokens_after);
        const outcomes = opened[index]?.messages ?? [];
        const count = (outcome: string): number => outcomes.filter((one) => one.outcome === outcome).length;
        expect(count("summarized")).toBe(report.pruned_count);
        expect(count("summarized")).toBeGreaterThan(0);
        expect(count("cleared")).toBe(report.cleared_count);
        expect(count("unknown")).toBe(0);
        expect(outcomes.every(({ reason }) => (reason ?? "") !== "")).toBe(true);
        for (const { outcome, tokens, tokensAfter } of outcomes) {
          if (outcome === "kept") expect(tokensAfter).toBe(tokens);
          else expect(tokensAfter).toBeLessThan(tokens);
        }
      }
      expect(await running.stop()).toBe(0);
    });

    it("shows unknown outcomes where the record has none, with the tokens of the record", async () => {
      const reports = [await compact("older", 10), await compact("older", 14)];
      for (const step of ["001", "002"]) {
        const session = readdirSync(join(folder, "older")).find((one) => one.startsWith("grown-")) ?? "";
        const file = join(folder, "older", session, `summary-${step}.json`);
        const older = JSON.parse(readFileSync(file, "utf8"));
        for (const name of ["schema", "checksum", "fates", "fixedTokens", "model"]) delete older[name];
        writeFileSync(file, JSON.stringify(older));
      }
      const running = await run("view", "older");
      const { view, opened } = await sessionOf(running);
      expect(view.layers).toContain("messages");
      for (const [index, report] of reports.entries()) {
        const head = view.compactions[index];
        expect(head).toMatchObject({ tokensBefore: report.tokens_before, tokensAfter: report.tokens_after });
        expect(head).not.toHaveProperty("messagesAfter");
        expect(opened[index]?.messages).toHaveLength(report.messages_before);
        expect(view.steps[index]?.total).toBe(report.tokens_after);
        expect(new Set(opened[index]?.messages.map(({ outcome }) => outcome))).toEqual(new Set(["unknown"]));
      }
      expect(await running.stop()).toBe(0);
    });
  });

  it("reads a file of events, follows it, and warns of lines that are not events", async () => {
    const running = await run("view", "events.jsonl");
    await expect.poll(() => heads(running)).toHaveLength(1);
    expect((await heads(running))[0]).toMatchObject({ id: "agent", source: "events", window: 4000 });
    const at = "2026-01-01T00:00:00.000Z";
    const event = {
      name: "compact.warning",
      session_id: "added",
      started_at: at,
      ended_at: at,
      status: "ok",
      properties: {},
    };
    appendFileSync(join(folder, "events.jsonl"), `${JSON.stringify(event)}\nno event\n`);
    await expect.poll(() => heads(running)).toHaveLength(2);
    await expect.poll(running.err).toContain("skipped 1 line of events.jsonl: not an event");
    expect(await running.stop()).toBe(0);
  });

  it("skips a line that is too long to be an event, and reads what follows it", async () => {
    const at = "2026-01-01T00:00:00.000Z";
    const event = { name: "compact.warning", started_at: at, ended_at: at, status: "ok", properties: {} };
    const [first, long, last] = ["first", "long", "last"].map((id) => ({ ...event, session_id: id }));
    const lines = [first, { ...long, payload: "x".repeat(5_000_000) }, last].map((one) =>
      JSON.stringify(one),
    );
    writeFileSync(join(folder, "long.jsonl"), `${lines.join("\n")}\n`);
    const running = await run("view", "long.jsonl");
    await expect
      .poll(async () => (await heads(running)).map(({ id }) => id).sort())
      .toEqual(["first", "last"]);
    await expect.poll(running.err).toContain("skipped 1 line of long.jsonl: not an event");
    expect(await running.stop()).toBe(0);
  });

  it("accepts events of any name and content", async () => {
    const at = "2026-01-01T00:00:00.000Z";
    const event = { session_id: "odd", started_at: at, ended_at: at, status: "ok", properties: {} };
    const lines = [
      { ...event, name: "compact.token_estimate" },
      { ...event, name: "__proto__" },
      { ...event, name: "__defineGetter__" },
      { ...event, name: "compact.summary_created", payload: { toString: 1 } },
      { ...event, name: "compact.warning", properties: { deep: "HERE" } },
    ].map((one) => JSON.stringify(one).replace('"HERE"', "[".repeat(50_000) + "]".repeat(50_000)));
    writeFileSync(join(folder, "odd.jsonl"), `${lines.join("\n")}\n`);
    const running = await run("view", "odd.jsonl");
    await expect.poll(async () => (await heads(running))[0]?.counts.spans).toBe(5);
    expect(await running.stop()).toBe(0);
  });

  it("receives what a running agent sends to the printed address", async () => {
    const running = await run("view", "archive");
    const url = /COMPACT_TRACING_ARIADNE=(\S+)/.exec(running.out())?.[1];
    const manager = new CompactManager({
      maxContextTokens: 4000,
      model: "gpt-4o",
      storage: { kind: "memory" },
      tracing: { ariadne: url ?? "" },
    });
    await manager.preflight("sender", conversation());
    await manager.flush();
    await expect.poll(async () => (await heads(running)).map(({ id }) => id)).toContain("sender");
    const view = await running.get<SessionView>("/api/sessions/sender");
    expect(view.compactions).toHaveLength(1);
    expect(view.spans.some(({ parent }) => parent !== undefined)).toBe(true);
    expect(await running.stop()).toBe(0);
  });

  it("waits for events where the archive is empty", async () => {
    const running = await run("view");
    expect(await heads(running)).toEqual([]);
    expect(running.out()).toContain("/ingest");
    expect(await running.stop()).toBe(0);
  });

  const refused: readonly (readonly [words: readonly string[], message: string])[] = [
    [["view", "nowhere.json"], "there is no file nowhere.json"],
    [["view", "session.json", "--port", "70000"], "--port 70000: not a port number"],
    [["view", "session.json", "--port", "x"], "--port x: not a port number"],
    [["view", "--archive", "nowhere"], "there is no archived session in"],
    // A file that can be opened but not read, by any user.
    ...(existsSync(UNREADABLE) ? [[["view", UNREADABLE], `${UNREADABLE} is empty`] as const] : []),
  ];
  it.each(refused)("%j reports the error", async (words, message) => {
    let err = "";
    const screen = { write: () => undefined, isTerminal: false, columns: undefined };
    const empty = mkdtempSync(join(folder, "empty-"));
    const code = await main([...words], {
      stdout: screen,
      env: {},
      home: folder,
      cwd: words.length === 1 ? empty : folder,
      stderr: { ...screen, write: (text) => (err += text) },
      now: () => new Date(),
      clock: () => performance.now(),
      newId: () => "id",
    });
    expect(code).toBeGreaterThan(0);
    expect(err).toContain(message);
  });
});
