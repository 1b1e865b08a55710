import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createTerminal, processPorts } from "../ports.ts";
import { startChat } from "./start-chat.ts";

it("a chat that fails after it was opened leaves its channel free", async () => {
  const cwd = mkdtempSync(join(tmpdir(), "compact-chat-start-"));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const lock = join(cwd, ".compact", "agent", "main", "agent.lock");
  let wasLocked = false;
  const write = (): void => {
    wasLocked ||= existsSync(lock);
    throw new Error("nobody reads any more");
  };
  const ports = { ...processPorts(), cwd, env: {}, stdout: { write, isTerminal: false, columns: 80 } };
  const terminal = createTerminal(ports);
  await expect(startChat({ words: [], flags: {}, ports, terminal })).rejects.toThrow("nobody reads any more");
  expect([wasLocked, existsSync(lock)]).toEqual([true, false]);
});
