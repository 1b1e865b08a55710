import { expect } from "vitest";
import type { StorageDriver } from "../../packages/compact-context/src/core/ports.ts";
import { createRedactor } from "../../packages/compact-context/src/redaction/redactor.ts";
import { createArchive } from "../../packages/compact-context/src/search/archive.ts";
import { conversation } from "./conversation.mjs";

interface StoredState {
  readonly step: number;
  readonly summaryCount: number;
  readonly summary?: { readonly version: number };
  readonly kept: readonly { readonly at: number }[];
  readonly log: readonly unknown[];
}

/** Versions of the summary files in step order. */
export async function summaryVersions(driver: StorageDriver, session: string): Promise<number[]> {
  const keys = (await driver.list(`${session}/`)).filter((key) => key.includes("/summary-"));
  const values = await Promise.all(keys.map(async (key) => (await driver.get(key))?.value ?? ""));
  return values.map((value) => (JSON.parse(value) as { version: number }).version);
}

/** Asserts a complete session: one summary per step, consecutive versions, nothing lost. */
export async function expectWholeSession(
  driver: StorageDriver,
  session: string,
  turns: number,
): Promise<void> {
  const stored = await driver.get(`${session}/state.json`);
  const state = JSON.parse(stored?.value ?? "{}") as StoredState;
  const versions = await summaryVersions(driver, session);
  expect(versions).toEqual(Array.from({ length: state.summaryCount }, (_, index) => index + 1));
  expect(state.summary?.version).toBe(state.summaryCount);

  const archive = createArchive(driver, { redact: createRedactor() });
  const archived = new Set<string>();
  for (const step of await archive.steps(session)) {
    const { messages, problems } = await archive.readTranscript(session, step);
    expect(problems).toEqual([]);
    for (const { message } of messages) archived.add(JSON.stringify(message.native));
  }
  const kept = new Set(state.kept.map(({ at }) => at));
  const gone = conversation(turns).filter((_, at) => at < state.log.length && !kept.has(at));
  expect(gone.length).toBeGreaterThan(0);
  expect(gone.filter((message) => !archived.has(JSON.stringify(message)))).toEqual([]);
}

/** By message that left the list: the keys under which it was delivered, from the workers' output. */
export function flushedBy(lines: readonly string[]): Map<string, Set<string>> {
  const keys = new Map<string, Set<string>>();
  for (const line of lines) {
    const [word, key = "", ...rest] = line.split(" ");
    if (word !== "flush") continue;
    for (const text of JSON.parse(rest.join(" ")) as string[]) {
      const name = /(?:question|answer) \d+/.exec(text)?.[0] ?? text;
      keys.set(name, (keys.get(name) ?? new Set()).add(key));
    }
  }
  return keys;
}
