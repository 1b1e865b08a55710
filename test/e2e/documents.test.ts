import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, vi } from "vitest";
import { describeConfig } from "../../src/config/index.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");

it("DOC-1 the README says what and why, starts in at most ten lines, and lists every setting", () => {
  const readme = read("README.md");
  const snippets = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = ""]) =>
    code.trimEnd().split("\n"),
  );
  expect(snippets.length).toBeGreaterThanOrEqual(2);
  for (const lines of snippets) expect(lines.length).toBeLessThanOrEqual(10);
  for (const setting of describeConfig()) expect(readme).toContain(`\`${setting.path}\``);
  for (const name of [
    "CompactManager",
    "compact(",
    "planCompaction",
    "countTokens",
    "Limits",
    "Configuration",
  ]) {
    expect(readme).toContain(name);
  }
});

it("every link to a file in the documents leads somewhere", () => {
  const pages = readdirSync(root).filter((file) => file.endsWith(".md"));
  const notes = readdirSync(join(root, "docs")).filter((file) => file.endsWith(".md"));
  for (const page of [...pages, ...notes.map((file) => `docs/${file}`)]) {
    const folder = page.includes("/") ? "docs/" : "";
    for (const [, target = ""] of read(page).matchAll(/\]\((?!https?:)([^)#]+)/g)) {
      expect(existsSync(join(root, folder, target)), `${page}: ${target}`).toBe(true);
    }
  }
});

it("the quick start runs without a key, compacts, and leaves an archive behind", async () => {
  const folder = mkdtempSync(join(tmpdir(), "compact-example-"));
  const before = process.cwd();
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  process.chdir(folder);
  try {
    await import("../../examples/quick-start.ts");
    expect(log.mock.calls.flat().join("\n")).toMatch(
      /compacted: \d+ -> \d+ tokens, archive .*transcript-pre-compact-001\.jsonl/,
    );
    expect(readdirSync(join(folder, ".compact/archive/review-42"))).toContain(
      "transcript-pre-compact-001.jsonl",
    );
  } finally {
    process.chdir(before);
    log.mockRestore();
    rmSync(folder, { recursive: true });
  }
});
