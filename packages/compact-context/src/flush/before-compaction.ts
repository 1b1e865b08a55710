import type { Message } from "../core/message.ts";
import type { CompactionPlan } from "../core/plan.ts";
import type { Session } from "../core/session.ts";
import { errorMessage, later } from "../errors.ts";
import { discardedMessages } from "./item.ts";

/** What is told of a compaction that is about to be committed. */
export interface CompactionMoment {
  readonly sessionId: string;
  /** The messages whose content leaves the list. */
  readonly discarded: readonly Message[];
  /** Aborted when the compaction goes on without waiting any longer. */
  readonly signal: AbortSignal;
}

/** Sees the whole list while it is whole: a summarized or emptied message is still itself. */
export type BeforeCompaction = (
  messages: readonly Message[],
  moment: CompactionMoment,
) => void | Promise<void>;

/** How long a compaction waits for whoever looks at the list first. */
const WAIT_MS = 500;

/** Shows a list to the port before a plan is committed; waits a little, and never rejects. */
export function createBeforeCompaction(
  look: BeforeCompaction,
  { waitMs = WAIT_MS, warn }: { readonly waitMs?: number; warn(message: string): void },
): (session: Session, plan: CompactionPlan) => Promise<void> {
  return async (session, plan) => {
    if (!plan.entries.some(({ action }) => action === "summarize" || action === "clear")) return;
    const controller = new AbortController();
    const moment = {
      sessionId: session.id,
      discarded: discardedMessages(session, plan),
      signal: controller.signal,
    };
    let callOff = (): void => undefined;
    const late = new Promise<void>((resolve) => {
      callOff = later(waitMs, () => {
        controller.abort();
        resolve();
      });
    });
    const looked = (async () => look([...session.view], moment))().catch((error: unknown) =>
      warn(`what was to come before a compaction failed: ${errorMessage(error)}`),
    );
    await Promise.race([looked, late]);
    callOff();
  };
}
