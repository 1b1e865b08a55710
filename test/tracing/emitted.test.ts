import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { CompactConfigInput } from "../../packages/compact-context/src/config/settings.ts";
import type { TextModel, TextModelAnswer } from "../../packages/compact-context/src/core/ports.ts";
import { CompactManager, type ManagerPorts } from "../../packages/compact-context/src/create-manager.ts";
import { CompactError } from "../../packages/compact-context/src/errors.ts";
import { createMemoryDriver } from "../../packages/compact-context/src/storage/memory/driver.ts";
import { createJsonlExporter } from "../../packages/compact-context/src/tracing/exporters/http-post.ts";
import { readTranscript } from "../../packages/compact-context-cli/src/transcripts/read.ts";
import { recordProblems } from "./record-problems.ts";

interface Run {
  readonly manager: CompactManager;
  /** Records that were exported, then those that stand beside the archive. */
  records(): Promise<Record<string, unknown>[]>;
}

function setUp(config: CompactConfigInput, ports: ManagerPorts = {}): Run {
  const lines: string[] = [];
  const storage = ports.storage ?? createMemoryDriver();
  const exporter = createJsonlExporter({ append: (line) => void lines.push(line) });
  const manager = new CompactManager(config, {
    onWarning: () => undefined,
    ...ports,
    storage,
    exporters: [exporter],
  });
  return {
    manager,
    async records() {
      await manager.flush();
      const kept: string[] = [];
      for (const key of await storage.list("")) {
        if (key.endsWith("events.jsonl")) kept.push((await storage.get(key))?.value ?? "");
      }
      return [...lines, ...kept.join("").split(/(?<=\n)/)]
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    },
  };
}

/** All problems of all records, and how often each event was there. */
function checked(records: readonly Record<string, unknown>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const record of records) {
    expect([record.name, record.properties, recordProblems(record)]).toEqual([
      record.name,
      record.properties,
      [],
    ]);
    counts[String(record.name)] = (counts[String(record.name)] ?? 0) + 1;
  }
  return counts;
}

function model(answers: readonly (TextModelAnswer | Error)[], name = "openai:gpt-4o-mini"): TextModel {
  const left = [...answers];
  return {
    name,
    async generate() {
      const answer = left.shift() ?? new Error("no more");
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
}

const say = (role: string, content: string): object => ({ role, content });
const long = Array.from({ length: 60 }, (_, index) =>
  say(index % 2 === 0 ? "user" : "assistant", `part ${index} of src/part${index}.ts ${"word ".repeat(50)}`),
);
const small = { maxContextTokens: 4_000, policy: { hardCapBuffer: 200 } };
const usage = { prompt_tokens: 2_000, completion_tokens: 100 };

interface Pruned {
  readonly layer_tokens: Readonly<Record<"before" | "after", Readonly<Record<string, number>>>>;
  readonly actions: readonly {
    readonly from: number;
    readonly to: number;
    readonly action: string;
    readonly tokens_before: number;
    readonly tokens_after: number;
  }[];
  readonly tokens_before: number;
  readonly tokens_after: number;
  readonly pruned_count: number;
  readonly cleared_count: number;
  readonly elided_count: number;
  readonly kept_count: number;
}

/** Layers and actions of a compaction account for every token and every message. */
function addUp(pruned: Pruned): void {
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const { before, after } = pruned.layer_tokens;
  expect(sum(Object.values(before))).toBe(pruned.tokens_before);
  expect(sum(Object.values(after))).toBe(pruned.tokens_after);
  const messages = (action: string): number =>
    sum(pruned.actions.filter((run) => run.action === action).map(({ from, to }) => to - from + 1));
  expect([messages("summarize"), messages("clear"), messages("elide"), messages("keep")]).toEqual([
    pruned.pruned_count,
    pruned.cleared_count,
    pruned.elided_count,
    pruned.kept_count,
  ]);
  pruned.actions.forEach(({ from }, index) => {
    expect(from).toBe(index === 0 ? 0 : (pruned.actions[index - 1]?.to ?? 0) + 1);
  });
  expect(sum(pruned.actions.map((run) => run.tokens_before)) + (before.fixed ?? 0)).toBe(
    pruned.tokens_before,
  );
  const summary = after.summary ?? 0;
  expect(sum(pruned.actions.map((run) => run.tokens_after)) + (after.fixed ?? 0) + summary).toBe(
    pruned.tokens_after,
  );
}

/** Reason, outcome and error of the decisions to compact that were exported or kept. */
function decisions(records: readonly Record<string, unknown>[]): unknown[] {
  return records
    .filter(({ name }) => name === "compact.trigger_decision")
    .map(({ properties }) => properties as Record<string, unknown>)
    .filter(({ triggered }) => triggered === true)
    .map(({ reason, outcome, error_type }) => [reason, outcome, error_type]);
}

describe("every event that is sent and kept fits the schema", () => {
  it("OBS-1 OBS-2 OBS-3 over the bundled session, call by call, with the built-in summarizer", async () => {
    const session = JSON.parse(
      readFileSync(new URL("../../packages/compact-context-cli/demo/session.json", import.meta.url), "utf8"),
    );
    const { manager, records } = setUp({ model: session.model, maxContextTokens: 32_000 });
    const { system, tools, messages } = session;
    for (let end = 1; end <= messages.length; end += 8) {
      await manager.preflight("demo", messages.slice(0, end), { system, tools });
    }
    const all = await records();
    const counts = checked(all);
    expect(counts["compact.pruned_messages"]).toBeGreaterThan(3);
    expect(counts["compact.token_estimate"]).toBeGreaterThan(20);
    for (const { name, properties } of all)
      if (name === "compact.pruned_messages") addUp(properties as Pruned);
  });

  it("TRG-2 a compaction that fails while the list still fits is one decision, not two", async () => {
    const broken = createMemoryDriver();
    const failing = { ...broken, put: () => Promise.reject(new CompactError("StorageFailed", "disk full")) };
    const { manager, records } = setUp(
      { maxContextTokens: 4_000, policy: { triggerPct: 0.5, hardCapBuffer: 200 } },
      { storage: failing },
    );
    await manager.preflight("a", long.slice(0, 45));
    const all = await records();
    const decision = ["trigger_pct", "failed", "StorageFailed"];
    expect(decisions(all)).toEqual([decision, decision]);
    expect(checked(all)["compact.trigger_decision"]).toBe(2);
  });

  it("OBS-2 OBS-3 where models refuse, fail and write", async () => {
    const { manager, records } = setUp(small, {
      summarizer: model([
        { text: "I cannot help with that.", stop: "refusal", usage },
        { text: "### State\n- src/part2.ts and src/nowhere.ts", stop: "end", usage },
        new Error("503"),
      ]),
    });
    await manager.manualCompact("a", long, { note: "before the release" });
    await manager.preflight("b", long);
    const counts = checked(await records());
    // Exported, and kept beside the archive.
    expect(counts).toMatchObject({ "compact.error": 4, "compact.summary_created": 4 });
  });

  it("OBS-3 where storage fails, what must stay is too much, the list changes, redaction is off", async () => {
    const broken = createMemoryDriver();
    const failing = { ...broken, put: () => Promise.reject(new CompactError("StorageFailed", "disk full")) };
    const storage = setUp(small, { storage: failing });
    await expect(storage.manager.manualCompact("a", long)).rejects.toMatchObject({ code: "StorageFailed" });
    const failed = await storage.records();
    expect(checked(failed)["compact.error"]).toBeGreaterThan(0);
    // Exported, and kept: only writing whole files fails.
    const decision = ["manual", "failed", "StorageFailed"];
    expect(decisions(failed)).toEqual([decision, decision]);

    const tight = setUp({ ...small, redaction: { enabled: false } });
    const pinned = long.map((message) => ({ ...message, meta: { protected: true } }));
    await expect(tight.manager.preflight("b", pinned)).rejects.toMatchObject({ code: "InsufficientBudget" });
    expect(decisions(await tight.records())[0]).toEqual(["trigger_pct", "failed", "InsufficientBudget"]);
    await tight.manager.preflight("c", long);
    await tight.manager.preflight("c", [say("user", "something else"), ...long.slice(5)]);
    const counts = checked(await tight.records());
    expect(counts["compact.error"]).toBeGreaterThan(0);
    expect(counts["compact.warning"]).toBeGreaterThan(1);
  });

  it("OBS-3 where a compaction is prepared beside the run, and where tool output is cut", async () => {
    const { manager, records } = setUp({
      maxContextTokens: 4_000,
      policy: { hardCapBuffer: 200, backgroundTriggerPct: 0.5, maxToolResultTokens: 100 },
    });
    const list: object[] = [];
    for (let turn = 0; turn < 50; turn += 1) {
      const call = { id: `c${turn}`, type: "function", function: { name: "read", arguments: "{}" } };
      list.push(say("user", `question ${turn} ${"word ".repeat(20)}`));
      list.push({ role: "assistant", content: null, tool_calls: [call] });
      list.push({
        role: "tool",
        tool_call_id: `c${turn}`,
        content: `line ${turn} `.repeat(turn % 10 === 0 ? 200 : 9),
      });
      await manager.preflight("s", list);
      list.push(say("assistant", `answer ${turn}`));
      await manager.preflight("s", list);
    }
    const all = await records();
    checked(all);
    const given = all.map(({ properties }) => (properties as Record<string, unknown>).reason);
    expect(new Set(given)).toContain("tool_output");
    expect(new Set(given)).toContain("trigger_pct");
  });

  const transcripts = fileURLToPath(new URL("../../../shared/transcripts", import.meta.url));
  it.skipIf(!existsSync(transcripts))("OBS-1 OBS-3 over recorded sessions of other agents", async () => {
    const files = readdirSync(transcripts, { recursive: true, encoding: "utf8" })
      .map((name) => `${transcripts}/${name}`)
      .filter((path) => /\.(json|jsonl)$/.test(path) && statSync(path).size < 400_000)
      .slice(0, 12);
    let compactions = 0;
    for (const path of files) {
      const { segments } = await readTranscript(readFileSync(path, "utf8"), { name: path }).catch(() => ({
        segments: [],
      }));
      const messages = segments.flatMap((segment) => segment.messages);
      const { manager, records } = setUp({ maxContextTokens: 16_000, policy: { onOverflow: "elide" } });
      for (let end = 8; end < messages.length; end += 25) {
        await manager.preflight("s", messages.slice(0, end)).catch(() => undefined);
      }
      compactions += checked(await records())["compact.pruned_messages"] ?? 0;
    }
    expect(compactions).toBeGreaterThan(0);
  });
});

describe("recordProblems", () => {
  const right = {
    version: 1,
    name: "compact.warning",
    session_id: "s",
    started_at: "2026-01-01T00:00:00.000Z",
    ended_at: "2026-01-01T00:00:00.000Z",
    status: "ok",
    properties: { severity: "low", code: "x", message: "m" },
  };
  it.each([
    [{}, []],
    [{ version: 2 }, ["version: not 1"]],
    [{ name: "compact.other" }, ["name: no such event"]],
    [{ status: "error" }, ["status: not ok"]],
    [{ payload: "x" }, ["payload: there, or not there"]],
    [{ started_at: "2026-01-01" }, ["started_at: not a time"]],
    [{ ended_at: "2025-01-01T00:00:00.000Z" }, ["ended_at: before started_at"]],
    [{ more: 1 }, ["more: not in the schema"]],
    [{ properties: { severity: "low", code: "x" } }, ["properties.message: missing"]],
    [
      { properties: { ...right.properties, severity: "huge" } },
      ["properties.severity: huge is no such word"],
    ],
    [{ properties: { ...right.properties, message: 1 } }, ["properties.message: not of type string"]],
    [{ properties: { ...right.properties, extra: 1 } }, ["properties.extra: not in the schema"]],
  ])("%j", (change, problems) => expect(recordProblems({ ...right, ...change })).toEqual(problems));
});
