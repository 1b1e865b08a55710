import { CompactManager, type Message, ownedSession } from "compact-context";
import { argumentsText, callNames, resultText } from "compact-context/internal/core/message";
import { CompactError } from "compact-context/internal/errors";
import { restoreStep } from "compact-context/internal/recall/recall";
import type { SearchHit } from "compact-context/internal/search/archive";
import type { Archive, Restored, Retention, SessionOwner } from "compact-context/recall";
import { archiveOf, driverOf, type ListedSession, listedSessions, sessionOf } from "../archive.ts";
import { readConfig } from "../files/config.ts";
import { checkDestination, writeOutput } from "../files/output.ts";
import type { Source } from "../files/source.ts";
import { commandLine, didYouMean, type Flags, type Invocation, misuse, printResult } from "../flags.ts";
import type { Terminal } from "../ports.ts";
import { messageGist } from "../render/headline.ts";
import { type Row, table } from "../render/table.ts";
import {
  firstWords,
  formatAge,
  formatBytes,
  formatShort,
  oneLine,
  paragraph,
  plural,
  safeLines,
  truncate,
  wrap,
} from "../render/text.ts";
import { documentChunks } from "../transcripts/json.ts";

const MAX_HITS = 20;

/** The owner of `--tenant` and `--user`; undefined without them. */
function ownerOf({ tenant, user }: Flags): SessionOwner | undefined {
  return (tenant ?? user) === undefined ? undefined : { tenant, user };
}

export async function listArchive(invocation: Invocation): Promise<number> {
  const { terminal, flags, ports } = invocation;
  const archive = await archiveOf(invocation);
  const sessions = await listedSessions(archive, ownerOf(flags));
  const { width } = terminal;
  printResult(invocation, { location: archive.location, sessions }, () => [
    "",
    ...wrap(`Archive ${oneLine(archive.location)}`, width - 2).map(
      (line, index) =>
        `  ${index === 0 ? line.replace("Archive", (word) => terminal.paint("strong", word)) : line}`,
    ),
    "",
    ...(sessions.length === 0
      ? paragraph(
          "Nothing is archived here yet. compact FILE archives a session before it compacts it.",
          width,
        )
      : sessionLines(sessions, terminal, ports.now().getTime())),
    "",
  ]);
  return 0;
}

/** Each session on two lines: its title, and its steps and sizes. */
function sessionLines(sessions: readonly ListedSession[], terminal: Terminal, now: number): string[] {
  const rows = sessions.map(({ id, title = "" }): Row => [{ text: oneLine(id), style: "strong" }, title]);
  const { width, paint } = terminal;
  const lines = table(rows, ["left", "flexible"], terminal);
  return sessions.flatMap(({ steps, at, messages, ...tokens }, index) => {
    const time = Date.parse(at ?? "");
    const age = Number.isNaN(time) ? "" : formatAge(now - time);
    const facts = [stepsText(steps), age, plural(messages, "message"), tokensText(tokens)];
    const text = facts.filter((fact) => fact !== "").join(" · ");
    return [lines[index] ?? "", paint("faint", `    ${truncate(text, width - 4)}`)];
  });
}

function tokensText({ tokensBefore, tokensAfter }: Partial<ListedSession>): string {
  if (tokensAfter === undefined) return "";
  const before = tokensBefore === undefined ? "" : `${formatShort(tokensBefore)} `;
  return `${before}→ ${formatShort(tokensAfter)} tokens`;
}

/** A step is the list before one compaction. */
function stepsText(steps: readonly number[]): string {
  const [only] = steps;
  return steps.length === 1 ? `step ${only}` : `${plural(steps.length, "step")}: ${steps.join(", ")}`;
}

/** The session and step of the arguments, by default the only session and its newest step. `step` is undefined if `which` is not a step. */
async function stepNamed(invocation: Invocation, action: string) {
  const archive = await archiveOf(invocation);
  const [given, which = ""] = invocation.words;
  const { session, steps } = await sessionOf(archive, given, action);
  const step = which === "" ? steps.at(-1) : steps.find((one) => String(one) === which);
  return { archive, session, steps, step, which };
}

export async function showArchived(invocation: Invocation): Promise<number> {
  const { archive, session, steps, step, which } = await stepNamed(invocation, "show");
  if (step !== undefined) return showStep(archive, { session, step }, invocation);
  const found = await archive.findMessage(session, which);
  if (found === undefined) {
    const hint = `Steps are ${steps.join(", ")}; compact archive show ${oneLine(session)} lists the ids.`;
    const problem = `${oneLine(which)} is neither a step nor a message of ${oneLine(session)}`;
    throw new CompactError("NotFound", problem, { hint });
  }
  printResult(invocation, found, () => wholeMessage(found, invocation.terminal));
  return 0;
}

async function showStep(
  archive: Archive,
  { session, step }: { readonly session: string; readonly step: number },
  invocation: Invocation,
): Promise<number> {
  const { terminal, flags } = invocation;
  const { messages, problems } = await archive.readTranscript(session, step);
  const names = callNames(messages.map((archived) => archived.message));
  const rows = messages.map(
    ({ n, archiveId, message }): Row => [
      { text: String(n), style: "faint" },
      oneLine(archiveId),
      oneLine(message.role),
      messageGist(message, names),
    ],
  );
  printResult(invocation, { session, step, messages, problems }, () => [
    "",
    `  ${terminal.paint("strong", oneLine(session))}  step ${step}, ${plural(messages.length, "message")}`,
    ...problems.map(
      ({ line, problem }) => `  ${terminal.paint("warn", "!")} line ${line}: ${oneLine(problem)}`,
    ),
    "",
    ...table(rows, ["right", "left", "left", "flexible"], terminal),
    "",
    terminal.paint(
      "faint",
      `  One message in full: ${commandLine(["compact", "archive", "show", session, "ID"], flags, ["config", "archive"])}`,
    ),
    "",
  ]);
  return 0;
}

function wholeMessage(
  { message, archiveId, redacted }: { message: Message; archiveId: string; redacted: boolean },
  terminal: Terminal,
): string[] {
  const blocks = message.parts.map((part) => {
    if (part.type === "text" || part.type === "reasoning") return part.text;
    if (part.type === "toolCall") return `${part.name} ${argumentsText(part)}`;
    return part.type === "toolResult" ? resultText(part) : `(${part.mediaType})`;
  });
  return [
    "",
    `  ${terminal.paint("strong", oneLine(message.role))}  ${terminal.paint("faint", oneLine(archiveId))}`,
    ...(redacted ? [`  ${terminal.paint("warn", "!")} its secrets are redacted`] : []),
    "",
    ...blocks.flatMap((text) => [...safeLines(text).map((line) => `  ${line}`), ""]),
  ];
}

export async function searchArchive(invocation: Invocation): Promise<number> {
  const { terminal, flags } = invocation;
  const archive = await archiveOf(invocation);
  const [text = "", given] = invocation.words;
  const sessionId = given === undefined ? undefined : (await sessionOf(archive, given, "search")).session;
  const { hits, problems } = await archive.search(text, { limit: MAX_HITS, sessionId });
  if (flags.json === true) {
    terminal.printJson({ hits, problems });
    return 0;
  }
  terminal.print([
    "",
    ...(hits.length === 0
      ? [...paragraph(`Nothing in the archive ${archive.location} holds ${text}.`, terminal.width), ""]
      : []),
    ...hits.flatMap((hit) => hitLines(hit, terminal)),
    ...readNext(hits, flags).flatMap((line) => [terminal.paint("faint", `  ${line}`), ""]),
  ]);
  for (const { sessionId: id, step, line, problem } of problems) {
    terminal.warn(`${id} step ${step} line ${line}: ${problem}`);
  }
  return 0;
}

/** The command that shows the best hit in full, and a note if there may be more hits. */
function readNext(hits: readonly SearchHit[], flags: Flags): string[] {
  const [best] = hits;
  if (best === undefined) return [];
  const words = ["compact", "archive", "show", best.sessionId, best.archiveId];
  return [
    ...(hits.length === MAX_HITS ? [`Only the best ${MAX_HITS} are shown; add words or a session.`] : []),
    `In full: ${commandLine(words, flags, ["config", "archive"])}`,
  ];
}

function hitLines(hit: SearchHit, terminal: Terminal): string[] {
  const where = `${oneLine(hit.sessionId)}  step ${hit.step}  ${oneLine(hit.archiveId)}`;
  return [
    `  ${terminal.paint("strong", oneLine(hit.role))}  ${terminal.paint("faint", where)}`,
    `    ${truncate(firstWords(hit.snippet), terminal.width - 4)}`,
    "",
  ];
}

export async function undoCompaction(invocation: Invocation): Promise<number> {
  const { words, terminal } = invocation;
  const { session } = await sessionOf(await archiveOf(invocation), words[0], "undo");
  const settings = readConfig(invocation);
  const storage = await driverOf(invocation, settings);
  const manager = new CompactManager(settings.config, { storage, onWarning: terminal.warn });
  const { step, tokens } = await manager.undo(session);
  await manager.flush();
  const line = `compaction ${step} of ${oneLine(session)} is undone: its next call has ${formatShort(tokens)} tokens again`;
  terminal.print(["", `  ${line}`, ""]);
  return 0;
}

/** Writes the messages of a session up to a step to the file of `-o`, or with only `--json` to stdout. */
export async function restoreArchived(invocation: Invocation): Promise<number> {
  const { archive, session, steps, step, which } = await stepNamed(invocation, "restore");
  if (step === undefined) {
    throw new CompactError("NotFound", `${oneLine(session)} has no step ${oneLine(which)}`, {
      hint: `Steps are ${steps.join(", ")}.`,
    });
  }
  const { flags, terminal } = invocation;
  if (flags.output === undefined && flags.json !== true) {
    const hint = `Write compact archive restore ${oneLine(session)} ${step} -o FILE.`;
    throw misuse("compact archive restore needs an output file", hint, "-o");
  }
  const source: Source = { name: session, bytes: 0, async *chunks() {} };
  const destination = await checkDestination(invocation, source);
  const restored = await restoreStep(archive, session, { step });
  if (destination !== undefined) {
    const chunks = documentChunks(restored.messages, { indent: "  ", end: "\n" });
    await writeOutput(destination, { mode: "replace", chunks }, source);
  }
  if (flags.json === true)
    terminal.printJson(restoredJson(restored, destination?.path), new Set(["messages"]));
  else terminal.print(restoredLines(restored, flags.output ?? "", terminal));
  return 0;
}

function restoredJson(restored: Restored, output: string | undefined): object {
  const { sessionId: session, step, format = "neutral", messages, differences, problems } = restored;
  const place = output === undefined ? { messages } : { messageCount: messages.length, output };
  return { session, step, format, ...place, differences, problems };
}

function restoredLines(
  { sessionId, step, format, messages, differences, problems }: Restored,
  output: string,
  terminal: Terminal,
): string[] {
  const warning = (text: string): string => `  ${terminal.paint("warn", "!")} ${oneLine(text)}`;
  const what = `${plural(messages.length, "message")} up to step ${step}, format ${format ?? "neutral"}`;
  return [
    "",
    `  ${terminal.paint("strong", oneLine(sessionId))}  ${what}`,
    `  Written to ${oneLine(output)}`,
    ...differences.map(({ index, archiveId, reason }) =>
      warning(`messages[${index}] (${archiveId}): ${reason}`),
    ),
    ...problems.map(({ step: of, line, problem }) => warning(`step ${of}, line ${line}: ${problem}`)),
    ...(differences.length + problems.length === 0 ? ["  It does not differ from the original."] : []),
    "",
  ];
}

/** Deletes a session, or every session of an owner. */
export async function deleteArchived(invocation: Invocation): Promise<number> {
  const { words, flags } = invocation;
  const [given] = words;
  const owner = ownerOf(flags);
  if (given === undefined && owner === undefined) {
    const hint = "Such as: compact archive delete --user NAME --yes.";
    throw misuse("compact archive delete needs a session, a tenant or a user", hint);
  }
  const archive = await archiveOf(invocation);
  const named = [
    ...(given === undefined ? ["all sessions"] : [`session ${oneLine(given)}`]),
    ...(flags.user === undefined ? [] : [`of user ${oneLine(flags.user)}`]),
    ...(flags.tenant === undefined ? [] : [`of tenant ${oneLine(flags.tenant)}`]),
  ].join(" ");
  const what = given === undefined ? (owner ?? {}) : owner === undefined ? given : ownedSession(given, owner);
  if (flags.yes !== true) {
    await checkListed(archive, what, { owner, named });
    const problem = `${named} in ${oneLine(archive.location)} would be permanently deleted`;
    throw misuse(problem, "Confirm with --yes; for 30 days nothing is archived here under the same id.");
  }
  const deleted = await archive.delete(what);
  const line =
    deleted.values === 0
      ? `There is nothing of ${named} in ${oneLine(archive.location)}.`
      : `Deleted ${named}: ${plural(deleted.sessions, "session")}, ${plural(deleted.values, "stored value")}.`;
  printResult(invocation, { location: archive.location, ...deleted }, () => ["", `  ${line}`, ""]);
  return 0;
}

/** Throws `NotFound` if the archive lists nothing to delete. */
async function checkListed(
  archive: Archive,
  what: string | SessionOwner,
  { owner, named }: { readonly owner: SessionOwner | undefined; readonly named: string },
): Promise<void> {
  const listed = await archive.sessions(owner);
  const isListed = typeof what === "string" ? listed.includes(what) : listed.length > 0;
  // Sessions of an owner are listed only with that owner, so ids that include one are not checked.
  if (isListed || (owner === undefined && typeof what === "string" && what.startsWith("~"))) return;
  const guess = typeof what === "string" ? didYouMean(what, listed) : "";
  throw new CompactError("NotFound", `there is nothing of ${named} in ${oneLine(archive.location)}`, {
    hint: `${guess}compact archive list shows the sessions.`,
  });
}

/** Deletes the sessions that have expired by the flags, else by the settings. */
export async function sweepArchive(invocation: Invocation): Promise<number> {
  const { flags } = invocation;
  const retention = retentionOf(invocation);
  if ((retention.days ?? retention.maxBytes) === undefined) {
    const hint = "Add --days N or --max-bytes N, or set retention.days in the configuration.";
    throw misuse("nothing expires without a maximum age or size", hint);
  }
  const archive = await archiveOf(invocation);
  const dryRun = flags["dry-run"] === true;
  const swept = await archive.sweep(retention, { dryRun });
  const { sessions, bytes, kept } = swept;
  printResult(invocation, { location: archive.location, dry_run: dryRun, ...swept }, () => [
    "",
    `  ${dryRun ? "Would delete" : "Deleted"} ${plural(sessions.length, "session")}, ${formatBytes(bytes)}; ` +
      `${plural(kept.sessions, "session")}, ${formatBytes(kept.bytes)} stay.`,
    ...sessions.map((session) => `    ${oneLine(session)}`),
    "",
  ]);
  return 0;
}

function retentionOf(invocation: Invocation): Retention {
  const { days, "max-bytes": maxBytes } = invocation.flags;
  if (days !== undefined || maxBytes !== undefined) {
    return {
      days: days === undefined ? undefined : parseWhole("days", days),
      maxBytes: maxBytes === undefined ? undefined : parseWhole("max-bytes", maxBytes),
    };
  }
  return readConfig(invocation).config.retention;
}

const UNITS: Readonly<Record<string, number>> = { "": 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12 };

function parseWhole(flag: "days" | "max-bytes", text: string): number {
  const isSize = flag === "max-bytes";
  const [, digits = "", unit = ""] = (isSize ? /^(\d{1,12})([kmgt]?)$/i : /^(\d{1,6})$/).exec(text) ?? [];
  const number = Number(digits) * (UNITS[unit.toLowerCase()] ?? 1);
  if (number > 0) return number;
  const hint = isSize ? "Such as --max-bytes 500M or 10G." : "Such as --days 90.";
  throw misuse(`--${flag} must be a whole number from 1, not ${oneLine(text)}`, hint);
}
