import type { Invocation } from "../command.ts";
import { readSource } from "../files/read.ts";
import type { Source } from "../files/source.ts";
import type { Flags } from "../flags.ts";
import { createProgress } from "../progress.ts";
import { providerList, violationsOf } from "../rules.ts";
import { openTranscript } from "../sessions/discover.ts";
import { earlySettings, settingsFor } from "../settings.ts";
import { headline, problemLines } from "../views/headline.ts";
import { repairHint, violationLines } from "../views/rules.ts";
import { commandLine } from "../words.ts";

export async function lintSession({ words, flags, ports, terminal }: Invocation): Promise<number> {
  const source = await openTranscript(words[0] ?? "", ports);
  const early = earlySettings({ flags, ports, warn: (text) => terminal.warn(text) });
  const transcript = await readSource(source, flags.format, createProgress(ports));
  const settings = settingsFor(transcript, early, flags);
  const held = providerList(transcript, flags.provider);
  const violations = violationsOf(held, settings);
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
  return commandLine(words, flags, ["provider", "model", "format", "config"]);
}
