import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { readLogText } from "../../packages/compact-context/src/memory/changes/store.ts";
import { versionOf } from "../../packages/compact-context/src/memory/files/write-file.ts";

const WORKER = join(import.meta.dirname, "worker.mjs");

/** The operations that were confirmed to a worker. */
export interface Acknowledged {
  readonly added: Set<number>;
  readonly invalidated: Set<number>;
  counts: number[];
  ended: boolean;
}

export interface Running {
  readonly process: ChildProcess;
  readonly closed: Promise<Acknowledged>;
  /** Resolves when the worker prints a word: `ready` when it starts to write, `added` after a write. */
  said(word: string): Promise<void>;
}

export function startWorker(channel: string, name: string, first: number, rounds: number): Running {
  const process_ = spawn(process.execPath, [WORKER, channel, name, String(first), String(rounds)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  const waiting: { readonly word: string; readonly resolve: () => void }[] = [];
  process_.stdout.on("data", (data) => {
    printed += data;
    for (const { word, resolve } of waiting) if (printed.includes(word)) resolve();
  });
  const closed = new Promise<Acknowledged>((resolve) => {
    process_.on("close", () => resolve(acknowledged(printed)));
  });
  const said = (word: string): Promise<void> =>
    new Promise((resolve) => {
      waiting.push({ word, resolve });
      if (printed.includes(word)) resolve();
    });
  return { process: process_, closed, said };
}

function acknowledged(printed: string): Acknowledged {
  const said: Acknowledged = { added: new Set(), invalidated: new Set(), counts: [], ended: false };
  for (const text of printed.split("\n").slice(0, -1)) {
    const line = JSON.parse(text) as {
      added?: number;
      invalidated?: number;
      count?: number;
      ended?: boolean;
    };
    if (line.added !== undefined) said.added.add(line.added);
    if (line.invalidated !== undefined) said.invalidated.add(line.invalidated);
    if (line.count !== undefined) said.counts.push(line.count);
    if (line.ended === true) said.ended = true;
  }
  return said;
}

/** The worker's facts that the memory contains. */
export function factsOf(channel: string, name: string): readonly number[] {
  const text = readFileSync(join(channel, "MEMORY.md"), "utf8");
  expect(text.endsWith("\n")).toBe(true);
  const found = text.matchAll(
    new RegExp(`^- Worker ${name} notes fact number (\\d+) of its own\\. <!-- .* -->$`, "gm"),
  );
  return [...found].map(([, number]) => Number(number));
}

/** The log has no gap, every file matches its last change, and each change starts from the previous one. */
export function checkLog(channel: string): number {
  const log = join(channel, "memory-log.jsonl");
  const { changes, problems } = readLogText(existsSync(log) ? readFileSync(log, "utf8") : "");
  expect(problems.filter(({ message }) => !message.includes("cut off"))).toEqual([]);
  const last = new Map<string, string | null>();
  for (const { files } of changes) {
    for (const [file, { before, after }] of Object.entries(files)) {
      if (last.has(file)) expect(before).toBe(last.get(file));
      last.set(file, after);
    }
  }
  for (const [file, version] of last) {
    expect(versionOf(readFileSync(join(channel, file), "utf8"))).toBe(version);
  }
  return changes.length;
}

/** Files left in the lock's folder. */
export function leftOvers(channel: string): readonly string[] {
  const folder = join(channel, ".memory");
  return existsSync(folder) ? readdirSync(folder) : [];
}
