import { defaultPolicy } from "compact-context/internal/core/policy";
import { loadState } from "compact-context/internal/core/store";
import { CompactManager } from "compact-context/internal/create-manager";
import { createArchive } from "compact-context/internal/search/archive";

import { createTokenCounter } from "compact-context/internal/tokens/token-counter";
import { createRedactor } from "compact-context/redaction";
import { createMemoryDriver } from "compact-context/storage/memory";
import { describe, expect, it } from "vitest";
import { type ArchiveSource, createArchivedRecord } from "./archived-session.ts";
import { readRoute } from "./server.ts";
import type {
  CompactionView,
  ExpandedView,
  LayerKey,
  MessagePage,
  SearchView,
  SessionView,
} from "./session-view.ts";
import { ViewStore } from "./view-store.ts";

const chat = (count: number): object[] =>
  Array.from({ length: count }, (_, index) => [
    { role: "user", content: `question number ${index} about topic${index}: ${"words ".repeat(40)}` },
    {
      role: "assistant",
      content: null,
      tool_calls: [
        { id: `c${index}`, type: "function", function: { name: "read", arguments: `{"path":"f${index}"}` } },
      ],
    },
    { role: "tool", tool_call_id: `c${index}`, content: `output ${index}: ${"text ".repeat(120)}` },
    { role: "assistant", content: `answer to topic${index}` },
  ]).flat();

/** An archive written by a manager, and the whole conversation. */
async function archived(): Promise<{ source: ArchiveSource; messages: readonly object[] }> {
  const storage = createMemoryDriver();
  const manager = new CompactManager(
    {
      maxContextTokens: 4000,
      model: "gpt-4o",
      policy: { hardCapBuffer: 200, keepRecentTurns: 2, targetContextTokens: 2400 },
    },
    { storage },
  );
  const messages = [
    { role: "system", content: "be brief" },
    { role: "user", content: "api_key=sk-abc123abc123abc123" },
    ...chat(40),
  ];
  for (let end = 4; end <= messages.length; end += 4) await manager.preflight("s/1", messages.slice(0, end));
  await manager.flush();
  return {
    messages,
    source: {
      archive: createArchive(storage, { redact: createRedactor() }),
      counterFor: (model) => createTokenCounter(model === undefined ? {} : { model }),
      keep: defaultPolicy,
      state: async (id) => (await loadState(storage, id))?.value,
    },
  };
}

async function opened(source: ArchiveSource) {
  const store = new ViewStore();
  store.add(createArchivedRecord("s/1", source));
  const get = async <T>(path: string): Promise<T> => (await readRoute(new URL(path, "http://x"), store)) as T;
  return { get, view: await get<SessionView>("/api/sessions/s%2F1") };
}

const kept = archived();

describe("a session of an archive", () => {
  it("has every compaction with the outcome of each message, the newest from the session state", async () => {
    const { source, messages } = await kept;
    const { get, view } = await opened(source);
    expect(view.compactions.length).toBeGreaterThan(2);
    expect(view).toMatchObject({ source: "archive", model: "gpt-4o", window: 4000, trigger: 3400 });
    const pruned = view.spans.filter(({ name }) => name === "compact.pruned_messages");
    const gone = new Set<number>();
    for (const head of view.compactions) {
      const compaction = await get<CompactionView>(`/api/sessions/s%2F1/compactions/${head.index}`);
      const counts: Record<string, number> = {};
      for (const { outcome } of compaction.messages) counts[outcome] = (counts[outcome] ?? 0) + 1;
      // The events and the lists agree.
      const { attributes = [] } = pruned[head.index] ?? {};
      const counted = (name: string) => Number(attributes.find((one) => one.name === name)?.value);
      expect(counts.summarized).toBe(counted("pruned_count"));
      expect(counts.cleared ?? 0).toBe(counted("cleared_count"));
      expect(counts.unknown).toBeUndefined();
      expect(compaction.messages.length).toBe(head.messagesBefore);
      for (const { message, outcome } of compaction.messages) {
        if (message === undefined) continue;
        expect(gone.has(message)).toBe(false);
        if (outcome === "summarized") gone.add(message);
      }
      expect(compaction.summary.map(({ text }) => text).join("")).not.toBe("");
      expect(compaction.summary.some(({ sources }) => sources.length > 0)).toBe(true);
    }
    const page = await get<MessagePage>("/api/sessions/s%2F1/messages?from=0&to=4000");
    expect(page.total).toBeLessThanOrEqual(messages.length);
    expect(page.messages.map(({ role }) => role)).toEqual(
      messages.slice(0, page.total).map((message) => (message as { role: string }).role),
    );
  });

  it("opens and finds a message of a session that is not loaded yet, as after a change of the archive", async () => {
    const get = async (path: string): Promise<unknown> => {
      const store = new ViewStore();
      store.add(createArchivedRecord("s/1", (await kept).source));
      return readRoute(new URL(path, "http://x"), store);
    };
    expect(await get("/api/expand?session=s%2F1&message=2")).toMatchObject({ role: "user", offset: 0 });
    const { hits } = (await get("/api/search?q=topic3&session=s%2F1")) as SearchView;
    expect(hits[0]?.message).toBeGreaterThan(0);
  });

  it("has a step for each estimate, with the tokens of the summary", async () => {
    const { view } = await opened((await kept).source);
    const layer = (name: LayerKey): number => view.layers.indexOf(name);
    expect(view.steps.map(({ index }) => index)).toEqual([...view.steps.keys()]);
    const cliff = view.steps.find(({ compaction }) => compaction === 0);
    expect(cliff?.before?.reduce((sum, tokens) => sum + tokens, 0)).toBe(view.compactions[0]?.tokensBefore);
    expect(cliff?.total).toBe(view.compactions[0]?.tokensAfter);
    expect(cliff?.tokens[layer("summary")]).toBe(view.compactions[0]?.summaryTokens);
    // Layers are known for the list after a compaction, not for the messages before it or added since.
    expect(cliff?.tokens[layer("recent")]).toBeGreaterThan(0);
    expect(cliff?.tokens[layer("messages")]).toBe(0);
    expect(view.steps[0]?.tokens[layer("messages")]).toBeGreaterThan(0);
  });

  it("ARC-4 searches and expands redacted messages, and none of another session", async () => {
    const { get } = await opened((await kept).source);
    const found = await get<SearchView>("/api/search?q=topic3&session=s%2F1");
    const [hit] = found.hits;
    expect(hit?.snippet).toContain("topic3");
    const whole = await get<ExpandedView>(`/api/expand?session=s%2F1&id=${hit?.archiveId}`);
    expect(whole).toMatchObject({ archiveId: hit?.archiveId, offset: 0 });
    expect(whole.text).toContain("topic3");
    const secret = await get<ExpandedView>("/api/expand?session=s%2F1&message=1");
    expect(secret).toMatchObject({ text: "api_key=<REDACTED>", redacted: true });
    expect(await get("/api/expand?session=other&id=0000000000")).toBeUndefined();
    expect(await get("/api/expand?session=s%2F1&id=0000000000")).toBeUndefined();
  });

  it("an archive without events has one step for each list", async () => {
    const { source } = await kept;
    const silent = { ...source.archive, streamEvents: async function* () {} };
    const { view } = await opened({ ...source, archive: silent });
    expect(view.layers).toContain("toolPairs");
    expect(view.steps.length).toBe(view.compactions.length);
    expect(view.compactions.every(({ tokensBefore, tokensAfter }) => tokensAfter < tokensBefore)).toBe(true);
  });
});
