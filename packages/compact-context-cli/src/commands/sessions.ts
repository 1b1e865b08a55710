import { CompactError } from "compact-context/internal/errors";
import type { Invocation } from "../command.ts";
import type { Source } from "../files/source.ts";
import { formatAge, formatBytes, plural } from "../render/numbers.ts";
import { firstWords, oneLine } from "../render/safe.ts";
import { type Cell, table } from "../render/table.ts";
import { discoverSessions } from "../sessions/discover.ts";
import { hasOpencodeDatabase } from "../sessions/opencode.ts";
import type { FoundSession } from "../sessions/session.ts";

const LISTED = 15;

/** Lists the newest sessions; on a terminal asks for one and opens it. */
export async function chooseSession(invocation: Invocation): Promise<Source | undefined> {
  const { ports, terminal } = invocation;
  const sessions = await discoverSessions(ports);
  if (sessions.length === 0) {
    terminal.print(nothingFound(ports));
    return undefined;
  }
  const rows = await Promise.all(
    sessions.slice(0, LISTED).map((session, index) => row(session, index + 1, ports.now().getTime())),
  );
  terminal.print([
    "",
    terminal.paint("strong", "  The newest agent sessions on this computer"),
    "",
    ...table(rows, {
      columns: [{ align: "right" }, { align: "right" }, { align: "right" }, {}, { flexible: true }],
      width: terminal.width,
      paint: terminal.paint,
    }),
    "",
    ...(sessions.length > LISTED ? [`  and ${plural(sessions.length - LISTED, "older one")}`, ""] : []),
    ...databaseNote(ports),
  ]);
  if (ports.ask === undefined) {
    terminal.print(["  Next:  compact 1             compacts the first of them", ...hints()]);
    return undefined;
  }
  return askFor(sessions, ports.ask);
}

function hints(): string[] {
  return [
    "         compact inspect 1     shows what fills it",
    "         compact FILE          any other transcript; compact help for more",
    "",
  ];
}

async function row(session: FoundSession, number: number, now: number): Promise<(Cell | string)[]> {
  const title = await session.title();
  return [
    { text: String(number), style: "strong" },
    { text: formatAge(now - session.changed), style: "faint" },
    formatBytes(session.bytes),
    session.tool,
    title === undefined ? { text: oneLine(session.id), style: "faint" } : firstWords(title),
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
  throw new CompactError("InvalidUsage", `${firstWords(answer, 40)} is no number of the list`, {
    hint: `Give a number from 1 to ${sessions.length}.`,
  });
}

function databaseNote(ports: Invocation["ports"]): string[] {
  if (!hasOpencodeDatabase(ports)) return [];
  return [
    "  OpenCode keeps its newer sessions in a database: opencode export ID > session.json",
    "  writes one to a file that compact reads.",
    "",
  ];
}

function nothingFound(ports: Invocation["ports"]): string[] {
  return [
    "",
    "  No agent sessions were found on this computer.",
    "  Looked for Claude Code, Codex, pi, Gemini CLI and OpenCode in their usual folders.",
    "",
    ...databaseNote(ports),
    "  Next:  compact FILE          compacts any transcript: Anthropic or OpenAI messages,",
    "                               session files of agents, and more",
    "         compact demo          shows it on a session that comes along",
    "         compact help          everything else",
    "",
  ];
}
