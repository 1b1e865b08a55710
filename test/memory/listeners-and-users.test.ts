import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createChannelMemory } from "../../packages/compact-context/src/memory/channel-memory.ts";
import { openMemoryScope } from "../../packages/compact-context/src/memory/files/folders.ts";
import { talk } from "./talk.ts";

let workspaceDir = "";
beforeEach(() => {
  workspaceDir = mkdtempSync(join(tmpdir(), "compact-listeners-"));
});
afterEach(() => rmSync(workspaceDir, { recursive: true, force: true }));

const words = (): ReturnType<typeof talk> =>
  talk()
    .user("We deploy on Thursdays after 18:00, remember that.")
    .reply("Noted: Thursdays after 18:00.")
    .user("Always run npm test before you commit.")
    .reply("I will.");

it("listeners that throw break no step of the memory", async () => {
  const thrown: string[] = [];
  const fail = (what: string): never => {
    thrown.push(what);
    throw new Error("the listener broke");
  };
  const channelDir = join(workspaceDir, "team");
  const memory = createChannelMemory({
    workspaceDir,
    channelDir,
    onTask: ({ name }) => fail(name),
    onWarning: () => fail("warning"),
  });
  expect(await memory.beforeCompaction(words().messages)).toEqual({
    session: "written",
    consolidation: "written",
  });
  await memory.settled();
  expect(thrown.slice(0, 2)).toEqual(["session-update", "consolidation"]);
  expect(readFileSync(join(channelDir, "MEMORY.md"), "utf8")).toContain("Thursdays");
});

it("in a channel that names its users, the run of one of them is kept, of nobody else anything", async () => {
  const { channelDir } = await openMemoryScope({
    workspaceDir,
    channel: "team",
    user: "ana",
    users: ["ana"],
  });
  for (const user of [undefined, "bo"]) {
    const other = createChannelMemory({ workspaceDir, channelDir, user });
    expect(await other.beforeCompaction(words().messages)).toEqual({
      session: "failed",
      consolidation: "failed",
    });
    await other.close();
    expect(existsSync(join(channelDir, ".memory", "pending"))).toBe(false);
    expect(existsSync(join(channelDir, "MEMORY.md"))).toBe(false);
  }
  const memory = createChannelMemory({ workspaceDir, channelDir, user: "ana" });
  expect((await memory.beforeCompaction(words().messages)).consolidation).toBe("written");
  const { renderedText } = await memory.recall("When do we deploy?");
  expect(renderedText).toContain("Thursdays");
  await memory.close();
});
