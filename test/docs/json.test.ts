import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createMemoryWriter } from "../../packages/compact-context/src/memory/changes/writer.ts";
import { ensureChannel, ensureWorkspace } from "../../packages/compact-context/src/memory/files/folders.ts";
import { runCommand } from "../e2e/command.ts";
import { pageText, root } from "./fences.ts";

/** Keys by place: the top is the empty place, `rounds[]` the entries of a list. */
type Keys = Readonly<Record<string, readonly string[]>>;

/** The tables of the page, by the command in their heading. */
const listed = new Map<string, Keys>(
  pageText("docs/json.md")
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const rows = [...section.matchAll(/^\| (.*?) \| (.*) \|$/gm)].slice(2);
      const words = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, word = ""]) => word);
      const command = words(section.split("\n")[0] ?? "")[0] ?? "";
      return [
        command,
        Object.fromEntries(rows.map(([, place = "", keys = ""]) => [words(place)[0] ?? "", words(keys)])),
      ];
    }),
);

const folder = mkdtempSync(join(tmpdir(), "compact-json-"));
const place = ["--channel", "team", "--workspace", "."];
const ids = { item: "", change: "" };
beforeAll(async () => {
  copyFileSync(join(root, "packages/compact-context-cli/demo/session.json"), join(folder, "session.json"));
  writeFileSync(join(folder, "compact.yaml"), "model: gpt-4o\n");
  const channelDir = join(folder, "team");
  await ensureWorkspace(folder);
  await ensureChannel(channelDir);
  const writer = createMemoryWriter({ channelDir, workspaceDir: folder });
  const add = (text: string) =>
    writer.apply([{ op: "add", section: "Decisions", text }], { author: "consolidation", reason: "told" });
  ids.item = (await add("Deploys go out on Thursdays.")).done[0]?.id ?? "";
  ids.change = (await add("The window is 200k tokens wide.")).changeId ?? "";
});
afterAll(() => rmSync(folder, { recursive: true }));

const COMMANDS: readonly (readonly [command: string, argv: () => readonly string[]])[] = [
  ["compact FILE", () => ["session.json", "-o", "smaller.json"]],
  ["compact demo", () => ["demo"]],
  ["compact sessions", () => ["sessions"]],
  ["compact inspect", () => ["inspect", "session.json"]],
  ["compact plan", () => ["plan", "session.json"]],
  ["compact replay", () => ["replay", "session.json"]],
  ["compact diff", () => ["diff", "session.json", "smaller.json"]],
  ["compact lint", () => ["lint", "session.json"]],
  ["compact repair", () => ["repair", "session.json"]],
  ["compact redact", () => ["redact", "session.json", "-o", "redacted.json"]],
  ["compact archive list", () => ["archive", "list"]],
  ["compact archive show", () => ["archive", "show"]],
  ["compact archive search", () => ["archive", "search", "trigger"]],
  ["compact archive restore", () => ["archive", "restore", "-o", "restored.json"]],
  ["compact archive delete", () => ["archive", "delete", "none", "--yes"]],
  ["compact archive sweep", () => ["archive", "sweep", "--days", "90", "--dry-run"]],
  ["compact recall", () => ["recall", "When do deploys go out?", ...place]],
  ["compact memory show", () => ["memory", "show", ...place]],
  ["compact memory log", () => ["memory", "log", ...place]],
  ["compact memory undo", () => ["memory", "undo", ids.change, ...place]],
  ["compact memory forget", () => ["memory", "forget", ids.item, ...place]],
  ["compact memory check", () => ["memory", "check", ...place]],
  ["compact config show", () => ["config", "show"]],
  ["compact config check", () => ["config", "check", "compact.yaml"]],
  ["compact doctor", () => ["doctor"]],
];

it("the page has every command, and no other", () => {
  expect([...listed.keys()]).toEqual(COMMANDS.map(([command]) => command));
});

it.each(COMMANDS)("%s --json prints the keys that the page lists", async (command, argv) => {
  const { out, err } = await runCommand(folder, [...argv(), "--json"]);
  expect(out, err).not.toBe("");
  const printed = keysOf(JSON.parse(out) as object);
  const { "": top, ...inner } = listed.get(command) ?? {};
  expect([...(top ?? [])].sort()).toEqual(printed.get("") ?? []);
  for (const [where, known] of Object.entries(inner)) {
    expect(
      (printed.get(where) ?? []).filter((key) => !known.includes(key)),
      where,
    ).toEqual([]);
    expect(top, where).toContain(where.replace(/\[\]$/, ""));
  }
});

/** The keys at the top and one level below; of a list, those of all of its entries. */
function keysOf(value: object): Map<string, string[]> {
  const found = new Map([["", Object.keys(value).sort()]]);
  for (const [key, inner] of Object.entries(value) as [string, unknown][]) {
    const entries = Array.isArray(inner) ? (inner as unknown[]) : [inner];
    const keys = entries.flatMap((entry) =>
      typeof entry === "object" && entry !== null ? Object.keys(entry) : [],
    );
    if (keys.length > 0) found.set(Array.isArray(inner) ? `${key}[]` : key, [...new Set(keys)]);
  }
  return found;
}
