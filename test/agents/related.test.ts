import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { enterSession, openState, relate } from "../../packages/compact-context/src/agent/agent-state.ts";
import { channelRecall } from "../../packages/compact-context/src/agent/channel-recall.ts";
import { createScriptedModel } from "../../packages/compact-context/src/agent/scripted.ts";
import { createRecall } from "../../packages/compact-context/src/recall/recall.ts";
import { createArchive } from "../../packages/compact-context/src/search/archive.ts";
import { createMemoryDriver } from "../../packages/compact-context/src/storage/memory/driver.ts";
import { tempFolder } from "./harness.ts";

const many = Array.from({ length: 230 }, (_, index) => `s${index}`);

it("the newest 200 sessions that belong to one are remembered, however many there are", async () => {
  const state = await openState({
    model: createScriptedModel(() => ({ text: "ok" })),
    config: { storage: { kind: "memory" } },
  });
  for (const id of many) await relate(state, id);
  expect(state.related).toEqual(many.slice(-200));
  enterSession(state, { id: "next", messages: [], related: [...state.related, "one more"] });
  expect(state.related).toEqual([...many.slice(-199), "one more"]);
});

it("what was said in older sessions than those is found in the log", async () => {
  const channelDir = tempFolder();
  const said = { role: "user", content: "The colour of the boat is teal." };
  const line = { timestamp: "2026-11-22T08:00:00.000Z", session: "s0", message: said };
  writeFileSync(join(channelDir, "log.jsonl"), `${JSON.stringify(line)}\n`);
  const archive = createArchive(createMemoryDriver(), {
    redact: { redactText: (text) => text, redactValue: (value) => value },
    warn: () => undefined,
  });
  const live = createRecall({
    sessionId: "now",
    countText: (text) => text.length,
    archive: async () => archive,
  });
  const full = { ...live, search: async () => [], steps: async () => [1] };
  const found = async (sessions: number) =>
    channelRecall({ live: full as never, related: () => Array(sessions).fill(full), channelDir }).search(
      "colour boat",
    );
  expect(await found(199)).toEqual([]);
  expect(await found(200)).toMatchObject([{ snippet: expect.stringContaining("teal") }]);
});
