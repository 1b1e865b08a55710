import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import type { CompactOptions, Message, StorageDriver } from "compact-context";
import { archiveId } from "compact-context/internal/core/message";
import { CompactError } from "compact-context/internal/errors";
import { createArchive } from "compact-context/internal/search/archive";
import type { Archive, SessionOwner } from "compact-context/recall";
import { createRedactor } from "compact-context/redaction";
import { createFsDriver } from "compact-context/storage/fs";
import { createMemoryDriver } from "compact-context/storage/memory";
import { type CliConfig, readConfig } from "./files/config.ts";
import { didYouMean, type Flags, type Invocation, misuse } from "./flags.ts";
import type { CliPorts, Terminal } from "./ports.ts";
import { firstWords, oneLine } from "./render/text.ts";
import { type StoredRecord, storedRecord, typedRequest } from "./view/message-view.ts";

// Opens the archive of a command, lists its sessions and probes its storage.

/** The part of an `Invocation` that opening the archive needs. */
interface ArchiveRequest {
  readonly flags: Pick<Flags, "archive">;
  readonly ports: Pick<CliPorts, "cwd" | "env" | "home">;
  readonly terminal: Pick<Terminal, "warn">;
}

type Settled = Pick<CliConfig, "config" | "origins">;

/** The archive of a command that only reads or deletes; throws `NotFound` if `--archive` names a folder that is not there. */
export async function archiveOf(invocation: Invocation): Promise<Archive> {
  if (isArchiveMissing(invocation)) {
    throw new CompactError("NotFound", `there is no folder ${oneLine(invocation.flags.archive ?? "")}`, {
      place: "--archive",
      hint: "Name the folder of an archive, or leave it out for the project's or your own.",
    });
  }
  return openArchive(invocation, readConfig(invocation));
}

/** True if `--archive` names a folder that is not there. */
export function isArchiveMissing({ flags: { archive: folder }, ports }: Invocation): boolean {
  return folder !== undefined && !existsSync(resolve(ports.cwd, folder));
}

/** The archive of `--archive` or the settings, else the project's or the user's; `onLine` is called for each line. */
export async function openArchive(
  request: ArchiveRequest,
  settled: Settled,
  onLine?: () => void,
): Promise<Archive> {
  const { warn } = request.terminal;
  const redact = createRedactor({ ...settled.config.redaction, onWarning: warn });
  const driver = await driverOf(request, settled);
  return createArchive(onLine === undefined ? driver : withLineCallback(driver, onLine), { redact, warn });
}

function withLineCallback(driver: StorageDriver, onLine: () => void): StorageDriver {
  function* lines(value: Iterable<string>): Generator<string> {
    for (const line of value) {
      onLine();
      yield line;
    }
  }
  return {
    ...driver,
    put: (key, value, options) => driver.put(key, typeof value === "string" ? value : lines(value), options),
  };
}

/** The storage of that archive; those of servers are loaded only where they are configured. */
export async function driverOf(
  { flags: { archive: folder }, ports }: Pick<ArchiveRequest, "flags" | "ports">,
  { config: { storage }, origins }: Settled,
): Promise<StorageDriver> {
  if (folder !== undefined) return createFsDriver({ root: resolve(ports.cwd, folder) });
  if (storage.kind === "memory") return createMemoryDriver();
  if (storage.kind === "s3") {
    const { createS3Driver } = await import("compact-context/storage/s3");
    return createS3Driver({ ...storage, bucket: storage.bucket ?? "" });
  }
  if (storage.kind === "postgres") {
    const { createPostgresDriver } = await import("compact-context/storage/postgres");
    return createPostgresDriver({ url: ports.env.COMPACT_POSTGRES_URL, schema: storage.schema });
  }
  const named = origins["storage.root"] !== undefined || existsSync(join(ports.cwd, ".compact"));
  return createFsDriver({ root: named ? resolve(ports.cwd, storage.root) : userArchive(ports) });
}

/** The user's archive: inspecting a session leaves no files in the working folder. */
function userArchive({ env, home }: ArchiveRequest["ports"]): string {
  const data = env.XDG_DATA_HOME || (process.platform === "win32" ? env.LOCALAPPDATA : undefined);
  return join(data || join(home, ".local", "share"), "compact", "archive");
}

/** Saves a list as the next step of its session; an unchanged list keeps the newest step. */
export function sessionArchive(archive: Archive, sessionId: string): NonNullable<CompactOptions["archive"]> {
  return {
    save: async (messages) => {
      const newest = (await archive.steps(sessionId)).at(-1) ?? 0;
      const stored = newest > 0 ? await archive.readTranscript(sessionId, newest) : undefined;
      const same = stored !== undefined && holdsExactly(stored, messages);
      const saved = await archive.saveTranscript(sessionId, same ? newest : newest + 1, messages);
      await keepOutOfGit(archive.location);
      return saved;
    },
  };
}

/** Keeps conversations from being committed by accident. */
async function keepOutOfGit(location: string): Promise<void> {
  if (!isAbsolute(location)) return;
  await writeFile(join(location, ".gitignore"), "*\n", { flag: "wx" }).catch(() => undefined);
}

function holdsExactly(
  stored: Awaited<ReturnType<Archive["readTranscript"]>>,
  messages: readonly Message[],
): boolean {
  if (stored.problems.length > 0 || stored.messages.length !== messages.length) return false;
  return stored.messages.every(({ message, archiveId: id }, index) => {
    const given = messages[index];
    return given !== undefined && given.id === message.id && archiveId(given) === id;
  });
}

/** The session with the given id or prefix, or the only one, and its steps; throws `InvalidUsage` or `NotFound`. */
export async function sessionOf(
  archive: Archive,
  given: string | undefined,
  action: string,
): Promise<{ readonly session: string; readonly steps: readonly number[] }> {
  const all = await archive.sessions();
  const matches = given === undefined ? all : all.filter((id) => id.startsWith(given));
  const session = all.find((id) => id === given) ?? (matches.length === 1 ? matches[0] : undefined);
  if (session !== undefined) return { session, steps: await archive.steps(session) };
  const [first] = matches;
  const such =
    first === undefined
      ? "Compact a session first."
      : `Such as: compact archive ${action} ${oneLine(first)}.`;
  if (given === undefined) {
    throw misuse(`compact archive ${action} needs a session: there are ${matches.length}`, such);
  }
  if (first !== undefined) throw misuse(`${oneLine(given)} matches ${matches.length} sessions`, such);
  throw new CompactError("NotFound", `the archive holds no session ${oneLine(given)}`, {
    hint: `${didYouMean(given, all)}compact archive list shows the sessions.`,
  });
}

/** A session of an archive; sizes and time are those of its newest step, if recorded. */
export interface ListedSession extends Pick<StoredRecord, "at" | "tokensBefore" | "tokensAfter"> {
  readonly id: string;
  readonly steps: readonly number[];
  /** Start of the first user message. */
  readonly title?: string;
  /** Of the newest list before compaction. */
  readonly messages: number;
}

const TITLE_LENGTH = 200;

/** All sessions of an archive, the newest first. Lists are streamed one at a time. */
export async function listedSessions(archive: Archive, owner?: SessionOwner): Promise<ListedSession[]> {
  const sessions: ListedSession[] = [];
  for (const id of await archive.sessions(owner)) sessions.push(await listed(archive, id));
  const timeOf = ({ at = "" }: ListedSession): number => Date.parse(at) || 0;
  return sessions.sort((one, other) => timeOf(other) - timeOf(one));
}

async function listed(archive: Archive, id: string): Promise<ListedSession> {
  const steps = await archive.steps(id);
  const [first, newest] = [steps[0], steps.at(-1)];
  if (first === undefined || newest === undefined) return { id, steps, messages: 0 };
  const { at, tokensBefore, tokensAfter, outcomes } = storedRecord(await archive.readSummary(id, newest));
  const messages = outcomes?.length ?? (await countMessages(archive, id, newest));
  const title = await firstRequest(archive, id, first);
  return { id, steps, title, at, messages, tokensBefore, tokensAfter };
}

async function firstRequest(archive: Archive, id: string, step: number): Promise<string | undefined> {
  for await (const entry of archive.streamTranscript(id, step)) {
    const text = "problem" in entry ? undefined : typedRequest(entry.message);
    if (text !== undefined) return firstWords(text, TITLE_LENGTH);
  }
  return undefined;
}

async function countMessages(archive: Archive, id: string, step: number): Promise<number> {
  let count = 0;
  for await (const entry of archive.streamTranscript(id, step)) if (!("problem" in entry)) count += 1;
  return count;
}

/**
 * Writes, reads and deletes a value. Rejects with the driver's error, or with `StorageFailed` for a different value and
 * after `timeoutMs`.
 */
export async function probeStorage(driver: StorageDriver, id: string, timeoutMs: number): Promise<void> {
  const key = `~probe/${id}`;
  const written = `${JSON.stringify({ probe: id })}\n`;
  const signal = AbortSignal.timeout(timeoutMs);
  const timeout = new Promise<never>((_, reject) => {
    const error = new CompactError(
      "StorageFailed",
      `the storage did not answer within ${timeoutMs / 1000} s`,
      { place: driver.location, hint: "Check that the server is up and can be reached from here." },
    );
    signal.addEventListener("abort", () => reject(error));
  });
  const probe = async (): Promise<void> => {
    await driver.put(key, written, { signal });
    const found = await driver.get(key, { signal });
    await driver.delete(key, { signal });
    if (found?.value === written) return;
    throw new CompactError("StorageFailed", "the storage returned another value than was written", {
      place: driver.location,
      hint: "Check that nothing else writes there, and that the server is not a stale replica.",
    });
  };
  await Promise.race([probe(), timeout]);
}

/** Result of the latest probe of a storage. */
export interface Health {
  readonly ok: boolean;
  /** Error code. */
  readonly problem?: string;
}

/** Milliseconds for which a probe is cached. */
const CACHE_MS = 5_000;

/** Probes the health of a storage, with a cache; never rejects. */
export function watchHealth(
  driver: StorageDriver,
  { clock, newId }: { clock(): number; newId(): string },
): () => Promise<Health> {
  let cached: { readonly at: number; readonly health: Promise<Health> } | undefined;
  return () => {
    if (cached !== undefined && clock() - cached.at < CACHE_MS) return cached.health;
    const health = probeStorage(driver, newId(), 1_000).then(
      () => ({ ok: true }),
      (error: unknown) => ({ ok: false, problem: CompactError.isInstance(error) ? error.code : "failed" }),
    );
    cached = { at: clock(), health };
    return health;
  };
}
