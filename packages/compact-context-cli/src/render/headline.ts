import type { Message, Part } from "compact-context";
import { argumentsText, messageText, resultText } from "compact-context/internal/core/message";
import { lookUpModel } from "compact-context/internal/tokens/models";
import type { Terminal } from "../ports.ts";
import { sessionNameOf } from "../sessions/job.ts";
import type { Settings } from "../settings.ts";
import type { Transcript } from "../transcripts/transcript.ts";
import { typedRequest } from "../view/message-view.ts";
import { firstWords, formatCount, oneLine, plural, truncate, wrap } from "./text.ts";

// The first lines of a report: the session, the tokens its provider reported, the problems of its file.

/** The session's title, or the start of its first request. */
export function titleOf(transcript: Transcript): string {
  const messages = transcript.segments.flatMap((segment) => segment.messages);
  const request = messages.map(typedRequest).find((text) => text !== undefined);
  return firstWords(transcript.title ?? request ?? sessionNameOf(transcript));
}

/** Title, format, model and window. */
export function headline(transcript: Transcript, settings: Settings, terminal: Terminal): string[] {
  const facts = [
    transcript.format,
    settings.model === undefined ? "model unknown" : oneLine(settings.model),
    `window ${formatCount(settings.window)}${windowNote(settings)}`,
  ];
  return [
    "",
    terminal.paint("strong", `  ${truncate(titleOf(transcript), terminal.width - 4)}`),
    ...wrap(facts.join(" · "), terminal.width - 2).map((line) => terminal.paint("faint", `  ${line}`)),
    "",
  ];
}

function windowNote({ windowFrom, model, config }: Settings): string {
  if (windowFrom === "model" || windowFrom === "command") return "";
  if (windowFrom === "session") return " (set by the agent)";
  if (windowFrom === "family") {
    const { matched } = lookUpModel(model ?? "", config.models);
    return ` (assumed: unknown model, that of ${matched} is taken)`;
  }
  if (windowFrom !== "default") return ` (${windowFrom})`;
  return model === undefined ? " (assumed; set --model or --window)" : " (assumed: unknown model)";
}

/** Compares the counted tokens with those the provider reported; empty where none were. */
export function reportLines({ reported, unseenTokens }: Settings): string[] {
  if (reported === undefined) return [];
  const { record, reported: tokens, counted, isEarlier } = reported;
  const where = isEarlier ? "its last compaction" : `message #${record.index + 1}`;
  const comparison = `The provider counted ${formatCount(tokens)} tokens before ${where}, Compact ${formatCount(counted)}`;
  if (unseenTokens === 0) return [`${comparison}. The larger figure is used.`];
  return [
    `${comparison}. The other ${formatCount(unseenTokens)} are the system prompt, tools and whatever the file does not contain.`,
  ];
}

/** The first problems of the file, and how many more there are. */
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
      ? [`  ${terminal.paint("warn", "!")} and ${plural(more, "more problem")}; see compact inspect`]
      : []),
    "",
  ];
}

/** A one-line preview of a message: its text, else its calls, results or media. `names`: tools by call id. */
export function messageGist(message: Message, names: ReadonlyMap<string, string>): string {
  const text = firstWords(messageText(message));
  if (text !== "") return text;
  return message.parts
    .map((part) => partGist(part, names))
    .filter((gist) => gist !== "")
    .join("  ");
}

function partGist(part: Part, names: ReadonlyMap<string, string>): string {
  switch (part.type) {
    case "text":
      return "";
    case "toolCall":
      return `${firstWords(part.name)} ${firstWords(argumentsText(part), 200)}`;
    case "toolResult": {
      const name = firstWords(part.name ?? names.get(part.id) ?? "");
      const words = [part.isError === true ? "error" : "→", name, firstWords(resultText(part), 200)];
      return words.filter((word) => word !== "").join(" ");
    }
    case "reasoning":
      return firstWords(part.text) || "(hidden reasoning)";
    case "media":
      return `(${firstWords(part.mediaType)})`;
  }
}
