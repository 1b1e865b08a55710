import type { Format, Message } from "compact-context";
import { lint, repair } from "compact-context";
import { decode, encode, FORMATS } from "compact-context/internal/codecs/formats";
import { CompactError } from "compact-context/internal/errors";
import type { LintOptions, Mend } from "compact-context/internal/lint/rule";
import type { Flags } from "./flags.ts";
import type { Settings } from "./settings.ts";
import type { Transcript } from "./transcripts/transcript.ts";

/** The provider whose rules a session is held to, and its list in that provider's format. */
export interface ProviderList {
  readonly provider: Format;
  readonly list: readonly unknown[];
}

/** The session's own format where it is a provider's; else the one asked for, else OpenAI chat. */
export function providerList(transcript: Transcript, asked: string | undefined): ProviderList {
  const provider = asked === undefined ? (transcript.list ?? "openai-chat") : formatNamed(asked);
  return { provider, list: encode(transcript.messages, provider) };
}

function formatNamed(name: string): Format {
  const format = FORMATS.find((known) => known === name);
  if (format !== undefined) return format;
  throw new CompactError("InvalidUsage", `${name} is no provider format`, {
    place: "--provider",
    hint: `There are ${FORMATS.join(", ")}.`,
  });
}

/** A file is held to have ended: calls that are still open are right in a session that goes on, with `--pending`. */
export function lintOptions({ model }: Pick<Settings, "model">, { pending, strict }: Flags): LintOptions {
  return {
    ...(model === undefined ? {} : { model }),
    pendingAllowed: pending === true,
    strict: strict === true,
  };
}

/**
 * A session that was killed while its tools ran, with an answer to each call that has none; others are as they were.
 * Sessions whose messages are in no provider's format are not touched: they cannot be written back through one.
 */
export function closedSession(transcript: Transcript): {
  readonly transcript: Transcript;
  readonly mends: readonly Mend[];
} {
  if (transcript.list === undefined) return { transcript, mends: [] };
  const { provider, list } = providerList(transcript, undefined);
  const ended = { pendingAllowed: false };
  const isOpen = lint(list, provider, ended).some(({ rule }) => rule === "generic/dead-call");
  if (!isOpen) return { transcript, mends: [] };
  const { messages, mends } = repair(list, provider, ended);
  return { transcript: { ...transcript, messages: backToSession(messages, provider, transcript) }, mends };
}

/** The list as neutral messages; those that were the session's own are found again by their native object. */
export function backToSession(
  natives: readonly unknown[],
  provider: Format,
  transcript: Transcript,
): Message[] {
  const own = new Map(transcript.messages.map((message) => [message.native, message]));
  return decode(natives, provider).map((message) => own.get(message.native) ?? message);
}
