import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, vi } from "vitest";
import { configTable } from "../../packages/compact-context/src/config/sources.ts";
import { commonSettings } from "../../scripts/configuration-page.mjs";
import { fill } from "../../scripts/events-page.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");

it("DOC-1 the README says what and why, and starts in at most ten lines", () => {
  const readme = read("README.md");
  const snippets = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = ""]) =>
    code.trimEnd().split("\n"),
  );
  expect(snippets.length).toBeGreaterThanOrEqual(2);
  for (const lines of snippets) expect(lines.length).toBeLessThanOrEqual(10);
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

it("DOC-1 docs/configuration.md lists every setting and the README the usual ones, as the schema has them", () => {
  const readme = read("README.md");
  expect(fill(readme, "configuration", commonSettings(configTable())) === readme, "npm run docs").toBe(true);
  expect(readme).toContain("](docs/configuration.md)");
  const page = read("docs/configuration.md");
  expect(fill(page, "settings", configTable()) === page, "npm run docs").toBe(true);
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

/** Runs an example in an empty folder; gives what it printed and that folder's archive of a session. */
async function runExample(load: () => Promise<unknown>, sessionId: string) {
  const folder = mkdtempSync(join(tmpdir(), "compact-example-"));
  const before = process.cwd();
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  const error = vi.spyOn(console, "error").mockImplementation(() => undefined);
  process.chdir(folder);
  try {
    await load();
    const archive = readdirSync(join(folder, ".compact/archive", sessionId));
    return { printed: log.mock.calls.flat().join("\n"), told: error.mock.calls.flat().join("\n"), archive };
  } finally {
    process.chdir(before);
    log.mockRestore();
    error.mockRestore();
    rmSync(folder, { recursive: true });
  }
}

it("the quick start runs without a key, compacts, and leaves an archive behind", async () => {
  const { printed, archive } = await runExample(() => import("../../examples/quick-start.ts"), "review-42");
  expect(printed).toMatch(/compacted: \d+ -> \d+ tokens, archive .*transcript-pre-compact-001\.jsonl/);
  expect(archive).toContain("transcript-pre-compact-001.jsonl");
});

it("DOC-2 the coding session runs without a key, traced to Ariadne where that is", async () => {
  const names: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { batch } = JSON.parse(Buffer.concat(chunks).toString()) as { batch: { name: string }[] };
      names.push(...batch.map(({ name }) => name));
      response.writeHead(200).end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  vi.stubEnv("ARIADNE_URL", `http://127.0.0.1:${(server.address() as AddressInfo).port}/ingest`);
  try {
    const { printed, archive } = await runExample(
      () => import("../../examples/coding-session.ts"),
      "port-to-logger",
    );
    expect(printed).toMatch(/step \d+: \d+ -> \d+ tokens/);
    expect(archive).toContain("summary-001.json");
    expect(names).toEqual(expect.arrayContaining(["compact", "compact.summary_created"]));
  } finally {
    vi.unstubAllEnvs();
    server.close();
  }
});

it("DOC-2 the long research session runs without a key, through many rounds, and finds again what left", async () => {
  const { printed } = await runExample(() => import("../../examples/long-research.ts"), "harbours");
  expect(Number(/^(\d+) rounds/.exec(printed)?.[1])).toBeGreaterThan(5);
  expect(printed).toContain("harbour 17 has a berth of 119 ells");
});
