import { closest } from "../../config/names.ts";
import { CompactError } from "../../errors.ts";
import { argumentsText, type Message, resultText } from "../../messages/message.ts";
import type { Archive } from "../../storage/archive.ts";
import type { SearchHit } from "../../storage/archive-search.ts";
import { openArchive } from "../archive.ts";
import type { Command, Invocation } from "../command.ts";
import { readConfig } from "../files/config.ts";
import { plural } from "../render/numbers.ts";
import { firstWords, oneLine, safeLines } from "../render/safe.ts";
import { type Cell, table } from "../render/table.ts";
import { truncate } from "../render/width.ts";
import type { Terminal } from "../terminal.ts";
import { callNames, messageGist } from "../views/message-line.ts";

type Action = (archive: Archive, words: readonly string[], invocation: Invocation) => Promise<void>;

export const archiveCommand: Command = {
  usage: "list | show [session] [step|id] | search TEXT",
  summary: "the originals of what was compacted: list, read, search",
  flags: ["config", "archive", "json"],
  mostWords: 3,
  run: async (invocation) => {
    const { words, flags, ports, terminal } = invocation;
    const [name = "list", ...rest] = words;
    const action = ACTIONS[name];
    if (action === undefined) throw unknownAction(name);
    const warn = (text: string): void => terminal.warn(text);
    const { config } = readConfig({ file: flags.config, cwd: ports.cwd, env: ports.env, warn });
    const archive = openArchive(config, { flag: flags.archive, cwd: ports.cwd, warn });
    await action(archive, rest, invocation);
    return 0;
  },
};

const ACTIONS: Readonly<Record<string, Action>> = { list, show, search };

function unknownAction(name: string): CompactError {
  const near = closest(name, Object.keys(ACTIONS));
  return new CompactError("InvalidUsage", `compact archive ${name}: there is no such action`, {
    hint: `${near === undefined ? "" : `Did you mean ${near}? `}Use list, show or search.`,
  });
}

async function list(archive: Archive, _: readonly string[], { terminal, flags }: Invocation): Promise<void> {
  const sessions = await Promise.all(
    (await archive.sessions()).map(async (id) => ({ id, steps: await archive.steps(id) })),
  );
  if (flags.json === true) {
    terminal.printJson({ location: archive.location, sessions });
    return;
  }
  const rows = sessions.map(({ id, steps }): (Cell | string)[] => [
    oneLine(id),
    plural(steps.length, "step"),
    { text: steps.join(", "), style: "faint" },
  ]);
  terminal.print([
    "",
    `  ${terminal.paint("strong", "Archive")}  ${oneLine(archive.location)}`,
    "",
    ...(rows.length === 0
      ? ["  Nothing is archived here yet. compact FILE archives before it drops anything."]
      : table(rows, {
          columns: [{}, { align: "right" }, { flexible: true }],
          width: terminal.width,
          paint: terminal.paint,
        })),
    "",
  ]);
}

/** Without a session the only one there is; without a step the newest. */
async function show(archive: Archive, words: readonly string[], invocation: Invocation): Promise<void> {
  const [given, which] = words;
  const session = given ?? (await onlySession(archive));
  const steps = await archive.steps(session);
  if (steps.length === 0) throw noSession(session, await archive.sessions());
  const step = which === undefined ? steps.at(-1) : steps.find((one) => String(one) === which);
  if (step !== undefined) return showStep(archive, { session, step }, invocation);
  const found = await archive.findMessage(session, which ?? "");
  if (found === undefined) {
    throw new CompactError(
      "NotFound",
      `${oneLine(which ?? "")} is no step and no message of ${oneLine(session)}`,
      {
        hint: `Steps are ${steps.join(", ")}; ids are listed by compact archive show ${oneLine(session)}.`,
      },
    );
  }
  if (invocation.flags.json === true) invocation.terminal.printJson(found);
  else invocation.terminal.print(wholeMessage(found.message, found.redacted, invocation.terminal));
}

async function onlySession(archive: Archive): Promise<string> {
  const sessions = await archive.sessions();
  const [first] = sessions;
  if (first !== undefined && sessions.length === 1) return first;
  throw new CompactError(
    "InvalidUsage",
    `compact archive show needs a session: there are ${sessions.length}`,
    {
      hint:
        first === undefined ? "Compact a session first." : `Such as: compact archive show ${oneLine(first)}.`,
    },
  );
}

function noSession(session: string, all: readonly string[]): CompactError {
  const near = closest(session, all);
  return new CompactError("NotFound", `the archive holds no session ${oneLine(session)}`, {
    hint: `${near === undefined ? "" : `Did you mean ${oneLine(near)}? `}compact archive list names those it holds.`,
  });
}

async function showStep(
  archive: Archive,
  { session, step }: { readonly session: string; readonly step: number },
  { terminal, flags }: Invocation,
): Promise<void> {
  const { messages, problems } = await archive.readTranscript(session, step);
  if (flags.json === true) {
    terminal.printJson({ session, step, messages, problems });
    return;
  }
  const names = callNames(messages.map((archived) => archived.message));
  const rows = messages.map(({ n, archiveId, message }): (Cell | string)[] => [
    { text: String(n), style: "faint" },
    archiveId,
    message.role,
    messageGist(message, names),
  ]);
  terminal.print([
    "",
    `  ${terminal.paint("strong", oneLine(session))}  step ${step}, ${plural(messages.length, "message")}`,
    ...problems.map(({ line, problem }) => `  ${terminal.paint("warn", "!")} line ${line}: ${problem}`),
    "",
    ...table(rows, {
      columns: [{ align: "right" }, {}, {}, { flexible: true }],
      width: terminal.width,
      paint: terminal.paint,
    }),
    "",
    terminal.paint("faint", `  One message whole: compact archive show ${oneLine(session)} ID`),
    "",
  ]);
}

function wholeMessage(message: Message, redacted: boolean, terminal: Terminal): string[] {
  const blocks = message.parts.map((part) => {
    if (part.type === "text" || part.type === "reasoning") return part.text;
    if (part.type === "toolCall") return `${part.name} ${argumentsText(part)}`;
    return part.type === "toolResult" ? resultText(part) : `(${part.mediaType})`;
  });
  return [
    "",
    `  ${terminal.paint("strong", message.role)}  ${terminal.paint("faint", oneLine(message.id))}`,
    ...(redacted ? [`  ${terminal.paint("warn", "!")} secrets were taken out of it`] : []),
    "",
    ...blocks.flatMap((text) => [...safeLines(text).map((line) => `  ${line}`), ""]),
  ];
}

async function search(
  archive: Archive,
  words: readonly string[],
  { terminal, flags }: Invocation,
): Promise<void> {
  const [text] = words;
  if (text === undefined || text === "") {
    throw new CompactError("InvalidUsage", "compact archive search needs a text", {
      hint: "Write compact archive search 'some words'.",
    });
  }
  const { hits, problems } = await archive.search(text, { limit: 20 });
  if (flags.json === true) {
    terminal.printJson({ hits, problems });
    return;
  }
  terminal.print([
    "",
    ...(hits.length === 0 ? [`  Nothing in the archive holds ${oneLine(text)}.`, ""] : []),
    ...hits.flatMap((hit) => hitLines(hit, text, terminal)),
  ]);
  for (const { sessionId, step, line, problem } of problems) {
    terminal.warn(oneLine(`${sessionId} step ${step} line ${line}: ${problem}`));
  }
}

/** Cells of the snippet before the text that was found. */
const BEFORE_HIT = 24;

function hitLines(hit: SearchHit, text: string, terminal: Terminal): string[] {
  const at = hit.snippet.toLowerCase().indexOf(text.toLowerCase());
  const from = Math.max(0, at - BEFORE_HIT);
  const words = `${from > 0 ? "…" : ""}${firstWords(hit.snippet.slice(from))}`;
  const where = `${oneLine(hit.sessionId)}  step ${hit.step}  ${hit.archiveId}`;
  return [
    `  ${terminal.paint("strong", hit.role)}  ${terminal.paint("faint", where)}`,
    `    ${truncate(words, terminal.width - 4)}`,
    "",
  ];
}
