import type { Format, Message } from "compact-context";
import { decode, encode, FORMATS } from "compact-context/internal/codecs/formats";
import { CompactError } from "compact-context/internal/errors";
import { lint, type Violation } from "compact-context/lint";
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

/** What the provider would refuse or lose. */
export function violationsOf({ provider, list }: ProviderList, { model }: Settings): Violation[] {
  return lint(list, provider, model === undefined ? {} : { model });
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
