import { link, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { talk } from "../../../../../test/memory/talk.ts";
import { createMemoryWriter } from "../changes/writer.ts";
import { createChannelMemory } from "../channel-memory.ts";
import { recallRelevantMemory } from "../recall.ts";
import { ensureChannel, ensureWorkspace, openMemoryScope } from "./folders.ts";

let workspaceDir: string;
beforeEach(async () => {
  workspaceDir = await mkdtemp(join(tmpdir(), "compact-scope-"));
  await ensureWorkspace(workspaceDir);
});
afterEach(() => rm(workspaceDir, { recursive: true }));
const refused = { code: "NotFound" };

it("names that lead out of the workspace are refused, whether something is there or not", async () => {
  for (const channel of ["..", "../other", "a/../../b", "/etc", "", "a//b", ".memory", "C:\\x", "a\0b"]) {
    await expect(openMemoryScope({ workspaceDir, channel })).rejects.toMatchObject(refused);
  }
  const elsewhere = await mkdtemp(join(tmpdir(), "compact-other-"));
  await symlink(elsewhere, join(workspaceDir, "linked"));
  for (const channel of ["linked", "linked/new"]) {
    const users = ["ana"];
    await expect(openMemoryScope({ workspaceDir, channel })).rejects.toMatchObject(refused);
    await expect(openMemoryScope({ workspaceDir, channel, user: "ana", users })).rejects.toMatchObject(
      refused,
    );
  }
  const memory = createChannelMemory({ workspaceDir, channelDir: join(workspaceDir, "linked", "new") });
  expect((await memory.recall("anything")).items).toEqual([]);
  await memory.close(talk().user("Remember that the vault code is 7.").reply("Noted.").messages);
  expect(await readdir(elsewhere)).toEqual([]);
  await expect(openMemoryScope({ workspaceDir, channel: "groups/运维" })).resolves.toBeDefined();
  await rm(elsewhere, { recursive: true });
});

it("a channel that names its users gives nothing to others, to nobody's request, or with a list that cannot be read", async () => {
  const scope = await openMemoryScope({ workspaceDir, channel: "dm-ana", user: "ana", users: ["ana"] });
  await ensureChannel(scope.channelDir);
  const fact = { op: "add", section: "Facts", text: "The surprise party is on Monday." } as const;
  await createMemoryWriter(scope).apply([fact], { author: "person", reason: "a test" });
  const ask = { query: "surprise party Monday", now: Date.now() };
  expect((await recallRelevantMemory({ ...scope, ...ask })).items.length).toBe(1);
  for (const user of ["bo", undefined, ""]) {
    const other = { workspaceDir, channelDir: scope.channelDir, user };
    await expect(recallRelevantMemory({ ...other, ...ask })).rejects.toMatchObject(refused);
    await expect(createMemoryWriter(other).read("MEMORY.md")).rejects.toMatchObject(refused);
    await expect(openMemoryScope({ workspaceDir, channel: "dm-ana", user })).rejects.toMatchObject(refused);
  }
  // A later call cannot extend the user list.
  const wider = { workspaceDir, channel: "dm-ana", user: "bo", users: ["ana", "bo"] };
  await expect(openMemoryScope(wider)).rejects.toMatchObject(refused);
  await writeFile(join(scope.channelDir, ".memory", "scope.json"), "{ not json");
  await expect(recallRelevantMemory({ ...scope, ...ask })).rejects.toMatchObject(refused);
});

it.each([
  ["a link puts outside", symlink, "out of the workspace"],
  ["has another name outside", link, "another folder"],
] as const)("a file that %s is left out of the recall, and said", async (_, put, why) => {
  const elsewhere = await mkdtemp(join(tmpdir(), "compact-other-"));
  await writeFile(join(elsewhere, "MEMORY.md"), "## Facts\n\n- The vault code is blue falcon.\n");
  const channelDir = join(workspaceDir, "team");
  await ensureChannel(channelDir);
  await rm(join(channelDir, "MEMORY.md"));
  await put(join(elsewhere, "MEMORY.md"), join(channelDir, "MEMORY.md"));
  const said: string[] = [];
  const request = {
    query: "vault code falcon",
    workspaceDir,
    channelDir,
    warn: (text: string) => said.push(text),
  };
  expect((await recallRelevantMemory(request)).items).toEqual([]);
  expect(said.join()).toContain(why);
  await rm(elsewhere, { recursive: true });
});
