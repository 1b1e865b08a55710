import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresDdl } from "compact-context/internal/storage/postgres/client";
import { afterEach, beforeEach, expect, it } from "vitest";
import { main } from "../main.ts";
import type { CliPorts } from "../ports.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "compact-ddl-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function ddl(...words: string[]): Promise<{ code: number; out: string; err: string }> {
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
  return { code: await main(["storage", "ddl", ...words], ports), ...said };
}

it("prints the statements for new tables, and the grants of a role", async () => {
  const { code, out } = await ddl("compact_app");
  expect(code).toBe(0);
  expect(out).toBe(postgresDdl({ schema: "compact", role: "compact_app" }));
  expect(out).toMatch(/create table[^;]*"compact"\.documents/i);
  expect(out).toMatch(/grant [^;]* to "?compact_app/i);
  expect((await ddl()).out).not.toMatch(/grant /i);
});

it("prints what tables of an earlier version lack, in the schema of the settings", async () => {
  const config = join(folder, "compact.yaml");
  writeFileSync(config, "storage:\n  schema: chats\n");
  const { out } = await ddl("compact_app", "2", "--config", config);
  expect(out).toBe(postgresDdl({ schema: "chats", role: "compact_app", from: 2 }));
  expect(out).not.toMatch(/create table[^;]*"chats"\.documents/i);
});

it("refuses a version that is not a number", async () => {
  const { code, err } = await ddl("compact_app", "two");
  expect(code).not.toBe(0);
  expect(err).toContain("whole number");
});
