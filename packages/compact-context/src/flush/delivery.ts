import type { Message } from "../core/message.ts";
import type { Claim, ClaimedItem, Outbox } from "../core/ports.ts";
import { later } from "../errors.ts";
import { decodeFlushItem } from "./item.ts";

/** What a memory flush hook is told beside the messages. */
export interface MemoryFlush {
  readonly sessionId: string;
  /** The archive step whose compaction discards the messages. */
  readonly step: number;
  /** The same whenever the same messages are handed on again: what was taken in under it can be passed over. */
  readonly idempotencyKey: string;
  /** From 1. */
  readonly attempt: number;
  /** Aborted when the hook takes too long and is given up: it is called again later. */
  readonly signal: AbortSignal;
}

/**
 * Takes in messages that leave the list, their secrets taken out, at least once each; after a throw or a rejection
 * it is called again later.
 */
export type MemoryFlushHook = (messages: readonly Message[], flush: MemoryFlush) => void | Promise<void>;

export interface DeliveryOptions {
  readonly hook: MemoryFlushHook;
  readonly claim: Claim;
  /** How long the hook may take, in milliseconds. */
  readonly timeoutMs: number;
}

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 10 * 60_000;

/** Hands one item to the hook, keeping others off it meanwhile; takes it out of the outbox, or rejects. */
export async function deliver(
  outbox: Outbox,
  claimed: ClaimedItem,
  { hook, claim, timeoutMs }: DeliveryOptions,
): Promise<void> {
  const { sessionId, step, messages } = decodeFlushItem(claimed);
  const controller = new AbortController();
  const flush: MemoryFlush = {
    sessionId,
    step,
    idempotencyKey: `${claimed.session}/${claimed.id}`,
    attempt: claimed.attempts + 1,
    signal: controller.signal,
  };
  const renew = (): void => {
    void outbox.renew(claimed, claim).catch(() => undefined);
  };
  const stopRenewing = later(claim.ms / 3, renew, true);
  try {
    await inTime(() => hook(messages, flush), timeoutMs, controller);
  } finally {
    stopRenewing();
  }
  await outbox.remove(claimed);
}

/** Twice as long after every failure, up to ten minutes. */
export function retryAfter(attempts: number): number {
  return Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempts, 20));
}

/** Rejects when `work` takes longer; whatever it does afterwards is nobody's business. */
async function inTime(
  work: () => void | Promise<void>,
  ms: number,
  controller: AbortController,
): Promise<void> {
  let callOff = (): void => undefined;
  const late = new Promise<never>((_, reject) => {
    callOff = later(ms, () => {
      const error = new Error(`the hook took longer than ${ms} ms`);
      controller.abort(error);
      reject(error);
    });
  });
  try {
    await Promise.race([(async () => work())(), late]);
  } finally {
    callOff();
  }
}
