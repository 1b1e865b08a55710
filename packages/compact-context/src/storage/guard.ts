import type { CallOptions, Leases, Outbox, StorageDriver } from "../core/ports.ts";
import { PROBE_KEY } from "../core/records.ts";
import { CompactError, errorMessage, MAX_TIMER_MS, nextRound, type Pause } from "../errors.ts";

// FIT-7: no storage failure delays a list that fits. One guard wraps a driver and exposes it in two ways:
// `quick` for calls that can do without storage, `patient` for those that cannot.

export interface GuardOptions {
  /** Timeout of one `quick` call; large writes get one more millisecond per 1,000 characters. */
  readonly timeoutMs: number;
  /** Milliseconds of a monotonic clock. */
  clock(): number;
  later(ms: number, work: () => void): () => void;
  /** Awaited after each `quick` call, so that responses arriving together are processed in turn. */
  turn(): Promise<void>;
  /** Called once per outage. */
  warn(message: string): void;
}

export interface GuardedStorage {
  /**
   * Rejects with `StorageFailed` if storage does not answer in time; after that, rejects at once until a
   * background probe succeeds.
   */
  readonly quick: StorageDriver;
  /** Waits as long as the driver does. */
  readonly patient: StorageDriver;
}

/**
 * A timeout is counted down in this many slices. A blocked event loop costs at most one slice; a slice in
 * which storage answered earlier calls costs none.
 */
const SLICES = 10;
const CHARACTERS_PER_MS = 1000;
/** The pause between two probes of storage that does not answer. */
const ASK_AGAIN_MS = 1000;
/** Calls of a kind that work this long after one of them failed show that the storage has recovered. */
const RECOVERED_MS = 600_000;

/** On a full disk reads, deletions and small appends work while others fail. */
type Kind = "read" | "put" | "append" | "delete" | "lease" | "queue";

/** One driver call and its key. */
interface GuardedCall<T> {
  readonly kind: Kind;
  readonly key: string;
  readonly options?: CallOptions;
  work(options: CallOptions): Promise<T>;
}

/** Runs a call, with or without a timeout. `grow` extends the timeout. */
type Way = <T>(call: GuardedCall<T>, grown?: (grow: (ms: number) => void) => void) => Promise<T>;

interface Outage {
  readonly kind: Kind;
  readonly key: string;
  /** True if storage did not answer at all; calls then fail at once. */
  silent: boolean;
  failedAt: number;
}

export function guardStorage(driver: StorageDriver, options: GuardOptions): GuardedStorage {
  const { timeoutMs, clock, later, turn, warn } = options;
  const queue = watchQueue(clock, timeoutMs / SLICES);
  let outage: Outage | undefined;

  const late = (): CompactError =>
    new CompactError("StorageFailed", `${driver.location} does not answer within ${timeoutMs} ms`, {
      place: driver.location,
      hint: "Look whether it is up and reachable. If it is only slow, raise storage.timeoutMs.",
    });

  const failed = ({ kind, key }: GuardedCall<unknown>, error: CompactError, silent: boolean): void => {
    const told = outage !== undefined && (outage.silent || !silent);
    if (outage === undefined || (silent && !outage.silent)) outage = { kind, key, silent, failedAt: 0 };
    outage.failedAt = clock();
    if (silent && !told) askLater();
    if (told) return;
    warn(
      `the storage fails (${error.message}): lists that fit go out as they are, and what is to be stored waits. ${error.hint}`.trim(),
    );
  };

  const worked = ({ kind, key }: GuardedCall<unknown>): void => {
    if (outage === undefined || outage.silent || kind !== outage.kind) return;
    if (key === outage.key || clock() - outage.failedAt > RECOVERED_MS) outage = undefined;
  };

  const askLater = (): void => {
    later(ASK_AGAIN_MS, () => {
      const asked = {
        kind: "read",
        key: PROBE_KEY,
        work: (call: CallOptions) => driver.version(PROBE_KEY, call),
      } as const;
      within({ ms: timeoutMs, later, late, queue }, asked).then(() => {
        outage = undefined;
      }, askLater);
    });
  };

  const patient: Way = async (call) => {
    try {
      const value = await call.work(call.options ?? {});
      worked(call);
      return value;
    } catch (error) {
      const failure = asFailure(error);
      if (failure.code === "StorageFailed") failed(call, failure, false);
      throw failure;
    }
  };

  const quick: Way = async (call, grown) => {
    if (outage?.silent === true) throw late();
    try {
      const value = await within({ ms: timeoutMs, later, late, queue, grown }, call);
      worked(call);
      await turn();
      return value;
    } catch (error) {
      const failure = asFailure(error);
      if (failure.code === "StorageFailed") failed(call, failure, error instanceof Late);
      throw failure;
    }
  };

  return { quick: faceOf(driver, quick), patient: faceOf(driver, patient) };
}

/** Distinguishes a call queued behind others from one that gets no answer. */
interface Queue {
  /** Returns the place of a new call. */
  join(): number;
  /** Records that the call at this place was answered. */
  answered(place: number): void;
  /** True if an earlier call was answered in this slice or the one before. */
  moves(place: number): boolean;
}

function watchQueue(clock: () => number, slice: number): Queue {
  let places = 0;
  // The earliest place answered in the current slice, and in the one before.
  let [present, before, since] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 0];
  const pass = (): void => {
    const now = Math.floor(clock() / slice);
    if (now === since) return;
    before = now === since + 1 ? present : Number.POSITIVE_INFINITY;
    present = Number.POSITIVE_INFINITY;
    since = now;
  };
  return {
    join: () => places++,
    answered(place) {
      pass();
      present = Math.min(present, place);
    },
    moves(place) {
      pass();
      return Math.min(present, before) < place;
    },
  };
}

/** A rejection by the guard, not by storage. */
class Late extends Error {
  readonly error: CompactError;

  constructor(error: CompactError) {
    super(error.message);
    this.error = error;
  }
}

/** Maps anything thrown to a `CompactError`; unknown errors become `StorageFailed`. */
function asFailure(error: unknown): CompactError {
  if (error instanceof Late) return error.error;
  if (CompactError.isInstance(error)) return error;
  return new CompactError("StorageFailed", errorMessage(error), { hint: "Fix the storage.", cause: error });
}

interface Limit {
  readonly ms: number;
  later(ms: number, work: () => void): () => void;
  late(): CompactError;
  readonly queue: Queue;
  readonly grown?: ((grow: (ms: number) => void) => void) | undefined;
}

/** Rejects with `Late` and aborts the call when the timeout expires. */
async function within<T>({ ms, later, late, queue, grown }: Limit, call: GuardedCall<T>): Promise<T> {
  const place = queue.join();
  const controller = new AbortController();
  const { signal } = call.options ?? {};
  const abort = (): void => controller.abort(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted === true) abort();
  let left = ms;
  // Storage that takes pieces answers, however slowly a busy machine makes them.
  grown?.((more) => {
    left = Math.max(left, ms) + more;
  });
  let cancel = (): void => undefined;
  const timeUp = new Promise<never>((_resolve, reject) => {
    const slice = Math.min(MAX_TIMER_MS, ms / SLICES);
    const tick = (): void => {
      if (!queue.moves(place)) left -= slice;
      // A smaller remainder is a rounding error.
      if (left > slice / 2) cancel = later(slice, tick);
      else {
        reject(new Late(late()));
        controller.abort(late());
      }
    };
    cancel = later(slice, tick);
  });
  try {
    const value = await Promise.race([call.work({ signal: controller.signal }), timeUp]);
    queue.answered(place);
    return value;
  } finally {
    cancel();
    signal?.removeEventListener("abort", abort);
  }
}

/** The driver with every call run through `run`. */
function faceOf(driver: StorageDriver, run: Way): StorageDriver {
  const { leases, outbox, entries, purge } = driver;
  const of =
    (kind: Kind) =>
    <T, O extends CallOptions>(key: string, options: O | undefined, work: (options: O) => Promise<T>) =>
      run({ kind, key, options, work: (call) => work({ ...options, ...call } as O) });
  const read = of("read");
  return {
    get location() {
      return driver.location;
    },
    get: (key, options) => read(key, options, (call) => driver.get(key, call)),
    version: (key, options) => read(key, options, (call) => driver.version(key, call)),
    stream: (key) => piecesOf(driver.stream(key), key, run),
    put(key, value, options) {
      let grow = (_ms: number): void => undefined;
      const pieces = typeof value === "string" ? value : measured(value, (ms) => grow(ms));
      const work = (call: CallOptions) => driver.put(key, pieces, { ...options, ...call });
      return run({ kind: "put", key, options, work }, (given) => {
        grow = given;
        if (typeof value === "string") grow(value.length / CHARACTERS_PER_MS);
      });
    },
    append: (key, text, options) => of("append")(key, options, (call) => driver.append(key, text, call)),
    list: (prefix, options) => read(prefix, options, (call) => driver.list(prefix, call)),
    delete: (key, options) => of("delete")(key, options, (call) => driver.delete(key, call)),
    entries: entries && ((prefix) => piecesOf(entries.call(driver, prefix), prefix, run)),
    purge:
      purge && ((prefix) => run({ kind: "delete", key: prefix, work: () => purge.call(driver, prefix) })),
    leases: leases && leasesOf(leases, run),
    outbox: outbox && outboxOf(outbox, run),
  };
}

function* measured(pieces: Iterable<string>, grow: (ms: number) => void): Generator<string> {
  for (const piece of pieces) {
    grow(piece.length / CHARACTERS_PER_MS);
    yield piece;
  }
}

async function* piecesOf<T>(all: AsyncIterable<T>, key: string, run: Way): AsyncGenerator<T> {
  const pieces = all[Symbol.asyncIterator]();
  let pending = false;
  try {
    for (;;) {
      pending = true;
      const next = await run({ kind: "read", key, work: () => pieces.next() });
      pending = false;
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // After a piece that never arrives, closing would hang.
    const closed = Promise.resolve(pieces.return?.()).catch(() => undefined);
    if (!pending) await closed;
  }
}

function leasesOf(leases: Leases, run: Way): Leases {
  const lease = <T>(name: string, work: () => Promise<T>) => run({ kind: "lease", key: name, work });
  return {
    ms: leases.ms,
    take: (name, owner) => lease(name, () => leases.take(name, owner)),
    renew: (fence) => lease(fence.name, () => leases.renew(fence)),
    release: (fence) => lease(fence.name, () => leases.release(fence)),
  };
}

function outboxOf(outbox: Outbox, run: Way): Outbox {
  const call = <T>(kind: Kind, work: () => Promise<T>) => run({ kind, key: "~outbox", work });
  return {
    add: (item, claim) => call("queue", () => outbox.add(item, claim)),
    claim: (claim, limit) => call("queue", () => outbox.claim(claim, limit)),
    renew: (item, claim) => call("queue", () => outbox.renew(item, claim)),
    retry: (item, by, later) => call("queue", () => outbox.retry(item, by, later)),
    remove: (item) => call("queue", () => outbox.remove(item)),
    pending: (session) => call("read", () => outbox.pending(session)),
    nextDue: () => call("read", () => outbox.nextDue()),
  };
}

/** How long a step of long work may run before it yields, in milliseconds. */
const STEP_MS = 8;

export interface Turns {
  /** Waits for a turn; with `enters`, a new call, which queues behind all that have begun. */
  next(enters?: boolean): Promise<void>;
  /** Same, if the current turn has used up its time; otherwise undefined. */
  readonly pause: Pause;
}

/**
 * Schedules long work: one step per round of the event loop, in call order. Timers, sockets and files are
 * served between steps, so a thousand concurrent sessions block a server for no longer than one step of one
 * session. Calls that have begun finish first, which keeps few in progress at a time.
 */
export function createTurns(clock: () => number): Turns {
  const begun: (() => void)[] = [];
  const entering: (() => void)[] = [];
  let taken = false;
  let since = Number.NEGATIVE_INFINITY;
  const pass = (): void => {
    const go = begun.shift() ?? entering.shift();
    taken = go !== undefined;
    if (go === undefined) return;
    nextRound(pass);
    since = clock();
    go();
  };
  const next = (enters = false): Promise<void> =>
    new Promise((go) => {
      (enters ? entering : begun).push(go);
      if (!taken) pass();
    });
  const pause = (): Promise<void> | undefined => {
    if (clock() - since < STEP_MS) return undefined;
    if (!taken) nextRound(pass);
    taken = true;
    return new Promise((go) => begun.push(go));
  };
  return { next, pause };
}
