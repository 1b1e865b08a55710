import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryWriter } from "compact-context/internal/memory/changes/writer";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { main } from "./main.ts";
import type { CliPorts } from "./ports.ts";
import { displayWidth } from "./render/text.ts";

const folder = mkdtempSync(join(tmpdir(), "compact-screens-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function screen(argv: readonly string[], columns: number): Promise<string[]> {
  let out = "";
  const stdout: CliPorts["stdout"] = {
    write: (piece) => {
      out += piece;
    },
    isTerminal: false,
    columns: undefined,
  };
  await main(argv, {
    stdout,
    stderr: { ...stdout, write: () => undefined },
    env: { COLUMNS: String(columns) },
    cwd: folder,
    home: folder,
    now: () => new Date(),
    clock: () => performance.now(),
    newId: () => crypto.randomUUID(),
  });
  return out.split("\n");
}

/** A path or an id is one word, and a command is for copying: neither is wrapped. */
const isWhole = (line: string): boolean => /^\s*(\S+$|(Usage: |Next: +)?compact )/.test(line);

/** A long session whose last call was never answered, and one message that a provider refuses. */
function session(): string {
  const steps = Array.from({ length: 140 }, (_, step) => {
    const id = `call_${step}`;
    const call = {
      id,
      type: "function",
      function: { name: "read", arguments: `{"path":"src/parser/${step}.ts"}` },
    };
    const text = `export const value_${step} = ${step}; // the parser keeps it. `.repeat(12);
    return [
      { role: "assistant", content: `Now I read part ${step} of the parser.`, tool_calls: [call] },
      ...(step === 139 ? [] : [{ role: "tool", tool_call_id: id, content: text }]),
    ];
  });
  const system = { role: "system", content: "You port parsers, and tell what you did in plain words." };
  const ask = { role: "user", content: "Port the parser to the new grammar, and keep every old test green." };
  return JSON.stringify([
    system,
    ask,
    ...steps.flat(),
    { role: "tool", tool_call_id: "nobody", content: "lost" },
  ]);
}

beforeAll(async () => {
  writeFileSync(join(folder, "session.json"), session());
  const channelDir = join(folder, "team");
  mkdirSync(channelDir);
  writeFileSync(
    join(folder, "MEMORY.md"),
    "## Rules\n\n- Releases need two reviews by people who own the code.\n",
  );
  const writer = createMemoryWriter({ channelDir, workspaceDir: folder });
  const origin = { trust: "person", source: "session-2026-11-27/m4" } as const;
  const noted = (text: string) => ({ op: "add", section: "Decisions", text, ...origin }) as const;
  await writer.apply(
    [
      noted("The staging database listens on port 5433, since another team took the old one."),
      noted("The reports database listens on port 5499 and is only there on weekdays."),
    ],
    {
      author: "consolidation",
      reason: "what the session decided about ports and databases",
      sources: [origin.source],
    },
  );
  const text = "# Session\n\n## Goal\n\n- Port the parser to the new grammar\n";
  await writer.apply([{ op: "replaceFile", ifVersion: null, text }], {
    author: "session-update",
    reason: "SESSION.md was rewritten by the host",
  });
});

const CHANNEL = ["--channel", "team"];
const SCREENS: readonly (readonly string[])[] = [
  ["inspect", "session.json"],
  ["plan", "session.json"],
  ["plan", "session.json", "--target", "3000", "--all"],
  ["session.json"],
  ["session.json", "--target", "3000"],
  ["lint", "session.json"],
  ["repair", "session.json"],
  ["replay", "session.json", "--window", "12000"],
  ["diff", "session.json", "session.json"],
  ["demo"],
  ["archive", "list"],
  ["archive", "search", "parser"],
  ["doctor"],
  ["config", "show"],
  ["sessions"],
  ["memory", "show", ...CHANNEL],
  ["memory", "log", ...CHANNEL],
  ["memory", "check", ...CHANNEL],
  ["recall", "which port has the staging database?", "--debug", ...CHANNEL],
  ["recall", "grammar of the reports", "--debug", ...CHANNEL],
];

/** Screens without a table: those of a narrower terminal. */
const SENTENCES: readonly (readonly string[])[] = [
  ["help"],
  ["help", "session"],
  ["inspect", "session.json"],
  ["plan", "session.json"],
  ["session.json"],
  ["sessions"],
  ["config", "show"],
  ["memory", "check", ...CHANNEL],
];

describe.each([
  [60, SCREENS],
  [40, SENTENCES],
] as const)("a screen of %i columns", (columns, screens) => {
  it.each(screens.map((argv) => [argv.join(" "), argv] as const))("holds compact %s", async (_, argv) => {
    const lines = await screen(argv, columns);
    const over = lines.filter((line) => displayWidth(line) > columns && !isWhole(line));
    expect(over).toEqual([]);
    expect(lines.length).toBeGreaterThan(3);
  });
});

it("a table drops what has no room, and wraps a sentence under itself", async () => {
  const wide = (await screen(["plan", "session.json"], 100)).join("\n");
  expect(wide).toContain("Port the parser to the new grammar");
  const log = await screen(["memory", "log", ...CHANNEL], 60);
  const first = log.findIndex((line) => line.includes("consolidation"));
  expect(
    log
      .slice(first, first + 3)
      .join(" ")
      .replaceAll(/\s+/g, " "),
  ).toContain("add ×2: what the session decided about ports and databases");
});

it("memory show names the writer of a line: SESSION.md is written by the runtime", async () => {
  const { files } = JSON.parse((await screen(["memory", "show", "--json", ...CHANNEL], 80)).join("\n")) as {
    files: { document: { file: string; sections: { items: { written_by: string; trust: string }[] }[] } }[];
  };
  const writers = files.map(({ document: { file, sections } }) => [
    file,
    ...new Set(sections.flatMap(({ items }) => items.map((item) => `${item.written_by}, ${item.trust}`))),
  ]);
  expect(writers).toEqual([
    ["SESSION.md", "session-update, agent"],
    ["MEMORY.md", "consolidation, person"],
    ["MEMORY.md", "person, person"],
  ]);
});
