import type { CallOptions, Leases, Outbox, StorageDriver } from "../core/ports.ts";
import { CompactError, errorMessage, MAX_TIMER_MS, type Pause } from "../errors.ts";

// FIT-7: nothing that becomes of a medium keeps a list that fits waiting. One guard stands before a driver and shows two
// faces of it: `quick` for calls that can do without the medium, `patient` for those that cannot.

export interface GuardOptions {
  /** Longest wait for one call of `quick`; a large write may take longer, a millisecond for each 1,000 characters. */
  readonly timeoutMs: number;
  /** Milliseconds of a steady clock. */
  clock(): number;
  later(ms: number, work: () => void): () => void;
  /** Awaited after each call of `quick`, so that answers that come together are worked on in turn. */
  turn(): Promise<void>;
  /** Told once for each outage. */
  warn(message: string): void;
}

export interface GuardedStorage {
  /**
   * Rejects with `StorageFailed` when the medium does not answer in time, and from then on at once, until it answers
   * a question that is asked in the background.
   */
  readonly quick: StorageDriver;
  /** Waits as long as the medium itself does. */
  readonly patient: StorageDriver;
}

/**
 * A wait is counted in so many slices: time in which the event loop stood still counts as one of them at most, and one
 * in which the medium answered calls that were made earlier not at all.
 */
const SLICES = 10;
const CHARACTERS_PER_MS = 1000;
/** The pause between two questions to a medium that does not answer. */
const ASK_AGAIN_MS = 1000;
/** A key that is never written: whether it is there is asked to see whether the medium answers. */
const ASKED_KEY = "~probe";
/** A medium that works for so long after a failure has recovered from it. */
const RECOVERED_MS = 60_000;

type Kind = "read" | "write";

/** One call of a driver's method, from the key it is about. */
interface GuardedCall<T> {
  readonly kind: Kind;
  readonly key: string;
  readonly options?: CallOptions;
  work(options: CallOptions): Promise<T>;
}

/** How calls are made: bounded or not. `grow` gives a call more time. */
type Way = <T>(call: GuardedCall<T>, grown?: (grow: (ms: number) => void) => void) => Promise<T>;

interface Outage {
  readonly kind: Kind;
  readonly key: string;
  /** Whether the medium gave no answer at all; calls then fail at once. */
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
    if (outage === undefined || outage.silent) return;
    const same = kind === outage.kind && (kind === "write" || key === outage.key);
    if (same || clock() - outage.failedAt > RECOVERED_MS) outage = undefined;
  };

  const askLater = (): void => {
    later(ASK_AGAIN_MS, () => {
      const asked = {
        kind: "read",
        key: ASKED_KEY,
        work: (call: CallOptions) => driver.version(ASKED_KEY, call),
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

/** Tells a call that waits behind others from one that is not answered. */
interface Queue {
  /** The place of a call that is made now. */
  join(): number;
  /** Notes that the call of that place was answered. */
  answered(place: number): void;
  /** Whether a call that was made before it was answered within the last slice. */
  moves(place: number): boolean;
}

function watchQueue(clock: () => number, slice: number): Queue {
  let places = 0;
  // The earliest place that was answered in the present slice of time, and in the one before.
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

/** A rejection that came from the guard and not from the medium. */
class Late extends Error {
  readonly error: CompactError;

  constructor(error: CompactError) {
    super(error.message);
    this.error = error;
  }
}

/** What a driver may reject with; anything else that was thrown is a failure of the medium. */
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

/** Rejects with `Late` and aborts the call when its time is over. */
async function within<T>({ ms, later, late, queue, grown }: Limit, call: GuardedCall<T>): Promise<T> {
  const place = queue.join();
  const controller = new AbortController();
  const { signal } = call.options ?? {};
  const abort = (): void => controller.abort(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted === true) abort();
  let left = ms;
  grown?.((more) => {
    left += more;
  });
  let cancel = (): void => undefined;
  const timeUp = new Promise<never>((_resolve, reject) => {
    const slice = Math.min(MAX_TIMER_MS, ms / SLICES);
    const tick = (): void => {
      if (!queue.moves(place)) left -= slice;
      // A rest smaller than this is one of dividing.
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

/** The driver with each of its calls made in one way. */
function faceOf(driver: StorageDriver, run: Way): StorageDriver {
  const { leases, outbox, entries, purge } = driver;
  const of =
    (kind: Kind) =>
    <T, O extends CallOptions>(key: string, options: O | undefined, work: (options: O) => Promise<T>) =>
      run({ kind, key, options, work: (call) => work({ ...options, ...call } as O) });
  const [read, write] = [of("read"), of("write")];
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
      return run({ kind: "write", key, options, work }, (given) => {
        grow = given;
        if (typeof value === "string") grow(value.length / CHARACTERS_PER_MS);
      });
    },
    append: (key, text, options) => write(key, options, (call) => driver.append(key, text, call)),
    list: (prefix, options) => read(prefix, options, (call) => driver.list(prefix, call)),
    delete: (key, options) => write(key, options, (call) => driver.delete(key, call)),
    entries: entries && ((prefix) => piecesOf(entries.call(driver, prefix), prefix, run)),
    purge: purge && ((prefix) => run({ kind: "write", key: prefix, work: () => purge.call(driver, prefix) })),
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
    // Behind a piece that never comes, closing would wait for ever.
    const closed = Promise.resolve(pieces.return?.()).catch(() => undefined);
    if (!pending) await closed;
  }
}

function leasesOf(leases: Leases, run: Way): Leases {
  const write = <T>(name: string, work: () => Promise<T>) => run({ kind: "write", key: name, work });
  return {
    ms: leases.ms,
    take: (name, owner) => write(name, () => leases.take(name, owner)),
    renew: (fence) => write(fence.name, () => leases.renew(fence)),
    release: (fence) => write(fence.name, () => leases.release(fence)),
  };
}

function outboxOf(outbox: Outbox, run: Way): Outbox {
  const call = <T>(kind: Kind, work: () => Promise<T>) => run({ kind, key: "~outbox", work });
  return {
    add: (item, claim) => call("write", () => outbox.add(item, claim)),
    claim: (claim, limit) => call("write", () => outbox.claim(claim, limit)),
    renew: (item, claim) => call("write", () => outbox.renew(item, claim)),
    retry: (item, by, later) => call("write", () => outbox.retry(item, by, later)),
    remove: (item) => call("write", () => outbox.remove(item)),
    pending: (session) => call("read", () => outbox.pending(session)),
    nextDue: () => call("read", () => outbox.nextDue()),
  };
}

/** Runs work in the next round of the event loop, with a hold on the process: somebody waits for it. */
const nextRound: (work: () => void) => unknown =
  (globalThis as { setImmediate?: (work: () => void) => unknown }).setImmediate ??
  ((work) => setTimeout(work, 0));

/** How long a step of long work may take before others have their turn, in milliseconds. */
const STEP_MS = 8;

export interface Turns {
  /** Waits for a turn; `enters` where a call begins, which comes behind all that have begun. */
  next(enters?: boolean): Promise<void>;
  /** The same where the turn has taken its time; else undefined. */
  readonly pause: Pause;
}

/**
 * Makes what long work waits for between its steps: one step for each round of the event loop, in the order of the calls. Timers, sockets and files get their turn between two, so a thousand sessions at once do not hold up a
 * server for longer than one step of one session. What has begun is finished first: few calls are under way at a time.
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
