import type { Source } from "../files/source.ts";
import { type Invocation, misuse, printResult } from "../flags.ts";
import type { Terminal } from "../ports.ts";
import { type Row, table } from "../render/table.ts";
import {
  firstWords,
  formatAge,
  formatBytes,
  formatShort,
  oneLine,
  paragraph,
  plural,
} from "../render/text.ts";
import {
  discoverSessions,
  type FoundSession,
  hasOpencodeDatabase,
  type SessionFacts,
} from "../sessions/discovery.ts";

/** Sessions listed without `--all`. */
const LISTED = 15;
/** Limit of concurrently open files. */
const CONCURRENCY = 16;

/** A session with its number in the list. */
interface Listed {
  readonly number: number;
  readonly session: FoundSession;
  readonly facts: SessionFacts;
}

/** `compact sessions`: the agent sessions on this computer. */
export async function listSessions(invocation: Invocation): Promise<number> {
  const { flags, ports } = invocation;
  const found = await discoverSessions(ports);
  const isWhole = flags.all === true || flags.json === true;
  const listed = await withFacts(found, isWhole ? found.length : LISTED);
  printResult(invocation, { sessions: listed.map(sessionJson) }, () => [
    ...listLines(found, listed, invocation),
    ...(found.length === 0 ? [] : nextLines()),
  ]);
  return 0;
}

/** Lists the newest sessions; on a terminal asks which one to open. */
export async function chooseSession(invocation: Invocation): Promise<Source | undefined> {
  const { ports, terminal } = invocation;
  const found = await discoverSessions(ports);
  terminal.print(listLines(found, await withFacts(found, LISTED), invocation));
  if (found.length === 0) return undefined;
  if (ports.ask !== undefined) return askFor(found, ports.ask);
  terminal.print(nextLines());
  return undefined;
}

async function withFacts(found: readonly FoundSession[], most: number): Promise<Listed[]> {
  const listed: Listed[] = [];
  const numbered = found.slice(0, most).map((session, index) => ({ number: index + 1, session }));
  for (let start = 0; start < numbered.length; start += CONCURRENCY) {
    const batch = numbered.slice(start, start + CONCURRENCY);
    listed.push(
      ...(await Promise.all(batch.map(async (one) => ({ ...one, facts: await one.session.facts() })))),
    );
  }
  return listed;
}

function listLines(
  found: readonly FoundSession[],
  listed: readonly Listed[],
  { ports, terminal }: Invocation,
): string[] {
  if (found.length === 0) return nothingFound(ports, terminal);
  const rows = listed.map((one) => row(one, ports.now().getTime()));
  const lines = table(rows, ["right", "right", "right", "left", "flexible"], terminal);
  const folders = new Map<string, number[]>();
  listed.forEach(({ facts: { folder = "" } }, index) => {
    folders.set(folder, [...(folders.get(folder) ?? []), index]);
  });
  const older = found.length - listed.length;
  return [
    "",
    terminal.paint("strong", "  The agent sessions on this computer, the newest first"),
    ...[...folders].flatMap(([folder, indexes]) => [
      "",
      `  ${terminal.paint("faint", folder === "" ? "unknown folder" : oneLine(shortFolder(folder, ports.home)))}`,
      ...indexes.map((index) => lines[index] ?? ""),
    ]),
    "",
    ...(older > 0 ? [`  and ${plural(older, "older one")}: compact sessions --all`, ""] : []),
    ...databaseNote(ports),
  ];
}

function row({ number, session, facts }: Listed, now: number): Row {
  const text = facts.lastRequest ?? facts.title;
  return [
    { text: String(number), style: "strong" },
    { text: formatAge(now - session.changed), style: "faint" },
    facts.tokens === undefined ? formatBytes(session.bytes) : `${formatShort(facts.tokens)} tokens`,
    session.tool,
    text === undefined ? { text: oneLine(session.id), style: "faint" } : firstWords(text),
  ];
}

function sessionJson({ number, session, facts }: Listed): object {
  return {
    number,
    id: session.id,
    tool: session.tool,
    folder: facts.folder ?? null,
    changed: new Date(session.changed).toISOString(),
    bytes: session.bytes,
    tokens: facts.tokens ?? null,
    title: facts.title === undefined ? null : firstWords(facts.title),
    last_ask: facts.lastRequest === undefined ? null : firstWords(facts.lastRequest),
  };
}

/** The path with `~` for the user's folder. */
function shortFolder(folder: string, home: string): string {
  return folder === home || folder.startsWith(`${home}/`) ? `~${folder.slice(home.length)}` : folder;
}

function nextLines(): string[] {
  return [
    "  Next:  compact 1          compacts the first of them",
    "         compact inspect 1  shows what fills it",
    "         compact FILE       any other transcript",
    "",
  ];
}

async function askFor(
  sessions: readonly FoundSession[],
  ask: (question: string) => Promise<string>,
): Promise<Source | undefined> {
  const answer = (await ask("  Which one? Its number, or Enter to leave: ")).trim();
  if (answer === "") return undefined;
  const session = /^\d+$/.test(answer) ? sessions[Number(answer) - 1] : undefined;
  if (session !== undefined) return session.open();
  const hint = `Give a number from 1 to ${sessions.length}.`;
  throw misuse(`${firstWords(answer, 40)} is not a number of the list`, hint);
}

function databaseNote(ports: Invocation["ports"]): string[] {
  if (!hasOpencodeDatabase(ports)) return [];
  return [
    "  OpenCode keeps its newer sessions in a database:",
    "  opencode export ID > session.json writes one to a file.",
    "",
  ];
}

function nothingFound(ports: Invocation["ports"], { width }: Terminal): string[] {
  return [
    "",
    ...paragraph("No agent sessions were found on this computer.", width),
    ...paragraph("Looked for Claude Code, Codex, pi, Gemini CLI and OpenCode in their usual folders.", width),
    "",
    ...databaseNote(ports),
    "  Next:  compact FILE   compacts any transcript",
    "         compact demo   shows it on a bundled sample session",
    "         compact help   everything else",
    "",
  ];
}
