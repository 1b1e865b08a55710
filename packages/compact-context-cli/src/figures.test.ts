import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { main } from "./main.ts";
import type { CliPorts } from "./ports.ts";
import { displayWidth } from "./render/text.ts";

let root = "";
let folder = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "compact-figures-"));
  folder = join(root, "project");
  mkdirSync(folder);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(argv: readonly string[], more: Partial<CliPorts> = {}): Promise<Run> {
  const text = { out: "", err: "" };
  const screen = (name: "out" | "err"): CliPorts["stdout"] => ({
    write: (piece) => {
      text[name] += piece;
    },
    isTerminal: false,
    columns: undefined,
  });
  const code = await main(argv, {
    stdout: screen("out"),
    stderr: screen("err"),
    env: {},
    cwd: folder,
    home: join(root, "home"),
    now: () => new Date("2026-03-01T12:00:00.000Z"),
    clock: () => performance.now(),
    newId: () => "id",
    ...more,
  });
  return { code, ...text };
}

async function json(argv: readonly string[], more: Partial<CliPorts> = {}): Promise<Record<string, unknown>> {
  const { out, err } = await run([...argv, "--json"], more);
  expect(out, err).not.toBe("");
  return JSON.parse(out) as Record<string, unknown>;
}

function put(name: string, content: string): string {
  mkdirSync(join(folder, name, ".."), { recursive: true });
  writeFileSync(join(folder, name), content);
  return name;
}

/** A session of Claude Code: `steps` tool calls, whose last answer reports its prompt. */
function claude({ steps = 20, prompt = 60_000, compactedAt = 0 }): string {
  const records: object[] = [];
  const add = (fields: object): void => {
    const uuid = `u${records.length}`;
    const parentUuid = records.length === 0 ? null : `u${records.length - 1}`;
    records.push({ parentUuid, isSidechain: false, cwd: "/home/me/shop", sessionId: "s1", uuid, ...fields });
  };
  if (compactedAt > 0) {
    add({
      type: "system",
      subtype: "compact_boundary",
      compactMetadata: { trigger: "auto", preTokens: compactedAt },
    });
  }
  add({ type: "user", message: { role: "user", content: "Port the parser." } });
  for (let step = 0; step < steps; step += 1) {
    const call = { type: "tool_use", id: `t${step}`, name: "Read", input: { path: `src/${step}.ts` } };
    const usage = { input_tokens: 10, cache_read_input_tokens: prompt - 10, output_tokens: 5 };
    const message = { id: `m${step}`, model: "claude-opus-4-6", role: "assistant", content: [call] };
    add({ type: "assistant", message: step === steps - 1 ? { ...message, usage } : message });
    const text = Array.from({ length: 40 }, (_, line) => `${line}: const value_${step} = ${line};`).join(
      "\n",
    );
    const result = { type: "tool_result", tool_use_id: `t${step}`, content: text };
    add({ type: "user", message: { role: "user", content: [result] } });
  }
  add({ type: "user", message: { role: "user", content: "Now mend the tests." } });
  return `${records.map((record) => JSON.stringify(record)).join("\n")}\n`;
}

const talk = (words: string): string =>
  JSON.stringify(
    Array.from({ length: 60 }, (_, turn) => ({
      role: turn % 2 === 0 ? "user" : "assistant",
      content: `${words} ${turn}: ${`the port is ${5400 + turn} `.repeat(20)}`,
    })),
  );

describe("figures", () => {
  it("start from what the provider reported, and say what was counted", async () => {
    const file = put("s1.jsonl", claude({ prompt: 60_000 }));
    const report = await json([file, "--window", "100k"]);
    const counted = await json(["inspect", file, "--window", "100k"]);
    const { reported_tokens: reported, counted_tokens: own } = counted.reported_usage as Record<
      string,
      number
    >;
    expect(reported).toBe(60_000);
    expect(report).toMatchObject({ reported_tokens: 60_000, unseen_tokens: 60_000 - Number(own) });
    expect(report.tokens_before).toBeGreaterThan(60_000);
    expect(report.tokens_after).toBeGreaterThan(60_000 - Number(own));
    const { out } = await run([file, "--window", "100k"]);
    expect(out.replaceAll(/\s+/g, " ")).toContain(
      `The provider counted 60,000 tokens before message #40, Compact ${Number(own).toLocaleString("en")}.`,
    );
  });

  it("a report never lowers a count, and one from before a compaction is not believed", async () => {
    const low = await json(["inspect", put("low.jsonl", claude({ prompt: 11 }))]);
    expect(low).toMatchObject({ unseen_tokens: 0 });
    const usage = { prompt_tokens: 90_000, completion_tokens: 1 };
    const list = [
      { role: "user", content: "<COMPACT-SUMMARY v1>\nEarlier work.\n</COMPACT-SUMMARY>" },
      { role: "assistant", content: "Done.", usage },
    ];
    const stale = await json(["inspect", put("stale.json", JSON.stringify(list))]);
    expect(stale).toMatchObject({ unseen_tokens: 0, reported_usage: null });
  });

  it("of every command are the same, and those of the file that was written", async () => {
    const open = { type: "tool_use", id: "open", name: "Read", input: { path: "src/last.ts" } };
    const killed = { type: "assistant", uuid: "u41", parentUuid: "u40", sessionId: "s1" };
    const message = { id: "m41", model: "claude-opus-4-6", role: "assistant", content: [open] };
    const cut = `${claude({ prompt: 60_000 })}${JSON.stringify({ ...killed, message })}\n`;
    for (const file of [put("s1.jsonl", claude({ prompt: 60_000 })), put("cut.jsonl", cut)]) {
      const report = await json([file, "--window", "100k", "-o", `small-${file}`], {
        newId: () => crypto.randomUUID(),
      });
      const before = report.tokens_before;
      expect(await json(["inspect", file, "--window", "100k"])).toMatchObject({ tokens: before });
      expect(await json(["plan", file, "--window", "100k"])).toMatchObject({ tokens_before: before });
      const [tokens, unseen] = [report.tokens_after, report.unseen_tokens];
      expect(unseen).toBeGreaterThan(40_000);
      expect(await json(["diff", file, `small-${file}`])).toMatchObject({
        tokens_before: before,
        tokens_after: tokens,
      });
      // The file still holds the report of the prompt that was compacted.
      expect(await json(["inspect", `small-${file}`])).toMatchObject({ tokens, unseen_tokens: unseen });
      expect((await run(["inspect", `small-${file}`])).out).toContain("before its last compaction");
    }
  });

  it("a plan's summary is at least as large as the written one", async () => {
    const file = put("s1.jsonl", claude({ steps: 60 }));
    for (const target of ["15%", "25%"]) {
      const plan = await json(["plan", file, "--target", target]);
      const { layers } = await json([file, "--target", target]);
      const written = (layers as { summary: { tokens: number } }).summary.tokens;
      expect(written).toBeGreaterThan(0);
      expect(plan.summary_tokens_at_most).toBeGreaterThanOrEqual(written);
    }
  });

  it("the default target is said as it was chosen", async () => {
    const file = put("s1.jsonl", claude({ prompt: 60_000 }));
    const { out } = await run([file, "--window", "130k"]);
    expect(out.replaceAll(/\s+/g, " ")).toContain(
      "tokens: half of what the file holds, and all that it does not contain; --target",
    );
  });

  it("say apart what no file holds, where the report went with the messages", async () => {
    const usage = { input_tokens: 60_000, output_tokens: 1 };
    const talk = Array.from({ length: 40 }, (_, turn) => ({
      role: turn % 2 === 0 ? "user" : "assistant",
      content: [{ type: "text", text: `Turn ${turn}: ${`the port is ${5400 + turn} `.repeat(20)}` }],
      ...(turn === 39 ? { usage } : {}),
    }));
    const file = put("talk.json", JSON.stringify(talk));
    const report = await json([file, "--format", "anthropic", "--target", "50%", "-o", "small.json"]);
    const written = await json(["inspect", "small.json", "--format", "anthropic"]);
    const [after, unseen] = [Number(report.tokens_after), Number(report.unseen_tokens)];
    expect(written).toMatchObject({ tokens: after - unseen, unseen_tokens: 0 });
    const said = (
      await run([file, "--format", "anthropic", "--target", "50%", "-o", "small.json", "--force"])
    ).out;
    expect(said.replaceAll(/\s+/g, " ")).toContain(
      `Written small.json, with ${(after - unseen).toLocaleString("en")} of the ${after.toLocaleString("en")} tokens: the other ${unseen.toLocaleString("en")} (system prompt, tools) are not in its file`,
    );
    expect((await run(["inspect", "small.json"])).out.replaceAll(/\s+/g, " ")).toContain(
      "without system prompt and tools, which the file does not hold",
    );
  });

  it("the window is the agent's if the file has it, else the model's", async () => {
    const own = put("own.jsonl", claude({ compactedAt: 167_000 }));
    expect(await json(["inspect", own])).toMatchObject({ window: 167_000, window_from: "session" });
    expect((await run(["inspect", own])).out).toContain("window 167,000 (set by the agent)");
    const usual = put("usual.jsonl", claude({}));
    expect(await json(["inspect", usual])).toMatchObject({ window_from: "model" });
    const unknown = await run(["inspect", usual, "--model", "gpt-99"]);
    expect(unknown.out.replaceAll(/\s+/g, " ")).toMatch(
      /\(assumed: unknown model, that of gpt-\S+ is taken\)/,
    );
    expect(await json(["inspect", own, "--window", "50k"])).toMatchObject({
      window: 50_000,
      would_trigger: true,
    });
    const info = { model_context_window: 258_400, last_token_usage: { input_tokens: 5000 } };
    const codex = [
      { type: "session_meta", payload: { id: "c1", cwd: "/x" } },
      {
        type: "response_item",
        payload: { type: "message", role: "user", content: [{ type: "input_text", text: "Hello" }] },
      },
      { type: "event_msg", payload: { type: "token_count", info } },
    ];
    const file = put("rollout.jsonl", codex.map((record) => JSON.stringify(record)).join("\n"));
    expect(await json(["inspect", file])).toMatchObject({ window: 258_400, window_from: "session" });
  });

  it("a session far from its window needs no compaction: it reports so, offers one, and archives nothing", async () => {
    const file = put("talk.json", talk("Turn"));
    const { code, out } = await run([file]);
    expect(code).toBe(0);
    expect(out).toContain("Nothing needs compacting");
    expect(out).toContain("compact talk.json --target 50%\n");
    expect(readdirSync(root)).toEqual(["project"]);
    expect(await json([file])).toMatchObject({ compacted: false, archive: null });
    expect(await json([file, "--target", "50%"])).toMatchObject({ compacted: true });
    expect(await json([file, "--window", "8k"])).toMatchObject({ compacted: true });
  });
});

describe("a look", () => {
  const AIM = ["--target", "1500"];
  const ownArchive = () => join(root, "home", ".local", "share", "compact", "archive");

  it("writes nothing into the working folder; the archive is the user's, and git leaves it alone", async () => {
    put("talk.json", talk("Turn"));
    const { archive } = await json(["talk.json", ...AIM]);
    expect(String(archive).startsWith(ownArchive())).toBe(true);
    expect(readdirSync(folder)).toEqual(["talk.json"]);
    expect(readFileSync(join(ownArchive(), ".gitignore"), "utf8")).toBe("*\n");
    const found = await run(["archive", "search", "5407"]);
    expect(found.out).toContain("5407");
    const data = { env: { XDG_DATA_HOME: join(root, "data") } };
    expect((await json(["talk.json", ...AIM], data)).archive).toContain(join(root, "data", "compact"));
  });

  it("uses the project's archive with a .compact folder or a setting, and --archive above all", async () => {
    put("talk.json", talk("Turn"));
    mkdirSync(join(folder, ".compact"));
    expect((await json(["talk.json", ...AIM])).archive).toContain(join(folder, ".compact", "archive"));
    rmSync(join(folder, ".compact"), { recursive: true });
    const env = { COMPACT_STORAGE_ROOT: "kept" };
    expect((await json(["talk.json", ...AIM], { env })).archive).toContain(join(folder, "kept"));
    expect(readdirSync(join(folder, "kept"))).toContain(".gitignore");
    expect((await json(["talk.json", ...AIM, "--archive", "there"], { env })).archive).toContain(
      join(folder, "there"),
    );
  });

  it("archive lists the newest session first", async () => {
    for (const [hour, name] of ["b", "c", "a"].entries()) {
      await json([put(`${name}.json`, talk(name)), ...AIM], {
        now: () => new Date(Date.UTC(2026, 2, 1, hour)),
      });
    }
    const { sessions } = await json(["archive"]);
    const ids = (sessions as { id: string }[]).map(({ id }) => id[0]);
    expect(ids).toEqual(["a", "c", "b"]);
  });

  it("two files of one name are two sessions, a file read again is one", async () => {
    put("a/messages.json", talk("Red"));
    put("b/messages.json", talk("Blue"));
    const ids = [];
    for (const name of ["a/messages.json", "b/messages.json", "a/messages.json"]) {
      ids.push((await json([name, ...AIM])).session_id);
    }
    expect(ids[0]).not.toBe(ids[1]);
    expect(ids[2]).toBe(ids[0]);
    const { sessions } = await json(["archive"]);
    expect(sessions).toHaveLength(2);
  });

  it("sends no events: only what was written happened, and a replay never", async () => {
    put("talk.json", talk("Turn"));
    const env = { COMPACT_TRACING_JSONL: join(folder, "trace.jsonl") };
    expect((await run(["talk.json", ...AIM], { env })).err).toContain("compact without -o sends no events");
    const replayed = await run(["replay", "talk.json", "--window", "8k"], { env });
    expect([replayed.code, replayed.err]).toEqual([
      0,
      expect.stringContaining("compact replay sends no events"),
    ]);
    expect(readdirSync(folder)).toEqual(["talk.json"]);
    const written = await run(["talk.json", ...AIM, "-o", "small.json"], { env });
    expect([written.code, written.err]).toEqual([0, ""]);
    const names = readFileSync(join(folder, "trace.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { name: string }).name);
    expect(names).toEqual([
      "compact.archival",
      "compact.trigger_decision",
      "compact.summary_created",
      "compact.pruned_messages",
    ]);
    const [session = ""] = readdirSync(ownArchive()).filter((name) => name.startsWith("talk-"));
    expect(readdirSync(join(ownArchive(), session))).toContain("events.jsonl");
  });
});

describe("what to do next", () => {
  it("is the tool's resume command, for a session in the tool's folder", async () => {
    const id = "11111111-aaaa-4aaa-8aaa-111111111111";
    const text = claude({}).replaceAll('"sessionId":"s1"', `"sessionId":"${id}"`);
    const place = `../home/.claude/projects/-home-me-shop/${id}.jsonl`;
    put(place, text);
    const looked = await run(["1", "--window", "80k"]);
    expect(looked.out).toContain(`compact ${id} --window 80k -o `);
    expect(looked.out).toContain(`cd /home/me/shop && claude --resume ${id}\n`);
    put("copy.jsonl", text);
    expect((await run(["copy.jsonl", "--window", "80k"])).out).not.toContain("claude --resume");
    const written = await run(["1", "--window", "80k", "-o", join(folder, place), "--force"]);
    expect(written.out).toContain(`claude --resume ${id}\n`);
    expect(written.out).not.toContain("nothing is written yet");
  });

  it("--summary prints the whole summary and nothing else", async () => {
    put("talk.json", talk("Turn"));
    const { summary } = await json(["talk.json", "--target", "1500"]);
    const { out } = await run(["talk.json", "--target", "1500", "--summary"]);
    expect(out).toBe(`${String(summary).trim()}\n`);
  });
});

describe("compact sessions", () => {
  it("lists by folder with age, tokens and the last ask; every one is reached", async () => {
    for (let index = 10; index < 30; index += 1) {
      const id = `${index}111111-aaaa-4aaa-8aaa-111111111111`;
      const text = claude({ steps: 2, prompt: 1000 * index })
        .replaceAll("/home/me/shop", index % 2 === 0 ? "/home/me/shop" : join(root, "home", "bank"))
        .replaceAll("Now mend the tests.", `Now mend test ${index}.`);
      put(`../home/.claude/projects/p/${id}.jsonl`, text);
    }
    const { out } = await run(["sessions"]);
    expect(out).toContain("\n  /home/me/shop\n");
    expect(out).toContain("\n  ~/bank\n");
    expect(out).toMatch(/\d+k tokens {2}Claude Code {2}Now mend test \d\d\./);
    expect(out).toContain("and 5 older ones: compact sessions --all");
    const { sessions } = (await json(["sessions"])) as { sessions: Record<string, unknown>[] };
    expect(sessions).toHaveLength(20);
    expect(sessions[0]).toMatchObject({ number: 1, tool: "Claude Code", title: "Port the parser." });
    const all = (await run(["sessions", "--all"])).out;
    for (const { last_ask: ask } of sessions) expect(all).toContain(ask);
    expect((await run(["inspect", "20"])).code).toBe(0);
  });
});

describe("compact config show", () => {
  it("shows every value with its origin, and check includes the environment", async () => {
    put("compact.yaml", "policy:\n  trigger_pct: 0.8\nmodel: gpt-4o\n");
    const env = { COMPACT_MODEL: "gpt-5.4" };
    const { settings } = (await json(["config", "show"], { env })) as { settings: Record<string, unknown>[] };
    const by = (path: string) => settings.find((setting) => setting.path === path);
    expect(by("policy.trigger_pct")).toMatchObject({ value: 0.8, origin: "compact.yaml:2:16" });
    expect(by("model")).toMatchObject({ value: "gpt-5.4", origin: "COMPACT_MODEL" });
    expect(by("storage.root")).toMatchObject({ value: ".compact/archive", origin: "default" });
    expect(by("max_context_tokens")).toMatchObject({ value: null, origin: "default" });
    const { out } = await run(["config"], { env });
    expect(out).toMatch(/policy\.trigger_pct\s+0\.8 +compact\.yaml:2:16/);
    expect(await run(["config", "check"])).toMatchObject({ code: 0 });
    const bad = await run(["config", "check"], { env: { COMPACT_TRIGGER_PCT: "9" } });
    expect([bad.code, bad.err]).toEqual([
      1,
      expect.stringContaining("COMPACT_TRIGGER_PCT policy.trigger_pct must be"),
    ]);
  });

  it("the schema accepts what the check accepts, and knows every setting", async () => {
    const schema = JSON.parse((await run(["config", "schema"])).out) as {
      properties: Record<string, { properties?: Record<string, unknown> }>;
      additionalProperties: boolean;
    };
    expect(schema.additionalProperties).toBe(false);
    const { settings } = (await json(["config", "show"])) as { settings: { path: string }[] };
    for (const { path } of settings) {
      const [group = "", name] = path.split(".");
      const found =
        name === undefined ? schema.properties[group] : schema.properties[group]?.properties?.[name];
      expect(found, path).toMatchObject({ description: expect.any(String) });
    }
    expect(schema.properties.policy?.properties?.trigger_pct).toMatchObject({ type: "number", maximum: 1 });
  });
});

describe("screens", () => {
  it.each([60, 80, 120])("break no word and no path at %d columns", async (columns) => {
    put("a-rather-long-name-of-a-session.json", talk("Turn"));
    const screens = [
      ["a-rather-long-name-of-a-session.json", "--target", "1500"],
      ["a-rather-long-name-of-a-session.json"],
      ["inspect", "a-rather-long-name-of-a-session.json"],
      ["replay", "a-rather-long-name-of-a-session.json", "--window", "8k"],
      ["archive"],
      ["config"],
      ["sessions"],
    ];
    const wide = { env: { COLUMNS: "400" } };
    for (const argv of screens) {
      const { out } = await run(argv, { env: { COLUMNS: String(columns) } });
      const known = new Set((await run(argv, wide)).out.split(/\s+/));
      for (const line of out.split("\n")) {
        // A single word, such as a path or a command to paste, may be longer than the screen.
        const isWord = line.trim().split(" ").length === 1 || line.trim().startsWith("compact ");
        if (!isWord) expect(displayWidth(line), line).toBeLessThanOrEqual(columns);
      }
      const paths = out.split(/\s+/).filter((word) => word.includes("/") && !word.includes("…"));
      for (const path of paths) expect(known, argv.join(" ")).toContain(path);
    }
  });
});
