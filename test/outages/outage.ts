import { expect } from "vitest";
import { CompactManager, type StorageDriver } from "../../packages/compact-context/src/index.ts";

// The outage test of every medium: a list that fits is returned while storage is down, and state catches up
// afterwards.

/** One turn of about 660 tokens, different from all others. */
function turn(n: number): object[] {
  return [
    { role: "user", content: `question ${n} ${"words of the question ".repeat(10)}` },
    { role: "assistant", content: `answer UNIQ-${n}-x ${`text ${n} of the answer\n`.repeat(90)}` },
  ];
}

export function turns(from: number, to: number): object[] {
  return Array.from({ length: to - from }, (_, index) => turn(from + index)).flat();
}

export interface Setting {
  readonly manager: CompactManager;
  readonly warnings: string[];
}

export const TIMEOUT_MS = 300;

export function managerOver(
  storage: StorageDriver,
  {
    onFailure = "stop",
    timeoutMs = TIMEOUT_MS,
  }: { onFailure?: "stop" | "continue"; timeoutMs?: number } = {},
): Setting {
  const warnings: string[] = [];
  const manager = new CompactManager(
    {
      maxContextTokens: 6000,
      policy: { hardCapBuffer: 200, keepRecentTurns: 2, triggerPct: 0.5 },
      storage: { timeoutMs, onFailure },
    },
    { storage, onWarning: (message) => warnings.push(message) },
  );
  return { manager, warnings };
}

/** Milliseconds of the call, which must return the same array. */
async function passes(manager: CompactManager, session: string, list: object[]): Promise<number> {
  const started = performance.now();
  const { messages, report } = await manager.preflight(session, list);
  expect(report.compacted).toBe(false);
  expect(messages).toBe(list);
  return performance.now() - started;
}

export interface Outage {
  readonly storage: StorageDriver;
  /** Starts the outage; the returned function ends it. */
  begin(): Promise<() => Promise<void>>;
  /** True: calls hang. False: they fail immediately. */
  readonly silent: boolean;
  readonly onFailure?: "continue";
}

/**
 * Lists below and above the trigger are returned unchanged, for a session in memory and for a new one; the
 * wait is bounded and happens once. A list over the budget is refused while nothing can be stored. Afterwards
 * nothing is missing.
 */
export async function expectListsGoOut({ storage, begin, silent, onFailure }: Outage): Promise<void> {
  const { manager, warnings } = managerOver(storage, { onFailure });
  await manager.preflight("known", turns(0, 2));
  const end = await begin();
  const slack = 1200;
  const waits = [
    await passes(manager, "known", turns(0, 3)),
    await passes(manager, "new", turns(0, 2)),
    await passes(manager, "known", turns(0, 7)),
    await passes(manager, "other", turns(0, 7)),
  ];
  expect(Math.max(...waits)).toBeLessThan(TIMEOUT_MS + slack);
  if (silent) expect(waits.at(-1)).toBeLessThan(TIMEOUT_MS);
  expect(warnings, warnings.join("\n")).toHaveLength(1);
  await end();
  // The medium's availability is polled in the background.
  let asked = 0;
  const isBack = async (): Promise<boolean> => {
    asked += 1;
    return (await manager.preflight(`asked-${asked}`, turns(0, 7))).report.compacted;
  };
  await expect.poll(isBack, { timeout: 15_000, interval: 200 }).toBe(true);
  expect((await manager.preflight("known", turns(0, 8))).report.compacted).toBe(true);
  for (const session of ["new", "other"]) {
    const { report } = await manager.preflight(session, turns(0, 12));
    expect(report.compacted).toBe(true);
  }
  await manager.flush();
  expect(warnings, warnings.join("\n")).toHaveLength(1);
  const again = managerOver(storage).manager;
  const resumed = await again.preflight("known", turns(0, 8));
  expect(resumed.report.compacted).toBe(false);
  expect(resumed.messages.length).toBeLessThan(16);
  const archived = JSON.stringify((await again.recall("known").restore()).messages);
  for (let n = 0; n < 6; n++) expect(archived).toContain(`UNIQ-${n}-x`);
}

/** While nothing can be stored, a list over the budget is refused with a hint. */
export async function expectRefusedOverBudget(storage: StorageDriver): Promise<void> {
  const { manager } = managerOver(storage);
  await expect(manager.preflight("large", turns(0, 14))).rejects.toMatchObject({
    code: "StorageFailed",
    hint: expect.stringMatching(/\w/),
  });
}
