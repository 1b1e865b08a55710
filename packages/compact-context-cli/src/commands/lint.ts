import { type Format, lint, type Message, repair, type Violation } from "compact-context";
import { decode, encode, FORMATS } from "compact-context/internal/codecs/formats";
import { writeTranscript } from "../files/output.ts";
import { commandLine, type Flags, type Invocation, oneOf, printResult } from "../flags.ts";
import type { Terminal } from "../ports.ts";
import { headline, problemLines } from "../render/headline.ts";
import { formatCount, oneLine, paragraph, plural } from "../render/text.ts";
import { unanswered } from "../sessions/inspection.ts";
import { openSession } from "../sessions/opened.ts";
import type { Settings } from "../settings.ts";
import { providerOf, type Transcript } from "../transcripts/transcript.ts";

export async function lintSession(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation;
  const { source, transcript, settings } = await openSession(invocation);
  const held = providerList(transcript, flags.provider);
  const violations = lint(held.list, held.provider, lintOptions(settings, flags));
  const errors = violations.filter((violation) => violation.severity === "error").length;
  const { format, problems } = transcript;
  const repairing = ["compact", "repair", source.word ?? source.name];
  const again = commandLine(repairing, flags, ["provider", "model", "format", "config", "pending", "strict"]);
  const json = { format, provider: held.provider, messages: held.list.length, errors, violations, problems };
  printResult(invocation, json, () => [
    ...headline(transcript, settings, terminal),
    ...problemLines(transcript, terminal),
    ...violationLines(violations, held, terminal),
    ...(errors > 0
      ? ["  To repair what can be repaired:", `    ${terminal.paint("faint", `${again} -o FILE`)}`, ""]
      : []),
  ]);
  return errors > 0 ? 1 : 0;
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
    const repaired = mends.length === 0 ? undefined : { messages, tokensBefore: settings.tokensBefore };
    await writeTranscript(destination, repaired, { transcript, source, ports });
  }
  const { format, problems } = transcript;
  const output = destination?.path ?? null;
  const end =
    destination === undefined
      ? "Nothing is written yet; add -o FILE."
      : `Written to ${oneLine(destination.name)}.`;
  printResult(invocation, { format, provider: held.provider, mends, left, output, problems }, () => [
    ...headline(transcript, settings, terminal),
    ...problemLines(transcript, terminal),
    ...(mends.length === 0
      ? [`  Nothing to repair for ${held.provider}.`]
      : mends.flatMap((mend) => mendLines(mend, terminal))),
    "",
    ...(left.length === 0 ? [] : violationLines(left, held, terminal)),
    ...(mends.length === 0 && destination === undefined ? [] : [`  ${end}`, ""]),
  ]);
  return left.length > 0 ? 1 : 0;
}

type LintOptions = NonNullable<Parameters<typeof lint>[2]>;
/** One repair of a list. */
type Mend = ReturnType<typeof repair>["mends"][number];

/** Maximum places shown for one rule. */
const SHOWN = 3;

/** The violations by rule, errors first. */
function violationLines(violations: readonly Violation[], held: ProviderList, terminal: Terminal): string[] {
  const count = held.list.length;
  const entries = count === 1 ? "1 entry" : `${formatCount(count)} entries`;
  if (violations.length === 0) {
    return [
      `  ${terminal.paint("good", "clean")}  ${entries} ${count === 1 ? "keeps" : "keep"} every rule of ${held.provider}.`,
      "",
    ];
  }
  const errors = violations.filter(({ severity }) => severity === "error").length;
  const warnings = violations.length - errors;
  return [
    `  ${held.provider}: ${entries}, ${plural(errors, "error")}, ${plural(warnings, "warning")}`,
    "",
    ...byRule(violations).flatMap((group) => ruleLines(group, terminal)),
  ];
}

function byRule(violations: readonly Violation[]): Violation[][] {
  const rules = [...new Set(violations.map(({ rule }) => rule))];
  const weight = ([first]: Violation[]): number => (first?.severity === "error" ? 0 : 1);
  return rules
    .map((rule) => violations.filter((violation) => violation.rule === rule))
    .toSorted((one, other) => weight(one) - weight(other));
}

function ruleLines(group: readonly Violation[], terminal: Terminal): string[] {
  const [first] = group;
  if (first === undefined) return [];
  const style = first.severity === "error" ? "bad" : "warn";
  const shown = group.slice(0, SHOWN).flatMap((one) => indented(`${one.path}: ${one.explanation}`, terminal));
  const more = group.length - SHOWN;
  return [
    `  ${terminal.paint(style, first.severity)}  ${first.rule}${group.length > 1 ? ` (${formatCount(group.length)})` : ""}`,
    ...shown,
    ...(more > 0 ? [`      and at ${plural(more, "more place")}`] : []),
    ...indented(first.link, terminal).map((line) => terminal.paint("faint", line)),
    "",
  ];
}

function indented(text: string, { width }: Terminal): string[] {
  return paragraph(oneLine(text), width, 6);
}

function mendLines({ action, path, index, rule, explanation }: Mend, terminal: Terminal): string[] {
  const what = terminal.paint("good", action.padEnd(9));
  return [`  ${what} ${path ?? `messages[${index}]`}  ${rule}`, ...indented(explanation, terminal)];
}

/** The provider whose rules are checked, and the list in that provider's format. */
interface ProviderList {
  readonly provider: Format;
  readonly list: readonly unknown[];
}

/** The provider of `--provider`, else the session's, else OpenAI chat. */
function providerList(transcript: Transcript, flag: string | undefined): ProviderList {
  const provider = oneOf(flag, "--provider", FORMATS) ?? providerOf(transcript) ?? "openai-chat";
  return { provider, list: encode(transcript.messages, provider) };
}

/** A session is taken as ended, with open calls as errors, unless `--pending` says that it is running. */
function lintOptions({ model, window }: Settings, { pending, strict }: Flags): LintOptions {
  return { model, maxContextTokens: window, pendingAllowed: pending === true, strict: strict === true };
}

/**
 * The messages with a result added to each open call, for a session that was killed while its tools ran;
 * warns about it. Sessions in no provider's format are unchanged, since they cannot be written back through
 * one.
 */
export function closedMessages(transcript: Transcript, warn: (text: string) => void): readonly Message[] {
  // Only the rules know that in Gemini's format a result of another name answers nothing.
  const needsRules = transcript.list === "gemini" || unanswered(transcript.messages) > 0;
  if (transcript.list === undefined || !needsRules) return transcript.messages;
  const { provider, list } = providerList(transcript, undefined);
  const options = { pendingAllowed: false };
  const isOpen = lint(list, provider, options).some(({ rule }) => rule === "generic/dead-call");
  if (!isOpen) return transcript.messages;
  const { messages, mends } = repair(list, provider, options);
  for (const note of mendNotes(mends)) warn(note);
  return backToSession(messages, provider, transcript);
}

/** One sentence for each rule that was violated, with the repair. */
function mendNotes(mends: readonly Mend[]): string[] {
  const rules = [...new Set(mends.map(({ rule }) => rule))];
  return rules.map((rule) => {
    const matching = mends.filter((mend) => mend.rule === rule);
    const [first] = matching;
    const count = matching.length;
    if (rule === "generic/dead-call") {
      const [they, each] = count === 1 ? ["it", "the"] : ["they", "each"];
      return `${plural(count, "tool call")} ended without a result: the session was interrupted while ${they} ran; a note replaces ${each} result`;
    }
    const others = count === 1 ? "" : ` (and ${formatCount(count - 1)} more of that kind)`;
    return `changed, because the provider would refuse the session: ${first?.explanation}${others}`;
  });
}

/** The list as neutral messages; unchanged ones are the session's own, matched by their native object. */
function backToSession(natives: readonly unknown[], provider: Format, transcript: Transcript): Message[] {
  const own = new Map(transcript.messages.map((message) => [message.native, message]));
  return decode(natives, provider).map((message) => own.get(message.native) ?? message);
}
