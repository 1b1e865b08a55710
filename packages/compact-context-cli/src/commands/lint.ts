import { lint, repair } from "compact-context";
import { writeTranscript } from "../files/output.ts";
import type { Source } from "../files/source.ts";
import type { Invocation } from "../flags.ts";
import { commandLine, type Flags } from "../flags.ts";
import { openSession } from "../opened.ts";
import { headline, problemLines } from "../views/headline.ts";
import {
  backToSession,
  lintOptions,
  mendLines,
  providerList,
  repairHint,
  violationLines,
} from "../views/rules.ts";

export async function lintSession(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation;
  const { source, transcript, settings } = await openSession(invocation);
  const held = providerList(transcript, flags.provider);
  const violations = lint(held.list, held.provider, lintOptions(settings, flags));
  const errors = violations.filter((violation) => violation.severity === "error").length;
  if (flags.json === true) {
    const { format, problems } = transcript;
    const { provider, list } = held;
    terminal.printJson({ format, provider, messages: list.length, errors, violations, problems });
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

export async function repairSession(invocation: Invocation): Promise<number> {
  const { flags, ports, terminal } = invocation;
  const { source, destination, transcript, settings } = await openSession(invocation);
  const held = providerList(transcript, flags.provider);
  const options = lintOptions(settings, flags);
  const { messages: natives, mends } = repair(held.list, held.provider, options);
  const left = lint(natives, held.provider, options).filter(({ severity }) => severity === "error");
  if (destination !== undefined) {
    const messages = backToSession(natives, held.provider, transcript);
    const tokens = messages.reduce(
      (total, message) => total + settings.counter.countMessage(message),
      settings.fixedTokens + settings.counter.perRequest,
    );
    const mended = { messages, tokensBefore: settings.tokensBefore, tokensAfter: tokens };
    const now = mends.length === 0 ? undefined : mended;
    await writeTranscript(destination, now, { transcript, source, ports });
  }
  const output = destination?.path ?? null;
  if (flags.json === true) {
    const { format, problems } = transcript;
    terminal.printJson({ format, provider: held.provider, mends, left, output, problems });
  } else {
    terminal.print([
      ...headline(transcript, settings, terminal),
      ...problemLines(transcript, terminal),
      ...mendLines({ mends, left, written: destination?.name }, { held, terminal }),
    ]);
  }
  return left.length > 0 ? 1 : 0;
}
