import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CompactManager, ownedSession } from "compact-context";
import { createFsDriver } from "compact-context/storage/fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { main } from "../main.ts";
import type { CliPorts } from "../ports.ts";

let folder = "";
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "compact-delete-"));
  const storage = createFsDriver({ root: folder });
  const manager = new CompactManager({ maxContextTokens: 3000, policy: { keepRecentTurns: 1 } }, { storage });
  for (const id of ["chat-1", "chat-2", ownedSession("chat-1", { tenant: "acme", user: "max" })]) {
    await manager.manualCompact(id, conversation());
  }
  await manager.flush();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function conversation() {
  return Array.from({ length: 20 }, (_, turn) => [
    { role: "user", content: `question ${turn} ${"word ".repeat(30)}` },
    { role: "assistant", content: `answer ${turn} ${"text ".repeat(30)}` },
  ]).flat();
}

function archive(...words: string[]): Promise<{ code: number; out: string; err: string }> {
  return run("archive", ...words, "--archive", folder);
}

async function run(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  const said = { out: "", err: "" };
  const screen = (name: "out" | "err"): CliPorts["stdout"] => ({
    write: (text) => {
      said[name] += text;
    },
    isTerminal: false,
    columns: undefined,
  });
  const ports = {
    stdout: screen("out"),
    stderr: screen("err"),
    cwd: folder,
    home: folder,
    env: {},
    now: () => new Date(),
  } as unknown as CliPorts;
  const code = await main(argv, ports);
  return { code, ...said };
}

describe("ARC-6 compact archive", () => {
  it("delete asks for --yes, then takes the session out", async () => {
    const asked = await archive("delete", "chat-1");
    expect([asked.code, asked.err]).toEqual([2, expect.stringContaining("--yes")]);
    expect(existsSync(join(folder, "chat-1"))).toBe(true);
    const done = await archive("delete", "chat-1", "--yes");
    expect([done.code, done.out]).toEqual([0, expect.stringContaining("Deleted session chat-1: 1 session")]);
    expect(existsSync(join(folder, "chat-1"))).toBe(false);
    expect((await archive("delete", "chat-1", "--yes")).out).toContain("nothing of session chat-1");
    expect((await archive("delete", "--yes")).code).toBe(2);
    const nothing = await archive("delete", "chat-3");
    expect([nothing.code, nothing.err]).toEqual([1, expect.stringContaining("nothing of session chat-3")]);
    expect(nothing.err).toContain("Did you mean chat-2?");
    expect((await archive("delete", "chat-1", "--tenant", "acme")).code).toBe(1);
    const owned = await archive("delete", "chat-1", "--tenant", "acme", "--user", "max");
    expect([owned.code, owned.err]).toEqual([2, expect.stringContaining("permanently deleted")]);
  });

  it.each(["archive list", "archive search words", "archive sweep --days 9"])(
    "%s does not take a folder that is not there for an empty archive",
    async (line) => {
      const { code, err } = await run(...line.split(" "), "--archive", "no/such");
      expect([code, err]).toEqual([1, expect.stringContaining("NotFound: there is no folder no/such")]);
    },
  );

  it("delete takes all of a tenant or a user, and list shows them", async () => {
    expect((await archive("list", "--tenant", "acme")).out).toContain("~t/acme/~u/max/chat-1");
    expect((await archive("list")).out).not.toContain("acme");
    expect((await archive("delete", "--tenant", "acme", "--yes", "--json")).out).toContain('"sessions": 1');
    expect(readdirSync(folder, { recursive: true }).join()).not.toContain("acme");
    expect(existsSync(join(folder, "chat-1"))).toBe(true);
  });

  it("sweep lists what would be deleted, then deletes it, by the flags only", async () => {
    expect((await archive("sweep")).code).toBe(2);
    expect((await archive("sweep", "--days", "soon")).err).toContain("--days must be a whole number");
    expect((await archive("sweep", "--days", "1")).out).toContain("Deleted 0 sessions");
    expect((await archive("sweep", "--max-bytes", "1", "--dry-run")).out).toContain(
      "Would delete 3 sessions",
    );
    expect(existsSync(join(folder, "chat-1"))).toBe(true);
    expect((await archive("sweep", "--max-bytes", "1")).out).toContain("Deleted 3 sessions");
    expect(existsSync(join(folder, "chat-1"))).toBe(false);
  });
});
