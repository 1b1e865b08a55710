import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { titleFromDocument } from "./title.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "compact-title-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const titleOf = (text: string): Promise<string | undefined> => {
  writeFileSync(join(folder, "session.json"), text);
  return titleFromDocument(join(folder, "session.json"));
};

it("a title is the document's own, else the user's first words", async () => {
  const messages = [{ id: "1", type: "user", content: "Colour the docs" }];
  expect(await titleOf(JSON.stringify({ messages }))).toBe("Colour the docs");
  expect(await titleOf(JSON.stringify({ title: "Docs", messages }))).toBe("Docs");
});

it("a document made to be slow to search is given up on at once", async () => {
  const started = process.cpuUsage();
  expect(await titleOf(`{${'"type":"user"'.repeat(40_000)}`)).toBeUndefined();
  expect(process.cpuUsage(started).user / 1000).toBeLessThan(3000);
});
