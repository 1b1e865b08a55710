import { messageText } from "compact-context/internal/core/message";
import { isUserSpeech } from "compact-context/internal/core/units";
import { sessionNameOf } from "../job.ts";
import { formatCount } from "../render/numbers.ts";
import { firstWords, oneLine } from "../render/safe.ts";
import { truncate, wrap } from "../render/width.ts";
import type { Settings } from "../settings.ts";
import type { Terminal } from "../terminal.ts";
import type { Transcript } from "../transcripts/transcript.ts";

/** Which session this is: its title or first words, then format, model and window. */
export function headline(transcript: Transcript, settings: Settings, terminal: Terminal): string[] {
  const ask = transcript.segments.flatMap((segment) => segment.messages).find(isUserSpeech);
  const title = transcript.title ?? (ask === undefined ? undefined : messageText(ask));
  const words = firstWords(title ?? sessionNameOf(transcript));
  const facts = [
    transcript.format,
    settings.model === undefined ? "model unknown" : oneLine(settings.model),
    `window ${formatCount(settings.window)}${windowNote(settings)}`,
  ];
  return [
    "",
    terminal.paint("strong", `  ${truncate(words, terminal.width - 4)}`),
    ...wrap(facts.join(" · "), terminal.width - 2).map((line) => terminal.paint("faint", `  ${line}`)),
    "",
  ];
}

function windowNote({ windowFrom, model }: Settings): string {
  if (windowFrom === "model" || windowFrom === "command") return "";
  if (windowFrom === "session") return " (the agent's own)";
  if (windowFrom !== "default") return ` (${windowFrom})`;
  return model === undefined ? " (assumed; --model or --window say otherwise)" : " (assumed: unknown model)";
}

/** What was counted and what the provider reported, one sentence each; nothing where nothing was reported. */
export function reportLines({ reported, unseenTokens }: Settings): string[] {
  if (reported === undefined) return [];
  const { record, reported: tokens, counted } = reported;
  const told = `${formatCount(tokens)} tokens for the prompt of message #${record.index + 1}`;
  if (unseenTokens === 0) return [`${told}; counted ${formatCount(counted)}, which holds.`];
  return [
    `${told}; counted ${formatCount(counted)}. The other ${formatCount(unseenTokens)} are system prompt, tools and whatever else the file does not hold.`,
  ];
}

/** What is wrong with the file, a few lines of it; nothing is left out in silence. */
export function problemLines(transcript: Transcript, terminal: Terminal): string[] {
  const { problems } = transcript;
  if (problems.length === 0) return [];
  const shown = problems.slice(0, 3).map(({ line, place, message }) => {
    const where = line === undefined ? (place ?? "") : `line ${line}`;
    return `  ${terminal.paint("warn", "!")} ${truncate(oneLine(`${where}: ${message}`), terminal.width - 4)}`;
  });
  const more = problems.length - shown.length;
  return [
    ...shown,
    ...(more > 0
      ? [`  ${terminal.paint("warn", "!")} and ${formatCount(more)} more problems; see compact inspect`]
      : []),
    "",
  ];
}
