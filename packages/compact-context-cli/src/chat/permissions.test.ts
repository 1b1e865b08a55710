import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Permission } from "compact-context/internal/agent/tool";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createPermissions } from "./permissions.ts";
import { createWorkplace } from "./tools.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "compact-permissions-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function decided(tool: string, args: unknown): Promise<{ permission: Permission; questions: number }> {
  let questions = 0;
  const ask = async (): Promise<string> => {
    questions += 1;
    return "n";
  };
  const screen = { notify: () => undefined };
  const workplace = await createWorkplace(folder);
  const permissions = createPermissions({ input: { isTerminal: true, ask }, screen, workplace });
  const request = { tool, arguments: args, signal: new AbortController().signal };
  return { permission: await permissions(request), questions };
}

it("asks before every command, with any other arguments", async () => {
  for (const args of [
    { command: "date" },
    { command: "date", path: "../elsewhere" },
    { command: "date", path: 1 },
  ])
    expect(await decided("run", args)).toEqual({ permission: "deny", questions: 1 });
});

it("asks for files of the folder, but not for paths that the tool rejects itself", async () => {
  expect(await decided("read", { path: "a.txt" })).toEqual({ permission: "deny", questions: 1 });
  expect(await decided("write", { path: "../a.txt" })).toEqual({ permission: "allow", questions: 0 });
});

it("does not take a chat command for an answer", async () => {
  const notices: string[] = [];
  const answers = ["/context", "/tmp/a is wrong"];
  const input = { isTerminal: true, ask: async () => answers.shift() };
  const screen = {
    notify: (_: string, text: string) => void notices.push(text),
  };
  const permissions = createPermissions({ input, screen, workplace: await createWorkplace(folder) });
  const request = { tool: "read", arguments: { path: "a.txt" }, signal: new AbortController().signal };
  expect(await permissions(request)).toEqual({ deny: "They said: /tmp/a is wrong" });
  expect(notices.at(-1)).toBe("/context works at the prompt only: answer y, a or n, or say why not");
});

it("shows a command in full, and a long change in full on request", async () => {
  const notices: string[] = [];
  const answers = ["s", "n", "n"];
  const input = { isTerminal: true, ask: async () => answers.shift() };
  const screen = {
    notify: (_: string, text: string, most = 12) => void notices.push(`${most} ${text}`),
  };
  const permissions = createPermissions({ input, screen, workplace: await createWorkplace(folder) });
  const request = { signal: new AbortController().signal };
  const content = Array.from({ length: 30 }, (_, n) => `line ${n}`).join("\n");
  expect(await permissions({ ...request, tool: "write", arguments: { path: "a.txt", content } })).toBe(
    "deny",
  );
  const shown = notices.findIndex((line) => line.includes("s show all"));
  expect(notices.slice(0, shown).some((line) => line.includes("line 29"))).toBe(false);
  expect(notices.slice(shown).some((line) => line.includes("line 29"))).toBe(true);
  const command = `echo ${"long ".repeat(2000)}; rm -r everything`;
  await permissions({ ...request, tool: "run", arguments: { command } });
  expect(notices.find((line) => line.endsWith("rm -r everything"))).toMatch(/^Infinity /);
});
