import { CompactError } from "compact-context/internal/errors";
import { restoreStep } from "compact-context/internal/recall/recall";
import type { Archive, Restored } from "compact-context/recall";
import type { Invocation } from "./command.ts";
import { checkDestination, writeOutput } from "./files/output.ts";
import type { Source } from "./files/source.ts";
import { plural } from "./render/numbers.ts";
import { oneLine } from "./render/safe.ts";
import type { Terminal } from "./terminal.ts";
import { documentChunks } from "./transcripts/document.ts";

/** Writes the messages of a session up to a step to the file of `-o`, or with `--json` alone to the output. */
export async function restoreToFile(
  archive: Archive,
  { session, step }: { readonly session: string; readonly step: number },
  { flags, ports, terminal }: Invocation,
): Promise<void> {
  if (flags.output === undefined && flags.json !== true) {
    throw new CompactError("InvalidUsage", "compact archive restore needs a file to write", {
      place: "-o",
      hint: `Write compact archive restore ${oneLine(session)} ${step} -o FILE.`,
    });
  }
  const source: Source = { name: session, bytes: 0, async *chunks() {} };
  const options = { cwd: ports.cwd, force: flags.force === true };
  const destination =
    flags.output === undefined ? undefined : await checkDestination(flags.output, source, options);
  const restored = await restoreStep(archive, session, { step });
  if (destination !== undefined) {
    const chunks = documentChunks(restored.messages, { indent: "  ", end: "\n" });
    await writeOutput(destination, { mode: "replace", chunks }, source);
  }
  if (flags.json === true)
    terminal.printJson(restoredJson(restored, destination?.path), new Set(["messages"]));
  else terminal.print(restoredLines(restored, flags.output ?? "", terminal));
}

function restoredJson(restored: Restored, output: string | undefined): object {
  const { sessionId, step, format, messages, differences, problems } = restored;
  const place = output === undefined ? { messages } : { message_count: messages.length, output };
  return {
    session: sessionId,
    step,
    format: format ?? "neutral",
    ...place,
    differences: differences.map(({ index, archiveId, reason }) => ({
      index,
      archive_id: archiveId,
      reason,
    })),
    problems,
  };
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
    ...(differences.length + problems.length === 0 ? ["  Nothing of it differs from the original."] : []),
    "",
  ];
}
