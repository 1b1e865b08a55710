import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { CompactManager } from "../../packages/compact-context/src/create-manager.ts";
import { readPageFiles } from "../../packages/compact-context-cli/src/view/page-files.ts";
import { startViewServer } from "../../packages/compact-context-cli/src/view/server.ts";
import { createViewStore } from "../../packages/compact-context-cli/src/view/view-store.ts";
import { canDrive, openProfile, START_MS } from "./profile.ts";

const page = resolve("packages/compact-context-cli/dist/view/page");

describe.skipIf(!canDrive || !existsSync(`${page}/main.js`))("the page while an agent runs", () => {
  it(
    "shows what the exporter sends without being asked again, with spans and their durations",
    async () => {
      const server = await startViewServer({
        store: createViewStore(),
        port: 0,
        now: () => performance.now(),
        files: await readPageFiles(pathToFileURL(`${page}/`)),
        newSecret: () => randomBytes(32).toString("base64url"),
      });
      const browser = await openProfile();
      try {
        const opened = await browser.newPage();
        await opened.goto(server.newLink());
        await server.watched;
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
        await opened.getByText("compact.summary_created").first().waitFor();
        expect(await opened.evaluate<string>("document.querySelector('#main').innerText")).toMatch(
          /\d+ ms|\d s/,
        );
      } finally {
        await browser.close();
        await server.close();
      }
    },
    START_MS,
  );
});
