import type { CompactionPlan } from "../core/plan.ts";
import type { ClaimedItem, Outbox, OutboxItem, StorageDriver } from "../core/ports.ts";
import type { BeforeCommit, QueuedWork } from "../core/run.ts";
import type { Session } from "../core/session.ts";
import { loadState } from "../core/store.ts";
import type { SessionState } from "../core/view.ts";
import { errorMessage, later } from "../errors.ts";
import type { Redactor } from "../redaction/redactor.ts";
import { type BeforeCompaction, createBeforeCompaction } from "./before-compaction.ts";
import { type DeliveryOptions, deliver, type MemoryFlushHook, retryAfter } from "./delivery.ts";
import { decodeFlushItem, discardedMessages, encodeFlushItem } from "./item.ts";

/** What `recover` did. */
export interface Recovery {
  /** Flushes that the hook took in. */
  readonly handedOn: number;
  /** Times that it failed: those flushes are tried again later. */
  readonly failed: number;
}

export interface MemoryFlushOptions extends DeliveryOptions {
  readonly redact: Pick<Redactor, "redactText" | "redactValue">;
  outbox(): Promise<Outbox>;
  /** The stored state of a session and its version. */
  state(sessionId: string): Promise<{ readonly value: SessionState; readonly version: string } | undefined>;
  now(): Date;
  warn(message: string): void;
}

/** Queues what compactions discard and hands it to a hook in the background. */
export interface MemoryFlushing extends BeforeCommit {
  /** Undefined where the plan discards nothing. */
  queue(session: Session, plan: CompactionPlan, step: number): Promise<QueuedWork | undefined>;
  /** Begins to hand on what earlier processes queued, and whatever falls due later. */
  start(): void;
  /** Resolves when everything that was queued and committed was handed on, or failed. */
  recover(): Promise<Recovery>;
  /** Resolves when no hook runs any more, or after `ms`. */
  settle(ms: number): Promise<void>;
}

/** Hooks that run at the same time; what comes above waits in the outbox. */
const AT_ONCE = 8;
/** An item whose compaction was neither committed nor overtaken for so long belongs to a process that died. */
const UNDECIDED_MS = 60 * 60_000;
const LOOK_AGAIN_MS = 30_000;
const LOOK_AGAIN_SOONEST_MS = 100;

/** How long others keep their hands off an item whose worker went silent. */
const CLAIM_MS = 5000;
const HOOK_TIMEOUT_MS = 60_000;

/** What a manager's ports say of a memory. */
interface MemoryPorts {
  readonly memoryFlushHook?: MemoryFlushHook;
  readonly memoryFlushTimeoutMs?: number;
  readonly beforeCompaction?: BeforeCompaction;
  readonly beforeCompactionWaitMs?: number;
}

/** As a manager's ports ask for it; nothing where they name neither hook nor look. */
export function createManagerFlushing(
  ports: MemoryPorts,
  context: Pick<MemoryFlushOptions, "redact" | "now" | "warn"> & {
    readonly worker: string;
    open(): Promise<{
      readonly outbox: Outbox;
      readonly stateDriver: StorageDriver;
    }>;
  },
): MemoryFlushing | undefined {
  const flushing = createHookFlushing(ports, context);
  const { beforeCompaction, beforeCompactionWaitMs } = ports;
  if (beforeCompaction === undefined) return flushing;
  const { warn } = context;
  const wait = beforeCompactionWaitMs === undefined ? {} : { waitMs: beforeCompactionWaitMs };
  const look = createBeforeCompaction(beforeCompaction, { warn, ...wait });
  return {
    start: () => flushing?.start(),
    async queue(session, plan, step) {
      const [queued] = await Promise.all([flushing?.queue(session, plan, step), look(session, plan)]);
      return queued;
    },
    recover: async () => (await flushing?.recover()) ?? { handedOn: 0, failed: 0 },
    settle: async (ms) => flushing?.settle(ms),
  };
}

function createHookFlushing(
  ports: MemoryPorts,
  context: Parameters<typeof createManagerFlushing>[1],
): MemoryFlushing | undefined {
  if (ports.memoryFlushHook === undefined) return undefined;
  const { worker, open, redact, now, warn } = context;
  return createMemoryFlushing({
    hook: ports.memoryFlushHook,
    timeoutMs: ports.memoryFlushTimeoutMs ?? HOOK_TIMEOUT_MS,
    claim: { by: worker, ms: CLAIM_MS },
    ...{ redact, now, warn },
    outbox: async () => (await open()).outbox,
    state: async (sessionId) => loadState((await open()).stateDriver, sessionId),
  });
}

function createMemoryFlushing(options: MemoryFlushOptions): MemoryFlushing {
  const lanes = createLanes(options, () => pump.start());
  const pump = createPump(options, lanes);
  return {
    start: pump.start,
    queue: (session, plan, step) => queue(session, { plan, step, lanes, pump }, options),
    async recover() {
      const before = { ...lanes.counted };
      // Counted instead of measured: the clock may be a test's.
      for (let waited = 0; waited <= options.claim.ms; ) {
        await pump.run();
        await lanes.idle();
        const due = await (await options.outbox()).nextDue();
        if (due === undefined || due > options.claim.ms) break;
        // What a process claimed that died falls free in a moment.
        const wait = Math.max(due, 20);
        await new Promise<void>((done) => setTimeout(done, wait));
        waited += wait;
      }
      const { handedOn, failed } = lanes.counted;
      return { handedOn: handedOn - before.handedOn, failed: failed - before.failed };
    },
    settle: (ms) => Promise.race([lanes.idle(), new Promise<void>((done) => later(ms, done))]),
  };
}

async function queue(
  session: Session,
  context: {
    readonly plan: CompactionPlan;
    readonly step: number;
    readonly lanes: Lanes;
    readonly pump: Pump;
  },
  { outbox: open, redact, claim, now }: MemoryFlushOptions,
): Promise<QueuedWork | undefined> {
  const { plan, step, lanes, pump } = context;
  const messages = discardedMessages(session, plan);
  if (messages.length === 0) return undefined;
  const outbox = await open();
  const at = now().toISOString();
  const item = encodeFlushItem(
    { sessionId: session.id, step, base: session.storedVersion, at, messages },
    redact,
  );
  const mine = await outbox.add(item, claim);
  const pending = new Set(await outbox.pending(item.session));
  const earlier = (session.state.flushes ?? []).filter((id) => id !== item.id && pending.has(id));
  return {
    flushes: [...earlier, item.id],
    handOn() {
      if (!mine) pump.start();
      else if (lanes.free() > 0) lanes.begin(outbox, { ...item, attempts: 0 });
      else void outbox.retry(item, claim.by, { inMs: 0, attempts: 0 }).then(pump.start, pump.start);
    },
  };
}

/** The hooks that run now. */
interface Lanes {
  readonly counted: { handedOn: number; failed: number };
  free(): number;
  begin(outbox: Outbox, item: ClaimedItem): void;
  /** Tells of a trouble, once until things go well again. */
  tell(problem: string, error: unknown): void;
  idle(): Promise<void>;
}

function createLanes(options: MemoryFlushOptions, ended: () => void): Lanes {
  const { claim, warn } = options;
  const counted = { handedOn: 0, failed: 0 };
  const running = new Set<Promise<void>>();
  let told = false;
  const tell: Lanes["tell"] = (problem, error) => {
    if (!told) warn(`${problem}; this is tried again later: ${errorMessage(error)}`);
    told = true;
  };
  const attempt = async (outbox: Outbox, item: ClaimedItem): Promise<void> => {
    try {
      await deliver(outbox, item, options);
      counted.handedOn += 1;
      told = false;
    } catch (error) {
      counted.failed += 1;
      tell(`messages of the session ${item.session} could not be handed to memory`, error);
      const later = { inMs: retryAfter(item.attempts), attempts: item.attempts + 1 };
      await outbox.retry(item, claim.by, later).catch(() => undefined);
    }
  };
  return {
    counted,
    tell,
    free: () => AT_ONCE - running.size,
    begin(outbox, item) {
      const run = attempt(outbox, item).then(() => {
        running.delete(run);
        ended();
      });
      running.add(run);
    },
    async idle() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}

/** Takes due items out of the outbox, one pass at a time. */
interface Pump {
  start(): void;
  run(): Promise<void>;
}

function createPump(options: MemoryFlushOptions, lanes: Lanes): Pump {
  let passing: Promise<void> | undefined;
  let callOff = (): void => undefined;
  const again = (ms: number): void => {
    callOff = later(Math.min(Math.max(ms, LOOK_AGAIN_SOONEST_MS), LOOK_AGAIN_MS), start);
  };
  const pass = async (): Promise<void> => {
    callOff();
    try {
      const outbox = await options.outbox();
      while (lanes.free() > 0) {
        const items = await outbox.claim(options.claim, lanes.free());
        if (items.length === 0) break;
        for (const item of items) await decide(outbox, item, { options, lanes });
      }
      const due = await outbox.nextDue();
      if (due !== undefined) again(due);
    } catch (error) {
      lanes.tell("queued messages could not be read", error);
      again(LOOK_AGAIN_MS);
    }
  };
  const run = (): Promise<void> => {
    passing ??= pass().finally(() => {
      passing = undefined;
    });
    return passing;
  };
  function start(): void {
    void run();
  }
  return { start, run };
}

async function decide(
  outbox: Outbox,
  item: ClaimedItem,
  { options, lanes }: { readonly options: MemoryFlushOptions; readonly lanes: Lanes },
): Promise<void> {
  const fate = await fateOf(item, options);
  if (fate === "committed") lanes.begin(outbox, item);
  else if (fate === "overtaken") await outbox.remove(item);
  else {
    await outbox.retry(item, options.claim.by, { inMs: LOOK_AGAIN_MS, attempts: item.attempts });
  }
}

/**
 * Whether the compaction that an item was queued for took place. Only the stored state can tell: a process may have
 * died between the two, or may be about to commit. Where it was overtaken, the messages are still in the list.
 */
async function fateOf(
  item: OutboxItem,
  { state, now }: MemoryFlushOptions,
): Promise<"committed" | "overtaken" | "undecided"> {
  const { sessionId, base, at } = headOf(item) ?? {};
  // What cannot be read fails with its own error when it is handed on.
  if (sessionId === undefined || base === undefined) return "committed";
  const stored = await state(sessionId).catch(() => null);
  if (stored === null) return "undecided";
  // The state was taken away since: better handed on twice than never.
  if (stored === undefined && base !== null) return "committed";
  if (stored?.value.flushes?.includes(item.id) === true) return "committed";
  if ((stored?.version ?? null) !== base) return "overtaken";
  return now().getTime() - Date.parse(at ?? "") > UNDECIDED_MS ? "committed" : "undecided";
}

function headOf(item: OutboxItem): Partial<ReturnType<typeof decodeFlushItem>> | undefined {
  try {
    return decodeFlushItem(item);
  } catch {
    return undefined;
  }
}
