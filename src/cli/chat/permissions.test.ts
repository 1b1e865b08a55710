import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Permission } from "../../agents/tool.ts";
import { createPermissions } from "./permissions.ts";
import { createWorkplace } from "./workplace.ts";

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
  const screen = { tell: () => undefined, print: () => undefined, rest: () => undefined };
  const workplace = await createWorkplace(folder);
  const permissions = createPermissions({ input: { isTerminal: true, ask }, screen, workplace });
  const request = { tool, arguments: args, signal: new AbortController().signal };
  return { permission: await permissions(request), questions };
}

it("asks before every command, whatever other arguments it comes with", async () => {
  for (const args of [
    { command: "date" },
    { command: "date", path: "../elsewhere" },
    { command: "date", path: 1 },
  ])
    expect(await decided("run", args)).toEqual({ permission: "deny", questions: 1 });
});

it("asks for files of the folder, and for none that the tool refuses by itself", async () => {
  expect(await decided("read", { path: "a.txt" })).toEqual({ permission: "deny", questions: 1 });
  expect(await decided("write", { path: "../a.txt" })).toEqual({ permission: "allow", questions: 0 });
});
