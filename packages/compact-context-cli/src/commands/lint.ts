import { lint } from "compact-context/internal/lint/index";
import type { Invocation } from "../command.ts";
import { readSource } from "../files/read.ts";
import type { Source } from "../files/source.ts";
import type { Flags } from "../flags.ts";
import { commandLine } from "../flags.ts";
import { lintOptions, providerList } from "../rules.ts";
import { openTranscript } from "../sessions/discover.ts";
import { earlySettings, settingsFor } from "../settings.ts";
import { createProgress } from "../terminal.ts";
import { headline, problemLines } from "../views/headline.ts";
import { repairHint, violationLines } from "../views/rules.ts";

export async function lintSession({ words, flags, ports, terminal }: Invocation): Promise<number> {
  const source = await openTranscript(words[0] ?? "", ports);
  const early = earlySettings({ flags, ports, warn: (text) => terminal.warn(text) });
  const transcript = await readSource(source, flags.format, createProgress(ports));
  const settings = settingsFor(transcript, early, flags);
  const held = providerList(transcript, flags.provider);
  const violations = lint(held.list, held.provider, lintOptions(settings, flags));
  const errors = violations.filter((violation) => violation.severity === "error").length;
  if (flags.json === true) {
    const { format } = transcript;
    terminal.printJson({ format, provider: held.provider, messages: held.list.length, errors, violations });
  } else {
    terminal.print([
      ...headline(transcript, settings, terminal),
      ...problemLines(transcript, terminal),
      ...violationLines(violations, { held, terminal }),
      ...(errors > 0 ? repairHint(repairCommandLine(source, flags), terminal) : []),
    ]);
  }
  return errors > 0 ? 1 : 0;
}

function repairCommandLine(source: Source, flags: Flags): string {
  const words = ["compact", "repair", source.word ?? source.name];
  return commandLine(words, flags, ["provider", "model", "format", "config", "pending", "strict"]);
}
