import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { CompactManager } from "../../packages/compact-context/src/create-manager.ts";
import { readPageFiles, startViewServer } from "../../packages/compact-context-cli/src/view/server.ts";
import { ViewStore } from "../../packages/compact-context-cli/src/view/view-store.ts";
import { canDrive, openProfile, START_MS } from "./profile.ts";

const page = resolve("packages/compact-context-cli/dist/page");

const command = resolve("packages/compact-context-cli/bin/compact.js");

/** The link that `compact view` prints. */
async function linkOf(printed: AsyncIterable<Buffer>): Promise<string> {
  let text = "";
  for await (const piece of printed) {
    text += piece.toString();
    const [link] = /http:\S+token=\S+/.exec(text) ?? [];
    if (link !== undefined) return link;
  }
  throw new Error(`no link: ${text}`);
}

describe.skipIf(!canDrive || !existsSync(`${page}/page.js`))("the page while an agent runs", () => {
  it(
    "shows what the exporter sends without being asked again, with spans and their durations",
    async () => {
      const store = new ViewStore();
      const watched = new Promise<void>((resolve) => {
        const listen = store.listen.bind(store);
        store.listen = (listener) => {
          resolve();
          return listen(listener);
        };
      });
      const server = await startViewServer({
        store,
        port: 0,
        now: () => performance.now(),
        files: await readPageFiles(pathToFileURL(`${page}/`)),
        newSecret: () => randomBytes(32).toString("base64url"),
      });
      const browser = await openProfile();
      try {
        const opened = await browser.newPage();
        await opened.goto(server.newLink());
        await watched;
        const manager = new CompactManager({
          maxContextTokens: 4000,
          model: "gpt-4o",
          storage: { kind: "memory" as const },
          tracing: { ariadne: server.ingestUrl },
        });
        const messages = Array.from({ length: 60 }, (_, index) => ({
          role: index % 2 === 0 ? "user" : "assistant",
          content: `${index}: ${"words ".repeat(80)}`,
        }));
        await manager.preflight("a running agent", messages);
        await manager.flush();
        await opened.getByText("a running agent").first().waitFor();
        await opened.locator('[role=tab]:has-text("Timeline")').first().click();
        await opened.getByText("summary created").first().waitFor();
        expect(await opened.evaluate<string>("document.querySelector('#main').innerText")).toMatch(
          /\d+ ms|\d s/,
        );
        // What the compaction left is told by layer, and what became of the messages.
        await opened.locator('[role=tab]:has-text("Compactions")').first().click();
        await opened.getByText("messages 1 to").first().waitFor();
        const layers = await opened.evaluate<string>("document.querySelector('#readout').innerText");
        expect(layers).toMatch(/recent\s+[\d,]+/);
        expect(layers).toMatch(/summary\s+[\d,]+/);
      } finally {
        await browser.close();
        await server.close();
      }
    },
    START_MS,
  );

  it(
    "shows the last call of an agent soon after it, from its archive beside it",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "compact-live-"));
      const manager = new CompactManager({
        maxContextTokens: 8000,
        model: "gpt-4o",
        storage: { kind: "fs" as const, root: folder },
      });
      const messages = Array.from({ length: 40 }, (_, index) => ({
        role: index % 2 === 0 ? "user" : "assistant",
        content: `${index}: ${"words ".repeat(30)}`,
      }));
      const call = async (count: number): Promise<void> => {
        await manager.preflight("beside", messages.slice(0, count));
        await manager.flush();
      };
      await call(9);
      const view = spawn(process.execPath, [command, "view", folder], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const link = await linkOf(view.stdout);
      const browser = await openProfile();
      try {
        const opened = await browser.newPage();
        await opened.goto(link);
        await opened.getByText("Call 1 of 1").first().waitFor();
        await call(11);
        const written = performance.now();
        await opened.getByText("Call 2 of 2").first().waitFor();
        const took = performance.now() - written;
        console.log(`page, live: the last call was shown after ${Math.round(took)} ms`);
        expect(took).toBeLessThan(5_000);
      } finally {
        await browser.close();
        view.kill();
        rmSync(folder, { recursive: true, force: true });
      }
    },
    START_MS,
  );
});
