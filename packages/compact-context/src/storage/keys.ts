import type { CallOptions, PutOptions, StorageDriver } from "../core/ports.ts";
import { abortable, CompactError, createKeyedMutex, nextRound, refuseAborted } from "../errors.ts";

/** What a driver does once keys and texts are checked; `checkedDriver` makes the driver of it. */
export interface Medium extends Omit<StorageDriver, "put" | "append"> {
  /**
   * The calls that wait for those before them for the same key: reads too where a write in several steps would be
   * seen half done; none where the server keeps calls apart and an aborted one goes on for long.
   */
  readonly inTurn: "all" | "writes" | "none";
  put(key: string, pieces: AsyncIterable<string>, options: PutOptions): Promise<{ readonly version: string }>;
  append(key: string, text: string, options?: CallOptions): Promise<void>;
}

/**
 * The driver of a medium: checks keys and texts, stops waiting when the caller aborts, and keeps the order of the
 * calls for a key, even after one was aborted.
 */
export function checkedDriver(medium: Medium): StorageDriver {
  const inOrder = createKeyedMutex();
  const call = async <T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
    if (!isKey(key)) throw unsafe("key", key);
    refuseAborted(signal);
    return abortable(work(), signal);
  };
  const callInTurn: typeof call = (key, work, signal) => {
    const turn = async () => {
      refuseAborted(signal);
      return work();
    };
    return call(key, () => inOrder(key, turn), signal);
  };
  const write = medium.inTurn === "none" ? call : callInTurn;
  const read = medium.inTurn === "all" ? callInTurn : call;
  const { entries, purge, leases, outbox } = medium;
  return {
    location: medium.location,
    get: (key, options) => read(key, () => medium.get(key, options), options?.signal),
    version: (key, options) => read(key, () => medium.version(key, options), options?.signal),
    async *stream(key) {
      await read(key, async () => undefined);
      yield* medium.stream(key);
    },
    put: (key, value, options = {}) =>
      write(key, () => medium.put(key, checkedPieces(value, key), options), options.signal),
    append: (key, records, options) =>
      write(key, async () => medium.append(key, recordsText(records, key), options), options?.signal),
    delete: (key, options) => write(key, () => medium.delete(key, options), options?.signal),
    async list(prefix, options) {
      checkPrefix(prefix);
      refuseAborted(options?.signal);
      return abortable(medium.list(prefix, options), options?.signal);
    },
    entries:
      entries &&
      async function* (prefix) {
        checkPrefix(prefix);
        yield* entries(prefix);
      },
    purge:
      purge &&
      (async (prefix) => {
        checkPrefix(prefix);
        await purge(prefix);
      }),
    leases,
    outbox,
  };
}

const SEGMENT = /^[A-Za-z0-9_~=-][A-Za-z0-9._~=-]{0,199}$/;
const LONGEST_KEY = 900;

/** True for safe segments joined by `/`: safe characters only, no leading or trailing dot. */
export function isKey(key: unknown): boolean {
  return typeof key === "string" && key.length <= LONGEST_KEY && key.split("/").every(isSafeSegment);
}

/** Throws `InvalidArgument` unless it is the beginning of a key: empty, or with an incomplete last segment. */
function checkPrefix(prefix: string): void {
  if (typeof prefix !== "string" || prefix.length > LONGEST_KEY) throw unsafe("prefix", prefix);
  const segments = prefix.split("/");
  const last = segments.pop() ?? "";
  if (!segments.every(isSafeSegment) || (last !== "" && !isSafeSegment(last))) throw unsafe("prefix", prefix);
}

/** Throws `InvalidArgument` if encoding as UTF-8 would change the text (lone surrogates). */
function checkText(text: string, key: string): void {
  if (typeof text === "string" && !/\p{Surrogate}/u.test(text)) return;
  throw new CompactError("InvalidArgument", "a stored value is not well-formed text", {
    place: key,
    hint: "Write it as JSON: JSON.stringify escapes lone surrogates.",
  });
}

/** Characters of a piece that is large enough to write. */
const PIECE = 262_144;
/** Milliseconds of making a piece after which it is yielded as it is. */
const SLICE_MS = 8;

/** Regroups a value into pieces, checked by `checkText` as they are made; between two, other work runs. */
async function* checkedPieces(value: string | Iterable<string>, key: string): AsyncGenerator<string> {
  let open = "";
  let since = performance.now();
  for (const part of typeof value === "string" ? [value] : value) {
    checkText(part, key);
    open += part;
    if (open.length < PIECE && performance.now() - since < SLICE_MS) continue;
    yield open;
    await new Promise<void>((go) => nextRound(go));
    open = "";
    since = performance.now();
  }
  if (open !== "") yield open;
}

/** Joins records. Throws `InvalidArgument` unless each ends with a newline: the next would run into it. */
function recordsText(records: string | readonly string[], key: string): string {
  const all = typeof records === "string" ? [records] : records;
  for (const record of all) {
    checkText(record, key);
    if (record.endsWith("\n")) continue;
    throw new CompactError("InvalidArgument", "appended text does not end with a newline", {
      place: key,
      hint: "End every record with a newline.",
    });
  }
  return all.join("");
}

function isSafeSegment(segment: string): boolean {
  return SEGMENT.test(segment) && !segment.endsWith(".");
}

function unsafe(kind: string, value: unknown): CompactError {
  const shown = JSON.stringify(String(value).slice(0, 80));
  return new CompactError("InvalidArgument", `${shown} is no safe storage ${kind}`, {
    hint: "Build keys from sessionKey() and plain file names: letters, digits, . _ ~ = - and / between segments.",
  });
}
