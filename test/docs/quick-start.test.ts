import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import ts from "typescript";
import { afterAll, describe, expect, it } from "vitest";
import { type Fence, fencesOf, pageText, root } from "./fences.ts";

const run = promisify(execFile);
const built = existsSync(join(root, "packages/compact-context/dist/index.js"));
const [quickStart, once] = fencesOf("README.md", "ts");

/** A folder in which `compact-context` is installed. */
const project = mkdtempSync(join(tmpdir(), "compact-quick-start-"));
mkdirSync(join(project, "node_modules"));
symlinkSync(
  join(root, "packages/compact-context"),
  join(project, "node_modules/compact-context"),
  "junction",
);
afterAll(() => rmSync(project, { recursive: true, force: true }));

/** What a snippet prints between some lines of ours. */
async function printed(before: string, snippet: Fence | undefined, after: string): Promise<unknown> {
  const target = ts.ScriptTarget.ES2022;
  const module = ts.ModuleKind.ESNext;
  const { outputText } = ts.transpileModule(snippet?.text ?? "", { compilerOptions: { target, module } });
  writeFileSync(
    join(project, "program.mjs"),
    `${before}\n${outputText}\nconsole.log(JSON.stringify(${after}));`,
  );
  const { stdout } = await run(process.execPath, ["program.mjs"], { cwd: project });
  return JSON.parse(stdout);
}

const SESSION = `
  const talk = (count) => Array.from({ length: count }, (_, n) =>
    ({ role: n % 2 === 0 ? "user" : "assistant", content: n + " " + "some words of it ".repeat(100) }));
`;

/** The tokens before and after that a text shows, `before ██ 1,234 tokens` or `before: 1,234 tokens`. */
function pictured(text: string): readonly number[] {
  return ["before", "after"].map((name) => {
    const shown = new RegExp(`\\b${name}\\b[^\\n,]*?([\\d,]+) tokens`).exec(text)?.[1] ?? "";
    return Number(shown.replaceAll(",", ""));
  });
}

it.skipIf(!built)("the picture of the README is what the demo shows, within a tenth", async () => {
  const { stdout } = await run(
    process.execPath,
    [join(root, "packages/compact-context-cli/bin/compact.js"), "demo"],
    { cwd: project },
  );
  const bars = /^ *before [\s\S]*?after .*/m.exec(stdout)?.[0] ?? "";
  const [before, after] = pictured(bars);
  expect(before).toBeGreaterThan(100_000);
  for (const picture of picturesOf(pageText("README.md"))) {
    const [drawnBefore, drawnAfter] = pictured(pageText(picture));
    expect(drawnBefore).toBe(before);
    expect(Math.abs((drawnAfter ?? 0) / (after ?? 1) - 1)).toBeLessThan(0.1);
  }
});

/** The pictures that a page shows, light and dark. */
function picturesOf(page: string): readonly string[] {
  const paths = [...page.matchAll(/(?:src|srcset)="([^"]+\.svg)"/g)].map(([, path = ""]) => path);
  expect(paths).toHaveLength(2);
  return paths;
}

describe("the quick start of the README", () => {
  it("DOC-1 has ten lines at most", () => {
    const lines = quickStart?.text.split("\n").filter((line) => line.trim() !== "") ?? [];
    expect(lines.length).toBeGreaterThan(1);
    expect(lines.length).toBeLessThanOrEqual(10);
  });

  it.skipIf(!built)("DOC-1 gives the list back below the trigger and a smaller one above it", async () => {
    const given = (count: number, answer = 500): string =>
      `${SESSION} const sessionId = "s${count}", system = "Be brief.", tools = [], messages = talk(${count});
      const maxOutputTokens = ${answer}, usage = undefined;`;
    const seen = "[prompt === messages, prompt.length, prompt.at(-1) === messages.at(-1)]";
    expect(await printed(given(20), quickStart, seen)).toEqual([true, 20, true]);
    const [same, length, newest] = (await printed(given(401), quickStart, seen)) as [
      boolean,
      number,
      boolean,
    ];
    expect([same, newest]).toEqual([false, true]);
    expect(length).toBeLessThan(401);
    // The room of the answer is part of the window.
    expect(await printed(given(201, 100_000), quickStart, "prompt.length < 201")).toBe(true);
  });

  it.skipIf(!built)("the one shot fits the list into what it is given", async () => {
    const seen = "[messages.length < list.length, report.tokensAfter <= 32_000, summary !== undefined]";
    expect(await printed(`${SESSION} const list = talk(401);`, once, seen)).toEqual([true, true, true]);
  });
});
